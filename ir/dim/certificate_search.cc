// The search for certificates: refutes the opposite of a claim by trees of case splits, whose
// leaves are linear combinations of facts, axioms of atoms and products of bounds; small domains
// may also be tried point by point. Every step is written as it is found.
#include "ir/dim/certificate_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "ir/dim/check/check.h"
#include "ir/dim/check/poly.h"
#include "ir/dim/farkas.h"

namespace lathe::dim {
namespace {

using check::AtomKind;
using check::Int;
using check::Mono;
using check::Sense;
using check::Statement;
using Polynomial = check::Poly;
using Parts = std::vector<ProofWriter::Part>;

constexpr int kRounds = 6;  // of propagation in one state
constexpr size_t kRowLimit = 160;
constexpr int kAddLimit = 400;
constexpr size_t kDegreeLimit = 4;
constexpr size_t kSetCases = 64;
constexpr double kTolerance = 1e-6;
constexpr int kFewNodes = 24, kManyNodes = 400;
constexpr int64_t kWork = 1500000;  // cells of all linear problems

Polynomial One() { return check::Constant(1); }

Polynomial Sum(const Polynomial& p, Int k, const Polynomial& q, Int constant) {
  Polynomial sum = p;
  // An overflow leaves a polynomial that nothing will prove.
  if (!check::Add(q, k, &sum) || !check::Add(check::Constant(constant), 1, &sum)) return {};
  return sum;
}

// The rest of `m` without the factors of `p`, if it has them all.
bool Divide(const Mono& m, const Mono& p, Mono* rest) {
  if (!std::includes(m.begin(), m.end(), p.begin(), p.end())) return false;
  rest->clear();
  std::set_difference(m.begin(), m.end(), p.begin(), p.end(), std::back_inserter(*rest));
  return true;
}

struct Equation {
  int step = -1;
  Mono pivot;  // its coefficient is 1 or -1; no other term is a multiple of it
  Int sign = 1;
};

struct Bounds {
  int low_step = -1, high_step = -1;  // M - low >= 0, high - M >= 0
  Int low = 0, high = 0;
};

// What is known in one case, all of it free of the equations' pivots.
struct State {
  std::vector<int> rows;  // e >= 0 of two terms or more
  std::vector<Equation> equations;
  std::map<Mono, Bounds> bounds;
  std::vector<int> unequal, members;
  std::set<int32_t> selected;  // min and max atoms that equal an operand
  std::set<int32_t> divided;   // quotients by a divisor that isn't constant, whose axioms are used
  std::set<int> known;         // steps that were added
  int falsehood = -1;
};

class Search {
 public:
  Search(const check::Problem& problem, ProofWriter* writer) : p_(problem), w_(*writer) {}

  // The step that concludes the claim, or -1.
  int Run() {
    State state;
    bool consistent = Axioms(&state);
    for (size_t i = 0; consistent && i < p_.facts.size(); ++i) {
      consistent = AddFact(&state, static_cast<int32_t>(i));
    }
    for (const Statement& f : p_.facts) NoteProducts(f.e);
    NoteProducts(p_.claim.e);
    consistent = consistent && Saturate(&state);
    if (!consistent) return w_.Absurd(state.falsehood, p_.claim);
    nodes_ = kFewNodes;
    int step = Conclude(state, p_.claim);
    if (step < 0) step = EnumerateAll(state);
    if (step < 0) {
      nodes_ = kManyNodes;
      step = Conclude(state, p_.claim);
    }
    return step;
  }

 private:
  // ---- What a state knows.

