#include "repl/mend_command.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "repl/answer.h"
#include "repl/command.h"

namespace lathe::repl {
namespace {

using ir::Edit;

Edit ChangeAt(const ir::StatementText& command, size_t at, size_t size, std::string to) {
  return {Edit::Kind::kChange, command.line, command.column + static_cast<int>(at),
          std::string(command.text.substr(at, size)), std::move(to)};
}

// The word `name=...` gets another value; without one, the command gets the word at its end.
Edit GiveSize(const ir::StatementText& command, const std::string& name, const std::string& size) {
  const std::string given = absl::StrCat(name, "=", size);
  const CommandLine line(command);
  for (const CommandLine::Word& word : line.words()) {
    if (word.text != name || !word.value) continue;
    const size_t begin = static_cast<size_t>(word.at.column - command.column);
    size_t end = command.text.find('=', begin) + 1;
    end = command.text.find(*word.value, end) + word.value->size();
    return ChangeAt(command, begin, end - begin, given);
  }
  const size_t end = command.text.find_last_not_of(" \t\r,") + 1;
  const size_t begin = command.text.find_last_of(" \t,", end - 1) + 1;
  return ChangeAt(command, begin, end - begin,
                  absl::StrCat(std::string(command.text.substr(begin, end - begin)), " ", given));
}

}  // namespace

std::string History::With(const ir::StatementText& statement) const {
  std::string text = text_;
  int line = line_, column = column_;
  if (!text.empty() && line == statement.line) text += ';', ++column;
  for (; line < statement.line; ++line, column = 1) text += '\n';
  text.append(static_cast<size_t>(std::max(statement.column - column, 0)), ' ');
  return text += statement.text;
}

void History::Add(const ir::StatementText& statement) {
  text_ = With(statement);
  line_ = statement.line +
          static_cast<int>(std::count(statement.text.begin(), statement.text.end(), '\n'));
  const size_t start = text_.rfind('\n');
  column_ = static_cast<int>(text_.size() - (start == std::string::npos ? 0 : start + 1)) + 1;
}

std::optional<Edit> EditOfCommand(const ir::StatementText& command, std::string_view file,
                                  const absl::Status& error) {
  std::string given;  // by all hints, the first without its name
  std::string first;
  for (const ir::Hint& hint : ir::HintsOf(error)) {
    if (hint.kind != ir::Hint::Kind::kSize) continue;
    if (first.empty()) {
      first = hint.a;
      given = hint.b;
    } else {
      absl::StrAppend(&given, " ", hint.a, "=", hint.b);
    }
  }
  if (!first.empty()) return GiveSize(command, first, given);
  std::string message(error.message());
  Place at;
  constexpr std::string_view kMean = "did you mean '";
  const size_t mean = message.find(kMean);
  if (mean == std::string::npos) return std::nullopt;
  const std::string name = message.substr(
      mean + kMean.size(), message.find('\'', mean + kMean.size()) - mean - kMean.size());
  if (!TakePlace(file, &message, &at) || at.line != command.line || at.column < command.column) {
    return std::nullopt;
  }
  size_t begin = static_cast<size_t>(at.column - command.column);
  if (begin == 0) begin = 1;  // behind the ':'
  const size_t end = std::min(command.text.find_first_of(" \t,=", begin), command.text.size());
  return ChangeAt(command, begin, end - begin, name);
}

}  // namespace lathe::repl
