#pragma once
// Finds the edit that mends a program: candidates come from the error's hints, its words and the
// facts that it lists, and each is tried by parsing the edited text. What is found therefore works:
// the program, up to and with the statement that failed, parses after it. Used by Parse and by
// jit-repl.
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "ir/edit.h"

namespace lathe::ir {

// `program` ends with (or holds) the statement that failed with `error`, whose message starts with
// its place in the text. Nothing if no candidate works, or if the text is too large to try.
std::optional<Edit> FindEdit(std::string_view program, std::string_view file,
                             const absl::Status& error);

// The error with the edit, if there is one, as its last line.
absl::Status WithEdit(const absl::Status& error, const std::optional<Edit>& edit);

}  // namespace lathe::ir
