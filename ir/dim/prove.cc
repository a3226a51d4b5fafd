#include "ir/dim/prove.h"

#include <algorithm>

namespace lathe::dim {
namespace {

constexpr uint32_t kLinearizeSize = 256;
constexpr int kDepth = 5;
constexpr int kMemberLimit = 4096;

Dim LinearizePart(Dim d, absl::flat_hash_map<const Node*, Dim>* memo);

// a // c with the coefficients of `a` in [0, c).
Dim ReducedFloorDiv(Dim a, int64_t c) {
  if (a.is_constant()) return FloorDiv(a, Dim(c));
  LinearForm inside = FormOf(a), outside;
  for (Term& t : inside.terms) {
    int64_t q = 0;
    FloorDivConst(t.coef, c, &q);
    if (q == 0) continue;
    outside.terms.push_back({q, t.mono});
    ModConst(t.coef, c, &t.coef);
  }
  inside.terms.erase(std::remove_if(inside.terms.begin(), inside.terms.end(),
                                    [](const Term& t) { return t.coef == 0; }),
                     inside.terms.end());
  DimContext* context = a.node()->context;
  return ToDim(context, outside) + FloorDiv(ToDim(context, inside), Dim(c));
}

Dim LinearizeAtom(const Node* n, absl::flat_hash_map<const Node*, Dim>* memo) {
  if (n->kind == NodeKind::kSymbol || n->kind == NodeKind::kPoison) return Dim(n);
  Dim a = LinearizePart(n->a, memo), b = LinearizePart(n->b, memo);
  switch (n->kind) {
    case NodeKind::kFloorDiv:
      return b.is_constant() && b.constant() > 1 ? ReducedFloorDiv(a, b.constant())
                                                 : FloorDiv(a, b);
    case NodeKind::kMod:
      return a - b * (b.is_constant() && b.constant() > 1 ? ReducedFloorDiv(a, b.constant())
                                                          : FloorDiv(a, b));
    case NodeKind::kCeilDiv:
      return -FloorDiv(-a, b);
    case NodeKind::kMin:
      return Min(a, b);
    case NodeKind::kMax:
      return Max(a, b);
    default:
      return a * b;
  }
}

Dim LinearizePart(Dim d, absl::flat_hash_map<const Node*, Dim>* memo) {
  if (d.is_constant()) return d;
  if (auto it = memo->find(d.node()); it != memo->end()) return it->second;
  Poly p = PolyOf(d);
  Dim sum = p.constant;
  for (const Term& t : p.terms) {
    Dim product = t.coef;
    if (t.mono->kind == NodeKind::kMonomial) {
      for (const Node* f : t.mono->factors) product *= LinearizeAtom(f, memo);
    } else {
      product *= LinearizeAtom(t.mono, memo);
    }
    sum += product;
  }
  (*memo)[d.node()] = sum;
  return sum;
}

// f without its term `index`.
LinearForm Without(const LinearForm& f, size_t index) {
  LinearForm rest = f;
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(index));
  return rest;
}

// f + k * d; false on overflow.
bool AddDim(const LinearForm& f, int64_t k, Dim d, LinearForm* out) {
  Poly p = PolyOf(d);
  int64_t constant = 0;
  if (!AddScaled(f, k, p.terms, out)) return false;
  return !__builtin_mul_overflow(p.constant, k, &constant) &&
         !__builtin_add_overflow(out->constant, constant, &out->constant);
}

}  // namespace

Dim Linearize(Dim d) {
  if (d.is_constant() || d.node()->tree_size > kLinearizeSize) return d;
  if (d.node()->depth == 0) return d;  // symbols and their products only
  absl::flat_hash_map<const Node*, Dim> memo;
  Dim result = LinearizePart(d, &memo);
  return result.ok() ? result : d;
}

bool Prover::HoldsQuickly(const Constraint& c) { return Decide(c, 0); }

bool Prover::Holds(const Constraint& c) {
  if (Decide(c, 0)) return true;
  if (c.e.is_constant()) return false;
  // The same question with everything opened, then in simpler words, then both.
  Constraint plain = c;
  plain.e = Linearize(c.e);
  if (plain.e != c.e && Decide(plain, 0)) return true;
  Why why;
  plain.e = theory_.Resolve(c.e, &why);
  plain.e = Simplifier(theory_, &why).Run(plain.e);
  if (!plain.e.ok()) plain.e = c.e;
  bool proved = plain.e != c.e && Decide(plain, 0);
  if (!proved) {
    Constraint open = plain;
    open.e = Linearize(plain.e);
    proved = Decide(open, kDepth) || (open.e != plain.e && Decide(plain, kDepth));
  }
  if (proved && why_ != nullptr) Append(why_, why);
  return proved;
}

