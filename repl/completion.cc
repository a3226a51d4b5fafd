#include "repl/completion.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "ir/op.h"

namespace lathe::repl {
namespace {

constexpr std::string_view kWords[] = {"program", "dim",  "assume", "output", "yield",
                                       "if",      "else", "in",     "and",    "or",
                                       "not",     "true", "false",  "randn",  "rand"};

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// The command that starts the statement which ends at the line's end, or empty.
std::string_view CommandOf(std::string_view line) {
  std::string_view statement = line.substr(line.rfind(';') == line.npos ? 0 : line.rfind(';') + 1);
  while (!statement.empty() && statement.front() == ' ') statement.remove_prefix(1);
  if (statement.empty() || statement[0] != ':') return "";
  return statement.substr(0, statement.find(' '));
}

}  // namespace

size_t WordStart(std::string_view line) {
  size_t start = line.size();
  while (start > 0 && IsWordCharacter(line[start - 1])) --start;
  const std::string_view command = CommandOf(line);
  const bool in_command =
      !command.empty() && command.data() + command.size() == line.data() + line.size();
  return in_command ? static_cast<size_t>(command.data() - line.data()) : start;
}

std::vector<std::string> Complete(const Session& session, std::string_view line) {
  const std::string_view word = line.substr(WordStart(line));
  std::vector<std::string> all;
  auto add = [&](std::string candidate) {
    if (candidate.size() >= word.size() && candidate.compare(0, word.size(), word) == 0) {
      all.push_back(std::move(candidate));
    }
  };
  const std::string_view command = CommandOf(line);
  if (!word.empty() && word[0] == ':') {
    for (const Command& c : Commands()) add(absl::StrCat(":", std::string(c.name)));
  } else {
    for (const std::string& name : session.text().ValueNames()) add(name);
    for (const std::string& name : session.text().DimNames()) add(name);
    if (command.empty() || command == ":help") {
      for (const ir::OpInfo& op : ir::AllOps()) add(std::string(op.name));
    }
    if (command.empty()) {
      for (std::string_view w : kWords) add(std::string(w));
      for (int t = 0; t < kNumDTypes; ++t) add(Name(static_cast<DType>(t)));
    }
    if (command == ":help") {
      for (const Command& c : Commands()) add(std::string(c.name));
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace lathe::repl
