#pragma once
// The text of a session as it would stand in a file, and edits that mend a command of it.
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "ir/edit.h"
#include "ir/text_parser.h"

namespace lathe::repl {

// The statements that were accepted so far, each at its line and column.
class History {
 public:
  void Add(const ir::StatementText& statement);
  std::string With(const ir::StatementText& statement) const;

 private:
  std::string text_;
  int line_ = 1, column_ = 1;  // behind text_
};

// A change of one word of the command, after what `error` hints at: another size, a name that is
// near. Nothing if it hints at nothing.
std::optional<ir::Edit> EditOfCommand(const ir::StatementText& command, std::string_view file,
                                      const absl::Status& error);

}  // namespace lathe::repl
