#include "repl/driver.h"

#include <algorithm>
#include <utility>

namespace lathe::repl {

void Driver::Execute(ir::StatementText statement, int first_line) {
  statement.line += first_line - 1;
  std::visit([&](const auto& reply) { output_->Write(reply); }, session_->Execute(statement));
}

void Driver::RunText(std::string_view text) {
  pending_ = text;
  pending_line_ = 1;
  RunPending(/*wait=*/false);
}

void Driver::AddLine(std::string_view line) {
  if (pending_.empty()) pending_line_ = next_line_;
  ++next_line_;
  const bool blank = line.find_first_not_of(" \t\r\n") == std::string_view::npos;
  pending_ += line;
  if (pending_.empty() || pending_.back() != '\n') pending_ += '\n';
  RunPending(/*wait=*/!(interactive_ && blank));
}

void Driver::Finish() { RunPending(/*wait=*/false); }

void Driver::RunPending(bool wait) {
  const std::string text = std::exchange(pending_, "");
  ir::StatementReader reader(text);
  while (!session_->done()) {
    const ir::StatementText statement = reader.Next();
    if (statement.text.empty()) return;
    if (wait && statement.needs_more) {
      // Kept with all that stands before it, as blanks, so that places stay right.
      pending_ = text;
      const size_t done = static_cast<size_t>(statement.text.data() - text.data());
      std::replace_if(
          pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done),
          [](char c) { return c != '\n'; }, ' ');
      return;
    }
    Execute(statement, pending_line_);
  }
}

}  // namespace lathe::repl
