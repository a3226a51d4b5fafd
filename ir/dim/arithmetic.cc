// Sums and products of Dims, and their order.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/dim/node.h"

namespace lathe {
namespace dim {
namespace {

absl::Span<const Node* const> FactorsOf(const Node* const& mono) {
  if (mono->kind == NodeKind::kMonomial) return mono->factors;
  return absl::Span<const Node* const>(&mono, 1);
}

int CompareAtom(const Node* x, const Node* y) {
  if (x == y) return 0;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->kind == NodeKind::kSymbol) return x->symbol < y->symbol ? -1 : 1;
  if (x->kind == NodeKind::kPoison) return x->text < y->text ? -1 : 1;
  if (int c = Compare(x->a, y->a); c != 0) return c;
  return Compare(x->b, y->b);
}

const Node* MultiplyMono(DimContext* context, const Node* x, const Node* y) {
  absl::Span<const Node*const> fx = FactorsOf(x), fy = FactorsOf(y);
  absl::InlinedVector<const Node*, 8> merged(fx.size() + fy.size());
  std::merge(fx.begin(), fx.end(), fy.begin(), fy.end(), merged.begin(),
             [](const Node* p, const Node* q) { return CompareAtom(p, q) < 0; });
  return Interner::Monomial(context, merged);
}

// Sorts, merges equal monos and drops zeros; false on overflow.
bool Normalize(TermList* terms) {
  std::sort(terms->begin(), terms->end(),
            [](const Term& s, const Term& t) { return CompareMono(s.mono, t.mono) < 0; });
  size_t out = 0;
  for (size_t i = 0; i < terms->size();) {
    Term t = (*terms)[i++];
    __int128 coef = t.coef;
    for (; i < terms->size() && (*terms)[i].mono == t.mono; ++i) coef += (*terms)[i].coef;
    if (coef > INT64_MAX || coef < INT64_MIN) return false;
    t.coef = static_cast<int64_t>(coef);
    if (t.coef != 0) (*terms)[out++] = t;
  }
  terms->resize(out);
  return true;
}

}  // namespace

int CompareMono(const Node* x, const Node* y) {
  if (x == y) return 0;
  if (x->degree != y->degree) return x->degree > y->degree ? -1 : 1;
  absl::Span<const Node*const> fx = FactorsOf(x), fy = FactorsOf(y);
  for (size_t i = 0; i < fx.size(); ++i) {
    if (int c = CompareAtom(fx[i], fy[i]); c != 0) return c;
  }
  return 0;
}

int Compare(Dim a, Dim b) {
  if (a == b) return 0;
  Poly p = PolyOf(a), q = PolyOf(b);
  size_t n = std::min(p.terms.size(), q.terms.size());
  for (size_t i = 0; i < n; ++i) {
    if (int c = CompareMono(p.terms[i].mono, q.terms[i].mono); c != 0) return c;
    if (p.terms[i].coef != q.terms[i].coef) return p.terms[i].coef < q.terms[i].coef ? -1 : 1;
  }
  // A constant comes after everything that has terms.
  if (p.terms.size() != q.terms.size()) return p.terms.size() > q.terms.size() ? -1 : 1;
  return p.constant < q.constant ? -1 : 1;
}

bool Poisoned(Dim a, Dim b, DimContext** context, Dim* poison) {
  *context = nullptr;
  for (Dim d : {a, b}) {
    if (d.is_constant()) continue;
    if (d.node()->kind == NodeKind::kPoison) {
      *poison = d;
      return true;
    }
    if (*context != nullptr && *context != d.node()->context) {
      *poison = Interner::Poison(nullptr, "sizes of two programs are mixed in one expression");
      return true;
    }
    *context = d.node()->context;
  }
  return false;
}

Dim Overflow(DimContext* context, Dim a, const char* op, Dim b) {
  if (context == nullptr) return Interner::Poison(nullptr, "a size overflows int64");
  return Interner::Poison(context, absl::StrCat("a size overflows int64: (", a.ToString(), ") ", op,
                                                " (", b.ToString(), ")"));
}

}  // namespace dim

using dim::DimContext;
using dim::Interner;
using dim::Poly;
using dim::PolyOf;
using dim::Term;
using dim::TermList;