  // The axioms of all atoms that need no premise.
  bool Axioms(State* s) {
    for (int32_t x = 0; x < w_.num_atoms(); ++x) {  // definitions make more atoms
      check::Atom atom = w_.AtomOf(x);
      Int c = 0;
      bool ok = true;
      switch (atom.kind) {
        case AtomKind::kSymbol:
          ok = Add(s, w_.NonNegative(x));
          break;
        case AtomKind::kFloorDiv:
          if (check::IsConstant(atom.b, &c)) {
            ok = Add(s, w_.Quotient(x, true)) && Add(s, w_.Quotient(x, false));
          }
          break;
        case AtomKind::kMin:
        case AtomKind::kMax:
          ok = Add(s, w_.Bound(x, false)) && Add(s, w_.Bound(x, true));
          break;
        default:
          ok = Add(s, w_.Definition(x));
      }
      if (!ok) return false;
    }
    return true;
  }

  // A fact, and that its divisors aren't 0.
  bool AddFact(State* s, int32_t index) {
    int fact = w_.Fact(index);
    if (!Add(s, fact)) return false;
    std::vector<const check::Poly*> open = {&p_.facts[static_cast<size_t>(index)].e};
    std::set<int32_t> seen;
    while (!open.empty()) {
      const check::Poly* e = open.back();
      open.pop_back();
      for (const auto& [mono, coef] : *e) {
        for (int32_t x : mono) {
          if (!seen.insert(x).second) continue;
          const check::Atom& atom = p_.atoms[static_cast<size_t>(x)];
          open.insert(open.end(), {&atom.a, &atom.b});
          Int c = 0;
          bool divides = atom.kind == AtomKind::kFloorDiv || atom.kind == AtomKind::kMod ||
                         atom.kind == AtomKind::kCeilDiv;
          if (!divides || check::IsConstant(atom.b, &c)) continue;
          if (!Add(s, w_.Defined(fact, x))) return false;
        }
      }
    }
    return true;
  }

  // Products as they were stated: the atoms in them may have bounds that the terms that they are
  // rewritten to don't have.
  void NoteProducts(const Polynomial& e) {
    for (const auto& [mono, coef] : e) {
      if (mono.size() > 1 && mono.size() <= kDegreeLimit) stated_.insert(mono);
    }
  }

  // Rewrites by the equations: e == *rest + sum of parts.
  void Reduce(const State& s, Polynomial* rest, Parts* parts) {
    for (int round = 0; round < 40; ++round) {
      bool changed = false;
      for (const Equation& q : s.equations) {
        if (q.pivot.empty()) continue;
        Polynomial multiplier;
        for (const auto& [mono, coef] : *rest) {
          Mono other;
          if (Divide(mono, q.pivot, &other)) multiplier[other] = q.sign * coef;
        }
        if (multiplier.empty()) continue;
        Polynomial next = *rest;
        if (!check::AddProduct(multiplier, w_.Of(q.step).e, -1, &next)) return;
        *rest = std::move(next);
        parts->push_back({std::move(multiplier), q.step});
        changed = true;
      }
      if (!changed) return;
    }
  }

  int Fail(State* s, int step) {
    s->falsehood = step;
    return step;
  }

  // Adds a statement. False if it contradicts the state.
  bool Add(State* s, int first) {
    std::vector<int> open = {first};
    // Equations of products may rewrite each other without end: what is left then is forgotten.
    for (int steps = kAddLimit; !open.empty() && steps > 0; --steps) {
      int step = open.back();
      open.pop_back();
      if (step < 0 || !s->known.insert(step).second) continue;
      Sense sense = w_.Of(step).sense;
      if (sense == Sense::kFalse) {
        s->falsehood = step;
        return false;
      }
      if (sense == Sense::kNe) {
        s->unequal.push_back(step);
        continue;
      }
      if (sense == Sense::kIn) {
        if (!AddMembers(s, step, &open)) return false;
        continue;
      }
      Polynomial rest = w_.Of(step).e;
      Parts parts;
      Reduce(*s, &rest, &parts);
      for (ProofWriter::Part& part : parts) {
        for (auto& [mono, coef] : part.multiplier) coef = -coef;
      }
      parts.insert(parts.begin(), {One(), step});
      Int c = 0;
      if (check::IsConstant(rest, &c) && (sense == Sense::kGe ? c >= 0 : c == 0)) continue;
      step = w_.Combine(parts);
      if (step < 0) continue;
      s->known.insert(step);
      Statement now = w_.Of(step);
      if (now.sense == Sense::kFalse) {
        s->falsehood = step;
        return false;
      }
      if (now.sense == Sense::kEq) {
        AddEquation(s, step, &open);
      } else if (now.e.size() > 2 || !now.e.begin()->first.empty()) {
        if (now.e.size() == 1) {
          if (!AddBound(s, step, &open)) return false;
        } else {
          s->rows.push_back(step);
        }
      } else if (!AddBound(s, step, &open)) {
        return false;
      }
    }
    return true;
  }

