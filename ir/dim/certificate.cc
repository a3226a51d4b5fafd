// Stating problems in plain data, and writing proofs. The search for proofs is in
// certificate_search.cc.
#include "ir/dim/certificate.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/dim/certificate_search.h"
#include "ir/dim/check/check.h"
#include "ir/dim/check/poly.h"
#include "ir/dim/conflict.h"
#include "ir/dim/node.h"

namespace lathe::dim {

using check::AtomKind;
using check::Int;
using check::Rule;
using check::Statement;
using check::Step;

Statement DimTranslator::Translate(const Claim& c) {
  Statement s;
  check::Poly a = Translate(c.lhs), b = Translate(c.rhs);
  if (c.relation == Relation::kIn) {
    s = {check::Sense::kIn, a, c.set};
    std::sort(s.set.begin(), s.set.end());
    return s;
  }
  bool less = c.relation == Relation::kLe || c.relation == Relation::kLt;
  s.sense = less                          ? check::Sense::kGe
            : c.relation == Relation::kEq ? check::Sense::kEq
                                          : check::Sense::kNe;
  // Coefficients are int64, so that 128 bits hold the difference.
  check::Add(a, less ? -1 : 1, &s.e);
  check::Add(b, less ? 1 : -1, &s.e);
  if (c.relation == Relation::kLt) check::Add(check::Constant(1), -1, &s.e);
  return s;
}

check::Poly DimTranslator::Translate(Dim d) {
  Poly p = PolyOf(d);
  check::Poly e = check::Constant(p.constant);
  for (const Term& t : p.terms) {
    check::Mono mono;
    if (t.mono->kind == NodeKind::kMonomial) {
      for (const Node* f : t.mono->factors) mono.push_back(AtomOf(f));
      std::sort(mono.begin(), mono.end());
    } else {
      mono = {AtomOf(t.mono)};
    }
    e[mono] = t.coef;
  }
  return e;
}

int32_t DimTranslator::AtomOf(const Node* n) {
  if (auto it = atoms_.find(n); it != atoms_.end()) return it->second;
  check::Atom atom = {.kind = AtomKindOf(n->kind)};
  if (n->kind == NodeKind::kSymbol) {
    atom.symbol = n->symbol;
  } else {
    atom.a = Translate(n->a);
    atom.b = Translate(n->b);
  }
  int32_t index = intern_(atom);
  atoms_[n] = index;
  return index;
}

check::AtomKind AtomKindOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kFloorDiv:
      return AtomKind::kFloorDiv;
    case NodeKind::kMod:
      return AtomKind::kMod;
    case NodeKind::kCeilDiv:
      return AtomKind::kCeilDiv;
    case NodeKind::kMin:
      return AtomKind::kMin;
    case NodeKind::kMax:
      return AtomKind::kMax;
    case NodeKind::kProduct:
      return AtomKind::kProduct;
    default:
      return AtomKind::kSymbol;
  }
}

check::Problem StateProblem(const FactSet& facts, const std::vector<FactId>& ids,
                            const Claim& claim) {
  check::Problem problem;
  DimTranslator translator([&problem](const check::Atom& atom) {
    problem.atoms.push_back(atom);
    return static_cast<int32_t>(problem.atoms.size()) - 1;
  });
  for (FactId id : ids) {
    problem.facts.push_back(translator.Translate(facts.facts()[static_cast<size_t>(id)].claim));
  }
  problem.claim = translator.Translate(claim);
  for (const Fact& f : facts.facts()) {
    std::vector<SymbolId> negative;
    if (f.standing != Standing::kRequired) AppendNegative(f.claim, &negative);
    problem.negative.insert(problem.negative.end(), negative.begin(), negative.end());
  }
  for (int s = 0; s < facts.context()->num_symbols(); ++s) {
    problem.names.push_back(facts.context()->SymbolName(static_cast<SymbolId>(s)));
  }
  return problem;
}

