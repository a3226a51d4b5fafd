// What follows in one case of a proof.
#include <algorithm>
#include <cmath>

#include "ir/dim/certificate_case.h"
#include "ir/dim/farkas.h"

namespace lathe::dim {
namespace {

constexpr int kRounds = 6;  // of propagation
constexpr size_t kRowLimit = 160;

}  // namespace

bool CaseReasoner::PropagateRow(State* s, int step, Int sign, int depth) {
  const Polynomial e = w_.Of(step).e;
  Int high = 0;
  int open = 0;
  const Mono* missing = nullptr;
  auto upper = [&](const Mono& mono, Int c, int* bound, Int* value) {
    auto it = s->bounds.find(mono);
    if (it == s->bounds.end()) return false;
    *bound = c > 0 ? it->second.high_step : it->second.low_step;
    if (*bound < 0) return false;
    return !__builtin_mul_overflow(c, c > 0 ? it->second.high : it->second.low, value);
  };
  for (const auto& [mono, coef] : e) {
    int bound = -1;
    Int value = sign * coef;
    if (!mono.empty() && !upper(mono, sign * coef, &bound, &value)) {
      ++open;
      missing = &mono;
      continue;
    }
    if (__builtin_add_overflow(high, value, &high)) return true;
  }
  if (open > 1) return true;
  for (const auto& [mono, coef] : e) {
    if (mono.empty() || (open == 1 && &mono != missing)) continue;
    Int c = sign * coef, rest = high, own = 0, limit = 0;
    int bound = -1;
    if (open == 0) {
      upper(mono, c, &bound, &own);
      rest -= own;
    }
    // c * mono >= -rest
    auto it = s->bounds.find(mono);
    const Bounds* b = it == s->bounds.end() ? nullptr : &it->second;
    if (c > 0) {
      check::FloorDiv(rest, c, &limit);
      if (b != nullptr && b->low_step >= 0 && b->low >= -limit) continue;
    } else {
      check::FloorDiv(rest, -c, &limit);
      if (b != nullptr && b->high_step >= 0 && b->high <= limit) continue;
    }
    Parts parts = {{check::Constant(sign), step}};
    for (const auto& [other, k] : e) {
      if (other.empty() || other == mono) continue;
      Int value = 0;
      upper(other, sign * k, &bound, &value);
      parts.push_back({check::Constant(k < 0 ? -k : k), bound});
    }
    if (!Add(s, w_.Combine(parts))) return false;
    if (open == 0) return depth == 3 || PropagateRow(s, step, sign, depth + 1);
  }
  return true;
}

bool CaseReasoner::Propagate(State* s) {
  std::vector<int> rows = s->rows;
  for (int row : rows) {
    if (!PropagateRow(s, row, 1)) return false;
  }
  std::vector<Equation> equations = s->equations;
  for (const Equation& q : equations) {
    if (!PropagateRow(s, q.step, 1) || !PropagateRow(s, q.step, -1)) return false;
  }
  return true;
}

bool CaseReasoner::Exclude(State* s, int32_t x) {
  const check::Atom atom = w_.AtomOf(x);
  Int sign = atom.kind == AtomKind::kMin ? 1 : -1;
  for (Int side : {1, -1}) {
    // sign * (operand - x) >= 1
    const Polynomial& operand = side == 1 ? atom.a : atom.b;
    Polynomial gap = Sum(Sum({}, sign, operand, -1), -sign, check::Variable(x), 0);
    int apart = ByBounds(*s, gap);
    if (apart < 0) continue;
    Polynomial order = Sum(Sum({}, side * sign, atom.b, 0), -side * sign, atom.a, 0);
    int a = w_.Assume({Sense::kGe, order, {}});
    int same = w_.Select(x, a);  // x == operand
    int no = w_.Contradiction(a, w_.Combine({{One(), apart}, {check::Constant(sign), same}}));
    if (no < 0) continue;
    int known = w_.CombineTo({{One(), no}}, {Sense::kGe, Sum({}, -1, order, 0), {}});
    s->selected.insert(x);
    return Add(s, w_.Select(x, known));
  }
  return true;
}

bool CaseReasoner::BoundExtreme(State* s, int32_t x) {
  const check::Atom atom = w_.AtomOf(x);
  Int sign = atom.kind == AtomKind::kMin ? 1 : -1, low[2] = {}, least = 0;
  const Polynomial self = check::Variable(x);
  Parts parts[2];
  for (int i : {0, 1}) {
    const Polynomial signed_operand = Sum({}, sign, i == 0 ? atom.a : atom.b, 0);
    if (!Lower(*s, signed_operand, &low[i], &parts[i])) return true;
  }
  least = std::min(low[0], low[1]);
  Parts ignored;
  Int known = 0;
  if (Lower(*s, Sum({}, sign, self, 0), &known, &ignored) && known >= least) return true;
  std::vector<std::pair<int, int>> cases;
  for (Int side : {1, -1}) {  // b - a, and a - b - 1
    Polynomial order = Sum(Sum({}, side, atom.b, 0), -side, atom.a, 0);
    int a = w_.Assume({Sense::kGe, side == 1 ? order : Sum(order, 0, {}, -1), {}});
    int ordered = side == 1 ? a : w_.CombineTo({{One(), a}}, {Sense::kGe, order, {}});
    int same = w_.Select(x, ordered);
    Parts all = parts[(side == sign) ? 0 : 1];
    all.push_back({check::Constant(sign), same});
    Polynomial goal = Sum(Sum({}, sign, self, 0), 0, {}, -least);
    cases.emplace_back(a, w_.CombineTo(all, {Sense::kGe, std::move(goal), {}}));
  }
  return Add(s, w_.Cases(-1, cases));
}

int CaseReasoner::ByLinear(const State& s, const Polynomial& e) {
  int a = w_.Assume({Sense::kGe, Sum({}, -1, e, -1), {}});
  State denied = s;
  Values ignored;
  if (Add(&denied, a) && Linear(&denied, &ignored)) return -1;
  return w_.Contradiction(a, denied.falsehood);
}

bool CaseReasoner::Settle(State* s) {
  for (int32_t x = 0; x < w_.num_atoms(); ++x) {
    check::Atom atom = w_.AtomOf(x);
    bool extreme = atom.kind == AtomKind::kMin || atom.kind == AtomKind::kMax;
    if (extreme && !s->selected.contains(x) && !(Exclude(s, x) && BoundExtreme(s, x))) {
      return false;
    }
    if (extreme && !s->selected.contains(x)) {
      for (Int side : {1, -1}) {
        int order = ByBounds(*s, Sum(Sum({}, side, atom.b, 0), -side, atom.a, 0));
        if (order < 0) continue;
        s->selected.insert(x);
        if (!Add(s, w_.Select(x, order))) return false;
        break;
      }
    }
    Int c = 0;
    if (atom.kind == AtomKind::kFloorDiv && !check::IsConstant(atom.b, &c) &&
        !s->divided.contains(x)) {
      for (Int side : {1, -1}) {
        const Polynomial wanted = Sum({}, side, atom.b, -1);
        int sign = ByBounds(*s, wanted);
        if (sign < 0) sign = ByLinear(*s, wanted);
        if (sign < 0) continue;
        s->divided.insert(x);
        if (!Add(s, w_.Quotient(x, true, sign)) || !Add(s, w_.Quotient(x, false, sign))) {
          return false;
        }
        break;
      }
    }
  }
  std::vector<int> unequal = s->unequal;
  for (int step : unequal) {
    const Polynomial e = w_.Of(step).e;
    for (Int side : {1, -1}) {
      int bound = ByBounds(*s, Sum({}, side, e, 0));  // then the other case is impossible
      if (bound < 0) continue;
      int above = w_.Assume({Sense::kGe, Sum({}, 1, e, -1), {}});
      int below = w_.Assume({Sense::kGe, Sum({}, -1, e, -1), {}});
      int kept = side == 1 ? above : below, gone = side == 1 ? below : above;
      int absurd = w_.Absurd(w_.Combine({{One(), bound}, {One(), gone}}), w_.Of(kept));
      auto results = side == 1 ? std::pair(kept, absurd) : std::pair(absurd, kept);
      int found = w_.Cases(step, {{above, results.first}, {below, results.second}});
      s->unequal.erase(std::find(s->unequal.begin(), s->unequal.end(), step));
      if (!Add(s, found)) return false;
      break;
    }
  }
  return true;
}

std::set<CaseReasoner::Mono> CaseReasoner::Products(const State& s) const {
  std::set<Mono> products;
  auto note = [&](const Polynomial& e) {
    for (const auto& [mono, coef] : e) {
      if (mono.size() > 1 && mono.size() <= kDegreeLimit) products.insert(mono);
    }
  };
  for (int row : s.rows) note(w_.Of(row).e);
  for (const Equation& q : s.equations) {
    note(w_.Of(q.step).e);
  }
  for (const auto& [mono, b] : s.bounds) {
    if (mono.size() > 1 && mono.size() <= kDegreeLimit) products.insert(mono);
  }
  std::vector<Mono> open(products.begin(), products.end());
  while (!open.empty()) {
    Mono m = open.back();
    open.pop_back();
    for (size_t i = 0; m.size() > 2 && i < m.size(); ++i) {
      Mono part = m;
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(i));
      if (products.insert(part).second) open.push_back(part);
    }
  }
  return products;
}

