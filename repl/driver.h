#pragma once
// Feeds a session with texts: whole ones (files, -e), or line by line as they arrive (a pipe, a
// terminal), and writes what it answers.
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "repl/output.h"
#include "repl/session.h"

namespace lathe::repl {

class Driver {
 public:
  // `interactive`: an empty line ends an unfinished statement.
  Driver(Session* session, Output* output, bool interactive = false)
      : session_(session), output_(output), interactive_(interactive) {}

  // All statements of `text`, up to :quit; goes on after faults.
  void RunText(std::string_view text);

  // A line of a longer text, with its newline. Statements are executed when they are complete.
  void AddLine(std::string_view line);
  // No more lines come: an unfinished statement is executed, which says what it lacks.
  void Finish();
  // Forgets an unfinished statement.
  void Drop() { pending_.clear(); }
  bool pending() const { return !pending_.empty(); }

 private:
  // Executes the statements of pending_; keeps the last one if it is unfinished and `wait`.
  void RunPending(bool wait);
  void Execute(ir::StatementText statement, int first_line);

  Session* session_;
  Output* output_;
  bool interactive_;
  std::string pending_;
  int pending_line_ = 1, next_line_ = 1;  // where pending_ and the next line begin
};

}  // namespace lathe::repl