absl::StatusOr<Proof> Certify(const FactSet& facts, const Claim& claim, bool use_required) {
  Answer answer = facts.Prove(claim, use_required);
  if (answer.verdict != Verdict::kProved) {
    return absl::NotFoundError(
        absl::StrCat(claim.ToString(), " isn't proved: it is ", Name(answer.verdict)));
  }
  std::vector<FactId> all;
  for (const Fact& f : facts.facts()) {
    if (use_required || f.standing != Standing::kRequired) all.push_back(f.id);
  }
  struct Attempt {
    const std::vector<FactId>* ids;
    int effort;  // of the Decider; 0: the search
  };
  for (const Attempt& attempt :
       {Attempt{&answer.used, 1}, {&all, 1}, {&answer.used, 0}, {&answer.used, 8}, {&all, 0}}) {
    Proof proof = {*attempt.ids, StateProblem(facts, *attempt.ids, claim), {}};
    ProofWriter writer(proof.problem);
    int last = attempt.effort == 0 ? SearchForProof(proof.problem, &writer)
                                   : ProofByRefutation(facts, *attempt.ids, claim, attempt.effort,
                                                       proof.problem, &writer);
    if (last < 0) continue;
    proof.certificate = writer.Finish(last);
    if (check::Check(proof.problem, proof.certificate).ok()) return proof;
  }
  return absl::UnimplementedError(
      absl::StrCat(claim.ToString(), ": no certificate was found within bounds"));
}

ProofWriter::ProofWriter(const check::Problem& problem) : problem_(problem) {
  for (const check::Atom& a : problem.atoms) {
    atoms_.emplace(std::tuple(a.kind, a.symbol, a.a, a.b), static_cast<int32_t>(atoms_.size()));
  }
}

int32_t ProofWriter::Atom(const check::Atom& atom) {
  auto [it, is_new] = atoms_.emplace(std::tuple(atom.kind, atom.symbol, atom.a, atom.b), 0);
  if (is_new) {
    it->second = num_atoms();
    c_.atoms.push_back(atom);
  }
  return it->second;
}

const check::Atom& ProofWriter::AtomOf(int32_t atom) const {
  size_t i = static_cast<size_t>(atom), n = problem_.atoms.size();
  return i < n ? problem_.atoms[i] : c_.atoms[i - n];
}

int32_t ProofWriter::num_atoms() const {
  return static_cast<int32_t>(problem_.atoms.size() + c_.atoms.size());
}

const Statement& ProofWriter::Of(int step) const {
  return c_.steps[static_cast<size_t>(step)].conclusion;
}

bool ProofWriter::RestsOn(int step, int assumption) const {
  return open_[static_cast<size_t>(step)].contains(assumption);
}

int ProofWriter::Push(Step step) {
  int index = static_cast<int>(c_.steps.size());
  if (step.rule != Rule::kAssume) {
    auto [it, is_new] =
        steps_.emplace(std::tuple(step.rule, step.index, step.premises, step.multipliers,
                                  step.conclusion.sense, step.conclusion.e, step.conclusion.set),
                       index);
    if (!is_new) return it->second;
  }
  std::set<int32_t> open;
  if (step.rule == Rule::kAssume) open.insert(index);
  if (step.rule == Rule::kCases) {
    size_t first = step.premises.size() % 2;
    if (first == 1) open = open_[static_cast<size_t>(step.premises[0])];
    for (size_t k = first; k < step.premises.size(); k += 2) {
      std::set<int32_t> inner = open_[static_cast<size_t>(step.premises[k + 1])];
      inner.erase(step.premises[k]);
      open.merge(inner);
    }
  } else {
    for (int32_t p : step.premises) {
      open.insert(open_[static_cast<size_t>(p)].begin(), open_[static_cast<size_t>(p)].end());
    }
    if (step.rule == Rule::kContradiction) open.erase(step.premises[0]);
  }
  open_.push_back(std::move(open));
  c_.steps.push_back(std::move(step));
  return index;
}

int ProofWriter::Fact(int32_t index) {
  return Push({.rule = Rule::kFact,
               .index = index,
               .conclusion = problem_.facts[static_cast<size_t>(index)]});
}

int ProofWriter::NonNegative(int32_t symbol_atom) {
  const auto& negative = problem_.negative;
  uint32_t symbol = AtomOf(symbol_atom).symbol;
  if (std::find(negative.begin(), negative.end(), symbol) != negative.end()) return -1;
  return Push({.rule = Rule::kNonNegative,
               .index = symbol_atom,
               .conclusion = {check::Sense::kGe, check::Variable(symbol_atom), {}}});
}

int ProofWriter::Assume(Statement s) {
  return Push({.rule = Rule::kAssume, .conclusion = std::move(s)});
}

bool ProofWriter::Sum(const std::vector<Part>& parts, Step* step, check::Poly* sum,
                      bool* equalities) {
  step->rule = Rule::kCombine;
  *equalities = true;
  for (const Part& part : parts) {
    if (part.step < 0) return false;
    if (part.multiplier.empty()) continue;
    *equalities &= Of(part.step).sense == check::Sense::kEq;
    if (!check::AddProduct(part.multiplier, Of(part.step).e, 1, sum)) return false;
    step->premises.push_back(part.step);
    step->multipliers.push_back(part.multiplier);
  }
  return true;
}