std::vector<int> CaseReasoner::BoundsOf(const State& s, const Mono& m) {
  std::vector<int> steps;
  if (auto it = s.bounds.find(m); it != s.bounds.end()) {
    if (it->second.low_step >= 0) steps.push_back(it->second.low_step);
    if (it->second.high_step >= 0) steps.push_back(it->second.high_step);
    return steps;
  }
  Int c = 0;
  if (m.size() == 1 && w_.AtomOf(m[0]).kind == AtomKind::kMod &&
      check::IsConstant(w_.AtomOf(m[0]).b, &c)) {
    int definition = w_.Definition(m[0]);
    int32_t quotient = w_.Atom({AtomKind::kFloorDiv, 0, w_.AtomOf(m[0]).a, w_.AtomOf(m[0]).b});
    for (Int side : {1, -1}) {
      int bound = w_.Combine(
          {{One(), w_.Quotient(quotient, side == 1)}, {check::Constant(side), definition}});
      if (bound >= 0) steps.push_back(bound);
    }
    return steps;
  }
  Polynomial e;
  e[m] = 1;
  for (Int side : {1, -1}) {
    Int low = 0;
    Parts parts;
    if (!Lower(s, Sum({}, side, e, 0), &low, &parts) || parts.empty()) continue;
    int bound = w_.CombineTo(parts, {Sense::kGe, Sum(Sum({}, side, e, 0), 0, {}, -low), {}});
    if (bound >= 0) steps.push_back(bound);
  }
  return steps;
}

