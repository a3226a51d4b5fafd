#include "ir/dim/kept_model.h"

#include <utility>

#include "ir/dim/evaluate.h"

namespace lathe::dim {

const std::vector<int64_t>* KeptModel::Values(int num_symbols) {
  if (!known_) return nullptr;
  // Symbols made since then are in no claim.
  if (values_.size() < static_cast<size_t>(num_symbols)) {
    values_.resize(static_cast<size_t>(num_symbols), 0);
  }
  return &values_;
}

void KeptModel::Set(std::vector<int64_t> values) {
  values_ = std::move(values);
  known_ = true;
}

bool KeptModel::Try(const Theory& theory, const Claim& claim, SymbolId symbol, int64_t value) {
  if (value < 0 && !theory.MayBeNegative(symbol)) return false;
  int64_t old = std::exchange(values_[symbol], value);
  bool holds = TryEvaluate(claim, values_) == Truth::kTrue;
  if (holds) {
    theory.ForEachClaim(symbol, [&](int i) {
      holds = TryEvaluate(theory.claims()[static_cast<size_t>(i)], values_) == Truth::kTrue;
      return holds;
    });
  }
  if (!holds) values_[symbol] = old;
  return holds;
}

bool KeptModel::Admit(const Theory& theory, const Claim& claim, int num_symbols) {
  if (Values(num_symbols) == nullptr) return false;
  if (TryEvaluate(claim, values_) == Truth::kTrue) return true;
  Constraint c = ToConstraint(claim);
  if (!c.e.ok()) return false;
  std::vector<SymbolId> symbols = FreeSymbols(c.e);
  // The newest symbol has the fewest claims, as a rule.
  for (size_t i = symbols.size(); i-- > 0;) {
    SymbolId s = symbols[i];
    if (c.sense == Sense::kIn) {
      SymbolId alone = 0;
      if (!IsSymbol(c.e, &alone)) return false;
      for (int64_t v : c.set) {
        if (Try(theory, claim, s, v)) return true;
      }
      return false;
    }
    Dim slope_of, rest_of;
    int64_t slope = 0, rest = 0;
    if (!SplitAffine(c.e, s, &slope_of, &rest_of) || !TryEvaluate(slope_of, values_, &slope) ||
        !TryEvaluate(rest_of, values_, &rest) || slope == 0 || rest == INT64_MIN) {
      continue;
    }
    // slope * s + rest is 0, or not 0, or at least 0.
    Interval target = c.sense == Sense::kGe   ? Interval{-rest, kUnboundedMax}
                      : c.sense == Sense::kEq ? Exactly(-rest)
                                              : Exactly(slope < 0 ? slope - rest : -rest - slope);
    Interval r = UnscaleInterval(target, slope);
    if (r.empty()) continue;
    int64_t now = values_[s];
    int64_t nearest = now < r.min ? r.min : now > r.max ? r.max : now;
    if (nearest != kUnboundedMin && nearest != kUnboundedMax && Try(theory, claim, s, nearest)) {
      return true;
    }
    // The next member of its residue class.
    Interval tight = Tighten(r, theory.Of(s).congruence);
    int64_t other = now < r.min ? tight.min : tight.max;
    if (!tight.empty() && other != nearest && other != kUnboundedMin && other != kUnboundedMax &&
        Try(theory, claim, s, other)) {
      return true;
    }
  }
  return false;
}

}  // namespace lathe::dim
