#pragma once
// What a statement or command of jit-repl answers: text for people and one JSON object for
// programs, or a fault with its place. Commands make Answers, Output writes them.
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "ir/edit.h"
#include "nlohmann/json.hpp"

namespace lathe::repl {

using Json = nlohmann::ordered_json;

struct Answer {
  std::string text;  // lines; empty: nothing to show
  Json json = Json::object();
};

struct Place {
  int line = 1, column = 1;
};

struct Fault {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string message;  // without its place; its last line may say what mends the text
  Place at;
  std::optional<ir::Edit> edit;  // the same for programs
};

// Takes "file:line:column: " (or "line:column: " when `file` is empty) off `message`; false, and
// nothing changed, if it doesn't start so.
bool TakePlace(std::string_view file, std::string* message, Place* place);

// `status` with `place` in front of its message, in the form that TakePlace reads.
absl::Status WithPlace(std::string_view file, Place place, const absl::Status& status);

// A word of the input as messages show it: in quotes, shortened if it is long.
std::string Quoted(std::string_view word);

// The fault that `status` is; at `otherwise` if it names no place.
Fault FaultOf(std::string_view file, const absl::Status& status, Place otherwise);

}  // namespace lathe::repl