int ProofWriter::Combine(const std::vector<Part>& parts) {
  Step step;
  check::Poly sum;
  bool equalities = true;
  if (!Sum(parts, &step, &sum, &equalities)) return -1;
  Int content = 0, constant = check::ConstantOf(sum), floor = 0;
  for (const auto& [mono, coef] : sum) {
    if (mono.empty()) continue;
    Int a = coef, b = content;
    while (b != 0) a = std::exchange(b, a % b);
    content = a < 0 ? -a : a;
  }
  if (content == 0) {
    if (constant < 0 || (equalities && constant > 0)) {
      step.conclusion.sense = check::Sense::kFalse;
      return Push(std::move(step));
    }
    content = 1;
  }
  step.divisor = content;
  if (equalities && constant % content != 0) {
    step.conclusion.sense = check::Sense::kFalse;
    return Push(std::move(step));
  }
  check::FloorDiv(constant, content, &floor);
  step.conclusion.sense = equalities ? check::Sense::kEq : check::Sense::kGe;
  for (auto& [mono, coef] : sum) {
    if (!mono.empty()) step.conclusion.e[mono] = coef / content;
  }
  if (floor != 0) step.conclusion.e[{}] = floor;
  return Push(std::move(step));
}

int ProofWriter::CombineTo(const std::vector<Part>& parts, Statement s, Int divisor) {
  Step step;
  step.divisor = divisor;
  check::Poly sum;
  bool equalities = true;
  if (!Sum(parts, &step, &sum, &equalities)) return -1;
  step.conclusion = std::move(s);
  return Push(std::move(step));
}

int ProofWriter::Equal(int ge, int le) {
  if (ge < 0 || le < 0) return -1;
  return Push({.rule = Rule::kEqual,
               .premises = {ge, le},
               .conclusion = {check::Sense::kEq, Of(ge).e, {}}});
}

int ProofWriter::Multiply(int a, int b) {
  if (a < 0 || b < 0) return -1;
  Step step = {.rule = Rule::kMultiply, .premises = {a, b}};
  step.conclusion.sense = check::Sense::kGe;
  if (!check::AddProduct(Of(a).e, Of(b).e, 1, &step.conclusion.e)) return -1;
  return Push(std::move(step));
}

int ProofWriter::Square(const check::Poly& e) {
  Step step = {.rule = Rule::kSquare, .multipliers = {e}};
  step.conclusion.sense = check::Sense::kGe;
  if (!check::AddProduct(e, e, 1, &step.conclusion.e)) return -1;
  return Push(std::move(step));
}

int ProofWriter::Quotient(int32_t atom, bool upper, int sign) {
  const check::Atom& q = AtomOf(atom);
  Step step = {.rule = Rule::kQuotient, .index = atom};
  Int c = 0;
  bool positive = true;
  if (check::IsConstant(q.b, &c)) {
    if (c == 0) return -1;
    positive = c > 0;
  } else {
    if (sign < 0) return -1;
    step.premises = {sign};
    check::Poly above;
    if (!check::Add(q.b, 1, &above) || !check::Add(check::Constant(1), -1, &above)) return -1;
    positive = Of(sign).e == above;
  }
  Int s = positive ? 1 : -1;
  check::Poly rest;  // s * (a - b*q), from 0 to s*b - 1
  if (!check::Add(q.a, s, &rest) || !check::AddProduct(q.b, check::Variable(atom), -s, &rest)) {
    return -1;
  }
  step.conclusion.sense = check::Sense::kGe;
  if (upper) {
    step.conclusion.e = std::move(rest);
  } else if (!check::Add(rest, -1, &step.conclusion.e) || !check::Add(q.b, s, &step.conclusion.e) ||
             !check::Add(check::Constant(1), -1, &step.conclusion.e)) {
    return -1;
  }
  return Push(std::move(step));
}

int ProofWriter::Definition(int32_t atom) {
  check::Atom x = AtomOf(atom), q = {.kind = AtomKind::kFloorDiv};
  Step step = {.rule = Rule::kDefinition, .index = atom};
  check::Poly e = check::Variable(atom);
  bool ok = true;
  if (x.kind == AtomKind::kProduct) {
    ok = check::AddProduct(x.a, x.b, -1, &e);
  } else if (x.kind == AtomKind::kMod) {
    q.a = x.a;
    q.b = x.b;
    step.other = Atom(q);
    ok = check::Add(x.a, -1, &e) && check::AddProduct(x.b, check::Variable(step.other), 1, &e);
  } else {
    ok = check::Add(x.a, -1, &q.a);
    q.b = x.b;
    step.other = Atom(q);
    ok = ok && check::Add(check::Variable(step.other), 1, &e);
  }
  if (!ok) return -1;
  step.conclusion = {check::Sense::kEq, std::move(e), {}};
  return Push(std::move(step));
}