bool Prover::Decide(const Constraint& c, int depth) {
  LinearForm f = FormOf(c.e);
  switch (c.sense) {
    case Sense::kGe:
      return NonNegative(f, depth);
    case Sense::kNe:
      return Differs(f, depth);
    case Sense::kIn:
      return Member(c);
    case Sense::kEq:
      break;
  }
  Why why;
  Interval r = Probe(theory_, &why).Range(f);
  if (r == Exactly(0) && !r.empty()) {
    if (why_ != nullptr) Append(why_, why);
    return true;
  }
  if (depth == 0 || r.min > 0 || r.max < 0) return false;
  LinearForm negative = f;
  return Scale(&negative, -1) && NonNegative(f, depth) && NonNegative(negative, depth);
}

bool Prover::Differs(const LinearForm& f, int depth) {
  Why why;
  Probe probe(theory_, &why);
  Interval r = probe.Range(f);
  bool proved = r.min > 0 || r.max < 0;
  if (!proved) {
    why.clear();
    Probe residue(theory_, &why);
    proved = !Contains(residue.CongruenceOf(f.terms, f.constant), 0);
  }
  if (proved) {
    if (why_ != nullptr) Append(why_, why);
    return true;
  }
  if (f.terms.size() == 1 && f.constant == 0) {  // a product is 0 only if a factor is
    const Node* n = f.terms[0].mono;
    if (n->kind == NodeKind::kMonomial) {
      return std::all_of(n->factors.begin(), n->factors.end(),
                         [&](const Node* x) { return Differs(FormOf(Dim(x)), depth); });
    }
    if (n->kind == NodeKind::kProduct) {
      return Differs(FormOf(n->a), depth) && Differs(FormOf(n->b), depth);
    }
  }
  if (depth == 0 || Contains(r, 0) == false) return false;
  LinearForm above = f, below = f;
  if (!Scale(&below, -1) || __builtin_sub_overflow(above.constant, 1, &above.constant) ||
      __builtin_sub_overflow(below.constant, 1, &below.constant)) {
    return false;
  }
  return (r.max > 0 && NonNegative(above, depth)) || (r.min < 0 && NonNegative(below, depth));
}

bool Prover::Member(const Constraint& c) {
  Why why;
  Probe probe(theory_, &why);
  Interval r = probe.Range(c.e);
  Congruence residue = probe.CongruenceOf(c.e);
  bool proved = false;
  if (!r.empty() && r.min != kUnboundedMin && r.max != kUnboundedMax &&
      static_cast<__int128>(r.max) - r.min < kMemberLimit) {
    proved = true;
    for (int64_t v = r.min; proved && v <= r.max; ++v) {
      proved = !Contains(residue, v) || std::binary_search(c.set.begin(), c.set.end(), v);
      if (v == INT64_MAX) break;
    }
  }
  Poly p = PolyOf(c.e);
  if (!proved && p.terms.size() == 1) {
    const Node* n = p.terms[0].mono;
    const Known* known = n->kind == NodeKind::kSymbol ? &theory_.Of(n->symbol) : theory_.Of(n);
    if (known != nullptr && !known->set.empty()) {
      proved = std::all_of(known->set.begin(), known->set.end(), [&](int64_t v) {
        __int128 image = static_cast<__int128>(v) * p.terms[0].coef + p.constant;
        return image >= INT64_MIN && image <= INT64_MAX &&
               std::binary_search(c.set.begin(), c.set.end(), static_cast<int64_t>(image));
      });
      why = known->why_set;
    }
  }
  if (proved && why_ != nullptr) Append(why_, why);
  return proved;
}

bool Prover::NonNegative(const LinearForm& form, int depth) {
  if (steps_-- <= 0) return false;
  LinearForm f = form;
  if (int64_t content = Content(f.terms); content > 1) {  // k*e + r >= 0 iff e + r // k >= 0
    for (Term& t : f.terms) t.coef /= content;
    FloorDivConst(f.constant, content, &f.constant);
  }
  // The bounds of the terms alone first: known sums cost more.
  for (int nesting : {0, depth == 0 ? Probe::kNesting : Probe::kDeepNesting}) {
    Why why;
    if (Probe(theory_, &why, nesting).Range(f, Probe::kLow).min < 0) continue;
    if (why_ != nullptr) Append(why_, why);
    return true;
  }
  if (depth == 0 || Probe(theory_, nullptr).Range(f, Probe::kHigh).max < 0) return false;
  // A failed attempt leaves no reasons behind.
  size_t mark = why_ == nullptr ? 0 : why_->size();
  for (size_t i = 0; i < f.terms.size(); ++i) {
    if (NonNegativeByAtom(f, i, depth)) return true;
    if (why_ != nullptr) why_->resize(mark);
  }
  return NonNegativeByCorners(f, depth);
}

