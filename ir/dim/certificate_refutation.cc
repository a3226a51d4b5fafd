// From the Decider's refutations to certificates: each premise becomes a step, and so does each
// line of the derivation; splits become cases.
#include <algorithm>

#include "ir/dim/certificate_search.h"
#include "ir/dim/check/poly.h"
#include "ir/dim/conflict.h"
#include "ir/dim/decide.h"

namespace lathe::dim {
namespace {

using check::Int;
using check::Sense;
using check::Statement;

check::Poly One() { return check::Constant(1); }

check::Poly Plus(const check::Poly& p, Int k, const check::Poly& q, Int constant) {
  check::Poly sum = p;
  if (!check::Add(q, k, &sum) || !check::Add(check::Constant(constant), 1, &sum)) return {};
  return sum;
}

class Translation {
 public:
  Translation(const Refutation& refutation, const std::vector<FactId>& ids,
              const check::Problem& problem, ProofWriter* writer)
      : r_(refutation),
        ids_(ids),
        p_(problem),
        w_(*writer),
        translator_([writer](const check::Atom& atom) { return writer->Atom(atom); }) {}

  int Run() {
    for (const DecideVariable& v : r_.variables) monos_.push_back(MonoOf(v));
    const Statement& claim = p_.claim;
    switch (claim.sense) {
      case Sense::kGe:
        denials_ = {w_.Assume({Sense::kGe, Plus({}, -1, claim.e, -1), {}})};
        break;
      case Sense::kEq:
        denials_ = {w_.Assume({Sense::kNe, claim.e, {}})};
        break;
      case Sense::kNe:
        denials_ = {w_.Assume({Sense::kEq, claim.e, {}})};
        break;
      default:
        for (int64_t v : claim.set) {
          denials_.push_back(w_.Assume({Sense::kNe, Plus(claim.e, 0, {}, -Int{v}), {}}));
        }
    }
    int falsehood = Refute();
    if (falsehood < 0) return -1;
    if (claim.sense != Sense::kIn) return w_.Contradiction(denials_[0], falsehood);
    int result = w_.Absurd(falsehood, claim);
    for (int denial : denials_) {
      int equal = w_.Assume({Sense::kEq, w_.Of(denial).e, {}});
      result = w_.Cases(-1, {{equal, w_.Member(equal, claim)}, {denial, result}});
    }
    return result;
  }

 private:
  // ---- Terms.

  check::Mono MonoOf(const DecideVariable& v) {
    check::Mono mono;
    if (v.kind == NodeKind::kMonomial) {
      for (int f : v.factors) {
        const check::Mono& factor = monos_[static_cast<size_t>(f)];
        mono.insert(mono.end(), factor.begin(), factor.end());
      }
      std::sort(mono.begin(), mono.end());
      return mono;
    }
    check::Atom atom = {.kind = AtomKindOf(v.kind), .symbol = v.symbol};
    if (v.kind != NodeKind::kSymbol) {
      atom.a = translator_.Translate(v.a);
      atom.b = translator_.Translate(v.b);
    }
    return {w_.Atom(atom)};
  }

  check::Poly PolyOf(int variable) const {
    check::Poly e;
    e[monos_[static_cast<size_t>(variable)]] = 1;
    return e;
  }

  Statement StatementOf(const LinearRow& row) const {
    Statement s = {Sense::kGe, check::Constant(row.constant), {}};
    for (const LinearTerm& t : row.terms) {
      check::Add(PolyOf(t.variable), t.coef, &s.e);
    }
    return s;
  }

  int32_t AtomOf(const Premise& p) const { return monos_[static_cast<size_t>(p.index)][0]; }

  // ---- Steps. The steps of the derivation that others need come first.

  // The step of the writer for a step of the derivation, which is made by then.
  int Made(int step) const { return step < 0 ? -1 : made_[static_cast<size_t>(step)]; }