int ProofWriter::Bound(int32_t atom, bool second) {
  const check::Atom& x = AtomOf(atom);
  Int s = x.kind == AtomKind::kMin ? 1 : -1;
  Step step = {.rule = Rule::kBound, .index = atom};
  step.conclusion.sense = check::Sense::kGe;
  if (!check::Add(second ? x.b : x.a, s, &step.conclusion.e) ||
      !check::Add(check::Variable(atom), -s, &step.conclusion.e)) {
    return -1;
  }
  return Push(std::move(step));
}

int ProofWriter::Select(int32_t atom, int order) {
  if (order < 0) return -1;
  const check::Atom& x = AtomOf(atom);
  check::Poly ordered;  // b - a
  if (!check::Add(x.b, 1, &ordered) || !check::Add(x.a, -1, &ordered)) return -1;
  bool first = (ordered == Of(order).e) == (x.kind == AtomKind::kMin);
  Step step = {.rule = Rule::kSelect, .premises = {order}, .index = atom};
  step.conclusion = {check::Sense::kEq, check::Variable(atom), {}};
  if (!check::Add(first ? x.a : x.b, -1, &step.conclusion.e)) return -1;
  return Push(std::move(step));
}

int ProofWriter::Cases(int source, const std::vector<std::pair<int, int>>& cases) {
  Step step = {.rule = Rule::kCases};
  if (source >= 0) step.premises.push_back(source);
  for (auto [assumption, result] : cases) {
    if (assumption < 0 || result < 0) return -1;
    step.premises.insert(step.premises.end(), {assumption, result});
  }
  step.conclusion = Of(cases.front().second);
  return Push(std::move(step));
}

int ProofWriter::Contradiction(int assumption, int falsehood) {
  if (assumption < 0 || falsehood < 0) return -1;
  const Statement& s = Of(assumption);
  Step step = {.rule = Rule::kContradiction, .premises = {assumption, falsehood}};
  if (s.sense == check::Sense::kGe) {
    step.conclusion.sense = check::Sense::kGe;
    if (!check::Add(s.e, -1, &step.conclusion.e) ||
        !check::Add(check::Constant(1), -1, &step.conclusion.e)) {
      return -1;
    }
  } else {
    step.conclusion = {
        s.sense == check::Sense::kEq ? check::Sense::kNe : check::Sense::kEq, s.e, {}};
  }
  return Push(std::move(step));
}

int ProofWriter::Absurd(int falsehood, Statement s) {
  if (falsehood < 0) return -1;
  return Push({.rule = Rule::kAbsurd, .premises = {falsehood}, .conclusion = std::move(s)});
}

int ProofWriter::Member(int equality, Statement s) {
  if (equality < 0) return -1;
  return Push({.rule = Rule::kMember, .premises = {equality}, .conclusion = std::move(s)});
}

int ProofWriter::Defined(int fact, int32_t atom) {
  return Push({.rule = Rule::kDefined,
               .premises = {fact},
               .index = atom,
               .conclusion = {check::Sense::kNe, AtomOf(atom).b, {}}});
}

int ProofWriter::Enumerate(std::vector<int32_t> premises, Statement s) {
  return Push(
      {.rule = Rule::kEnumerate, .premises = std::move(premises), .conclusion = std::move(s)});
}

check::Certificate ProofWriter::Finish(int last) const {
  check::Certificate out;
  out.atoms = c_.atoms;
  std::vector<bool> used(c_.steps.size(), false);
  used[static_cast<size_t>(last)] = true;
  for (size_t i = static_cast<size_t>(last) + 1; i-- > 0;) {
    if (!used[i]) continue;
    for (int32_t p : c_.steps[i].premises) used[static_cast<size_t>(p)] = true;
  }
  std::vector<int32_t> renumbered(c_.steps.size(), -1);
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<int32_t>(out.steps.size());
    Step step = c_.steps[i];
    for (int32_t& p : step.premises) p = renumbered[static_cast<size_t>(p)];
    out.steps.push_back(std::move(step));
  }
  return out;
}

}  // namespace lathe::dim
