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
    proved = facts_->ProvesQuickly(claim);
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

std::optional<int64_t> DimQuery::Maximum(Dim d) {
  if (d.is_constant()) return d.constant();
  if (facts_ != nullptr) {
    const dim::Interval range = facts_->Range(d);
    if (range.empty() || range.max == dim::kUnboundedMax) return std::nullopt;
    answers_.push_back({d <= Dim(range.max), true});
    return range.max;
  }
  for (const DimAnswer& a : replayed_) {
    if (a.claim.relation != Relation::kLe || a.claim.lhs != d || !a.claim.rhs.is_constant() ||
        !a.proved)
      continue;
    answers_.push_back(a);
    return a.claim.rhs.constant();
  }
  return std::nullopt;
}

int64_t DimQuery::Divisor(Dim d) {
  if (facts_ != nullptr) {
    const dim::Congruence known = facts_->CongruenceOf(d);
    if (known.modulus <= 1 || known.remainder != 0) return 1;
    answers_.push_back({Eq(Mod(d, known.modulus), 0), true});
    return known.modulus;
  }
  for (const DimAnswer& a : replayed_) {
    if (a.claim.relation != Relation::kEq || a.claim.rhs != Dim(0)) continue;
    const dim::Expr e = dim::Decompose(a.claim.lhs);
    if (e.kind != dim::ExprKind::kMod || e.operands[0] != d || !e.operands[1].is_constant())
      continue;
    answers_.push_back(a);
    return e.operands[1].constant();
  }
  return 1;
}

}  // namespace lathe::compiler
