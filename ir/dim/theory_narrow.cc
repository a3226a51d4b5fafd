// Backward: from a bound on an expression to bounds on its parts.
#include <algorithm>

#include "ir/dim/interval.h"
#include "ir/dim/theory.h"

namespace lathe::dim {
namespace {

constexpr Interval kNonNegative = {0, kUnboundedMax};

Why Both(const Why& x, const Why& y) {
  Why all = x;
  Append(&all, y);
  Canonicalize(&all);
  return all;
}

Congruence CongruenceOfSet(const std::vector<int64_t>& set) {
  Congruence c = {0, set[0]};
  for (int64_t v : set) c = JoinCongruences(c, {0, v});
  return c;
}

// The x with x * y in `target` for some y of `other`, where other.min >= 1.
Interval DivideOut(Interval target, Interval other) {
  Interval x;
  if (target.max != kUnboundedMax) {
    x.max = target.max >= 0 ? target.max / other.min
                            : FloorDivIntervals(Exactly(target.max), other).max;
  }
  if (target.min != kUnboundedMin) {
    x.min = target.min <= 0 ? -(-target.min / other.min)
                            : CeilDivIntervals(Exactly(target.min), other).min;
  }
  return x;
}

}  // namespace

Known& Narrower::Slot(const Node* n) {
  if (n->kind != NodeKind::kSymbol) return t_.exprs_[n];
  t_.Of(n->symbol);
  return t_.symbols_[n->symbol];
}

// Constraints that speak of one of these symbols are looked at again.
void Narrower::Changed(const Node* n) {
  auto changed = [&](SymbolId s) {
    if (s >= t_.constraints_of_.size()) return;
    t_.lists_.ForEach(t_.constraints_of_[s], [&](int i) {
      t_.Enqueue(static_cast<size_t>(i));
      return true;
    });
  };
  if (n->kind == NodeKind::kSymbol) {
    t_.touched_.push_back(n->symbol);
    changed(n->symbol);
    return;
  }
  for (SymbolId s : FreeSymbols(Dim(n))) changed(s);
}

bool Narrower::Run(const Constraint& c) {
  switch (c.sense) {
    case Sense::kGe:
      return Range(c.e, kNonNegative, c.why);
    case Sense::kEq:
      return Range(c.e, Exactly(0), c.why) && Residue(c.e, {0, 0}, c.why);
    case Sense::kNe:
      return Differs(c);
    case Sense::kIn:
      return Members(c);
  }
  return true;
}

bool Narrower::Differs(const Constraint& c) {
  Why why;
  Interval r = Probe(t_, &why).Range(c.e);
  if (r.empty() || (r.min > 0 || r.max < 0)) return true;
  why = Both(why, c.why);
  if (r == Exactly(0)) return t_.Fail(why);
  if (r.min == 0 && !Range(c.e, {1, kUnboundedMax}, why)) return false;
  if (r.max == 0 && !Range(c.e, {kUnboundedMin, -1}, why)) return false;
  // A hole in a finite set.
  if (c.e.is_constant()) return true;
  Poly p = PolyOf(c.e);
  if (p.terms.size() != 1 || p.constant == INT64_MIN) return true;
  const Known* known = p.terms[0].mono->kind == NodeKind::kSymbol ? &t_.Of(p.terms[0].mono->symbol)
                                                                  : t_.Of(p.terms[0].mono);
  if (known == nullptr || known->set.empty() || -p.constant % p.terms[0].coef != 0) return true;
  std::vector<int64_t> set = known->set;
  auto hole = std::find(set.begin(), set.end(), -p.constant / p.terms[0].coef);
  if (hole == set.end()) return true;
  set.erase(hole);
  return MonoSet(p.terms[0].mono, std::move(set), Both(known->why_set, c.why));
}

bool Narrower::Members(const Constraint& c) {
  Why why;
  Probe probe(t_, &why);
  Interval r = probe.Range(c.e);
  Congruence residue = probe.CongruenceOf(c.e);
  std::vector<int64_t> set;
  for (int64_t v : c.set) {
    if (Contains(r, v) && Contains(residue, v)) set.push_back(v);
  }
  why = set.size() == c.set.size() ? c.why : Both(why, c.why);
  if (set.empty()) return t_.Fail(why);
  if (c.e.is_constant()) return true;
  if (!Range(c.e, {set.front(), set.back()}, why)) return false;
  if (!Residue(c.e, CongruenceOfSet(set), why)) return false;
  Poly p = PolyOf(c.e);
  if (p.terms.size() != 1) return true;
  std::vector<int64_t> scaled;
  for (int64_t v : set) {
    __int128 shifted = static_cast<__int128>(v) - p.constant;
    if (shifted % p.terms[0].coef == 0) scaled.push_back(Saturate(shifted / p.terms[0].coef));
  }
  std::sort(scaled.begin(), scaled.end());
  if (scaled.empty()) return t_.Fail(why);
  return MonoSet(p.terms[0].mono, std::move(scaled), why);
}

bool Narrower::MonoSet(const Node* n, std::vector<int64_t> set, const Why& why) {
  Known& k = Slot(n);
  if (!k.set.empty()) {
    std::vector<int64_t> both;
    std::set_intersection(set.begin(), set.end(), k.set.begin(), k.set.end(),
                          std::back_inserter(both));
    if (both.size() == k.set.size()) return true;
    Append(&k.why_set, why);
    set = std::move(both);
  } else {
    if (set.size() > kSetLimit) return true;
    k.why_set = why;
  }
  Canonicalize(&k.why_set);
  Why whole = k.why_set;
  if (set.empty()) return t_.Fail(whole);
  k.set = set;
  Changed(n);
  return Mono(n, {set.front(), set.back()}, whole) && MonoResidue(n, CongruenceOfSet(set), whole);
}

bool Narrower::Range(Dim d, Interval target, const Why& why) {
  if (!Spend()) return true;
  if (d.is_constant()) return Contains(target, d.constant()) || t_.Fail(why);
  Poly p = PolyOf(d);
  if (p.constant == INT64_MIN) return true;
  target = AddIntervals(target, Exactly(-p.constant));
  if (p.terms.size() == 1) {
    return Mono(p.terms[0].mono, UnscaleInterval(target, p.terms[0].coef), why);
  }
  LinearForm f{TermList(p.terms.begin(), p.terms.end()), 0};
  if (!StoreLinear(f, target, {}, why)) return false;
  if (p.terms.size() > 16) return true;
  for (size_t i = 0; i < p.terms.size(); ++i) {
    Why others;
    Probe probe(t_, &others);
    Interval rest = Exactly(0);
    for (size_t j = 0; j < p.terms.size(); ++j) {
      if (j == i) continue;
      rest = AddIntervals(rest, ScaleInterval(probe.Mono(p.terms[j].mono), p.terms[j].coef));
    }
    if (rest.empty()) return true;
    Interval own = AddIntervals(target, ScaleInterval(rest, -1));
    if (own.min == kUnboundedMin && own.max == kUnboundedMax) continue;
    own = UnscaleInterval(own, p.terms[i].coef);
    if (!Mono(p.terms[i].mono, own, Both(others, why))) return false;
  }
  return true;
}

bool Narrower::StoreLinear(const LinearForm& f, Interval target, Congruence congruence,
                           const Why& why) {
  if (target.min == kUnboundedMin && target.max == kUnboundedMax && IsTrivial(congruence)) {
    return true;
  }
  for (const Term& t : f.terms) {
    if (t.coef == INT64_MIN) return true;  // can't change its sign
  }
  LinearForm primitive = f;
  int64_t content = Content(f.terms);
  if (f.terms[0].coef < 0) content = -content;
  for (Term& t : primitive.terms) t.coef /= content;
  if (content != 1) {
    target = UnscaleInterval(target, content);
    if (!UnscaleCongruence(congruence, content, &congruence)) return t_.Fail(why);
  }
  uint64_t hash = 0;
  for (const Term& t : primitive.terms) {
    hash = (hash ^ t.mono->hash ^ static_cast<uint64_t>(t.coef)) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 31;
  }
  auto [slot, is_new] = t_.linear_by_hash_.try_emplace(hash, static_cast<int>(t_.linears_.size()));
  Linear* found = is_new ? nullptr : &t_.linears_[static_cast<size_t>(slot->second)];
  auto same = [](const Term& s, const Term& t) { return s.coef == t.coef && s.mono == t.mono; };
  if (found != nullptr && !std::equal(found->terms.begin(), found->terms.end(),
                                      primitive.terms.begin(), primitive.terms.end(), same)) {
    return true;  // two sums of one hash: the second stays unknown
  }
  if (found == nullptr) {
    for (const Term& t : primitive.terms) {
      t_.lists_.Append(&t_.linears_of_[t.mono], static_cast<int>(t_.linears_.size()));
    }
    found = &t_.linears_.emplace_back();
    found->terms = primitive.terms;
  }
  auto changed = [&] {
    for (const Term& t : primitive.terms) Changed(t.mono);
  };
  Known& k = found->known;
  if (target.min > k.range.min) {
    k.range.min = target.min;
    k.why_min = why;
    changed();
  }
  if (target.max < k.range.max) {
    k.range.max = target.max;
    k.why_max = why;
    changed();
  }
  if (!IsTrivial(congruence)) {
    Congruence met;
    if (!MeetCongruences(k.congruence, congruence, &met)) {
      return t_.Fail(Both(why, k.why_congruence));
    }
    if (!(met == k.congruence)) {
      k.congruence = met;
      k.why_congruence = Both(why, k.why_congruence);
      changed();
    }
  }
  if (k.range.empty()) return t_.Fail(Both(k.why_min, k.why_max));
  return true;
}

// Keeps range, congruence and set of one Known in step after a change of its range or congruence.
bool Narrower::Store(const Node* n, Known* k) {
  if (k->range.empty()) return t_.Fail(Both(k->why_min, k->why_max));
  Interval tight = Tighten(k->range, k->congruence);
  if (tight.empty()) {
    return t_.Fail(Both(Both(k->why_min, k->why_max), k->why_congruence));
  }
  if (tight.min > k->range.min) k->why_min = Both(k->why_min, k->why_congruence);
  if (tight.max < k->range.max) k->why_max = Both(k->why_max, k->why_congruence);
  k->range = tight;
  if (!k->set.empty()) {
    std::vector<int64_t> kept;
    for (int64_t v : k->set) {
      if (Contains(k->range, v) && Contains(k->congruence, v)) kept.push_back(v);
    }
    if (kept.size() != k->set.size()) {
      Why all = Both(Both(k->why_min, k->why_max), Both(k->why_congruence, k->why_set));
      if (kept.empty()) return t_.Fail(all);
      k->why_set = all;
      k->set = kept;
    }
    if (kept.front() > k->range.min) {
      k->range.min = kept.front();
      k->why_min = k->why_set;
    }
    if (kept.back() < k->range.max) {
      k->range.max = kept.back();
      k->why_max = k->why_set;
    }
  }
  Changed(n);
  return true;
}

bool Narrower::Mono(const Node* n, Interval target, const Why& why) {
  if (target.min == kUnboundedMin && target.max == kUnboundedMax) return true;
  if (!Spend()) return true;
  Why why_now;
  Interval now = Probe(t_, &why_now).Mono(n);
  bool low = target.min > now.min, high = target.max < now.max;
  if (Intersect(now, target).empty()) return t_.Fail(Both(why, why_now));
  if (low || high) {
    Known& k = Slot(n);
    if (low) {
      k.range.min = target.min;
      k.why_min = why;
    }
    if (high) {
      k.range.max = target.max;
      k.why_max = why;
    }
    if (!Store(n, &k)) return false;
  }
  // Also without a change here: the parts may have changed.
  return n->kind == NodeKind::kSymbol || Into(n, Intersect(now, target), Both(why, why_now));
}

bool Narrower::Into(const Node* n, Interval target, const Why& why) {
  switch (n->kind) {
    case NodeKind::kMonomial: {
      std::vector<Dim> factors;
      for (const Node* f : n->factors) factors.push_back(Dim(f));
      return IntoProduct(factors, target, why);
    }
    case NodeKind::kProduct: {
      Dim factors[] = {n->a, n->b};
      return IntoProduct(factors, target, why);
    }
    case NodeKind::kFloorDiv:
    case NodeKind::kCeilDiv:
    case NodeKind::kMod:
      return IntoDivision(n, target, why);
    case NodeKind::kMin:
    case NodeKind::kMax:
      return IntoMinMax(n, target, why);
    default:
      return true;
  }
}

bool Narrower::IntoProduct(absl::Span<const Dim> factors, Interval target, const Why& why) {
  for (size_t i = 0; i < factors.size(); ++i) {
    Why others;
    Probe probe(t_, &others);
    Interval rest = Exactly(1);
    for (size_t j = 0; j < factors.size(); ++j) {
      if (j != i) rest = MulIntervals(rest, probe.Range(factors[j]));
    }
    // A product away from 0 has no factor 0.
    if ((target.min > 0 || target.max < 0) && rest.min == 0) rest.min = 1;
    if (rest.empty()) return t_.Fail(Both(others, why));
    if (rest.min < 1) continue;
    if (!Range(factors[i], DivideOut(target, rest), Both(others, why))) return false;
  }
  return true;
}

bool Narrower::IntoDivision(const Node* n, Interval target, const Why& why) {
  Why other;
  Interval b = Probe(t_, &other).Range(n->b);
  if (b.min < 1 || b.empty()) return true;
  Why all = Both(why, other);
  using Wide = __int128;
  Interval a;
  switch (n->kind) {
    case NodeKind::kFloorDiv:  // q*b <= a <= q*b + b - 1
      if (target.min != kUnboundedMin && (target.min >= 0 || b.max != kUnboundedMax)) {
        a.min = Saturate(Wide{target.min} * (target.min >= 0 ? b.min : b.max));
      }
      if (target.max != kUnboundedMax && (target.max < 0 || b.max != kUnboundedMax)) {
        a.max = Saturate((Wide{target.max} + 1) * (target.max >= 0 ? b.max : b.min) - 1);
      }
      break;
    case NodeKind::kCeilDiv:  // q*b - b + 1 <= a <= q*b
      if (target.min != kUnboundedMin && (target.min > 0 || b.max != kUnboundedMax)) {
        a.min = Saturate((Wide{target.min} - 1) * (target.min > 0 ? b.min : b.max) + 1);
      }
      if (target.max != kUnboundedMax && (target.max < 0 || b.max != kUnboundedMax)) {
        a.max = Saturate(Wide{target.max} * (target.max >= 0 ? b.max : b.min));
      }
      break;
    default: {
      if (!n->b.is_constant()) return true;
      int64_t c = n->b.constant();
      if (IsExact(target)) return Residue(n->a, {c, target.min}, why);
      // Within one block of c, the dividend is the remainder plus a constant.
      Why why_a = why;
      Interval x = Probe(t_, &why_a).Range(n->a);
      int64_t block = 0, last = 0;
      if (x.min == kUnboundedMin || x.max == kUnboundedMax || x.empty()) return true;
      FloorDivConst(x.min, c, &block);
      FloorDivConst(x.max, c, &last);
      if (block != last) return true;
      return Range(n->a, AddIntervals(target, Exactly(Saturate(Wide{block} * c))), why_a);
    }
  }
  if (a.min == kUnboundedMin && a.max == kUnboundedMax) return true;
  return Range(n->a, a, all);
}

bool Narrower::IntoMinMax(const Node* n, Interval target, const Why& why) {
  bool is_min = n->kind == NodeKind::kMin;
  // One end binds both operands, the other only the operand that the other can't reach.
  Interval both =
      is_min ? Interval{target.min, kUnboundedMax} : Interval{kUnboundedMin, target.max};
  if (!Range(n->a, both, why) || !Range(n->b, both, why)) return false;
  Dim operands[] = {n->a, n->b};
  for (int i = 0; i < 2; ++i) {
    Why other = why;
    Interval x = Probe(t_, &other).Range(operands[1 - i]);
    if (x.empty()) return true;
    bool excluded = is_min ? x.min > target.max : x.max < target.min;
    if (excluded && !Range(operands[i], target, other)) return false;
  }
  return true;
}

bool Narrower::Residue(Dim d, Congruence target, const Why& why) {
  if (!Spend() || IsTrivial(target)) return true;
  if (d.is_constant()) return Contains(target, d.constant()) || t_.Fail(why);
  Poly p = PolyOf(d);
  if (p.constant == INT64_MIN) return true;
  target = AddCongruences(target, {0, -p.constant});
  if (IsTrivial(target)) return true;
  if (p.terms.size() > 1) {
    LinearForm f{TermList(p.terms.begin(), p.terms.end()), 0};
    if (!StoreLinear(f, {}, target, why)) return false;
    if (p.terms.size() > 16) return true;
  }
  for (size_t i = 0; i < p.terms.size(); ++i) {
    Why others;
    Probe probe(t_, &others);
    Congruence rest = {0, 0};
    for (size_t j = 0; j < p.terms.size(); ++j) {
      if (j == i) continue;
      rest = AddCongruences(
          rest, ScaleCongruence(probe.MonoCongruence(p.terms[j].mono), p.terms[j].coef));
    }
    Congruence own = AddCongruences(target, ScaleCongruence(rest, -1));
    Why all = Both(why, others);
    if (IsTrivial(own)) continue;
    if (!UnscaleCongruence(own, p.terms[i].coef, &own)) return t_.Fail(all);
    if (!MonoResidue(p.terms[i].mono, own, all)) return false;
  }
  return true;
}

bool Narrower::MonoResidue(const Node* n, Congruence target, const Why& why) {
  if (IsTrivial(target) || !Spend()) return true;
  Why why_now;
  Congruence now = Probe(t_, &why_now).MonoCongruence(n), met;
  if (!MeetCongruences(now, target, &met)) return t_.Fail(Both(why, why_now));
  Why all = Both(why, why_now);
  if (!(met == now)) {
    Known& k = Slot(n);
    k.congruence = met;
    k.why_congruence = all;
    if (!Store(n, &k)) return false;
  }
  if (met.modulus == 0 && !Mono(n, Exactly(met.remainder), all)) return false;
  switch (n->kind) {
    case NodeKind::kMod:
      if (!n->b.is_constant()) return true;
      return Residue(n->a, {Gcd(met.modulus, n->b.constant()), met.remainder}, all);
    case NodeKind::kMonomial: {
      for (size_t i = 0; i < n->factors.size(); ++i) {
        Why others = all;
        Probe probe(t_, &others);
        Congruence rest = {0, 1};
        for (size_t j = 0; j < n->factors.size(); ++j) {
          if (j != i) rest = MulCongruences(rest, probe.MonoCongruence(n->factors[j]));
        }
        if (rest.modulus != 0 || rest.remainder == 0) continue;
        Congruence own;
        if (!UnscaleCongruence(met, rest.remainder, &own)) return t_.Fail(others);
        if (!MonoResidue(n->factors[i], own, others)) return false;
      }
      return true;
    }
    default:
      return true;
  }
}

}  // namespace lathe::dim
