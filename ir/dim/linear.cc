#include "ir/dim/linear.h"

#include <algorithm>

#include "ir/dim/node.h"

namespace lathe::dim {
namespace {

constexpr size_t kRowLimit = 160;
constexpr int kPointStrategies = 4;
// Constants stay below 2^110, so that sums of two don't overflow.
constexpr Wide kMagnitudeLimit = Wide{1} << 110;
constexpr int64_t kCoefficientLimit = int64_t{1} << 62;

Wide Abs(Wide x) { return x < 0 ? -x : x; }

bool Mul(Wide a, Wide b, Wide* out) {
  return !__builtin_mul_overflow(a, b, out) && Abs(*out) < kMagnitudeLimit;
}

int64_t CoefficientOf(const LinearTerms& terms, int variable) {
  for (const LinearTerm& t : terms) {
    if (t.variable == variable) return t.coef;
  }
  return 0;
}

// f * x + g * y.
bool Combine(const LinearRow& x, Wide f, const LinearRow& y, Wide g, LinearRow* out) {
  Wide a = 0, b = 0;
  if (!Mul(x.constant, f, &a) || !Mul(y.constant, g, &b)) return false;
  out->constant = a + b;
  return dim::Combine(x.terms, f, y.terms, g, &out->terms);
}

uint64_t DirectionOf(const LinearTerms& terms) {
  uint64_t h = 0;
  for (const LinearTerm& t : terms) {
    const int64_t c = terms[0].coef < 0 ? -t.coef : t.coef;
    h = (h ^ static_cast<uint64_t>(t.variable) ^ (static_cast<uint64_t>(c) << 8)) *
        0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  }
  return h;
}

// 1 if the terms are the same, -1 if each is the negated other, else 0.
int SameDirection(const LinearTerms& x, const LinearTerms& y) {
  if (x.size() != y.size()) return 0;
  int sign = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].variable != y[i].variable) return 0;
    int here = x[i].coef == y[i].coef ? 1 : x[i].coef == -y[i].coef ? -1 : 0;
    if (here == 0 || (sign != 0 && here != sign)) return 0;
    sign = here;
  }
  return sign;
}

}  // namespace

void Negate(LinearRow* row) {
  row->constant = -row->constant;
  for (LinearTerm& t : row->terms) t.coef = -t.coef;
}

Wide FloorDivWide(Wide a, Wide b) {
  // The usual case is small, and 64-bit division is several times faster.
  if (FitsInt64(a) && FitsInt64(b)) {
    const int64_t x = static_cast<int64_t>(a), y = static_cast<int64_t>(b), q = x / y;
    return q * y > x ? q - 1 : q;
  }
  Wide q = a / b;
  return q * b > a ? q - 1 : q;
}

bool Combine(const LinearTerms& x, Wide f, const LinearTerms& y, Wide g, LinearTerms* out) {
  if (!FitsInt64(f) || !FitsInt64(g)) return false;
  absl::InlinedVector<LinearTerm, 16> sum(x.size() + y.size());
  LinearTerm* next = sum.data();
  const LinearTerm *a = x.data(), *a_end = a + x.size(), *b = y.data(), *b_end = b + y.size();
  while (a != a_end || b != b_end) {
    const bool has_a = b == b_end || (a != a_end && a->variable <= b->variable);
    const bool has_b = a == a_end || (b != b_end && b->variable <= a->variable);
    LinearTerm t{has_a ? a->variable : b->variable, 0};
    int64_t other = 0;
    if (has_a && __builtin_mul_overflow(a++->coef, static_cast<int64_t>(f), &t.coef)) return false;
    if (has_b && __builtin_mul_overflow(b++->coef, static_cast<int64_t>(g), &other)) return false;
    if (__builtin_add_overflow(t.coef, other, &t.coef)) return false;
    if (t.coef >= kCoefficientLimit || t.coef <= -kCoefficientLimit) return false;
    if (t.coef != 0) *next++ = t;
  }
  out->assign(sum.data(), next);
  return true;
}

int LinearSystem::Log(int first, Wide f, int second, Wide g, Wide divisor) {
  --steps_left_;
  log_.push_back({-1, first, second, f, g, divisor});
  return static_cast<int>(log_.size()) - 1;
}

bool LinearSystem::Contradiction(int step) {
  contradiction_ = step;
  return false;
}

