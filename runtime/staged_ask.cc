#include "runtime/staged_ask.h"

namespace lathe::rt {
namespace {

absl::Status Unknown() {
  return absl::FailedPreconditionError(
      "a program in stages: its sizes depend on data and are known when it runs");
}

}  // namespace

absl::StatusOr<std::vector<std::vector<int64_t>>> OutputShapes(const StagedState&, const Sizes&) {
  return Unknown();
}
absl::StatusOr<int64_t> PeakBytes(const StagedState&, const Sizes&) { return Unknown(); }
absl::StatusOr<int64_t> Largest(const StagedState&, const std::string&, const Sizes&, int64_t) {
  return Unknown();
}
absl::StatusOr<MemoryAnswer> CouldExceed(const StagedState&, int64_t) { return Unknown(); }
absl::StatusOr<std::string> ExplainText(const StagedState&, const Sizes&) { return Unknown(); }
absl::StatusOr<std::string> ExplainJson(const StagedState&, const Sizes&) { return Unknown(); }
absl::Status Reserve(const StagedState&, ContextState&, const Sizes&) { return Unknown(); }

}  // namespace lathe::rt
