#include "repl/answer.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"

namespace lathe::repl {
namespace {

// Reads a positive number and `end` behind it; the rest of `text`, or null if that isn't there.
const char* TakeNumber(const char* begin, const char* limit, char end, int* number) {
  const auto [at, error] = std::from_chars(begin, limit, *number);
  if (error != std::errc() || at == limit || *at != end || *number < 1) return nullptr;
  return at + 1;
}

}  // namespace

bool TakePlace(std::string_view file, std::string* message, Place* place) {
  const char* at = message->data();
  const char* const limit = at + message->size();
  if (!file.empty()) {
    if (message->compare(0, file.size(), file) != 0 || message->size() <= file.size() ||
        (*message)[file.size()] != ':') {
      return false;
    }
    at += file.size() + 1;
  }
  Place found;
  at = TakeNumber(at, limit, ':', &found.line);
  if (at != nullptr) at = TakeNumber(at, limit, ':', &found.column);
  if (at == nullptr || at == limit || *at != ' ') return false;
  *place = found;
  message->erase(0, static_cast<size_t>(at + 1 - message->data()));
  return true;
}

absl::Status WithPlace(std::string_view file, Place place, const absl::Status& status) {
  if (status.ok()) return status;
  return ir::WithMessage(status,
                         absl::StrCat(std::string(file), file.empty() ? "" : ":", place.line, ":",
                                      place.column, ": ", std::string(status.message())));
}

std::string Quoted(std::string_view word) {
  constexpr size_t kMostShown = 40;
  return absl::StrCat("'", std::string(word.substr(0, kMostShown)),
                      word.size() > kMostShown ? "...'" : "'");
}

Fault FaultOf(std::string_view file, const absl::Status& status, Place otherwise) {
  Fault fault{status.code(), std::string(status.message()), otherwise, std::nullopt};
  TakePlace(file, &fault.message, &fault.at);
  std::string mend;
  ir::WithoutMend(fault.message, &mend);
  fault.edit = ir::ParseEdit(mend);
  return fault;
}

}  // namespace lathe::repl