LinearSystem::Event& LinearSystem::Record(decltype(Event::kind) kind, int variable) {
  Event& event = events_.emplace_back();
  event.kind = kind;
  event.variable = variable;
  return event;
}

bool LinearSystem::Fail() {
  gave_up_ = true;
  return false;
}

// Divides by the common factor. False if the row can't hold. A row without terms that holds is left
// without terms.
bool LinearSystem::Normalize(LinearRow* row) {
  if (row->terms.empty()) {
    if (row->constant < 0) return Contradiction(row->step);
    if (row->equal && row->constant > 0) return Contradiction(row->opposite);
    return true;
  }
  int64_t content = 0;
  for (const LinearTerm& t : row->terms) {
    content = Gcd(content, t.coef);
    if (content == 1) return true;
  }
  for (LinearTerm& t : row->terms) t.coef /= content;
  const Wide constant = row->constant;
  row->constant = FloorDivWide(constant, content);
  const bool exact = row->constant * content == constant;
  row->step = Log(row->step, 1, -1, 0, content);
  if (!row->equal) return true;
  row->opposite = Log(row->opposite, 1, -1, 0, content);
  if (exact) return true;
  // No multiple of the factor is the constant: the rounded halves add up to -1 >= 0.
  return Contradiction(Log(row->step, 1, row->opposite, 1, 1));
}

// Adds an inequality or equality, unless a known one implies it. Two that meet become an equality.
bool LinearSystem::Insert(int index) {
  LinearRow& row = At(index);
  if (!Normalize(&row)) return false;
  if (row.terms.empty()) return true;
  if (row.equal) {
    equalities_.push_back(index);
    return true;
  }
  row.direction = DirectionOf(row.terms);
  for (size_t i = 0; i < rows_.size(); ++i) {
    const LinearRow& old = At(rows_[i]);
    if (old.direction != row.direction) continue;
    const int direction = SameDirection(old.terms, row.terms);
    if (direction == 0) continue;
    if (direction == 1) {
      if (row.constant >= old.constant) return true;
      // The tighter one takes its place, and may meet the opposite one further on.
      rows_[i--] = rows_.back();
      rows_.pop_back();
      continue;
    }
    const Wide room = old.constant + row.constant;
    if (room < 0) return Contradiction(Log(old.step, 1, row.step, 1, 1));
    if (room > 0) continue;
    row.equal = true;
    row.opposite = old.step;
    rows_[i] = rows_.back();
    rows_.pop_back();
    equalities_.push_back(index);
    return true;
  }
  if (rows_.size() >= kRowLimit) return Fail();
  rows_.push_back(index);
  return true;
}

// Makes a coefficient of the equality smaller: with a the smallest one and a[i] near q[i] * a, the
// new variable is x + sum of q[i] * x[i].
bool LinearSystem::ChangeVariable(LinearRow* equality) {
  auto smallest = std::min_element(
      equality->terms.begin(), equality->terms.end(),
      [](const LinearTerm& x, const LinearTerm& y) { return Abs(x.coef) < Abs(y.coef); });
  LinearTerm pivot = *smallest;
  LinearTerms change;
  for (const LinearTerm& t : equality->terms) {
    if (t.variable == pivot.variable) continue;
    const Wide magnitude = Abs(pivot.coef);
    const Wide q = FloorDivWide(Wide{2} * t.coef + magnitude, 2 * magnitude);
    if (q == 0) continue;
    change.push_back({t.variable, static_cast<int64_t>(pivot.coef < 0 ? -q : q)});
  }
  if (change.empty()) return Fail();
  auto apply = [&](LinearRow* row) {
    Wide c = CoefficientOf(row->terms, pivot.variable);
    if (c == 0) return true;
    bool fits = AddTerms(&row->terms, change, -c);
    row->direction = DirectionOf(row->terms);
    return fits;
  };
  bool ok = apply(equality);
  for (int row : rows_) ok = ok && apply(&At(row));
  for (int row : equalities_) ok = ok && apply(&At(row));
  LinearTerms& form = forms_[static_cast<size_t>(pivot.variable)];
  for (const LinearTerm& t : change) {
    ok = ok && AddTerms(&form, forms_[static_cast<size_t>(t.variable)], t.coef);
  }
  if (!ok) return Fail();
  Record(Event::kChanged, pivot.variable).change = std::move(change);
  return true;
}

