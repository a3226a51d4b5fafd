#pragma once
// Edits that might mend a failed statement, likeliest first; ir/mend.cc keeps the first that works.
// Internal to ir/.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ir/edit.h"
#include "ir/hint.h"
#include "ir/lexer.h"

namespace lathe::ir {

// A statement of a program with its tokens, which are parts of the program's text.
struct ParsedStatement {
  std::string_view text;
  int line = 1;
  bool first_on_line = true;
  std::vector<Token> tokens;  // separators and the end left out

  bool IsInput() const;  // x: f32[n]
};
std::vector<ParsedStatement> StatementsOf(std::string_view program);

class Candidates {
 public:
  // `statements` ends with the one that failed; the error's place is `line`:`column`.
  Candidates(const std::vector<ParsedStatement>& statements, int line, int column);

  // From the hints of the error, then from its words and the facts that it lists.
  std::vector<Edit> Of(const absl::Status& error);

 private:
  struct Span {
    size_t first = 0, last = 0;  // tokens first..last - 1
  };
  const ParsedStatement& failed() const { return statements_.back(); }
  static std::string_view TextOf(const ParsedStatement& s, Span span);
  void Change(const Token& at, std::string_view old_text, std::string new_text);
  void Change(const ParsedStatement& s, Span span, std::string new_text);

  void FromHint(const Hint& hint);
  void Assume(const std::string& statement);
  void Wrap(const Hint& hint);
  void Attr(const std::string& name, const std::string& value);
  void Number(const ParsedStatement& s, const std::string& from, const std::string& to);
  void Dims(const std::string& a, const std::string& b);
  void Word(const std::string& word);
  void Insert(const std::string& text);
  void DropItem();
  void Yield(const Hint& hint);
  void Condition(const std::string& claim);
  void Type(const std::string& type);
  void FromWords(std::string_view message);
  void FromConflict(std::string_view message);
  void DropFact(const ParsedStatement& s, size_t at);
  void MoveFact(const ParsedStatement& s, size_t at, std::string_view from, std::string_view to);

  size_t Match(size_t open) const;                 // index of the bracket that closes `open`
  std::vector<Span> Arguments(size_t name) const;  // of the call name(...)
  Span PrimaryBefore(size_t end) const;
  Span PrimaryAt(size_t begin) const;

  const std::vector<ParsedStatement>& statements_;
  size_t error_ = 0;  // the token at the error's place; tokens.size(): behind all
  std::vector<Edit> edits_;
};

}  // namespace lathe::ir
