#include "ir/mend.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/mend_candidates.h"
#include "ir/text_internal.h"

namespace lathe::ir {
namespace {

constexpr size_t kMostCandidates = 48;
constexpr size_t kMostBytesParsed = size_t{1} << 20;  // by all candidates together

// Reads "file:line:column: " or "line:column: ".
bool ReadPlace(std::string_view message, std::string_view file, int* line, int* column) {
  if (!file.empty()) {
    if (!message.starts_with(file)) return false;
    message.remove_prefix(file.size());
    if (!message.starts_with(':')) return false;
    message.remove_prefix(1);
  }
  const char* const end = message.data() + message.size();
  auto [at, error] = std::from_chars(message.data(), end, *line);
  if (error != std::errc() || at == end || *at != ':') return false;
  return std::from_chars(at + 1, end, *column).ec == std::errc();
}

}  // namespace

std::optional<Edit> FindEdit(std::string_view program, std::string_view file,
                             const absl::Status& error) {
  const std::string_view message(error.message().data(), error.message().size());
  int line = 0, column = 0;
  if (error.ok() || program.size() > kMostBytesParsed ||
      !ReadPlace(message, file, &line, &column)) {
    return std::nullopt;
  }
  std::vector<ParsedStatement> statements = StatementsOf(program);
  const auto begins_behind = [&](const ParsedStatement& s) {
    if (s.tokens.empty()) return true;
    const Token& first = s.tokens[0];
    return first.line > line || (first.line == line && first.column > column);
  };
  while (!statements.empty() && begins_behind(statements.back())) statements.pop_back();
  if (statements.empty()) return std::nullopt;
  // What stands behind the failed statement is left out: it may have faults of its own.
  const std::string_view last = statements.back().text;
  const std::string_view tried =
      program.substr(0, static_cast<size_t>(last.data() + last.size() - program.data()));
  const size_t most = std::min(kMostCandidates, kMostBytesParsed / (tried.size() + 1));
  size_t parsed = 0;
  for (const Edit& edit : Candidates(statements, line, column).Of(error)) {
    if (edit.kind == Edit::Kind::kChange && edit.old_text == edit.new_text) continue;
    const absl::StatusOr<std::string> text = Apply(edit, tried);
    if (!text.ok()) continue;
    if (++parsed > most) break;
    if (ParseText(*text, file).ok()) return edit;
  }
  return std::nullopt;
}

absl::Status WithEdit(const absl::Status& error, const std::optional<Edit>& edit) {
  if (!edit) return error;
  return WithMessage(
      error, absl::StrCat(WithoutMend({error.message().data(), error.message().size()}), "\n",
                          std::string(kToMendIt), edit->ToString()));
}

}  // namespace lathe::ir
