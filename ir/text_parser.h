#pragma once
// Programs as text, a statement at a time: what Parse (ir/graph.h), jit-repl and the DSL's shape
// specs are built on. The grammar stands in docs/text_form.md.
//
//   Graph g;
//   TextSession session(&g);
//   auto r = session.Execute("dim seq in 1..8192");
//   r = session.Execute("x: f32[seq, 768]");
//   r = session.Execute("softmax(x, axis=-1)");     // r->value: its ValueId
//
// A statement that fails changes nothing that can be seen: no name, fact, input, output or node of
// a block; what it may leave behind are nodes that no block holds and symbols that nothing
// mentions. Errors are InvalidArgument (or what the builder and the facts gave) and start with
// "file:line:column: ", or "line:column: " if the text has no file name.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace lathe::ir {

inline constexpr size_t kMaxTextBytes = size_t{1} << 31;
inline constexpr int kMaxTextDepth = 200;                       // of expressions and brackets
inline constexpr int64_t kMaxConstantBytes = int64_t{1} << 30;  // of one constant in a text
inline constexpr size_t kMaxNameBytes = 1024;

// One statement of a larger text, with where it begins.
struct StatementText {
  std::string_view text;  // without its separator; empty if there is none left
  int line = 1, column = 1;
  // The text ended inside brackets or before the else of an `if`: an interactive reader asks for
  // another line, anyone else executes the statement and gets the error.
  bool needs_more = false;
};

// Walks over a text, a statement at a time. A statement that starts with ':' is a command of the
// REPL and ends at ';' or the end of its line whatever brackets it holds.
class StatementReader {
 public:
  explicit StatementReader(std::string_view text) : text_(text) {}
  StatementText Next();

 private:
  std::string_view text_;
  size_t pos_ = 0;
  int line_ = 1, column_ = 1;
};

enum class StatementKind : uint8_t { kProgram, kDim, kAssume, kInput, kValue, kOutput };

struct StatementResult {
  StatementKind kind = StatementKind::kValue;
  std::string name;          // what was named: value, input, output, program, first dim; or empty
  ValueId value = kNoValue;  // kInput, kValue, kOutput
};

class TextSession {
 public:
  // `graph` outlives the session. Values of its body that have a name, and its dims, are known by
  // it. Others may append to the graph and its facts between two calls.
  explicit TextSession(Graph* graph, std::string file_name = "");
  ~TextSession();

  // Exactly one statement. Naming a value again is allowed: the name then means the new value.
  absl::StatusOr<StatementResult> Execute(const StatementText& statement);
  absl::StatusOr<StatementResult> Execute(std::string_view statement) {
    return Execute(StatementText{statement});
  }

  Graph* graph() const;
  // The value that a name means now ("x", "%7"), or an error that lists near names.
  absl::StatusOr<ValueId> Find(std::string_view name) const;
  std::vector<std::string> ValueNames() const;  // sorted
  std::vector<std::string> DimNames() const;    // declared ones, sorted
  // A size or claims about declared dims, as after `dim` and `assume`; an error for unknown names.
  absl::StatusOr<Dim> ParseDim(std::string_view text) const;
  absl::StatusOr<std::vector<Claim>> ParseClaims(std::string_view text) const;

  struct State;  // what the parser of one statement works on

 private:
  friend absl::StatusOr<Graph> ParseText(std::string_view text, std::string_view file_name);
  std::unique_ptr<State> state_;
};

// A shape spec (ir/shape_spec.h): "f32[batch, seq<=8192, 768]", "(batch, 768)" or "b, 2*s, _"
// (f32). New names become dims of the graph, bounds and claims after "where" become declared facts,
// "?" makes a fresh dim named after `subject`.
absl::StatusOr<ValueType> ParseTypeSpec(std::string_view text, Graph* graph,
                                        std::string_view subject = "x");

// Up to three of `names` that are near `name`: "; did you mean 'a' or 'b'?", or nothing.
std::string DidYouMean(std::string_view name, std::vector<std::string_view> names);

}  // namespace lathe::ir
