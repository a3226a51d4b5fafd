// Forward: bounds and congruences of an expression from those of its parts.
#include <algorithm>
#include <utility>

#include "ir/dim/theory.h"

namespace lathe::dim {
namespace {

// Known sums that are tried on what another known sum left.
constexpr int kLinearTries = 16;

// Two different multiples of a linear fact are tried on a sum: one cancels the first shared term.
int64_t SharedMultiple(absl::Span<const Term> sum, absl::Span<const Term> linear) {
  for (const Term& l : linear) {
    for (const Term& t : sum) {
      if (t.mono != l.mono || t.coef == INT64_MIN) continue;  // -2^63 / -1 has no int64
      if (t.coef % l.coef == 0) return t.coef / l.coef;
    }
  }
  return 0;
}

// The known sums that share a mono with these terms, each once.
absl::InlinedVector<const Linear*, 16> SharedLinears(const Theory& theory,
                                                     absl::Span<const Term> terms) {
  absl::InlinedVector<const Linear*, 16> all;
  for (const Term& t : terms) {
    theory.ForEachLinear(t.mono, [&](const Linear& l) {
      all.push_back(&l);
      return true;
    });
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

Interval Probe::Range(Dim d, Need need) {
  if (d.is_constant()) return Exactly(d.constant());
  Poly p = PolyOf(d);
  if (p.terms.size() == 1) {
    Term t = p.terms[0];
    Need inner = t.coef > 0 || need == kBoth ? need : need == kLow ? kHigh : kLow;
    Interval r = Mono(t.mono, inner);
    if (t.coef != 1) r = ScaleInterval(r, t.coef);
    return p.constant == 0 ? r : AddIntervals(r, Exactly(p.constant));
  }
  if (theory_.linears().empty() || nested_ == nesting_) return Terms(p.terms, p.constant, need);
  return Range(FormOf(d), need);
}

Interval Probe::Terms(absl::Span<const Term> terms, int64_t constant, Need need) {
  Interval sum = Exactly(constant);
  for (const Term& t : terms) {
    Need inner = t.coef > 0 || need == kBoth ? need : need == kLow ? kHigh : kLow;
    sum = AddIntervals(sum, ScaleInterval(Mono(t.mono, inner), t.coef));
  }
  return sum;
}

Interval Probe::Range(const LinearForm& f, Need need) {
  Why own;
  Interval range;
  {
    Why* outer = std::exchange(why_, why_ == nullptr ? nullptr : &own);
    range = Terms(f.terms, f.constant, need);
    why_ = outer;
  }
  if (nested_ < nesting_ && f.terms.size() > 1) {
    int tries = kLinearTries;
    for (const Linear* l : SharedLinears(theory_, f.terms)) {
      if (nested_ > 0 && tries-- <= 0) break;
      ImproveByLinear(*l, f, need, &range, &own);
    }
  }
  Note(own);
  return range;
}

void Probe::ImproveByLinear(const Linear& linear, const LinearForm& f, Need need, Interval* range,
                            Why* why) {
  int64_t k = SharedMultiple(f.terms, linear.terms);
  LinearForm rest;
  if (k == 0 || k == INT64_MIN) return;
  // What remains shall have no more terms: that is seen without forming it, as a rule.
  size_t shared = 0;
  for (const Term& l : linear.terms) {
    for (const Term& t : f.terms) shared += t.mono == l.mono ? 1 : 0;
  }
  if (linear.terms.size() > 2 * shared) return;
  const Interval& known = linear.known.range;
  bool has_low = (k > 0 ? known.min : known.max) != (k > 0 ? kUnboundedMin : kUnboundedMax);
  bool has_high = (k > 0 ? known.max : known.min) != (k > 0 ? kUnboundedMax : kUnboundedMin);
  Need useful = static_cast<Need>((has_low ? need & kLow : 0) | (has_high ? need & kHigh : 0));
  if (useful == 0 || !AddScaled(f, -k, linear.terms, &rest)) return;
  if (rest.terms.size() > f.terms.size() || linear_steps_-- <= 0) return;
  Why own;
  Why* outer = std::exchange(why_, why_ == nullptr ? nullptr : &own);
  ++nested_;
  Interval other = Range(rest, useful);
  --nested_;
  why_ = outer;
  other = AddIntervals(other, ScaleInterval(known, k));
  if ((useful & kLow) == 0) other.min = kUnboundedMin;
  if ((useful & kHigh) == 0) other.max = kUnboundedMax;
  bool low = (need & kLow) != 0 && other.min > range->min;
  bool high = (need & kHigh) != 0 && other.max < range->max;
  if (!low && !high) return;
  *range = Intersect(*range, other);
  if (why_ == nullptr) return;
  if (need != kBoth || (low && high)) why->clear();  // the old reasons aren't needed any more
  if ((k > 0) == low || (low && high)) Append(&own, linear.known.why_min);
  if ((k > 0) == high || (low && high)) Append(&own, linear.known.why_max);
  Append(why, own);
}

Interval Probe::Mono(const Node* n, Need need) {
  const Known* known = nullptr;
  Interval range;
  if (n->kind == NodeKind::kSymbol) {
    known = &theory_.Of(n->symbol);
    range = known->range;
    if (why_ != nullptr) {
      if ((need & kLow) != 0) Note(known->why_min);
      if ((need & kHigh) != 0) Note(known->why_max);
    }
    return range;
  }
  // A shared part keeps its reasons with its range, since whoever asked first may drop them.
  bool memoize = n->tree_size > kSmallTree;
  if (memoize) {
    if (auto it = memo_.find(n); it != memo_.end()) {
      Note(it->second.why);
      return it->second.range;
    }
    need = kBoth;
  }
  Why own;
  Why* outer = std::exchange(why_, why_ != nullptr && memoize ? &own : why_);
  range = Structure(n);
  known = theory_.Of(n);
  if (known != nullptr) {
    if (known->range.min > range.min && (need & kLow) != 0) Note(known->why_min);
    if (known->range.max < range.max && (need & kHigh) != 0) Note(known->why_max);
    range = Intersect(range, known->range);
  }
  why_ = outer;
  if (memoize) {
    Canonicalize(&own);
    Note(own);
    memo_[n] = {range, std::move(own)};
  }
  return range;
}

Interval Probe::Structure(const Node* n) {
  switch (n->kind) {
    case NodeKind::kMonomial: {
      Interval product = Exactly(1);
      for (size_t i = 0; i < n->factors.size();) {
        Interval x = Mono(n->factors[i]);
        size_t power = 1;
        while (i + power < n->factors.size() && n->factors[i + power] == n->factors[i]) ++power;
        i += power;
        Interval raised = x;
        for (size_t k = 1; k < power; ++k) raised = MulIntervals(raised, x);
        if (power % 2 == 0) raised.min = std::max<int64_t>(raised.min, 0);
        product = MulIntervals(product, raised);
      }
      return product;
    }
    case NodeKind::kProduct: {
      Interval product = MulIntervals(Range(n->a), Range(n->b));
      if (n->a == n->b) product.min = std::max<int64_t>(product.min, 0);
      return product;
    }
    case NodeKind::kFloorDiv:
      return FloorDivIntervals(Range(n->a), Range(n->b));
    case NodeKind::kCeilDiv:
      return CeilDivIntervals(Range(n->a), Range(n->b));
    case NodeKind::kMod:
      return Remainder(n);
    case NodeKind::kMin:
      return MinIntervals(Range(n->a), Range(n->b));
    case NodeKind::kMax:
      return MaxIntervals(Range(n->a), Range(n->b));
    case NodeKind::kSum:
    case NodeKind::kSymbol:
    case NodeKind::kPoison:
      break;
  }
  return {};
}

Interval Probe::Remainder(const Node* n) {
  if (!n->b.is_constant()) return ModIntervals(Range(n->a), Range(n->b));
  // The congruence first: if it settles the matter, no bound is a reason.
  Interval whole = {0, n->b.constant() - 1};
  Why residue_why, range_why;
  Why* outer = std::exchange(why_, why_ == nullptr ? nullptr : &residue_why);
  Interval tight = Tighten(whole, ModCongruence(CongruenceOf(n->a), n->b.constant()));
  if (outer != nullptr && !(tight == whole)) Append(outer, residue_why);
  if (!IsExact(tight)) {
    if (outer != nullptr) why_ = &range_why;
    Interval ranged = Intersect(tight, ModIntervals(Range(n->a), Exactly(n->b.constant())));
    if (outer != nullptr && !(ranged == tight)) Append(outer, range_why);
    tight = ranged;
  }
  why_ = outer;
  return tight;
}

Congruence Probe::CongruenceOf(Dim d) {
  if (d.is_constant()) return {0, d.constant()};
  Poly p = PolyOf(d);
  return CongruenceOf(p.terms, p.constant);
}

Congruence Probe::CongruenceOf(absl::Span<const Term> terms, int64_t constant) {
  Congruence sum = {0, constant};
  for (const Term& t : terms) {
    sum = AddCongruences(sum, ScaleCongruence(MonoCongruence(t.mono), t.coef));
  }
  if (sum.modulus == 0 || terms.size() < 2 || nested_ == nesting_) return sum;
  for (const Linear* shared : SharedLinears(theory_, terms)) {
    const Linear& l = *shared;
    if (l.known.congruence.modulus == 1) continue;
    int64_t k = SharedMultiple(terms, l.terms);
    LinearForm f{TermList(terms.begin(), terms.end()), constant}, rest;
    if (k == 0 || k == INT64_MIN || !AddScaled(f, -k, l.terms, &rest)) continue;
    if (rest.terms.size() >= terms.size()) continue;
    ++nested_;
    Congruence other = AddCongruences(CongruenceOf(rest.terms, rest.constant),
                                      ScaleCongruence(l.known.congruence, k));
    --nested_;
    Congruence met;
    if (!MeetCongruences(sum, other, &met) || met == sum) continue;
    sum = met;
    Note(l.known.why_congruence);
  }
  return sum;
}

Congruence Probe::MonoCongruence(const Node* n) {
  if (n->kind == NodeKind::kSymbol) {
    const Known& known = theory_.Of(n->symbol);
    if (known.congruence.modulus != 1) Note(known.why_congruence);
    return known.congruence;
  }
  bool memoize = n->tree_size > kSmallTree;
  if (memoize) {
    if (auto it = congruence_memo_.find(n); it != congruence_memo_.end()) {
      Note(it->second.why);
      return it->second.congruence;
    }
  }
  Why own;
  Why* outer = std::exchange(why_, why_ != nullptr && memoize ? &own : why_);
  Congruence c;
  switch (n->kind) {
    case NodeKind::kMonomial:
      c = {0, 1};
      for (const Node* f : n->factors) c = MulCongruences(c, MonoCongruence(f));
      break;
    case NodeKind::kProduct:
      c = MulCongruences(CongruenceOf(n->a), CongruenceOf(n->b));
      break;
    case NodeKind::kFloorDiv:
      if (n->b.is_constant()) c = FloorDivCongruence(CongruenceOf(n->a), n->b.constant());
      break;
    case NodeKind::kMod:
      if (n->b.is_constant()) c = ModCongruence(CongruenceOf(n->a), n->b.constant());
      break;
    case NodeKind::kMin:
    case NodeKind::kMax:
      c = JoinCongruences(CongruenceOf(n->a), CongruenceOf(n->b));
      break;
    default:
      break;
  }
  if (const Known* known = theory_.Of(n); known != nullptr && known->congruence.modulus != 1) {
    Congruence met;
    if (MeetCongruences(c, known->congruence, &met) && !(met == c)) {
      c = met;
      Note(known->why_congruence);
    }
  }
  why_ = outer;
  if (memoize) {
    Canonicalize(&own);
    Note(own);
    congruence_memo_[n] = {c, std::move(own)};
  }
  return c;
}

}  // namespace lathe::dim
