#pragma once
// Edits of a program's text: how an error says what to type. Printed for people as one line,
//
//   to mend it: change "k" at 3:9 to "cast(k, dtype=f32)"
//   to mend it: add "assume b*s % 512 == 0" before line 3
//   to mend it: drop "assume a < b" at 4:1
//
// and applied mechanically by programs, which get its fields (jit-repl --json) or read the line.
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lathe::ir {

struct Edit {
  enum class Kind : uint8_t { kAdd, kChange, kDrop };
  Kind kind = Kind::kChange;
  int line = 1, column = 1;  // where old_text begins; kAdd: the new line stands before `line`
  std::string old_text;      // kChange, kDrop: within one line of the text
  std::string new_text;      // kAdd, kChange

  std::string ToString() const;  // without "to mend it: "
  friend bool operator==(const Edit&, const Edit&) = default;
};
const char* Name(Edit::Kind kind);  // "add", "change", "drop"

// The text after the edit; NotFound if `old_text` doesn't stand at its place.
absl::StatusOr<std::string> Apply(const Edit& edit, std::string_view text);

// Reads what Edit::ToString writes; nothing if `line` is no such text.
std::optional<Edit> ParseEdit(std::string_view line);

// An error's message ends with at most one line that starts so.
inline constexpr std::string_view kToMendIt = "to mend it: ";
// The message without that line; `mend`, if not null, gets what it said.
std::string WithoutMend(std::string_view message, std::string* mend = nullptr);

}  // namespace lathe::ir
