// Products: what linear arithmetic can't say of them follows from products of inequalities; and
// division by what isn't constant, which speaks of a product.
#include <algorithm>

#include "ir/dim/decide.h"

namespace lathe::dim {
namespace {

constexpr size_t kProductRows = 48;
constexpr size_t kNewMonomials = 8;
constexpr int kBoundSweeps = 3;
constexpr size_t kBoundTerms = 5;

Wide Abs(Wide x) { return x < 0 ? -x : x; }

}  // namespace

bool Decider::Multiply(const LinearRow& x, const LinearRow& y, bool make, LinearRow* out) {
  if (!make) {  // most products aren't spoken of
    for (const LinearTerm& s : x.terms) {
      for (const LinearTerm& t : y.terms) {
        if (MonomialOf(FactorsOf(s.variable, t.variable), /*make=*/false) < 0) return false;
      }
    }
  }
  out->terms.clear();
  auto times = [](Wide a, Wide b, Wide* product) {
    return !__builtin_mul_overflow(a, b, product) && Abs(*product) < (Wide{1} << 100);
  };
  if (!times(x.constant, y.constant, &out->constant)) return false;
  if (!AddTerms(&out->terms, x.terms, y.constant) || !AddTerms(&out->terms, y.terms, x.constant)) {
    return false;
  }
  for (const LinearTerm& s : x.terms) {
    for (const LinearTerm& t : y.terms) {
      const int m = MonomialOf(FactorsOf(s.variable, t.variable), make);
      Wide c = 0;
      if (m < 0 || !times(s.coef, t.coef, &c) || !AddTerms(&out->terms, {{m, 1}}, c)) return false;
    }
  }
  return true;
}

// The row of the bound at which the term is least, or greatest; null if it has none.
const LinearRow* Decider::EndOf(const LinearTerm& t, const Bounds& bounds, bool least) const {
  if (static_cast<size_t>(t.variable) >= bounds.of.size()) return nullptr;
  const Range& range = bounds.of[static_cast<size_t>(t.variable)];
  int by = (t.coef > 0) == least ? range.low : range.high;
  return by < 0 ? nullptr : &bounds.rows[static_cast<size_t>(by)];
}

// out + factor * end; false if it grows too large.
bool Decider::AddEnd(const LinearRow& end, Wide factor, LinearRow* out) {
  constexpr Wide kLimit = Wide{1} << 100;
  Wide shift = 0;
  if (__builtin_mul_overflow(end.constant, factor, &shift) || Abs(shift) >= kLimit ||
      Abs(out->constant) >= kLimit || !AddTerms(&out->terms, end.terms, factor)) {
    return false;
  }
  out->constant += shift;
  return true;
}

// row - (what can vary) >= 0: the sum with each variable but that of `term` at its end.
bool Decider::DeriveBound(const LinearRow& row, size_t term, const Bounds& bounds, LinearRow* out) {
  *out = row;
  out->equal = false;
  out->opposite = -1;
  for (size_t i = 0; i < row.terms.size(); ++i) {
    if (i == term) continue;
    const LinearTerm& t = row.terms[i];
    const LinearRow* end = EndOf(t, bounds, /*least=*/false);
    Wide factor = Abs(t.coef);
    if (end == nullptr || !AddEnd(*end, factor, out)) return false;
    int step = static_cast<int>(r_.steps.size());
    r_.steps.push_back({-1, out->step, end->step, 1, factor, 1});
    out->step = step;
  }
  if (out->terms.empty()) return true;
  const int64_t content = std::abs(out->terms[0].coef);
  if (content == 1) return true;
  out->terms[0].coef /= content;
  out->constant = FloorDivWide(out->constant, content);
  r_.steps.push_back({-1, out->step, -1, 1, 0, content});
  out->step = static_cast<int>(r_.steps.size()) - 1;
  return true;
}

// Whether `row` bounds the variable of its term `term` more tightly than `bounds`: numbers alone,
// since most don't.
bool Decider::Tightens(const LinearRow& row, size_t term, const Bounds& bounds) const {
  constexpr Wide kLimit = Wide{1} << 100;
  Wide most = row.constant;  // of the row without the term
  for (size_t i = 0; i < row.terms.size(); ++i) {
    if (i == term) continue;
    const LinearTerm& t = row.terms[i];
    const Range& range = bounds.of[static_cast<size_t>(t.variable)];
    int by = t.coef > 0 ? range.high : range.low;
    Wide part = 0;
    // high - x >= 0 and x - low >= 0: the constant is the end, up to its sign.
    if (by < 0 ||
        __builtin_mul_overflow(bounds.rows[static_cast<size_t>(by)].constant, Abs(t.coef), &part) ||
        Abs(part) >= kLimit || Abs(most) >= kLimit) {
      return false;
    }
    most += part;
  }
  const LinearTerm& t = row.terms[term];
  const Range& range = bounds.of[static_cast<size_t>(t.variable)];
  int known = t.coef > 0 ? range.low : range.high;
  return known < 0 ||
         FloorDivWide(most, Abs(t.coef)) < bounds.rows[static_cast<size_t>(known)].constant;
}

// Bounds of single variables, by propagation through the rows.
Decider::Bounds Decider::FindBounds(const std::vector<LinearRow>& rows) {
  Bounds b;
  b.of.resize(r_.variables.size());
  auto look = [&](const LinearRow& row) {
    for (size_t i = 0; i < row.terms.size(); ++i) {
      LinearRow bound;
      if (!Tightens(row, i, b) || !DeriveBound(row, i, b, &bound)) continue;
      Range& range = b.of[static_cast<size_t>(bound.terms[0].variable)];
      (bound.terms[0].coef > 0 ? range.low : range.high) = static_cast<int>(b.rows.size());
      b.rows.push_back(std::move(bound));
    }
  };
  for (int sweep = 0; sweep < kBoundSweeps; ++sweep) {
    size_t before = b.rows.size();
    for (const LinearRow& row : rows) {
      if (row.terms.empty() || row.terms.size() > kBoundTerms) continue;
      if (sweep > 0 && row.terms.size() == 1) continue;
      look(row);
      if (!row.equal) continue;
      LinearRow opposite = row;
      Negate(&opposite);
      opposite.step = row.opposite;
      look(opposite);
    }
    if (b.rows.size() == before) break;
  }
  return b;
}

// A number that is at most row's value, as the row number - 0 * anything.
bool Decider::LowerBound(const LinearRow& row, const Bounds& bounds, LinearRow* out) {
  if (row.terms.empty()) return true;
  // row itself has no step: start from the bound of its first variable, scaled.
  out->terms.clear();
  out->constant = 0;
  bool first = true;
  for (const LinearTerm& t : row.terms) {
    const LinearRow* end = EndOf(t, bounds, /*least=*/true);
    Wide factor = Abs(t.coef);
    if (end == nullptr || !AddEnd(*end, factor, out)) return false;
    r_.steps.push_back(first ? DerivationStep{-1, end->step, -1, factor, 0, 1}
                             : DerivationStep{-1, out->step, end->step, 1, factor, 1});
    out->step = static_cast<int>(r_.steps.size()) - 1;
    first = false;
  }
  return true;
}

// a // b and a % b for b that isn't constant: they have a meaning once b >= 1 is known.
void Decider::AddVariableDivisions() {
  if (divisions_.empty()) return;
  Bounds bounds = FindBounds(rows_);
  for (size_t i = 0; i < divisions_.size(); ++i) {
    int variable = divisions_[i];
    const DecideVariable v = r_.variables[static_cast<size_t>(variable)];
    LinearRow a, b, positive;
    if (!RowOf(v.a, &a) || !RowOf(v.b, &b)) continue;
    // positive: b - k >= 0 for some k; usable if k >= 1.
    if (!LowerBound(b, bounds, &positive) || b.constant - positive.constant < 1) continue;
    Premise p;
    p.index = variable;
    p.first = positive.step;
    int q = v.kind == NodeKind::kFloorDiv ? variable : Atom(NodeKind::kFloorDiv, v.a, v.b);
    LinearRow quotient, product;
    quotient.terms = {{q, 1}};
    if (!Multiply(b, quotient, /*make=*/true, &product)) continue;
    p.row = a;
    if (!AddTerms(&p.row.terms, product.terms, -1)) continue;
    if (v.kind == NodeKind::kMod) {
      p.kind = Premise::kDefinition;
      if (AddTerms(&p.row.terms, {{variable, 1}}, -1)) rows_.push_back(EqualRow(std::move(p)));
      continue;
    }
    p.kind = Premise::kQuotient;
    LinearRow above = p.row;
    rows_.push_back(PremiseRow(p));
    Negate(&above);
    if (!AddTerms(&above.terms, b.terms, 1)) continue;
    above.constant += b.constant - 1;
    p.row = above;
    p.negated = true;
    rows_.push_back(PremiseRow(std::move(p)));
  }
}

// What products are at least and at most, from products of the bounds of their factors.
void Decider::AddProducts(const std::vector<LinearRow>& given, std::vector<LinearRow>* rows) {
  Bounds bounds = FindBounds(given);
  size_t limit = rows->size() + kProductRows;
  for (size_t i = 0; i < monomials_.size() && rows->size() < limit; ++i) {
    const Factors factors = r_.variables[static_cast<size_t>(monomials_[i])].factors;
    int last = factors.back();
    int head = MonomialOf({factors.begin(), factors.end() - 1}, /*make=*/true);
    if (static_cast<size_t>(head) >= bounds.of.size()) bounds.of.resize(r_.variables.size());
    const Range x = bounds.of[static_cast<size_t>(head)], y = bounds.of[static_cast<size_t>(last)];
    for (int s : {x.low, x.high}) {
      for (int t : {y.low, y.high}) {
        if (s < 0 || t < 0 || (head == last && s == x.high && t == x.low && s != t)) continue;
        Premise p;
        p.kind = Premise::kProduct;
        const LinearRow &first = bounds.rows[static_cast<size_t>(s)],
                        &second = bounds.rows[static_cast<size_t>(t)];
        p.first = first.step;
        p.second = second.step;
        if (Multiply(first, second, /*make=*/false, &p.row)) {
          rows->push_back(PremiseRow(std::move(p)));
        }
      }
    }
    if (head == last && x.low < 0) {
      Premise p;
      p.kind = Premise::kSquare;
      p.index = head;
      p.row.terms = {{monomials_[i], 1}};
      rows->push_back(PremiseRow(std::move(p)));
    }
  }
}

// Facts times bounds, and equalities times variables, where the products are spoken of.
void Decider::AddFactProducts() {
  size_t given = rows_.size();
  Bounds bounds = FindBounds(rows_);
  std::vector<int> factors;
  for (int m : monomials_) {
    for (int f : r_.variables[static_cast<size_t>(m)].factors) factors.push_back(f);
  }
  std::sort(factors.begin(), factors.end());
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  size_t limit = rows_.size() + kProductRows;
  size_t monomial_limit = monomials_.size() + kNewMonomials;
  for (size_t i = 0; i < given; ++i) {
    const LinearRow row = rows_[i];
    if (row.terms.size() < 2 || row.terms.size() > 4) continue;
    for (int x : factors) {
      if (rows_.size() >= limit) return;
      LinearRow single;
      single.terms = {{x, 1}};
      Premise p;
      if (row.equal) {
        // Only if one of its products is spoken of already.
        bool known = false;
        for (const LinearTerm& t : row.terms) {
          known = known || MonomialOf(FactorsOf(t.variable, x), /*make=*/false) >= 0;
        }
        bool make = known && monomials_.size() < monomial_limit;
        if (!known || !Multiply(row, single, make, &p.row)) continue;
        p.kind = Premise::kTimes;
        p.first = row.step;
        p.second = row.opposite;
        p.index = x;
        rows_.push_back(EqualRow(std::move(p)));
        continue;
      }
      const Range range = bounds.of[static_cast<size_t>(x)];
      for (int by : {range.low, range.high}) {
        Premise product;
        if (by < 0) continue;
        const LinearRow& bound = bounds.rows[static_cast<size_t>(by)];
        if (!Multiply(row, bound, /*make=*/false, &product.row)) continue;
        product.kind = Premise::kProduct;
        product.first = row.step;
        product.second = bound.step;
        rows_.push_back(PremiseRow(std::move(product)));
      }
    }
  }
}

}  // namespace lathe::dim
