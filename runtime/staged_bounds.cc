#include "runtime/staged_bounds.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace lathe::rt {
namespace {

using dim::Interval;
using dim::kUnboundedMax;
using dim::kUnboundedMin;

constexpr Interval kAnything = {};

int64_t Clamp(__int128 v) {
  if (v >= kUnboundedMax) return kUnboundedMax;
  return v <= kUnboundedMin ? kUnboundedMin : static_cast<int64_t>(v);
}

int64_t Plus(int64_t a, int64_t b, int64_t unbounded) {
  if (a == unbounded || b == unbounded) return unbounded;
  return Clamp(__int128{a} + b);
}

Interval Add(const Interval& a, const Interval& b) {
  return {Plus(a.min, b.min, kUnboundedMin), Plus(a.max, b.max, kUnboundedMax)};
}

// An end that is unbounded stands for numbers beyond all; times 0 they are 0.
Interval Multiply(const Interval& a, const Interval& b) {
  const auto times = [](int64_t x, int64_t y) -> __int128 { return __int128{x} * y; };
  const __int128 ends[] = {times(a.min, b.min), times(a.min, b.max), times(a.max, b.min),
                           times(a.max, b.max)};
  return {Clamp(*std::min_element(ends, ends + 4)), Clamp(*std::max_element(ends, ends + 4))};
}

int64_t Floor(int64_t a, int64_t b) {
  if (a == kUnboundedMax || a == kUnboundedMin) return a;
  if (b == kUnboundedMax) return a < 0 ? -1 : 0;
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

Interval Divide(const Interval& a, const Interval& b) {
  if (b.min < 1) return kAnything;
  return {std::min(Floor(a.min, b.min), Floor(a.min, b.max)),
          std::max(Floor(a.max, b.min), Floor(a.max, b.max))};
}

Interval Negate(const Interval& a) {
  return {a.max == kUnboundedMax ? kUnboundedMin : -a.max,
          a.min == kUnboundedMin ? kUnboundedMax : -a.min};
}

Interval Combine(const dim::Expr& e, const std::vector<Interval>& of) {
  Interval r = of[0];
  switch (e.kind) {
    case dim::ExprKind::kAdd:
      for (size_t i = 1; i < of.size(); ++i) r = Add(r, of[i]);
      return r;
    case dim::ExprKind::kMul:
      for (size_t i = 1; i < of.size(); ++i) r = Multiply(r, of[i]);
      return r;
    case dim::ExprKind::kFloorDiv:
      return Divide(of[0], of[1]);
    case dim::ExprKind::kCeilDiv:
      return Negate(Divide(Negate(of[0]), of[1]));
    case dim::ExprKind::kMod:
      if (of[1].min < 1) return kAnything;
      if (of[0].min == of[0].max && of[1].min == of[1].max && of[0].min >= 0)
        return {of[0].min % of[1].min, of[0].min % of[1].min};
      r = {0, of[1].max == kUnboundedMax ? kUnboundedMax : of[1].max - 1};
      if (of[0].min >= 0) r.max = std::min(r.max, of[0].max);
      return r;
    case dim::ExprKind::kMin:
      return {std::min(of[0].min, of[1].min), std::min(of[0].max, of[1].max)};
    case dim::ExprKind::kMax:
      return {std::max(of[0].min, of[1].min), std::max(of[0].max, of[1].max)};
    case dim::ExprKind::kConstant:
    case dim::ExprKind::kSymbol:
      break;
  }
  return kAnything;
}

}  // namespace

// Shared parts are looked at once, by a stack: memory formulas are deep.
Interval IntervalOf(Dim d, const KnownSizes& sizes) {
  absl::flat_hash_map<Dim, Interval> done;
  std::vector<Dim> stack = {d};
  while (!stack.empty()) {
    const Dim at = stack.back();
    if (done.contains(at)) {
      stack.pop_back();
      continue;
    }
    const dim::Expr e = dim::Decompose(at);
    if (e.kind == dim::ExprKind::kConstant) {
      done[at] = {e.value, e.value};
    } else if (e.kind == dim::ExprKind::kSymbol) {
      done[at] = e.symbol < sizes.range.size() ? sizes.range[e.symbol]
                                               : Interval{sizes.workers, sizes.workers};
    } else {
      std::vector<Interval> of;
      for (Dim operand : e.operands) {
        const auto it = done.find(operand);
        if (it == done.end()) {
          stack.push_back(operand);
        } else {
          of.push_back(it->second);
        }
      }
      if (of.size() < e.operands.size()) continue;
      done[at] = Combine(e, of);
    }
    stack.pop_back();
  }
  return done[d];
}

void SizeBounds::Add(const FunctionState& function) {
  const EntryPlan& plan = function.plan();
  if (range_.size() < plan.symbols.size()) range_.resize(plan.symbols.size(), kAnything);
  for (size_t s = 0; s < plan.symbols.size(); ++s) {
    if (plan.unused[s]) continue;
    range_[s].min = std::max(range_[s].min, function.domains()[s].range.min);
    range_[s].max = std::min(range_[s].max, function.domains()[s].range.max);
  }
  for (const dim::Fact& fact : function.graph().facts().facts()) {
    const Relation relation = fact.claim.relation;
    if (relation == Relation::kNe || relation == Relation::kIn) continue;
    // What ops require is checked only where the graph runs: a side or a step that may not.
    if (fact.standing != dim::Standing::kDeclared) continue;
    const Dim difference = fact.claim.lhs - fact.claim.rhs;  // <= 0, < 0 or == 0
    if (!difference.ok()) continue;
    for (dim::SymbolId s : dim::FreeSymbols(difference)) {
      Dim coefficient, rest;
      if (!dim::SplitAffine(difference, s, &coefficient, &rest) || !coefficient.is_constant())
        continue;
      const int64_t times = coefficient.constant();
      const Dim past = relation == Relation::kLt ? 1 : 0;
      Dim most;
      if (times > 0) {
        most = FloorDiv(-rest - past, times);
      } else if (times < 0 && times > INT64_MIN && relation == Relation::kEq) {
        most = FloorDiv(rest, -times);
      } else {
        continue;
      }
      if (most.ok() && !most.is_constant()) rows_.push_back({s, most});
    }
  }
}

KnownSizes SizeBounds::Of(std::vector<std::optional<int64_t>> given, int64_t workers) const {
  KnownSizes known{std::move(given), range_, workers};
  for (size_t s = 0; s < range_.size(); ++s)
    if (known.exact[s]) known.range[s] = {*known.exact[s], *known.exact[s]};
  constexpr int kRounds = 16;  // bounds of bounds of bounds; more than any program has
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    changed = false;
    for (const Row& row : rows_) {
      if (known.exact[row.symbol]) continue;
      const int64_t most = IntervalOf(row.most, known).max;
      int64_t& bound = known.range[row.symbol].max;
      if (most >= bound) continue;
      bound = std::max(most, known.range[row.symbol].min);
      changed = true;
    }
  }
  return known;
}

}  // namespace lathe::rt