bool Prover::NonNegativeByAtom(const LinearForm& f, size_t index, int depth) {
  const Term& t = f.terms[index];
  switch (t.mono->kind) {
    case NodeKind::kFloorDiv:
      return NonNegativeByFloorDiv(Without(f, index), t, depth);
    case NodeKind::kMin:
    case NodeKind::kMax:
      return NonNegativeByMinMax(Without(f, index), t, depth);
    case NodeKind::kMonomial: {
      // b * (a // b) lies in a - b + 1 .. a, if b >= 1.
      if (t.mono->factors.size() != 2) return false;
      for (int i = 0; i < 2; ++i) {
        const Node* q = t.mono->factors[static_cast<size_t>(i)];
        const Node* b = t.mono->factors[static_cast<size_t>(1 - i)];
        if (q->kind != NodeKind::kFloorDiv || q->b != Dim(b)) continue;
        Why why;
        if (Probe(theory_, &why).Mono(b).min < 1) return false;
        LinearForm next;
        Dim bound = t.coef > 0 ? q->a - q->b + Dim(1) : q->a;
        if (!bound.ok() || !AddDim(Without(f, index), t.coef, bound, &next)) return false;
        if (!NonNegative(next, depth - 1)) return false;
        if (why_ != nullptr) Append(why_, why);
        return true;
      }
      return false;
    }
    default:
      return false;
  }
}

// With b >= 1 and any integer j: a // b >= j iff a >= j*b, and a // b <= j iff a <= j*b + b - 1.
bool Prover::NonNegativeByFloorDiv(const LinearForm& rest, const Term& t, int depth) {
  Dim a = t.mono->a, b = t.mono->b, bound;
  Why why;
  if (t.coef == 1 || t.coef == -1) {
    Dim j = ToDim(theory_.context(), rest);
    if (Probe(theory_, &why).Range(b, Probe::kLow).min < 1) return false;
    bound = t.coef == 1 ? a + j * b : (j + Dim(1)) * b - a - Dim(1);
    if (!bound.ok() || !NonNegative(FormOf(bound), depth - 1)) return false;
  } else {
    // c * (a // c) == a - r with r == a % c, so c*f has a bound without the atom.
    if (!b.is_constant()) return false;
    int64_t c = b.constant();
    Interval remainder = Remainder(a, c, &why);
    LinearForm scaled = rest, next;
    bound = a - Dim(t.coef > 0 ? remainder.max : remainder.min);
    if (remainder.empty() || !bound.ok() || !Scale(&scaled, c)) return false;
    if (!AddDim(scaled, t.coef, bound, &next) || !NonNegative(next, depth - 1)) return false;
  }
  if (why_ != nullptr) Append(why_, why);
  return true;
}

// The values of a % c; facts are consulted only where they help.
Interval Prover::Remainder(Dim a, int64_t c, Why* why) const {
  Interval whole = {0, c - 1};
  Why own;
  Congruence residue = ModCongruence(Probe(theory_, &own).CongruenceOf(a), c);
  Interval tight = Tighten(whole, residue);
  if (!(tight == whole)) Append(why, own);
  if (IsExact(tight)) return tight;
  own.clear();
  Interval ranged = Intersect(tight, ModIntervals(Probe(theory_, &own).Range(a), Exactly(c)));
  if (!(ranged == tight)) Append(why, own);
  return ranged;
}

// k * max(a, b) is at least k*a and k*b for k > 0, and one of them in any case; min alike.
bool Prover::NonNegativeByMinMax(const LinearForm& rest, const Term& t, int depth) {
  LinearForm with_a, with_b;
  bool either = (t.mono->kind == NodeKind::kMax) == (t.coef > 0);
  bool has_a = AddDim(rest, t.coef, t.mono->a, &with_a);
  bool has_b = AddDim(rest, t.coef, t.mono->b, &with_b);
  if (either) {
    return (has_a && NonNegative(with_a, depth - 1)) || (has_b && NonNegative(with_b, depth - 1));
  }
  return has_a && has_b && NonNegative(with_a, depth - 1) && NonNegative(with_b, depth - 1);
}

// A sum that is linear in a symbol takes its least value at an end of the symbol's range.
bool Prover::NonNegativeByCorners(const LinearForm& f, int depth) {
  if (f.terms.empty() || f.terms[0].mono->degree < 2) return false;
  DimContext* context = theory_.context();
  Dim d = ToDim(context, f);
  if (!d.ok()) return false;
  for (const Term& t : f.terms) {
    if (t.mono->kind != NodeKind::kMonomial) break;
    for (const Node* s : t.mono->factors) {
      Dim slope, rest;
      if (s->kind != NodeKind::kSymbol || !SplitAffine(d, s->symbol, &slope, &rest)) continue;
      Why why;
      Interval r = Probe(theory_, &why).Mono(s);
      if (r.min == kUnboundedMin || r.empty()) continue;
      Dim low = slope * Dim(r.min) + rest;
      Dim high = r.max == kUnboundedMax ? slope : slope * Dim(r.max) + rest;
      if (!low.ok() || !high.ok()) continue;
      size_t mark = why_ == nullptr ? 0 : why_->size();
      if (NonNegative(FormOf(low), depth - 1) && NonNegative(FormOf(high), depth - 1)) {
        if (why_ != nullptr) Append(why_, why);
        return true;
      }
      if (why_ != nullptr) why_->resize(mark);
    }
  }
  return false;
}

}  // namespace lathe::dim
