// `//`, `%` and ceildiv in canonical form. Every rule here holds for all integers, negative ones
// included, and needs no facts. With a constant divisor c >= 2 and floor semantics:
//   (c*x + y) // c == x + y // c               (c*x + y) % c == y % c
//   (g*x + k) // (g*d) == (x + k // g) // d    (g*x + k) % (g*d) == g*((x + k//g) % d) + k % g
//   (x // d + r) // c == (x + d*r) // (c*d)    k*(x % d) == k*x (mod c), if c divides k*d
// A negative divisor moves its sign: a // -c == (-a) // c and a % -c == -((-a) % c).
// ceildiv by a constant is (a + c - 1) // c; the printer shows it as ceildiv again.
#include <algorithm>

#include "ir/dim/node.h"

namespace lathe {
namespace dim {

bool FloorDivConst(int64_t a, int64_t b, int64_t* out) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  int64_t q = a / b;
  *out = q - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}

bool ModConst(int64_t a, int64_t b, int64_t* out) {
  if (b == 0) return false;
  if (b == -1) {
    *out = 0;
    return true;
  }
  int64_t r = a % b;
  *out = r != 0 && (r < 0) != (b < 0) ? r + b : r;
  return true;
}

bool CeilDivConst(int64_t a, int64_t b, int64_t* out) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  int64_t q = a / b;
  *out = q + (a % b != 0 && (a < 0) == (b < 0));
  return true;
}

int64_t Gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t y = b < 0 ? 0 - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (y != 0) {
    uint64_t r = x % y;
    x = y;
    y = r;
  }
  return static_cast<int64_t>(x);
}

bool ApplyConst(NodeKind kind, int64_t a, int64_t b, int64_t* out) {
  switch (kind) {
    case NodeKind::kFloorDiv:
      return FloorDivConst(a, b, out);
    case NodeKind::kMod:
      return ModConst(a, b, out);
    case NodeKind::kCeilDiv:
      return CeilDivConst(a, b, out);
    case NodeKind::kMin:
      *out = std::min(a, b);
      return true;
    case NodeKind::kMax:
      *out = std::max(a, b);
      return true;
    case NodeKind::kProduct:
      return !__builtin_mul_overflow(a, b, out);
    default:
      return false;
  }
}