  // M - low >= 0 or high - M >= 0.
  bool AddBound(State* s, int step, std::vector<int>* open) {
    const Polynomial& e = w_.Of(step).e;
    auto [mono, coef] = *e.rbegin();
    Int constant = check::ConstantOf(e);
    Bounds& b = s->bounds[mono];
    if (coef > 0) {
      if (b.low_step >= 0 && b.low >= -constant) return true;
      b.low_step = step;
      b.low = -constant;
    } else {
      if (b.high_step >= 0 && b.high <= constant) return true;
      b.high_step = step;
      b.high = constant;
    }
    changed_ = true;
    if (b.low_step < 0 || b.high_step < 0) return true;
    if (b.low > b.high) {
      s->falsehood = w_.Combine({{One(), b.low_step}, {One(), b.high_step}});
      return s->falsehood < 0;
    }
    if (b.low == b.high) open->push_back(w_.Equal(b.low_step, b.high_step));
    return true;
  }

  int Rank(const Mono& m) const {
    if (m.size() > 1) return 10;
    switch (w_.AtomOf(m[0]).kind) {
      case AtomKind::kCeilDiv:
      case AtomKind::kProduct:
        return 0;
      case AtomKind::kMin:
      case AtomKind::kMax:
        return 1;
      case AtomKind::kSymbol:
        return 2;
      case AtomKind::kMod:  // has bounds of its own
        return 3;
      case AtomKind::kFloorDiv:
        return 4;
    }
    return 10;
  }

  void AddEquation(State* s, int step, std::vector<int>* open) {
    Polynomial e = w_.Of(step).e;
    Equation q = {step, {}, 1};
    for (const auto& [mono, coef] : e) {
      if (mono.empty() || (coef != 1 && coef != -1)) continue;
      bool alone = true;
      for (const auto& [other, k] : e) {
        Mono rest;
        alone = alone && (other == mono || !Divide(other, mono, &rest));
      }
      if (!alone || (!q.pivot.empty() && Rank(mono) >= Rank(q.pivot))) continue;
      q.pivot = mono;
      q.sign = coef;
    }
    if (q.pivot.empty()) Halve(step, open);
    changed_ = true;
    // What holds the pivot is added anew.
    std::vector<Equation> kept;
    Mono rest;
    auto holds = [&](int other) {
      const Polynomial& o = w_.Of(other).e;
      return !q.pivot.empty() && std::any_of(o.begin(), o.end(), [&](const auto& term) {
        return Divide(term.first, q.pivot, &rest);
      });
    };
    auto again = [&](int other) {
      s->known.erase(other);
      open->push_back(other);
    };
    for (const Equation& other : s->equations) {
      holds(other.step) ? again(other.step) : kept.push_back(other);
    }
    s->equations = std::move(kept);
    std::vector<int> rows;
    for (int row : s->rows) holds(row) ? again(row) : rows.push_back(row);
    s->rows = std::move(rows);
    for (auto it = s->bounds.begin(); it != s->bounds.end();) {
      if (q.pivot.empty() || !Divide(it->first, q.pivot, &rest)) {
        ++it;
        continue;
      }
      if (it->second.low_step >= 0) again(it->second.low_step);
      if (it->second.high_step >= 0) again(it->second.high_step);
      it = s->bounds.erase(it);
    }
    s->equations.push_back(std::move(q));
  }

