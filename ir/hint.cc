#include "ir/hint.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lathe::ir {
namespace {

constexpr char kUrl[] = "lathe/hints";
// Neither occurs in sizes, types and names. A status that is printed whole shows this text.
constexpr char kField = '|', kRecord = '\n';
constexpr const char* kKinds[] = {"assume", "wrap",   "attr", "number", "dims",
                                  "word",   "insert", "drop", "yield",  "condition",
                                  "type",   "size",   "input"};

std::string PayloadOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kUrl);
  return payload ? std::string(*payload) : std::string();
}

}  // namespace

absl::Status WithHint(absl::Status status, const Hint& hint) {
  std::string text = PayloadOf(status);
  absl::StrAppend(&text, kKinds[static_cast<size_t>(hint.kind)], std::string(1, kField), hint.a,
                  std::string(1, kField), hint.b, std::string(1, kField), hint.index,
                  std::string(1, kRecord));
  status.SetPayload(kUrl, absl::Cord(text));
  return status;
}

absl::Status WithFirstHint(const absl::Status& status, const Hint& hint) {
  absl::Status result = WithHint(absl::Status(status.code(), status.message()), hint);
  for (const Hint& other : HintsOf(status)) result = WithHint(result, other);
  return result;
}

std::vector<Hint> HintsOf(const absl::Status& status) {
  std::vector<Hint> hints;
  const std::string text = PayloadOf(status);
  for (absl::string_view record : absl::StrSplit(text, kRecord, absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(record, kField);
    Hint hint;
    if (fields.size() != 4 || !absl::SimpleAtoi(fields[3], &hint.index)) continue;
    const auto kind = std::find(std::begin(kKinds), std::end(kKinds), fields[0]);
    if (kind == std::end(kKinds)) continue;
    hint.kind = static_cast<Hint::Kind>(kind - std::begin(kKinds));
    hint.a = fields[1];
    hint.b = fields[2];
    hints.push_back(std::move(hint));
  }
  return hints;
}

absl::Status WithMessage(const absl::Status& status, const std::string& message) {
  absl::Status result(status.code(), message);
  if (const std::string text = PayloadOf(status); !text.empty()) {
    result.SetPayload(kUrl, absl::Cord(text));
  }
  return result;
}

absl::Status WithPrefix(const absl::Status& status, const std::string& prefix) {
  return WithMessage(status, absl::StrCat(prefix, ": ", status.message()));
}

}  // namespace lathe::ir
