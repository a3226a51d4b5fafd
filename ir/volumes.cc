#include "ir/volumes.h"

#include <algorithm>
#include <numeric>

#include "absl/functional/function_ref.h"
#include "ir/shape_rules.h"

namespace lathe::ir {
namespace {

void Multiply(Factors* f, int64_t constant) {
  f->overflow |= __builtin_mul_overflow(f->constant, constant, &f->constant);
}

// A sum whose coefficients share a divisor is that divisor times the reduced sum.
int64_t Content(const dim::Expr& sum) {
  int64_t content = 0;
  for (Dim term : sum.operands) {
    int64_t coefficient = 1;
    if (term.is_constant()) {
      coefficient = term.constant();
    } else if (const dim::Expr e = dim::Decompose(term);
               e.kind == dim::ExprKind::kMul && e.operands[0].is_constant()) {
      coefficient = e.operands[0].constant();
    }
    if (coefficient == INT64_MIN) return 1;
    content = std::gcd(content, coefficient);
  }
  return content == 0 ? 1 : content;
}

// The sum with every coefficient divided by `content`, which divides them all.
Dim DivideTerms(const dim::Expr& sum, int64_t content) {
  Dim result = 0;
  for (Dim term : sum.operands) {
    if (term.is_constant()) {
      result += term.constant() / content;
      continue;
    }
    const dim::Expr e = dim::Decompose(term);
    Dim reduced = e.operands[0].constant() / content;
    for (size_t i = 1; i < e.operands.size(); ++i) reduced *= e.operands[i];
    result += reduced;
  }
  return result;
}

void AddFactor(Factors* f, Dim d) {
  if (d.is_constant()) return Multiply(f, d.constant());
  const dim::Expr e = dim::Decompose(d);
  if (e.kind == dim::ExprKind::kMul) {
    for (Dim factor : e.operands) {
      if (factor.is_constant()) {
        Multiply(f, factor.constant());
      } else {
        f->symbolic.push_back(factor);
      }
    }
    return;
  }
  if (e.kind == dim::ExprKind::kAdd) {
    if (const int64_t content = Content(e); content > 1) {
      Multiply(f, content);
      d = DivideTerms(e, content);
    }
  }
  f->symbolic.push_back(d);
}

bool Remove(std::vector<Dim>* list, Dim d) {
  const auto it = std::find(list->begin(), list->end(), d);
  if (it == list->end()) return false;
  list->erase(it);
  return true;
}

// Puts e in place of e // d, and takes d's factors away, where d divides the rest and
// `divides_evenly(e, d)`.
bool UndoOneDivision(Factors* f, absl::FunctionRef<bool(Dim, Dim)> divides_evenly) {
  for (size_t i = 0; i < f->symbolic.size(); ++i) {
    const dim::Expr e = dim::Decompose(f->symbolic[i]);
    if (e.kind != dim::ExprKind::kFloorDiv) continue;
    Factors rest = *f;
    rest.symbolic.erase(rest.symbolic.begin() + static_cast<int64_t>(i));
    const Factors divisor = FactorsOf({e.operands[1]});
    if (divisor.constant == 0 || rest.constant % divisor.constant != 0) continue;
    rest.constant /= divisor.constant;
    const bool divides = std::all_of(divisor.symbolic.begin(), divisor.symbolic.end(),
                                     [&](Dim d) { return Remove(&rest.symbolic, d); });
    if (!divides || !divides_evenly(e.operands[0], e.operands[1])) continue;
    AddFactor(&rest, e.operands[0]);
    *f = std::move(rest);
    return true;
  }
  return false;
}

}  // namespace

Dim Factors::Product() const {
  Dim product = constant;
  for (Dim d : symbolic) product *= d;
  return product;
}

Factors FactorsOf(const Shape& shape) {
  Factors f;
  for (Dim d : shape) AddFactor(&f, d);
  std::sort(f.symbolic.begin(), f.symbolic.end(),
            [](Dim a, Dim b) { return dim::Compare(a, b) < 0; });
  return f;
}

void Cancel(Factors* a, Factors* b) {
  std::erase_if(a->symbolic, [&](Dim d) { return Remove(&b->symbolic, d); });
  if (a->constant == 0 || b->constant == 0) return;
  const int64_t common = std::gcd(a->constant, b->constant);
  a->constant /= common;
  b->constant /= common;
}

bool KnownEqualVolumes(const InferContext& c, const Shape& a, const Shape& b) {
  Factors fa = FactorsOf(a), fb = FactorsOf(b);
  if (fa.overflow || fb.overflow) return false;
  const auto known = [&](Dim e, Dim d) { return KnownEq(c, Mod(e, d), 0); };
  while (UndoOneDivision(&fa, known) || UndoOneDivision(&fb, known)) {
  }
  Cancel(&fa, &fb);
  if (fa.constant == fb.constant && fa.symbolic.empty() && fb.symbolic.empty()) return true;
  return KnownEq(c, fa.Product(), fb.Product());
}

std::optional<Claim> MissingDivision(const Shape& a, const Shape& b) {
  Factors fa = FactorsOf(a), fb = FactorsOf(b);
  if (fa.overflow || fb.overflow) return std::nullopt;
  std::optional<Claim> missing;
  const auto once = [&](Dim e, Dim d) {
    if (missing) return false;
    missing = Eq(Mod(e, d), 0);
    return true;
  };
  if (!UndoOneDivision(&fa, once) && !UndoOneDivision(&fb, once)) return std::nullopt;
  Cancel(&fa, &fb);
  const bool equal = fa.constant == fb.constant && fa.symbolic.empty() && fb.symbolic.empty();
  return equal ? missing : std::nullopt;
}

}  // namespace lathe::ir
