// Rewriting under facts. Every rule gives an equal value wherever the old expression is defined:
//   x == v proved                          ->  v
//   (b*x + y) // b, b != 0                 ->  x + y // b        (b*x + y) % b  ->  y % b
//   y // b, 0 <= y < b                     ->  0                 y % b, 0 <= y < b  ->  y
//   (x + k) // c, x == r (mod g), g | c    ->  (x + k - (r + k) % g) // c
//   (x + y) % c, x == r (mod c)            ->  (y + r) % c
//   min(x, y), x <= y                      ->  x                 max alike
//   a sum that is smaller after Linearize  ->  that sum
#include <algorithm>

#include "ir/dim/prove.h"

namespace lathe::dim {
namespace {

uint32_t SizeOf(Dim d) {
  if (d.is_constant()) return 0;
  return d.node()->tree_size;
}

// Smaller trees first; then fewer products and divisions.
bool NotLarger(Dim a, Dim b) { return a.ok() && SizeOf(a) <= SizeOf(b); }

// a == b * q + rest by terms, where b is one term. False if no term is divisible.
bool DivideByTerm(Dim a, Dim b, Dim* quotient, Dim* rest) {
  if (a.is_constant() || b.is_constant()) return false;
  Poly pa = PolyOf(a), pb = PolyOf(b);
  if (pb.terms.size() != 1 || pb.constant != 0) return false;
  const Term& divisor = pb.terms[0];
  auto factors_of = [](const Node* n) {
    return n->kind == NodeKind::kMonomial ? n->factors : std::vector<const Node*>{n};
  };
  std::vector<const Node*> wanted = factors_of(divisor.mono);
  *quotient = 0;
  *rest = pa.constant;
  bool any = false;
  for (const Term& t : pa.terms) {
    std::vector<const Node*> have = factors_of(t.mono);
    bool divides = t.coef != INT64_MIN && t.coef % divisor.coef == 0;
    for (const Node* w : wanted) {
      auto it = std::find(have.begin(), have.end(), w);
      if (it == have.end()) {
        divides = false;
        break;
      }
      have.erase(it);
    }
    if (!divides) {
      *rest += Dim(t.coef) * Dim(t.mono);
      continue;
    }
    Dim product = t.coef / divisor.coef;
    for (const Node* f : have) product *= Dim(f);
    *quotient += product;
    any = true;
  }
  return any && quotient->ok() && rest->ok();
}

}  // namespace

Dim Simplifier::Run(Dim d) {
  if (d.is_constant() || !d.ok()) return d;
  Dim best = Part(d);
  Why why;
  Dim resolved = theory_.Resolve(best, &why);
  if (resolved != best && resolved.ok()) {
    Dim candidate = Part(resolved);
    if (NotLarger(candidate, best)) {
      best = candidate;
      if (why_ != nullptr) Append(why_, why);
    }
  }
  return NotLarger(best, d) ? best : d;
}

bool Simplifier::Holds(const Claim& c) {
  Constraint constraint = ToConstraint(c);
  if (!constraint.e.ok()) return false;
  Why why;
  if (!Prover(theory_, &why).HoldsQuickly(constraint)) return false;
  if (why_ != nullptr) Append(why_, why);
  return true;
}

Dim Simplifier::Part(Dim d) {
  if (d.is_constant()) return d;
  if (auto it = memo_.find(d.node()); it != memo_.end()) return it->second;
  Dim result = Sum(d);
  if (!result.ok()) result = d;
  Why why;
  Interval r = Probe(theory_, &why).Range(result);
  if (IsExact(r) && !result.is_constant() && r.min != INT64_MAX && r.max != INT64_MIN) {
    result = r.min;
    if (why_ != nullptr) Append(why_, why);
  }
  memo_[d.node()] = result;
  return result;
}

Dim Simplifier::Sum(Dim d) {
  Poly p = PolyOf(d);
  if (p.terms.size() == 1 && p.terms[0].coef == 1 && p.constant == 0 &&
      p.terms[0].mono->kind != NodeKind::kMonomial) {
    return Atom(p.terms[0].mono);
  }
  Dim sum = p.constant;
  bool divides = false;
  for (const Term& t : p.terms) {
    Dim product = t.coef;
    if (t.mono->kind == NodeKind::kMonomial) {
      for (const Node* f : t.mono->factors) product *= Part(Dim(f));
    } else {
      product *= Part(Dim(t.mono));
    }
    divides |= t.mono->kind == NodeKind::kMod || t.mono->kind == NodeKind::kFloorDiv ||
               t.mono->kind == NodeKind::kMonomial;
    sum += product;
  }
  if (divides && sum.ok()) {
    Dim open = Linearize(sum);
    if (SizeOf(open) < SizeOf(sum)) sum = open;
  }
  return sum;
}

Dim Simplifier::Atom(const Node* n) {
  if (n->kind == NodeKind::kSymbol || n->kind == NodeKind::kPoison) return Dim(n);
  Dim a = Part(n->a), b = Part(n->b);
  Dim result;
  switch (n->kind) {
    case NodeKind::kFloorDiv:
      result = FloorDivision(a, b);
      break;
    case NodeKind::kMod:
      result = Modulo(a, b);
      break;
    case NodeKind::kCeilDiv:
      result = CeilDiv(a, b);
      if (Dim q, rest; DivideByTerm(a, b, &q, &rest) && Holds(Ne(b, 0)))
        result = q + CeilDiv(rest, b);
      break;
    case NodeKind::kMin:
    case NodeKind::kMax:
      result = MinMax(n->kind, a, b);
      break;
    default:
      result = a * b;
  }
  return NotLarger(result, Dim(n)) ? result : Dim(n);
}

Dim Simplifier::FloorDivision(Dim a, Dim b) {
  Dim q, rest;
  if (!b.is_constant()) {
    if (!DivideByTerm(a, b, &q, &rest)) {
      q = 0;
      rest = a;
    }
    if (rest == Dim(0) ? Holds(Ne(b, 0)) : Holds(Dim(0) <= rest) && Holds(rest < b)) return q;
    if (q == Dim(0) || !Holds(Ne(b, 0))) return FloorDiv(a, b);
    return q + FloorDiv(rest, b);
  }
  int64_t c = b.constant();
  if (c < 2 || a.is_constant()) return FloorDiv(a, b);
  Why why;
  Probe probe(theory_, &why);
  Poly p = PolyOf(a);
  Congruence x = probe.CongruenceOf(p.terms, 0);
  int64_t g = Gcd(x.modulus, c), excess = 0, sum = 0;
  if (x.modulus == 0 || g < 2 || __builtin_add_overflow(x.remainder % g, p.constant, &sum)) {
    return FloorDiv(a, b);
  }
  ModConst(sum, g, &excess);
  if (excess == 0) return FloorDiv(a, b);
  if (why_ != nullptr) Append(why_, why);
  return FloorDiv(a - Dim(excess), b);
}

Dim Simplifier::Modulo(Dim a, Dim b) {
  if (!b.is_constant()) {
    Dim q, rest;
    if (!DivideByTerm(a, b, &q, &rest)) rest = a;
    if (rest == Dim(0)) return Holds(Ne(b, 0)) ? Dim(0) : Mod(a, b);
    if (Holds(Dim(0) <= rest) && Holds(rest < b)) return rest;
    if (rest == a || !Holds(Ne(b, 0))) return Mod(a, b);
    return Mod(rest, b);
  }
  int64_t c = b.constant();
  if (c < 2 || a.is_constant()) return Mod(a, b);
  Poly p = PolyOf(a);
  Dim reduced = p.constant;
  for (const Term& t : p.terms) {
    Why why;
    Congruence x = ScaleCongruence(Probe(theory_, &why).MonoCongruence(t.mono), t.coef);
    if (x.modulus % c != 0) {
      reduced += Dim(t.coef) * Dim(t.mono);
      continue;
    }
    if (why_ != nullptr) Append(why_, why);
    reduced += Dim(x.remainder % c);
  }
  if (reduced.is_constant() || !reduced.ok()) return Mod(reduced.ok() ? reduced : a, b);
  Why why;
  Interval r = Probe(theory_, &why).Range(reduced);
  int64_t block = 0, last = 0;
  if (!r.empty() && r.min != kUnboundedMin && r.max != kUnboundedMax &&
      FloorDivConst(r.min, c, &block) && FloorDivConst(r.max, c, &last) && block == last) {
    Dim value = reduced - Dim(block) * b;
    if (value.ok()) {
      if (why_ != nullptr) Append(why_, why);
      return value;
    }
  }
  return Mod(reduced, b);
}

Dim Simplifier::MinMax(NodeKind kind, Dim a, Dim b) {
  bool is_min = kind == NodeKind::kMin;
  if (Holds(a <= b)) return is_min ? a : b;
  if (Holds(b <= a)) return is_min ? b : a;
  return is_min ? Min(a, b) : Max(a, b);
}

}  // namespace lathe::dim