  void Make(int wanted) {
    if (wanted < 0) return;
    std::vector<bool> needed(static_cast<size_t>(wanted) + 1, false);
    needed[static_cast<size_t>(wanted)] = true;
    auto need = [&](int step) {
      if (step >= 0) needed[static_cast<size_t>(step)] = true;
    };
    for (size_t i = needed.size(); i-- > 0;) {
      if (!needed[i] || made_[i] >= 0) continue;
      const DerivationStep& d = r_.steps[i];
      need(d.first);
      need(d.second);
      if (d.premise < 0) continue;
      need(r_.premises[static_cast<size_t>(d.premise)].first);
      need(r_.premises[static_cast<size_t>(d.premise)].second);
    }
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i] || made_[i] >= 0) continue;
      const DerivationStep& d = r_.steps[i];
      made_[i] = d.premise < 0 ? Derive(d) : State(r_.premises[static_cast<size_t>(d.premise)]);
    }
  }

  // (f * first + g * second) / divisor with the constant rounded down.
  int Derive(const DerivationStep& d) {
    std::vector<ProofWriter::Part> parts;
    Statement s = {Sense::kGe, {}, {}};
    for (auto [step, factor] : {std::pair(d.first, d.first_factor), {d.second, d.second_factor}}) {
      if (step < 0 || factor == 0) continue;
      if (Made(step) < 0 || !check::Add(w_.Of(Made(step)).e, factor, &s.e)) return -1;
      parts.push_back({check::Constant(factor), Made(step)});
    }
    for (auto it = s.e.begin(); it != s.e.end();) {
      check::FloorDiv(it->second, d.divisor, &it->second);
      it = it->second == 0 ? s.e.erase(it) : std::next(it);
    }
    return w_.CombineTo(parts, std::move(s), d.divisor);
  }

  // `multiplier` times an earlier step, which states the same as the premise or more.
  int Fit(int step, Int multiplier, const Statement& s) {
    if (step < 0) return -1;
    const Statement& said = w_.Of(step);
    if (said.sense == Sense::kGe && said.e == s.e) return step;
    return w_.CombineTo({{check::Constant(multiplier), step}}, s);
  }

  int FactStep(FactId id) {
    auto it = std::find(ids_.begin(), ids_.end(), id);
    return it == ids_.end() ? -1 : w_.Fact(static_cast<int32_t>(it - ids_.begin()));
  }

  // b - 1 >= 0 from the premise's first step.
  int Positive(const Premise& p) {
    const check::Atom& atom = w_.AtomOf(AtomOf(p));
    Int c = 0;
    if (check::IsConstant(atom.b, &c)) return -1;
    return Fit(Made(p.first), 1, {Sense::kGe, Plus(atom.b, 0, {}, -1), {}});
  }

  int State(const Premise& p) {
    const Statement s = StatementOf(p.row);
    const Int sign = p.negated ? -1 : 1;
    switch (p.kind) {
      case Premise::kFact:
        return Fit(p.index < 0 ? denials_[0] : FactStep(p.index), sign, s);
      case Premise::kNotEqual:
      case Premise::kSetGap:
      case Premise::kInteger:
        return w_.Assume(s);
      case Premise::kSetHull:
        return Hull(FactStep(p.index), sign, s);
      case Premise::kNonNegative:
        return w_.NonNegative(AtomOf(p));
      case Premise::kQuotient:
        return Fit(w_.Quotient(AtomOf(p), !p.negated, Positive(p)), 1, s);
      case Premise::kDefinition:
        return Fit(w_.Definition(AtomOf(p)), -sign, s);
      case Premise::kBound:
        return Fit(w_.Bound(AtomOf(p), p.negated), 1, s);
      case Premise::kSelect: {
        const check::Atom& x = w_.AtomOf(AtomOf(p));
        int order = Made(p.first);
        if (order < 0) return -1;
        Statement less = {Sense::kGe, Plus(x.b, -1, x.a, 0), {}};  // a <= b, or b <= a
        if (w_.Of(order).e != less.e) less.e = Plus(x.a, -1, x.b, 0);
        return Fit(w_.Select(AtomOf(p), Fit(order, 1, less)), -sign, s);
      }
      case Premise::kProduct:
        return Fit(w_.Multiply(Made(p.first), Made(p.second)), 1, s);
      case Premise::kTimes: {
        int equal = w_.Equal(Made(p.first), Made(p.second));
        check::Poly multiplier = PolyOf(p.index);
        for (auto& [mono, coef] : multiplier) coef *= sign;
        return equal < 0 ? -1 : w_.CombineTo({{multiplier, equal}}, s);
      }
      case Premise::kSquare:
        return Fit(w_.Square(PolyOf(p.index)), 1, s);
    }
    return -1;
  }

  // e is at least the least member, at most the greatest.
  int Hull(int in, Int sign, const Statement& s) {
    if (in < 0) return -1;
    const Statement member = w_.Of(in);
    std::vector<std::pair<int, int>> cases;
    for (int64_t v : member.set) {
      int a = w_.Assume({Sense::kEq, Plus(member.e, 0, {}, -Int{v}), {}});
      cases.emplace_back(a, w_.CombineTo({{check::Constant(sign), a}}, s));
    }
    return cases.empty() ? -1 : w_.Cases(in, cases);
  }

  // ---- The tree.

  int Refute() {
    made_.assign(r_.steps.size(), -1);
    std::vector<int> falsehoods(r_.nodes.size(), -1);  // children come before their parents
    for (size_t i = 0; i < r_.nodes.size(); ++i) {
      const RefutationNode& n = r_.nodes[i];
      if (n.contradiction >= 0) {
        Make(n.contradiction);
        int step = Made(n.contradiction);
        falsehoods[i] = step < 0 ? -1 : w_.Combine({{One(), step}});
        continue;
      }
      int low = falsehoods[static_cast<size_t>(n.low)];
      int high = falsehoods[static_cast<size_t>(n.high)];
      if (low >= 0 && high >= 0) falsehoods[i] = Join(n, low, high);
    }
    return r_.root < 0 ? -1 : falsehoods[static_cast<size_t>(r_.root)];
  }

  int Join(const RefutationNode& n, int low, int high) {
    const Premise& p = r_.premises[static_cast<size_t>(n.high_premise)];
    Make(r_.premises[static_cast<size_t>(n.low_premise)].row.step);
    Make(p.row.step);
    int below = Made(r_.premises[static_cast<size_t>(n.low_premise)].row.step);
    int above = Made(p.row.step);
    switch (p.kind) {
      case Premise::kNotEqual: {
        int source = p.index >= 0 ? FactStep(p.index) : -1;
        for (int denial : denials_) {
          bool fits = Plus(w_.Of(denial).e, 0, {}, -1) == w_.Of(above).e;
          if (p.index < 0 && fits) source = denial;
        }
        return source < 0 ? -1 : w_.Cases(source, {{above, high}, {below, low}});
      }
      case Premise::kSetGap: {
        // Neither side holds, but every member is on one of them.
        int in = FactStep(p.index);
        if (in < 0) return -1;
        int not_below = w_.Contradiction(below, low), not_above = w_.Contradiction(above, high);
        const Statement member = w_.Of(in);
        std::vector<std::pair<int, int>> cases;
        for (int64_t v : member.set) {
          int a = w_.Assume({Sense::kEq, Plus(member.e, 0, {}, -Int{v}), {}});
          int falsehood = w_.Combine({{One(), not_below}, {check::Constant(-1), a}});
          if (falsehood < 0 || w_.Of(falsehood).sense != Sense::kFalse) {
            falsehood = w_.Combine({{One(), not_above}, {One(), a}});
          }
          cases.emplace_back(a, falsehood);
        }
        return cases.empty() ? -1 : w_.Cases(in, cases);
      }
      default:
        return w_.Cases(-1, {{above, high}, {below, low}});
    }
  }

  const Refutation& r_;
  const std::vector<FactId>& ids_;
  const check::Problem& p_;
  ProofWriter& w_;
  DimTranslator translator_;
  std::vector<check::Mono> monos_;  // by variable of the refutation
  std::vector<int> denials_;        // assumptions; more than one for `in`
  std::vector<int> made_;           // by step of the derivation
};

}  // namespace

int ProofByRefutation(const FactSet& facts, const std::vector<FactId>& ids, const Claim& claim,
                      int effort, const check::Problem& problem, ProofWriter* writer) {
  Theory theory(facts.context());
  for (uint32_t s : problem.negative) theory.AllowNegative(s);
  DecideLimits limits;
  limits.steps *= effort;
  limits.nodes *= effort;
  limits.variables *= effort;
  limits.facts = ids.size();
  Decider decider(theory, limits);
  Claim sorted = claim;
  std::sort(sorted.set.begin(), sorted.set.end());
  decider.Deny(sorted);
  for (FactId id : ids)
    decider.Assume(id, ToConstraint(facts.facts()[static_cast<size_t>(id)].claim));
  std::vector<int64_t> values(static_cast<size_t>(facts.context()->num_symbols()), 0);
  auto accept = [](const std::vector<int64_t>&) { return false; };
  if (decider.Run(&values, accept) != Decider::Outcome::kRefuted) return -1;
  return Translation(decider.refutation(), ids, problem, writer).Run();
}

}  // namespace lathe::dim
