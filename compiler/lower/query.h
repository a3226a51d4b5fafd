#pragma once
// The query object: the only way in which scheduling and lowering learn about sizes. It records
// question and answer; proved answers that a schedule relies on become lines of the kernel. Facts
// are the declared ones and the guard of the version that is built (docs/design/0010-guards.md).
#include <optional>
#include <vector>

#include "compiler/lower/lowered.h"
#include "ir/dim/facts.h"

namespace lathe::compiler {

class DimQuery {
 public:
  explicit DimQuery(const dim::FactSet& facts) : facts_(&facts) {}
  // Answers from a recorded list instead of facts; a question that isn't there is answered no.
  static DimQuery Replay(std::vector<DimAnswer> answers);

  bool Ask(const Claim& claim);
  // The only value that `d` can have, if there is one; recorded as the claim that it has it.
  std::optional<int64_t> Constant(Dim d);
  // The largest value that `d` can have, if one is known; recorded as the claim that it has none
  // above.
  std::optional<int64_t> Maximum(Dim d);
  // A number above 1 that divides `d`, the largest that is known, or 1; recorded as the claim that
  // it does.
  int64_t Divisor(Dim d);
  const std::vector<DimAnswer>& answers() const { return answers_; }
  void Clear() { answers_.clear(); }

 private:
  DimQuery() = default;
  const dim::FactSet* facts_ = nullptr;
  std::vector<DimAnswer> replayed_;
  std::vector<DimAnswer> answers_;
};

}  // namespace lathe::compiler
