#include "ir/dim/linear.h"

#include <algorithm>

namespace lathe::dim {
namespace {

constexpr size_t kRowLimit = 160;
constexpr int kPointStrategies = 4;
// Coefficients and constants stay below 2^110, so that sums of two don't overflow.
constexpr Wide kMagnitudeLimit = Wide{1} << 110;

Wide Abs(Wide x) { return x < 0 ? -x : x; }

bool Mul(Wide a, Wide b, Wide* out) {
  return !__builtin_mul_overflow(a, b, out) && Abs(*out) < kMagnitudeLimit;
}

Wide CoefficientOf(const LinearTerms& terms, int variable) {
  for (const LinearTerm& t : terms) {
    if (t.variable == variable) return t.coef;
  }
  return 0;
}

// f * x + g * y.
bool Combine(const LinearRow& x, Wide f, const LinearRow& y, Wide g, LinearRow* out) {
  out->terms.clear();
  Wide a = 0, b = 0;
  if (!Mul(x.constant, f, &a) || !Mul(y.constant, g, &b)) return false;
  out->constant = a + b;
  return AddTerms(&out->terms, x.terms, f) && AddTerms(&out->terms, y.terms, g);
}

uint64_t DirectionOf(const LinearTerms& terms) {
  uint64_t h = 0;
  for (const LinearTerm& t : terms) {
    Wide c = terms[0].coef < 0 ? -t.coef : t.coef;
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

Wide FloorDivWide(Wide a, Wide b) {
  Wide q = a / b;
  return q * b > a ? q - 1 : q;
}

Wide GcdWide(Wide a, Wide b) {
  a = Abs(a);
  b = Abs(b);
  while (b != 0) {
    // The usual case is small, and 64-bit division is several times faster.
    if ((a >> 63) == 0 && (b >> 63) == 0) {
      uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      while (y != 0) x = std::exchange(y, x % y);
      return static_cast<Wide>(x);
    }
    a = std::exchange(b, a % b);
  }
  return a;
}

bool AddTerms(LinearTerms* out, const LinearTerms& x, Wide k) {
  LinearTerms sum;
  size_t i = 0, j = 0;
  while (i < out->size() || j < x.size()) {
    if (j == x.size() || (i < out->size() && (*out)[i].variable < x[j].variable)) {
      sum.push_back((*out)[i++]);
      continue;
    }
    LinearTerm t = x[j];
    if (!Mul(t.coef, k, &t.coef)) return false;
    if (i < out->size() && (*out)[i].variable == t.variable) t.coef += (*out)[i++].coef;
    if (t.coef != 0) sum.push_back(t);
    ++j;
  }
  *out = std::move(sum);
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
  Wide content = 0;
  for (const LinearTerm& t : row->terms) {
    content = GcdWide(content, t.coef);
    if (content == 1) return true;
  }
  bool exact = row->constant % content == 0;
  for (LinearTerm& t : row->terms) t.coef /= content;
  Wide constant = row->constant;
  row->constant = FloorDivWide(constant, content);
  row->step = Log(row->step, 1, -1, 0, content);
  if (!row->equal) return true;
  row->opposite = Log(row->opposite, 1, -1, 0, content);
  if (exact) return true;
  // No multiple of the factor is the constant: the rounded halves add up to -1 >= 0.
  return Contradiction(Log(row->step, 1, row->opposite, 1, 1));
}

// Adds an inequality or equality, unless a known one implies it. Two that meet become an equality.
bool LinearSystem::Insert(LinearRow row) {
  if (!Normalize(&row)) return false;
  if (row.terms.empty()) return true;
  if (row.equal) {
    equalities_.push_back(std::move(row));
    return true;
  }
  row.direction = DirectionOf(row.terms);
  for (size_t i = 0; i < rows_.size(); ++i) {
    LinearRow& old = rows_[i];
    if (old.direction != row.direction) continue;
    int direction = SameDirection(old.terms, row.terms);
    if (direction == 0) continue;
    if (direction == 1) {
      if (row.constant >= old.constant) return true;
      // The tighter one takes its place, and may meet the opposite one further on.
      old = std::move(rows_.back());
      rows_.pop_back();
      --i;
      continue;
    }
    Wide room = old.constant + row.constant;
    if (room < 0) return Contradiction(Log(old.step, 1, row.step, 1, 1));
    if (room > 0) continue;
    row.equal = true;
    row.opposite = old.step;
    old = std::move(rows_.back());
    rows_.pop_back();
    equalities_.push_back(std::move(row));
    return true;
  }
  if (rows_.size() >= kRowLimit) return Fail();
  rows_.push_back(std::move(row));
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
    Wide magnitude = Abs(pivot.coef);
    Wide q = FloorDivWide(2 * t.coef + magnitude, 2 * magnitude) * (pivot.coef < 0 ? -1 : 1);
    if (q != 0) change.push_back({t.variable, q});
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
  for (LinearRow& row : rows_) ok = ok && apply(&row);
  for (LinearRow& row : equalities_) ok = ok && apply(&row);
  LinearTerms& form = forms_[static_cast<size_t>(pivot.variable)];
  for (const LinearTerm& t : change) {
    ok = ok && AddTerms(&form, forms_[static_cast<size_t>(t.variable)], t.coef);
  }
  if (!ok) return Fail();
  events_.push_back({Event::kChanged, pivot.variable, {}, std::move(change), {}});
  return true;
}

// A variable with coefficient 1 or -1, the one in the fewest rows.
LinearTerm LinearSystem::Pivot(const LinearRow& equality) const {
  LinearTerm best;
  size_t fewest = 0;
  for (const LinearTerm& t : equality.terms) {
    if (Abs(t.coef) != 1) continue;
    size_t uses = 0;
    for (const LinearRow& row : rows_) uses += CoefficientOf(row.terms, t.variable) != 0 ? 1 : 0;
    if (best.coef != 0 && uses >= fewest) continue;
    best = t;
    fewest = uses;
  }
  return best;
}

bool LinearSystem::SubstituteBy(const LinearRow& equality) {
  const LinearTerm pivot = Pivot(equality);
  std::vector<LinearRow> changed;
  for (std::vector<LinearRow>* rows : {&equalities_, &rows_}) {
    auto speaks = std::stable_partition(rows->begin(), rows->end(), [&](const LinearRow& row) {
      return CoefficientOf(row.terms, pivot.variable) == 0;
    });
    changed.insert(changed.end(), std::make_move_iterator(speaks),
                   std::make_move_iterator(rows->end()));
    rows->erase(speaks, rows->end());
  }
  for (LinearRow& row : changed) {
    if (steps_left_ <= 0) return Fail();
    Wide c = CoefficientOf(row.terms, pivot.variable);
    Wide m = pivot.coef == 1 ? -c : c;
    Wide shift = 0;
    if (!Mul(equality.constant, m, &shift) || !AddTerms(&row.terms, equality.terms, m)) {
      return Fail();
    }
    row.constant += shift;
    int same = m > 0 ? equality.step : equality.opposite;
    int other = m > 0 ? equality.opposite : equality.step;
    row.step = Log(row.step, 1, same, Abs(m), 1);
    if (row.equal) row.opposite = Log(row.opposite, 1, other, Abs(m), 1);
    if (!Insert(std::move(row))) return false;
  }
  events_.push_back({Event::kSubstituted, pivot.variable, {equality}, {}, {}});
  return true;
}

bool LinearSystem::EliminateEqualities() {
  while (!equalities_.empty()) {
    // One with a coefficient of 1, if there is one.
    auto has_unit = [](const LinearRow& row) {
      return std::any_of(row.terms.begin(), row.terms.end(),
                         [](const LinearTerm& t) { return Abs(t.coef) == 1; });
    };
    auto it = std::find_if(equalities_.begin(), equalities_.end(), has_unit);
    if (it == equalities_.end()) it = equalities_.begin();
    LinearRow equality = std::move(*it);
    equalities_.erase(it);
    if (!Normalize(&equality)) return false;
    if (equality.terms.empty()) continue;
    while (!has_unit(equality)) {
      if (!ChangeVariable(&equality)) return false;
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
  for (const LinearRow& row : rows_) {
    for (const LinearTerm& t : row.terms) {
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
  std::vector<LinearRow> lower, upper, kept;
  for (LinearRow& row : rows_) {
    Wide c = CoefficientOf(row.terms, variable);
    (c == 0 ? kept : c > 0 ? lower : upper).push_back(std::move(row));
  }
  rows_ = std::move(kept);
  for (const LinearRow& low : lower) {
    Wide a = CoefficientOf(low.terms, variable);
    for (const LinearRow& high : upper) {
      if (steps_left_ <= 0) return Fail();
      Wide b = -CoefficientOf(high.terms, variable);
      Wide g = GcdWide(a, b);
      LinearRow next;
      if (!Combine(low, b / g, high, a / g, &next)) return Fail();
      if (next.terms.empty() && next.constant >= 0) continue;
      next.step = Log(low.step, b / g, high.step, a / g, 1);
      if (!Insert(std::move(next))) return false;
    }
  }
  std::vector<LinearRow> all = std::move(lower);
  all.insert(all.end(), std::make_move_iterator(upper.begin()),
             std::make_move_iterator(upper.end()));
  events_.push_back(
      {Event::kEliminated, variable, std::move(all), {}, forms_[static_cast<size_t>(variable)]});
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
    for (const LinearRow& row : e.rows) {
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
  rows_.clear();
  equalities_.clear();
  events_.clear();
  bool ok = true;
  for (size_t i = 0; ok && i < rows.size(); ++i) ok = Insert(rows[i]);
  ok = ok && EliminateEqualities();
  while (ok) {
    int variable = ChooseVariable();
    if (variable < 0) return Finish();
    ok = Eliminate(variable) && EliminateEqualities();
  }
  return contradiction_ >= 0 ? Outcome::kContradiction : Outcome::kGaveUp;
}

}  // namespace lathe::dim
