// The search for certificates: refutes the opposite of a claim by trees of case splits, whose
// leaves are linear combinations of facts, axioms of atoms and products of bounds; small domains
// may also be tried point by point. Every step is written as it is found.
#include "ir/dim/certificate_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "ir/dim/certificate_case.h"
#include "ir/dim/check/check.h"
#include "ir/dim/check/poly.h"

namespace lathe::dim {
namespace {

constexpr double kTolerance = 1e-6;
constexpr int kFewNodes = 24, kManyNodes = 400;

class Search : public CaseReasoner {
 public:
  using CaseReasoner::CaseReasoner;

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
    // Equations hide bounds of what they eliminate: a case without them sees those.
    State plain;
    if (!Axioms(&plain, /*definitions=*/false)) return -1;
    for (size_t i = 0; i < p_.facts.size(); ++i) {
      if (p_.facts[i].sense == Sense::kEq) continue;
      if (!Add(&plain, w_.Fact(static_cast<int32_t>(i)))) return -1;
    }
    for (int round = 0; round < 4; ++round) {
      if (!Propagate(&plain)) return -1;
    }
    for (const State* state : {&s, static_cast<const State*>(&plain)}) {
      for (int32_t x = 0; x < w_.num_atoms(); ++x) {
        if (w_.AtomOf(x).kind != AtomKind::kSymbol) continue;
        for (int bound : BoundsOf(*state, {x})) premises.push_back(bound);
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

  int nodes_ = 0;
};

}  // namespace

int SearchForProof(const check::Problem& problem, ProofWriter* writer) {
  return Search(problem, writer).Run();
}

}  // namespace lathe::dim
