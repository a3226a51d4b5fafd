#pragma once
// A session of jit-repl: the program so far, and what it compiles to. Statements of the text form
// extend it, commands ask about it. A statement or command that fails changes nothing.
//
//   Session session({});
//   session.Execute("x: f32[n, 4]");
//   session.Execute(":run softmax_of_x n=3");   // a fault: there is no such value
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/text_parser.h"
#include "repl/answer.h"
#include "repl/command.h"
#include "repl/functions.h"
#include "repl/mend_command.h"

namespace lathe::repl {

struct SessionOptions {
  std::string file;          // names the text in faults and sources of facts
  int threads = 0;           // 0: one per core
  int64_t memory_bytes = 0;  // of one call with its inputs; 0: three quarters of the machine's
  bool show_types = false;   // named values answer with their type, for a person at the keyboard
};

class Session {
 public:
  explicit Session(const SessionOptions& options);

  std::variant<Answer, Fault> Execute(const ir::StatementText& statement);
  std::variant<Answer, Fault> Execute(std::string_view statement) {
    return Execute(ir::StatementText{statement});
  }
  bool done() const { return done_; }  // after :quit

  // For commands.
  const std::string& file() const { return options_.file; }
  ir::TextSession& text() { return *text_; }
  const ir::TextSession& text() const { return *text_; }
  ir::Graph& graph() { return graph_; }
  Functions& functions() { return functions_; }
  void Quit() { done_ = true; }
  // Puts `graph` in the place of the program so far.
  void Replace(ir::Graph graph);
  // InvalidArgument that names the place.
  absl::Status Error(Place at, const std::string& message) const;
  // The value that a word names: x, or %7 as shown for values without a name.
  absl::StatusOr<ir::ValueId> FindValue(const CommandLine::Word& word) const;
  // The function of a word's value; of all `output`s for "output".
  absl::StatusOr<std::shared_ptr<const CompiledValue>> Compile(const CommandLine::Word& word);

 private:
  absl::StatusOr<Answer> Statement(const ir::StatementText& statement);
  std::string ProgramName() const;
  // What the facts from `first_fact` on say that calls must check: as lines, and in `json`.
  std::string Requirements(size_t first_fact, Json* json) const;
  absl::StatusOr<Answer> RunCommandLine(const CommandLine& line);

  SessionOptions options_;
  ir::Graph graph_;
  std::optional<ir::TextSession> text_;  // of graph_
  Functions functions_;
  std::optional<History> history_;  // none once the program isn't what the statements say
  bool done_ = false;
};

}  // namespace lathe::repl
