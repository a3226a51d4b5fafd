#include "runtime/exceed.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/largest.h"

namespace lathe::rt {

absl::StatusOr<MemoryAnswer> CouldExceed(const FunctionState& function, int64_t bytes) {
  const std::shared_ptr<const VersionTable> table = function.table();
  if (table == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("function ", function.graph().name,
                     " has no version yet, hence no memory plan: call prepare first"));
  }
  MemoryAnswer answer;
  answer.verdict = MemoryAnswer::Verdict::kNo;
  // The generic version serves everything, so its answer decides; another one may need more within
  // its guard.
  for (const std::shared_ptr<const Version>& version : table->versions()) {
    const FunctionState::PeakAnswer peak = function.ProvePeak(*version, bytes);
    answer.formula = peak.formula;  // the generic version comes last
    if (peak.verdict == dim::Verdict::kProved) {
      for (const std::string& fact : peak.facts) {
        const bool known =
            std::find(answer.facts.begin(), answer.facts.end(), fact) != answer.facts.end();
        if (!known) answer.facts.push_back(fact);
      }
      continue;
    }
    if (peak.verdict == dim::Verdict::kRefuted) {
      // The version that serves these sizes may be a leaner one.
      ContextState context;
      const absl::StatusOr<int64_t> found = PeakBytes(function, peak.symbols, context);
      if (found.ok() && *found > bytes) {
        answer.verdict = MemoryAnswer::Verdict::kYes;
        answer.facts.clear();
        answer.hint.clear();
        answer.peak_bytes = *found;
        for (size_t s = 0; s < peak.symbols.size(); ++s) {
          answer.sizes[function.plan().symbol_names[s]] = peak.symbols[s];
        }
        return answer;
      }
    }
    answer.verdict = MemoryAnswer::Verdict::kUnknown;
    if (answer.hint.empty()) answer.hint = peak.hint;
  }
  if (answer.verdict == MemoryAnswer::Verdict::kUnknown) answer.facts.clear();
  return answer;
}

}  // namespace lathe::rt