bool CaseReasoner::Multiply(State* s) {
  std::set<Mono> products = Products(*s);
  std::set<int32_t> factors;
  std::vector<Mono> all(products.begin(), products.end());
  all.insert(all.end(), stated_.begin(), stated_.end());
  for (const Mono& m : all) {
    factors.insert(m.begin(), m.end());
    bool even = m.size() % 2 == 0;
    Polynomial root;
    if (even) {
      Mono half;
      for (size_t i = 0; i < m.size(); i += 2) {
        even = even && m[i] == m[i + 1];
        half.push_back(m[i]);
      }
      root[half] = 1;
    }
    if (even && !Add(s, w_.Square(root))) return false;
    for (size_t i = 0; i < m.size(); ++i) {
      if (i > 0 && m[i] == m[i - 1]) continue;
      Mono rest = m;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      for (int x : BoundsOf(*s, {m[i]})) {
        for (int y : BoundsOf(*s, rest)) {
          if (s->rows.size() > kRowLimit) return true;
          if (!Add(s, w_.Multiply(std::min(x, y), std::max(x, y)))) return false;
        }
      }
    }
  }
  std::vector<int> rows = s->rows;
  for (int row : rows) {
    const Polynomial e = w_.Of(row).e;
    for (int32_t x : factors) {
      bool known = std::all_of(e.begin(), e.end(), [&](const auto& term) {
        Mono m = term.first;
        m.insert(std::upper_bound(m.begin(), m.end(), x), x);
        return m.size() == 1 || products.contains(m);
      });
      if (!known) continue;
      for (int bound : BoundsOf(*s, {x})) {
        if (s->rows.size() > kRowLimit) return true;
        if (!Add(s, w_.Multiply(row, bound))) return false;
      }
    }
  }
  return true;
}