Dim operator+(Dim a, Dim b) {
  int64_t constant = 0;
  if (a.is_constant() && b.is_constant()) {
    if (__builtin_add_overflow(a.constant(), b.constant(), &constant)) {
      return dim::Overflow(nullptr, a, "+", b);
    }
    return constant;
  }
  DimContext* context = nullptr;
  Dim poison;
  if (dim::Poisoned(a, b, &context, &poison)) return poison;
  Poly p = PolyOf(a), q = PolyOf(b);
  if (__builtin_add_overflow(p.constant, q.constant, &constant)) {
    return dim::Overflow(context, a, "+", b);
  }
  TermList terms;
  terms.reserve(p.terms.size() + q.terms.size());
  size_t i = 0, j = 0;
  while (i < p.terms.size() && j < q.terms.size()) {
    int c = dim::CompareMono(p.terms[i].mono, q.terms[j].mono);
    if (c < 0) {
      terms.push_back(p.terms[i++]);
    } else if (c > 0) {
      terms.push_back(q.terms[j++]);
    } else {
      Term t = p.terms[i++];
      if (__builtin_add_overflow(t.coef, q.terms[j++].coef, &t.coef)) {
        return dim::Overflow(context, a, "+", b);
      }
      if (t.coef != 0) terms.push_back(t);
    }
  }
  terms.insert(terms.end(), p.terms.begin() + i, p.terms.end());
  terms.insert(terms.end(), q.terms.begin() + j, q.terms.end());
  return Interner::Sum(context, terms, constant);
}

Dim operator-(Dim a) { return a * Dim(-1); }
Dim operator-(Dim a, Dim b) { return a + b * Dim(-1); }

Dim operator*(Dim a, Dim b) {
  int64_t constant = 0;
  if (a.is_constant() && b.is_constant()) {
    if (__builtin_mul_overflow(a.constant(), b.constant(), &constant)) {
      return dim::Overflow(nullptr, a, "*", b);
    }
    return constant;
  }
  DimContext* context = nullptr;
  Dim poison;
  if (dim::Poisoned(a, b, &context, &poison)) return poison;
  if (b.is_constant()) std::swap(a, b);
  Poly p = PolyOf(a), q = PolyOf(b);
  if (a.is_constant()) {  // scaling keeps the order of the terms
    int64_t scale = a.constant();
    if (scale == 0) return 0;
    if (scale == 1) return b;
    TermList terms(q.terms.begin(), q.terms.end());
    bool overflow = __builtin_mul_overflow(q.constant, scale, &constant);
    for (Term& t : terms) overflow |= __builtin_mul_overflow(t.coef, scale, &t.coef);
    return overflow ? dim::Overflow(context, a, "*", b) : Interner::Sum(context, terms, constant);
  }
  size_t np = p.terms.size() + (p.constant != 0), nq = q.terms.size() + (q.constant != 0);
  if (np * nq > static_cast<size_t>(dim::kTermLimit)) {
    if (dim::Compare(b, a) < 0) std::swap(a, b);
    return Interner::Atom(context, dim::NodeKind::kProduct, a, b);
  }
  TermList terms;
  bool overflow = __builtin_mul_overflow(p.constant, q.constant, &constant);
  auto add = [&](int64_t x, int64_t y, const dim::Node* mono) {
    int64_t coef = 0;
    overflow |= __builtin_mul_overflow(x, y, &coef);
    if (coef != 0) terms.push_back({coef, mono});
  };
  for (const Term& s : p.terms) {
    for (const Term& t : q.terms) {
      add(s.coef, t.coef, dim::MultiplyMono(context, s.mono, t.mono));
    }
    add(s.coef, q.constant, s.mono);
  }
  for (const Term& t : q.terms) add(t.coef, p.constant, t.mono);
  if (overflow || !dim::Normalize(&terms)) return dim::Overflow(context, a, "*", b);
  return Interner::Sum(context, terms, constant);
}

Dim& Dim::operator+=(Dim other) { return *this = *this + other; }
Dim& Dim::operator*=(Dim other) { return *this = *this * other; }

}  // namespace lathe
