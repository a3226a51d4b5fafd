#include "compiler/lower/query.h"

#include <utility>

namespace lathe::compiler {

DimQuery DimQuery::Replay(std::vector<DimAnswer> answers) {
  DimQuery query;
  query.replayed_ = std::move(answers);
  return query;
}

bool DimQuery::Ask(const Claim& claim) {
  bool proved = false;
  if (facts_ != nullptr) {
    proved = facts_->Proves(claim);
  } else {
    for (const DimAnswer& a : replayed_)
      if (a.claim.relation == claim.relation && a.claim.lhs == claim.lhs &&
          a.claim.rhs == claim.rhs && a.claim.set == claim.set)
        proved = a.proved;
  }
  answers_.push_back({claim, proved});
  return proved;
}

std::optional<int64_t> DimQuery::Constant(Dim d) {
  if (d.is_constant()) return d.constant();
  if (facts_ != nullptr) {
    const dim::Interval range = facts_->Range(d);
    if (range.min != range.max) return std::nullopt;
    answers_.push_back({Eq(d, range.min), true});
    return range.min;
  }
  for (const DimAnswer& a : replayed_) {
    if (a.claim.relation != Relation::kEq || a.claim.lhs != d || !a.claim.rhs.is_constant())
      continue;
    answers_.push_back(a);
    return a.claim.rhs.constant();
  }
  return std::nullopt;
}

}  // namespace lathe::compiler