bool CaseReasoner::Saturate(State* s) {
  for (int round = 0; round < kRounds; ++round) {
    changed_ = false;
    if (!Propagate(s) || !Settle(s)) return false;
    if (!changed_ || round == kRounds / 2) {
      if (!Multiply(s)) return false;
    }
    if (!changed_) break;
  }
  return true;
}

bool CaseReasoner::Linear(State* s, Values* point) {
  std::vector<FarkasRow> rows;
  std::vector<int> steps;
  std::map<Mono, int> variables;
  auto add = [&](int step) {
    FarkasRow row;
    const Statement& st = w_.Of(step);
    row.equality = st.sense == Sense::kEq;
    for (const auto& [mono, coef] : st.e) {
      if (mono.empty()) {
        row.constant = static_cast<double>(coef);
        continue;
      }
      auto [it, is_new] = variables.emplace(mono, static_cast<int>(variables.size()));
      row.terms.emplace_back(it->second, static_cast<double>(coef));
    }
    rows.push_back(std::move(row));
    steps.push_back(step);
  };
  for (int row : s->rows) add(row);
  for (const Equation& q : s->equations) {
    if (q.pivot.empty()) add(q.step);
  }
  for (const auto& [mono, b] : s->bounds) {
    if (b.low_step >= 0) add(b.low_step);
    if (b.high_step >= 0) add(b.high_step);
  }
  std::vector<int64_t> multipliers;
  int64_t variables_used = static_cast<int64_t>(variables.size());
  work_ -= variables_used * (variables_used + static_cast<int64_t>(rows.size()));
  std::vector<double> values;
  if (!FindFarkas(rows, static_cast<int>(variables.size()), &multipliers, &values)) {
    for (const auto& [mono, i] : variables) {
      if (!values.empty()) (*point)[mono] = values[static_cast<size_t>(i)];
    }
    for (const Equation& q : s->equations) {
      if (q.pivot.empty() || values.empty()) continue;
      Polynomial rest = w_.Of(q.step).e;
      rest.erase(q.pivot);
      (*point)[q.pivot] = static_cast<double>(-q.sign) * ValueOf(rest, *point);
    }
    return true;
  }
  Parts parts;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (multipliers[i] == 0) continue;
    if (multipliers[i] < 0 && !rows[i].equality) return true;
    parts.push_back({check::Constant(multipliers[i]), steps[i]});
  }
  int step = w_.Combine(parts);
  if (step < 0 || w_.Of(step).sense != Sense::kFalse) return true;
  s->falsehood = step;
  return false;
}

double CaseReasoner::ValueOf(const Polynomial& e, const Values& point) const {
  double sum = 0;
  for (const auto& [mono, coef] : e) sum += static_cast<double>(coef) * ValueOf(mono, point);
  return sum;
}

double CaseReasoner::ValueOf(const Mono& mono, const Values& point) const {
  auto it = point.find(mono);
  if (it != point.end()) return it->second;
  double product = 1;
  for (int32_t x : mono) {
    it = point.find({x});
    product *= it == point.end() ? 0 : it->second;
  }
  return product;
}
}  // namespace lathe::dim