// A variable with coefficient 1 or -1, the one in the fewest rows.
LinearTerm LinearSystem::Pivot(const LinearRow& equality) const {
  LinearTerm best;
  size_t fewest = 0;
  for (const LinearTerm& t : equality.terms) {
    if (Abs(t.coef) != 1) continue;
    size_t uses = 0;
    for (int row : rows_) uses += CoefficientOf(At(row).terms, t.variable) != 0 ? 1 : 0;
    if (best.coef != 0 && uses >= fewest) continue;
    best = t;
    fewest = uses;
  }
  return best;
}

bool LinearSystem::SubstituteBy(int index) {
  const LinearRow equality = At(index);
  const LinearTerm pivot = Pivot(equality);
  Rows changed;
  for (std::vector<int>* rows : {&equalities_, &rows_}) {
    size_t kept = 0;
    for (int row : *rows) {
      if (CoefficientOf(At(row).terms, pivot.variable) == 0) {
        (*rows)[kept++] = row;
      } else {
        changed.push_back(row);
      }
    }
    rows->resize(kept);
  }
  for (int changing : changed) {
    if (steps_left_ <= 0) return Fail();
    LinearRow& row = At(changing);
    const Wide c = CoefficientOf(row.terms, pivot.variable);
    const Wide m = pivot.coef == 1 ? -c : c;
    Wide shift = 0;
    if (!Mul(equality.constant, m, &shift) || !AddTerms(&row.terms, equality.terms, m)) {
      return Fail();
    }
    row.constant += shift;
    const int same = m > 0 ? equality.step : equality.opposite;
    const int other = m > 0 ? equality.opposite : equality.step;
    row.step = Log(row.step, 1, same, Abs(m), 1);
    if (row.equal) row.opposite = Log(row.opposite, 1, other, Abs(m), 1);
    if (!Insert(changing)) return false;
  }
  Record(Event::kSubstituted, pivot.variable).rows.push_back(index);
  return true;
}

bool LinearSystem::EliminateEqualities() {
  auto has_unit = [&](int row) {
    const LinearTerms& terms = At(row).terms;
    return std::any_of(terms.begin(), terms.end(),
                       [](const LinearTerm& t) { return Abs(t.coef) == 1; });
  };
  while (!equalities_.empty()) {
    // One with a coefficient of 1, if there is one.
    auto it = std::find_if(equalities_.begin(), equalities_.end(), has_unit);
    if (it == equalities_.end()) it = equalities_.begin();
    const int equality = *it;
    equalities_.erase(it);
    if (!Normalize(&At(equality))) return false;
    if (At(equality).terms.empty()) continue;
    while (!has_unit(equality)) {
      if (!ChangeVariable(&At(equality))) return false;
    }
    if (!SubstituteBy(equality)) return false;
  }
  return true;
}

// The variable whose elimination makes the fewest rows; an exact one is preferred. -1: none left.
int LinearSystem::ChooseVariable() {
  struct Count {
    int64_t above = 0, below = 0;
    bool above_unit = true, below_unit = true;
  };
  std::vector<Count> counts(static_cast<size_t>(num_variables_));
  for (int row : rows_) {
    for (const LinearTerm& t : At(row).terms) {
      Count& c = counts[static_cast<size_t>(t.variable)];
      ++(t.coef > 0 ? c.below : c.above);
      if (Abs(t.coef) != 1) (t.coef > 0 ? c.below_unit : c.above_unit) = false;
    }
  }
  int best = -1;
  int64_t best_cost = 0;
  for (int v = 0; v < num_variables_; ++v) {
    const Count& c = counts[static_cast<size_t>(v)];
    if (c.above + c.below == 0) continue;
    int64_t cost = c.above * c.below - c.above - c.below;
    bool exact = c.above == 0 || c.below == 0 || c.above_unit || c.below_unit;
    if (!exact) cost += 1000;
    if (best == -1 || cost < best_cost) {
      best = v;
      best_cost = cost;
    }
  }
  return best;
}

