#pragma once
// Lexer of the text form: turns the bytes of a .lathe text into tokens, one at a time and without
// copying. Who calls it: the text parser and the statement splitter. Guarantees: any bytes are
// accepted (what is no token becomes a `kBad` token), it always advances, and it allocates only for
// the nesting of brackets.
//
// A newline or `;` is a separator token; newlines inside ( ) and [ ] are blanks. `#` starts a
// comment that lasts to the end of the line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lathe::ir {

enum class TokenKind : uint8_t {
  kEnd,
  kSeparator,  // newline or ';'
  kName,       // [A-Za-z_][A-Za-z0-9_]*, parts joined by single dots: x, layer.0.w
  kValue,      // %7
  kNumber,     // 12, 1.5, 1e-3, 0x1.8p3: always without a sign
  kString,     // "..." with the quotes
  kPunct,      // + - * / // % @ == != < <= > >= = ( ) [ ] { } , : . .. ?
  kBad,        // an unknown byte or an unterminated string
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // a part of the lexer's text
  int line = 1, column = 1;

  bool Is(std::string_view punct) const { return kind == TokenKind::kPunct && text == punct; }
  bool IsName(std::string_view name) const { return kind == TokenKind::kName && text == name; }
  bool IsEnd() const { return kind == TokenKind::kEnd || kind == TokenKind::kSeparator; }
  std::string Describe() const;  // for errors: "'+'", "end of line", "end of text"
};

class Lexer {
 public:
  // The text must outlive the lexer and its tokens. `line` and `column` are those of its first
  // byte.
  explicit Lexer(std::string_view text, int line = 1, int column = 1)
      : text_(text), line_(line), column_offset_(column - 1) {}

  Token Next();
  // The first byte after blanks that follow the last token, and the byte after it; 0 at the end.
  // Enough to tell `x = 1`, `x == 1`, `x: f32[]` and `x "name"` apart.
  char PeekChar(char* second = nullptr) const;
  size_t offset() const { return pos_; }  // of the first byte after the last token
  // Brackets that are open now; 0 between statements of the outermost block.
  int depth() const { return static_cast<int>(nesting_.size()); }
  std::string_view text() const { return text_; }

 private:
  Token Make(TokenKind kind, size_t begin);
  Token Number(size_t begin);
  Token String(size_t begin);
  bool SkipBlanks();  // true if it stopped at a newline that separates statements
  bool InBrackets() const { return !nesting_.empty() && nesting_.back() != '{'; }
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::string_view text_;
  size_t pos_ = 0;
  size_t line_start_ = 0;  // offset of the first byte of the current line
  int line_;
  int column_offset_;           // of the first line
  bool after_operand_ = false;  // so that `x %7` is a remainder and `(%7` a value
  std::string nesting_;         // open brackets
};

// Words of the grammar: no value and no dim may have such a name.
bool IsReservedWord(std::string_view name);
// A name that can be written as it is: an identifier that is no reserved word.
bool IsPlainName(std::string_view name);

// "text" with quotes and escapes (\" \\ \n \t \xHH), and back. `quoted` has its quotes; false if an
// escape is unknown.
std::string Quote(std::string_view text);
bool Unquote(std::string_view quoted, std::string* text);

}  // namespace lathe::ir