namespace {

// What the three operations share: poison, folding of constants, the divisors 0, 1 and below 0.
// True if `*result` is the answer; otherwise the divisor is not constant, or is in 2..2^63-1.
bool Trivial(NodeKind kind, const char* op, Dim* a, Dim* b, DimContext** context, Dim* result) {
  if (Poisoned(*a, *b, context, result)) return true;
  if (!b->is_constant()) return false;
  int64_t c = b->constant(), folded = 0;
  if (c == 0) {
    *result = Interner::Poison(
        *context, *context == nullptr
                      ? "a size is divided by the constant 0"
                      : "division by the constant 0: " + a->ToString() + " " + op + " 0");
    return true;
  }
  if (a->is_constant()) {
    *result =
        ApplyConst(kind, a->constant(), c, &folded) ? Dim(folded) : Overflow(*context, *a, op, *b);
    return true;
  }
  if (c == 1) {
    *result = kind == NodeKind::kMod ? Dim(0) : *a;
    return true;
  }
  if (c > 0) return false;
  Dim negative = -*a, divisor = -*b;
  if (!negative.ok() || !divisor.ok()) {
    *result = Overflow(*context, *a, op, *b);
    return true;
  }
  *result = kind == NodeKind::kMod        ? -Mod(negative, divisor)
            : kind == NodeKind::kFloorDiv ? FloorDiv(negative, divisor)
                                          : CeilDiv(negative, divisor);
  return true;
}

// The terms that c doesn't divide, and the gcd of their coefficients with c.
struct Remainder {
  TermList terms;
  int64_t gcd = 0;
};

Remainder Indivisible(const Poly& p, int64_t c) {
  Remainder r;
  r.gcd = c;
  for (const Term& t : p.terms) {
    if (t.coef % c == 0) continue;
    r.terms.push_back(t);
    r.gcd = Gcd(r.gcd, t.coef);
  }
  return r;
}

// (a) // c for a constant c >= 2.
Dim FloorDivBy(DimContext* context, Dim a, int64_t c) {
  Poly p = PolyOf(a);
  Remainder rest = Indivisible(p, c);
  TermList quotient;
  for (const Term& t : p.terms) {
    if (t.coef % c == 0) quotient.push_back({t.coef / c, t.mono});
  }
  int64_t whole = 0, k = 0;
  FloorDivConst(p.constant, c, &whole);
  ModConst(p.constant, c, &k);
  Dim outside = Interner::Sum(context, quotient, whole);
  if (rest.terms.empty()) return outside;
  for (Term& t : rest.terms) t.coef /= rest.gcd;
  k /= rest.gcd;
  c /= rest.gcd;
  if (rest.terms.size() == 1 && rest.terms[0].coef == 1) {
    const Node* n = rest.terms[0].mono;
    if (n->kind == NodeKind::kFloorDiv && n->b.is_constant()) {
      int64_t d = n->b.constant(), product = 0, offset = 0;
      if (!__builtin_mul_overflow(c, d, &product) && !__builtin_mul_overflow(k, d, &offset)) {
        Dim inner = n->a + Dim(offset);
        if (inner.ok()) return outside + FloorDivBy(context, inner, product);
      }
    }
  }
  Dim dividend = Interner::Sum(context, rest.terms, k);
  return outside + Interner::Atom(context, NodeKind::kFloorDiv, dividend, Dim(c));
}

// (a) % c for a constant c >= 2.
Dim ModBy(DimContext* context, Dim a, int64_t c) {
  Poly p = PolyOf(a);
  for (const Term& t : p.terms) {
    const Node* n = t.mono;
    if (n->kind != NodeKind::kMod || !n->b.is_constant()) continue;
    if (static_cast<__int128>(t.coef) * n->b.constant() % c != 0) continue;
    Dim opened = a + Dim(t.coef) * (n->a - Dim(n));
    if (opened.ok()) return opened.is_constant() ? Mod(opened, Dim(c)) : ModBy(context, opened, c);
  }
  Remainder rest = Indivisible(p, c);
  int64_t k = 0;
  ModConst(p.constant, c, &k);
  if (rest.terms.empty()) return k;
  for (Term& t : rest.terms) t.coef /= rest.gcd;
  Dim dividend = Interner::Sum(context, rest.terms, k / rest.gcd);
  Dim atom = Interner::Atom(context, NodeKind::kMod, dividend, Dim(c / rest.gcd));
  return Dim(rest.gcd) * atom + Dim(k % rest.gcd);
}

}  // namespace
}  // namespace dim

Dim FloorDiv(Dim a, Dim b) {
  dim::DimContext* context = nullptr;
  Dim result;
  if (dim::Trivial(dim::NodeKind::kFloorDiv, "//", &a, &b, &context, &result)) return result;
  if (b.is_constant()) return dim::FloorDivBy(context, a, b.constant());
  return dim::Interner::Atom(context, dim::NodeKind::kFloorDiv, a, b);
}

Dim Mod(Dim a, Dim b) {
  dim::DimContext* context = nullptr;
  Dim result;
  if (dim::Trivial(dim::NodeKind::kMod, "%", &a, &b, &context, &result)) return result;
  if (b.is_constant()) return dim::ModBy(context, a, b.constant());
  return dim::Interner::Atom(context, dim::NodeKind::kMod, a, b);
}

Dim CeilDiv(Dim a, Dim b) {
  dim::DimContext* context = nullptr;
  Dim result;
  if (dim::Trivial(dim::NodeKind::kCeilDiv, "ceildiv", &a, &b, &context, &result)) return result;
  if (!b.is_constant()) return dim::Interner::Atom(context, dim::NodeKind::kCeilDiv, a, b);
  // Only the constant's remainder meets c - 1, so that the sum doesn't overflow near INT64_MAX.
  int64_t c = b.constant(), whole = 0, k = 0, shifted = 0;
  dim::Poly p = dim::PolyOf(a);
  dim::FloorDivConst(p.constant, c, &whole);
  dim::ModConst(p.constant, c, &k);
  if (__builtin_add_overflow(k, c - 1, &shifted)) return dim::Overflow(context, a, "ceildiv", b);
  Dim dividend = dim::Interner::Sum(context, p.terms, shifted);
  return dim::FloorDivBy(context, dividend, c) + Dim(whole);
}

}  // namespace lathe
