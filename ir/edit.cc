#include "ir/edit.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "ir/lexer.h"

namespace lathe::ir {
namespace {

// The offset of a place in the text, or npos. A column may be one past the end of its line.
size_t OffsetOf(std::string_view text, int line, int column) {
  size_t at = 0;
  for (int i = 1; i < line; ++i) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return at;
    ++at;
  }
  const size_t end = std::min(text.find('\n', at), text.size());
  const size_t offset = at + static_cast<size_t>(column - 1);
  return column < 1 || offset > end ? std::string_view::npos : offset;
}

class EditReader {
 public:
  explicit EditReader(std::string_view text) : rest_(text) {}

  bool Take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool TakeQuoted(std::string* out) {
    if (!rest_.starts_with('"')) return false;
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size() || !Unquote(rest_.substr(0, end + 1), out)) return false;
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool TakeNumber(int* out) {
    const auto [at, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *out);
    if (error != std::errc() || *out < 1) return false;
    rest_.remove_prefix(static_cast<size_t>(at - rest_.data()));
    return true;
  }
  bool TakePlace(Edit* edit) {
    return Take(" at ") && TakeNumber(&edit->line) && Take(":") && TakeNumber(&edit->column);
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

const char* Name(Edit::Kind kind) {
  static constexpr const char* kNames[] = {"add", "change", "drop"};
  return kNames[static_cast<size_t>(kind)];
}

std::string Edit::ToString() const {
  switch (kind) {
    case Kind::kAdd:
      return absl::StrCat("add ", Quote(new_text), " before line ", line);
    case Kind::kChange:
      return absl::StrCat("change ", Quote(old_text), " at ", line, ":", column, " to ",
                          Quote(new_text));
    case Kind::kDrop:
      return absl::StrCat("drop ", Quote(old_text), " at ", line, ":", column);
  }
  return "";
}

absl::StatusOr<std::string> Apply(const Edit& edit, std::string_view text) {
  const bool adds = edit.kind == Edit::Kind::kAdd;
  const size_t at = OffsetOf(text, edit.line, adds ? 1 : edit.column);
  const bool found = at != std::string_view::npos &&
                     (adds || text.substr(at, edit.old_text.size()) == edit.old_text);
  if (!found)
    return absl::NotFoundError(
        absl::StrCat("the text has no place for the edit: ", edit.ToString()));
  std::string out(text.substr(0, at));
  out += edit.new_text;
  if (adds) out += '\n';
  out += text.substr(at + (adds ? 0 : edit.old_text.size()));
  return out;
}

std::optional<Edit> ParseEdit(std::string_view line) {
  EditReader in(line);
  Edit edit;
  bool ok = false;
  if (in.Take("add ")) {
    edit.kind = Edit::Kind::kAdd;
    ok = in.TakeQuoted(&edit.new_text) && in.Take(" before line ") && in.TakeNumber(&edit.line);
  } else if (in.Take("change ")) {
    ok = in.TakeQuoted(&edit.old_text) && in.TakePlace(&edit) && in.Take(" to ") &&
         in.TakeQuoted(&edit.new_text);
  } else if (in.Take("drop ")) {
    edit.kind = Edit::Kind::kDrop;
    ok = in.TakeQuoted(&edit.old_text) && in.TakePlace(&edit);
  }
  if (!ok || !in.done()) return std::nullopt;
  return edit;
}

std::string WithoutMend(std::string_view message, std::string* mend) {
  const size_t line = message.rfind('\n');
  const size_t begin = line == std::string_view::npos ? 0 : line + 1;
  if (!message.substr(begin).starts_with(kToMendIt)) return std::string(message);
  if (mend != nullptr) *mend = message.substr(begin + kToMendIt.size());
  return std::string(message.substr(0, begin == 0 ? 0 : line));
}

}  // namespace lathe::ir