bool LinearSystem::Eliminate(int variable) {
  Rows lower, upper;
  size_t kept = 0;
  for (int row : rows_) {
    const Wide c = CoefficientOf(At(row).terms, variable);
    if (c == 0) {
      rows_[kept++] = row;
    } else {
      (c > 0 ? lower : upper).push_back(row);
    }
  }
  rows_.resize(kept);
  for (int low : lower) {
    const int64_t a = CoefficientOf(At(low).terms, variable);
    for (int high : upper) {
      if (steps_left_ <= 0) return Fail();
      const int64_t b = -CoefficientOf(At(high).terms, variable), g = Gcd(a, b);
      LinearRow& next = pool_.emplace_back();
      if (!Combine(At(low), b / g, At(high), a / g, &next)) return Fail();
      if (next.terms.empty() && next.constant >= 0) continue;
      next.step = Log(At(low).step, b / g, At(high).step, a / g, 1);
      if (!Insert(static_cast<int>(pool_.size()) - 1)) return false;
    }
  }
  lower.insert(lower.end(), upper.begin(), upper.end());
  Event& event = Record(Event::kEliminated, variable);
  event.rows = std::move(lower);
  event.form = forms_[static_cast<size_t>(variable)];
  return true;
}

// Values from the last event to the first. False if one has no integer in its range, then the split
// says where; or on an overflow.
bool LinearSystem::PointFromEvents(int strategy) {
  point_.assign(static_cast<size_t>(num_variables_), 0);
  auto rest_of = [&](const LinearRow& row, int variable, Wide* rest) {
    *rest = row.constant;
    for (const LinearTerm& t : row.terms) {
      Wide v = 0;
      if (t.variable == variable) continue;
      if (!Mul(t.coef, point_[static_cast<size_t>(t.variable)], &v)) return false;
      *rest += v;
      if (Abs(*rest) >= kMagnitudeLimit) return false;
    }
    return true;
  };
  for (size_t i = events_.size(); i-- > 0;) {
    const Event& e = events_[i];
    Wide& value = point_[static_cast<size_t>(e.variable)];
    if (e.kind == Event::kChanged) {
      for (const LinearTerm& t : e.change) {
        Wide v = 0;
        if (!Mul(t.coef, point_[static_cast<size_t>(t.variable)], &v)) return Fail();
        value -= v;
      }
      continue;
    }
    bool has_low = false, has_high = false;
    Wide low = 0, high = 0;
    for (int index : e.rows) {
      const LinearRow& row = At(index);
      Wide rest = 0, c = CoefficientOf(row.terms, e.variable);
      if (!rest_of(row, e.variable, &rest)) return Fail();
      if (e.kind == Event::kSubstituted) {
        low = high = c == 1 ? -rest : rest;
        has_low = has_high = true;
      } else if (c > 0) {
        Wide bound = -FloorDivWide(rest, c);
        if (!has_low || bound > low) low = bound;
        has_low = true;
      } else {
        Wide bound = FloorDivWide(rest, -c);
        if (!has_high || bound < high) high = bound;
        has_high = true;
      }
    }
    if (has_low && has_high && low > high) {
      split_form_ = e.form;
      split_bound_ = high;
      return false;
    }
    // Near zero, or at an end, or in between.
    value = 0;
    if (has_low && value < low) value = low;
    if (has_high && value > high) value = high;
    if (strategy == 1 && has_high) value = high;
    if (strategy == 2 && has_low) value = low;
    if (strategy == 3 && has_low && has_high) value = low + (high - low) / 2;
  }
  return true;
}

LinearSystem::Outcome LinearSystem::Finish() {
  for (int strategy = 0; strategy < kPointStrategies; ++strategy) {
    if (PointFromEvents(strategy)) return Outcome::kPoint;
    if (gave_up_) return Outcome::kGaveUp;
  }
  return Outcome::kSplit;
}

LinearSystem::Outcome LinearSystem::Solve(const std::vector<LinearRow>& rows) {
  forms_.resize(static_cast<size_t>(num_variables_));
  for (int v = 0; v < num_variables_; ++v) forms_[static_cast<size_t>(v)] = {{v, 1}};
  pool_.reserve(3 * rows.size());
  pool_ = rows;
  bool ok = true;
  for (size_t i = 0; ok && i < rows.size(); ++i) ok = Insert(static_cast<int>(i));
  ok = ok && EliminateEqualities();
  while (ok) {
    int variable = ChooseVariable();
    if (variable < 0) return Finish();
    ok = Eliminate(variable) && EliminateEqualities();
  }
  return contradiction_ >= 0 ? Outcome::kContradiction : Outcome::kGaveUp;
}

}  // namespace lathe::dim