  // An equation without a coefficient of 1 or -1: with m the least one, the rest of it is divisible
  // by m, and the quotient t gives two equations with smaller coefficients (Euclid's algorithm).
  void Halve(int step, std::vector<int>* open) {
    const Polynomial e = w_.Of(step).e;
    const Mono* least = nullptr;
    Int m = 0;
    for (const auto& [mono, coef] : e) {
      Int size = coef < 0 ? -coef : coef;
      if (mono.empty() || mono.size() > 1 || (least != nullptr && size >= m)) continue;
      least = &mono;
      m = size;
    }
    if (least == nullptr || m < 2) return;
    check::Atom t = {.kind = AtomKind::kFloorDiv};
    t.b = check::Constant(m);
    for (const auto& [mono, coef] : e) {
      Int q = 0;
      check::FloorDiv(coef, m, &q);
      if (coef - q * m != 0) t.a[mono] = coef - q * m;
    }
    int32_t atom = w_.Atom(t);
    int upper = w_.Quotient(atom, true), lower = w_.Quotient(atom, false);
    // a - m*t is between 0 and m - 1, and a == -m * (...) by the equation.
    int le = w_.Combine({{One(), upper}, {check::Constant(-1), step}});
    int ge = w_.Combine({{One(), lower}, {One(), step}});
    if (le < 0 || ge < 0 || w_.Of(le).sense != Sense::kGe || w_.Of(ge).sense != Sense::kGe) return;
    if (!Sum(w_.Of(le).e, 1, w_.Of(ge).e, 0).empty()) return;
    open->push_back(w_.Equal(le, ge));
  }

  // e in set: at least the least member, at most the greatest.
  bool AddMembers(State* s, int step, std::vector<int>* open) {
    const Statement in = w_.Of(step);
    s->members.push_back(step);
    if (in.set.empty()) {
      // No case at all.
      return true;
    }
    if (in.set.size() > kSetCases) return true;
    auto [low, high] = std::minmax_element(in.set.begin(), in.set.end());
    for (int side : {1, -1}) {
      std::vector<std::pair<int, int>> cases;
      Polynomial goal = side == 1 ? Sum(in.e, 0, {}, -Int{*low}) : Sum({}, -1, in.e, *high);
      for (int64_t v : in.set) {
        int a = w_.Assume({Sense::kEq, Sum(in.e, 0, {}, -Int{v}), {}});
        cases.emplace_back(a, w_.CombineTo({{check::Constant(side), a}}, {Sense::kGe, goal, {}}));
      }
      open->push_back(w_.Cases(step, cases));
    }
    return true;
  }

  // The least value of `e` by bounds of its terms: e - *low == sum of parts.
  bool Lower(const State& s, const Polynomial& e, Int* low, Parts* parts) {
    Polynomial rest = e;
    Reduce(s, &rest, parts);
    *low = 0;
    for (const auto& [mono, coef] : rest) {
      Int value = 0;
      if (mono.empty()) {
        value = coef;
      } else {
        auto it = s.bounds.find(mono);
        if (it == s.bounds.end()) return false;
        int step = coef > 0 ? it->second.low_step : it->second.high_step;
        if (step < 0) return false;
        if (__builtin_mul_overflow(coef, coef > 0 ? it->second.low : it->second.high, &value)) {
          return false;
        }
        parts->push_back({check::Constant(coef > 0 ? coef : -coef), step});
      }
      if (__builtin_add_overflow(*low, value, low)) return false;
    }
    return true;
  }

  // A step that concludes e >= 0, by bounds alone, or -1.
  int ByBounds(const State& s, const Polynomial& e) {
    Int low = 0;
    Parts parts;
    if (!Lower(s, e, &low, &parts) || low < 0 || parts.empty()) return -1;
    return w_.CombineTo(parts, {Sense::kGe, e, {}});
  }

  // ---- Propagation. All return false if the state is contradictory.

  bool PropagateRow(State* s, int step, Int sign, int depth = 0) {
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

  bool Propagate(State* s) {
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

  // A min that is less than one operand equals the other; max alike.
  bool Exclude(State* s, int32_t x) {
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

  // A min is at least the least value of an operand; max alike.
  bool BoundExtreme(State* s, int32_t x) {
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

  // A step that concludes e >= 0, by linear reasoning in one go, or -1.
  int ByLinear(const State& s, const Polynomial& e) {
    int a = w_.Assume({Sense::kGe, Sum({}, -1, e, -1), {}});
    State denied = s;
    Values ignored;
    if (Add(&denied, a) && Linear(&denied, &ignored)) return -1;
    return w_.Contradiction(a, denied.falsehood);
  }

  // Extremes whose operands are ordered, differences that are known to be one-sided, divisors of
  // known sign.
  bool Decide(State* s) {
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

  std::set<Mono> Products(const State& s) const {
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

  std::vector<int> BoundsOf(const State& s, const Mono& m) {
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

  // Products of bounds for every product of atoms that occurs; and of bounds and rows, if that
  // makes no new products.
  bool Multiply(State* s) {
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

  bool Saturate(State* s) {
    for (int round = 0; round < kRounds; ++round) {
      changed_ = false;
      if (!Propagate(s) || !Decide(s)) return false;
      if (!changed_ || round == kRounds / 2) {
        if (!Multiply(s)) return false;
      }
      if (!changed_) break;
    }
    return true;
  }

  // ---- Linear refutation.

  using Values = std::map<Mono, double>;

  // False if a combination of what is known is a contradiction. Otherwise `point` gets values of
  // the terms that satisfy all rows, if there are any.
  bool Linear(State* s, Values* point) {
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

  // The value of `e` at a point of the terms; terms without a value count as products.
  double ValueOf(const Polynomial& e, const Values& point) const {
    double sum = 0;
    for (const auto& [mono, coef] : e) sum += static_cast<double>(coef) * ValueOf(mono, point);
    return sum;
  }
  double ValueOf(const Mono& mono, const Values& point) const {
    auto it = point.find(mono);
    if (it != point.end()) return it->second;
    double product = 1;
    for (int32_t x : mono) {
      it = point.find({x});
      product *= it == point.end() ? 0 : it->second;
    }
    return product;
  }

  // ---- Case splits.

  // A step that concludes false, or -1.
  int Refute(State s, int depth) {
    Values point;
    if (!Saturate(&s) || !Linear(&s, &point)) return s.falsehood;
    if (depth == 0) return -1;
    for (bool violated : {true, false}) {  // at the point that linear reasoning left
      for (int step : s.members) {
        const Statement in = w_.Of(step);
        if (in.set.size() > kSetCases) continue;
        double v = ValueOf(in.e, point);
        bool holds = std::any_of(in.set.begin(), in.set.end(), [&](int64_t member) {
          return std::abs(static_cast<double>(member) - v) < kTolerance;
        });
        if (violated && holds) continue;
        s.members.erase(std::find(s.members.begin(), s.members.end(), step));
        std::vector<std::pair<int, int>> cases;
        for (int64_t member : in.set) {
          int a = w_.Assume({Sense::kEq, Sum(in.e, 0, {}, -Int{member}), {}});
          int result = RefuteUnder(s, a, depth);
          if (result < 0 || !w_.RestsOn(result, a)) return result;
          cases.emplace_back(a, result);
        }
        return w_.Cases(step, cases);
      }
      for (int step : s.unequal) {
        const Polynomial e = w_.Of(step).e;
        if (violated && std::abs(ValueOf(e, point)) > kTolerance) continue;
        s.unequal.erase(std::find(s.unequal.begin(), s.unequal.end(), step));
        return Split(s, step, Sum({}, 1, e, -1), depth);
      }
      if (int32_t x = UnsettledExtreme(s, point, violated); x >= 0) return Order(s, x, depth);
      if (std::optional<Polynomial> d = violated ? SplitAtPoint(s, point) : SplitBounds(s)) {
        return Split(s, -1, *d, depth);
      }
    }
    return -1;
  }

  int RefuteUnder(State s, int assumption, int depth) {
    if (nodes_-- <= 0 || work_ <= 0) return -1;
    if (!Add(&s, assumption)) return s.falsehood;
    return Refute(std::move(s), depth - 1);
  }

  // d >= 0 or the opposite; of e != 0, if given.
  int Split(const State& s, int source, const Polynomial& d, int depth) {
    int first = w_.Assume({Sense::kGe, d, {}});
    Polynomial opposite = source < 0 ? Sum({}, -1, d, -1) : Sum({}, -1, w_.Of(source).e, -1);
    int second = w_.Assume({Sense::kGe, opposite, {}});
    int a = RefuteUnder(s, first, depth);
    if (a < 0 || !w_.RestsOn(a, first)) return a;
    int b = RefuteUnder(s, second, depth);
    if (b < 0 || !w_.RestsOn(b, second)) return b;
    return w_.Cases(source, {{first, a}, {second, b}});
  }

  // A min or max that isn't known to equal an operand, or -1.
  int32_t UnsettledExtreme(const State& s, const Values& point, bool violated) const {
    for (int32_t x = 0; x < w_.num_atoms(); ++x) {
      const check::Atom& atom = w_.AtomOf(x);
      bool is_min = atom.kind == AtomKind::kMin;
      if ((!is_min && atom.kind != AtomKind::kMax) || s.selected.contains(x)) continue;
      double a = ValueOf(atom.a, point), b = ValueOf(atom.b, point);
      double wanted = is_min ? std::min(a, b) : std::max(a, b);
      if (violated && std::abs(ValueOf(Mono{x}, point) - wanted) < kTolerance) continue;
      if (violated || InUse(s, x)) return x;
    }
    return -1;
  }

  // Cases on the order of the operands of the min or max `x`.
  int Order(State s, int32_t x, int depth) {
    const check::Atom atom = w_.AtomOf(x);
    s.selected.insert(x);
    std::vector<std::pair<int, int>> cases;
    for (Int side : {1, -1}) {
      Polynomial order = Sum(Sum({}, side, atom.b, 0), -side, atom.a, 0);
      int a = w_.Assume({Sense::kGe, side == 1 ? order : Sum(order, 0, {}, -1), {}});
      int known = side == 1 ? a : w_.CombineTo({{One(), a}}, {Sense::kGe, order, {}});
      State branch = s;
      int result = Add(&branch, w_.Select(x, known)) ? RefuteUnder(std::move(branch), a, depth)
                                                     : branch.falsehood;
      if (result < 0 || !w_.RestsOn(result, a)) return result;
      cases.emplace_back(a, result);
    }
    return w_.Cases(-1, cases);
  }

  // Where the point isn't integral, or a product isn't that of its factors.
  std::optional<Polynomial> SplitAtPoint(const State& s, const Values& point) {
    const Mono* best = nullptr;
    double at = 0, least = 0;
    for (const auto& [mono, v] : point) {
      if (mono.size() > 1 || std::abs(v - std::round(v)) < kTolerance) continue;
      if (std::abs(v) > 1e15) continue;
      double cost = std::abs(v) + std::abs(v - std::floor(v) - 0.5);
      if (best != nullptr && cost >= least) continue;
      best = &mono;
      least = cost;
      at = std::ceil(v);
    }
    if (best != nullptr) {
      return Sum(check::Variable((*best)[0]), 0, {}, -static_cast<Int>(at));
    }
    for (const auto& [mono, v] : point) {
      if (mono.size() == 1) continue;
      double product = 1;
      for (int32_t x : mono) product *= ValueOf(Mono{x}, point);
      if (std::abs(product - v) < kTolerance * (1 + std::abs(v))) continue;
      if (std::optional<Polynomial> d = SplitFactor(s, mono, point)) return d;
    }
    return std::nullopt;
  }

  // At the point, of the factor with the smallest range.
  std::optional<Polynomial> SplitFactor(const State& s, const Mono& mono, const Values& point) {
    std::optional<Polynomial> best;
    Int least = 0;
    for (int32_t x : mono) {
      double v = ValueOf(Mono{x}, point);
      if (std::abs(v) > 1e15) continue;
      Int at = static_cast<Int>(std::floor(v)), size = Int{1} << 100;
      auto it = s.bounds.find({x});
      if (it == s.bounds.end()) {  // its sign first
        size = 16;
        at = -1;
      } else {
        const Bounds& b = it->second;
        if (b.low_step >= 0 && b.high_step >= 0) {
          size = b.high - b.low;
        } else if (b.low_step >= 0 ? at <= b.low : at >= b.high) {
          size = Int{1} << 40;  // at its only bound
        }
        if (b.low_step >= 0) at = std::max(at, b.low);
        if (b.high_step >= 0) at = std::min(at, b.high - 1);
        if (b.low_step >= 0 && at < b.low) continue;
      }
      if (best && size >= least) continue;
      least = size;
      best = Sum(check::Variable(x), 0, {}, -at - 1);
    }
    return best;
  }

  // On the sign of a divisor, or within the bounds of an atom.
  std::optional<Polynomial> SplitBounds(const State& s) {
    for (int32_t x = 0; x < w_.num_atoms(); ++x) {
      const check::Atom& atom = w_.AtomOf(x);
      Int c = 0;
      if (atom.kind != AtomKind::kFloorDiv || check::IsConstant(atom.b, &c) ||
          s.divided.contains(x)) {
        continue;
      }
      Polynomial b = atom.b;
      Parts ignored;
      Reduce(s, &b, &ignored);
      if (b.empty()) continue;  // divided by 0
      return Sum(atom.b, 0, {}, ByBounds(s, atom.b) < 0 ? 0 : -1);
    }
    std::optional<Polynomial> best;
    Int least = 0;
    for (const auto& [mono, b] : s.bounds) {
      if (mono.size() > 1) continue;
      Int cost = 100, at = b.low_step >= 0 ? b.low + 1 : b.high;
      if (b.low_step >= 0 && b.high_step >= 0) {
        cost = b.high - b.low;
        if (cost >= 8) at = b.low + (cost + 1) / 2;
      }
      if (best && cost >= least) continue;
      least = cost;
      best = Sum(check::Variable(mono[0]), 0, {}, -at);
    }
    return best;
  }

  bool InUse(const State& s, int32_t x) const {
    auto has = [&](const Mono& m) { return std::find(m.begin(), m.end(), x) != m.end(); };
    auto in = [&](int step) {
      const Polynomial& e = w_.Of(step).e;
      return std::any_of(e.begin(), e.end(), [&](const auto& term) { return has(term.first); });
    };
    return std::any_of(s.rows.begin(), s.rows.end(), in) ||
           std::any_of(s.equations.begin(), s.equations.end(),
                       [&](const Equation& q) { return in(q.step); });
  }

  // ---- Goals.

  int ConcludeGe(const State& s, const Polynomial& e) {
    Int low = 0;
    if (int step = ByBounds(s, e); step >= 0) return step;
    Polynomial rest = e;
    Parts parts;
    Reduce(s, &rest, &parts);
    if (check::IsConstant(rest, &low) && low < 0) return -1;
    int a = w_.Assume({Sense::kGe, Sum({}, -1, e, -1), {}});
    return w_.Contradiction(a, RefuteUnder(s, a, kDepth));
  }

  int Conclude(const State& s, const Statement& goal) {
    switch (goal.sense) {
      case Sense::kGe:
        return Trivial(goal) ? TrivialStep(goal) : ConcludeGe(s, goal.e);
      case Sense::kEq: {
        if (Trivial(goal)) return TrivialStep(goal);
        Polynomial rest = goal.e;
        Parts parts;
        Reduce(s, &rest, &parts);
        if (rest.empty()) return w_.CombineTo(parts, goal);
        int ge = ConcludeGe(s, goal.e);
        return ge < 0 ? -1 : w_.Equal(ge, ConcludeGe(s, Sum({}, -1, goal.e, 0)));
      }
      case Sense::kNe: {
        int a = w_.Assume({Sense::kEq, goal.e, {}});
        return w_.Contradiction(a, RefuteUnder(s, a, kDepth));
      }
      case Sense::kIn:
        return ConcludeMember(s, goal, 0);
      case Sense::kFalse:
        break;
    }
    return -1;
  }

  // A claim without variables.
  bool Trivial(const Statement& goal) const {
    Int c = 0;
    return check::IsConstant(goal.e, &c);
  }
  int TrivialStep(const Statement& goal) {
    Int c = check::ConstantOf(goal.e);
    if (goal.sense == Sense::kGe ? c < 0 : c != 0) return -1;
    return w_.Enumerate({}, goal);
  }

  // Under e >= set[i], if i > 0: e in set.
  int ConcludeMember(State s, const Statement& goal, size_t i) {
    if (Trivial(goal)) return w_.Enumerate({}, goal);
    if (i == goal.set.size()) {
      // Nothing is left above the last member.
      return w_.Absurd(Refute(std::move(s), kDepth), goal);
    }
    Int v = goal.set[i];
    // Below v, at v, or above.
    int from = w_.Assume({Sense::kGe, Sum(goal.e, 0, {}, -v), {}});
    int below = w_.Assume({Sense::kGe, Sum({}, -1, goal.e, v - 1), {}});
    int gone = w_.Absurd(RefuteUnder(s, below, kDepth), goal);
    if (gone < 0) return -1;
    State at_least = s;
    if (!Add(&at_least, from)) {
      return w_.Cases(-1, {{from, w_.Absurd(at_least.falsehood, goal)}, {below, gone}});
    }
    int above = w_.Assume({Sense::kGe, Sum(goal.e, 0, {}, -v - 1), {}});
    int at = w_.Assume({Sense::kGe, Sum({}, -1, goal.e, v), {}});
    int member = w_.Member(w_.Equal(from, at), goal);
    State more = at_least;
    int rest = -1;
    if (!Add(&more, above)) {
      rest = w_.Absurd(more.falsehood, goal);
    } else {
      rest = ConcludeMember(std::move(more), goal, i + 1);
    }
    if (rest < 0) return -1;
    int inner = w_.Cases(-1, {{above, rest}, {at, member}});
    return w_.Cases(-1, {{from, inner}, {below, gone}});
  }

  int EnumerateAll(const State& s) {
    std::vector<int32_t> premises;
    for (size_t i = 0; i < p_.facts.size(); ++i) {
      premises.push_back(w_.Fact(static_cast<int32_t>(i)));
    }
    for (int32_t x = 0; x < w_.num_atoms(); ++x) {
      if (w_.AtomOf(x).kind != AtomKind::kSymbol) continue;
      for (Int side : {1, -1}) {
        Int low = 0;
        Parts parts;
        Polynomial e = Sum({}, side, check::Variable(x), 0);
        if (!Lower(s, e, &low, &parts) || parts.empty()) continue;
        premises.push_back(w_.CombineTo(parts, {Sense::kGe, Sum(e, 0, {}, -low), {}}));
      }
    }
    for (const Equation& q : s.equations) premises.push_back(q.step);
    for (int32_t p : premises) {
      if (p < 0) return -1;
    }
    int step = w_.Enumerate(premises, p_.claim);
    return check::Check(p_, w_.Finish(step)).ok() ? step : -1;
  }

  static constexpr int kDepth = 24;

  const check::Problem& p_;
  ProofWriter& w_;
  std::set<Mono> stated_;  // products
  int nodes_ = 0;
  int64_t work_ = kWork;
  bool changed_ = false;
};

}  // namespace

int SearchForProof(const check::Problem& problem, ProofWriter* writer) {
  return Search(problem, writer).Run();
}

}  // namespace lathe::dim
