// From Dims to inequalities: what each operation says in linear arithmetic.
#include <algorithm>

#include "ir/dim/decide.h"

namespace lathe::dim {
int Decider::AddPremise(Premise premise) {
  int number = static_cast<int>(r_.premises.size());
  premise.row.step = static_cast<int>(r_.steps.size());
  premise.row.equal = false;
  DerivationStep step;
  step.premise = number;
  r_.steps.push_back(step);
  r_.premises.push_back(std::move(premise));
  return number;
}

LinearRow Decider::PremiseRow(Premise premise) {
  return r_.premises[static_cast<size_t>(AddPremise(std::move(premise)))].row;
}

// The two sides of `premise.row` == 0 as one row.
LinearRow Decider::EqualRow(Premise premise) {
  LinearRow row = PremiseRow(premise);
  Negate(&premise.row);
  premise.negated = !premise.negated;
  row.opposite = PremiseRow(std::move(premise)).step;
  row.equal = true;
  return row;
}

// Of the product of two variables.
Factors Decider::FactorsOf(int x, int y) const {
  Factors product;
  for (int v : {x, y}) {
    const Factors& own = r_.variables[static_cast<size_t>(v)].factors;
    if (own.empty()) {
      product.push_back(v);
    } else {
      product.insert(product.end(), own.begin(), own.end());
    }
  }
  std::sort(product.begin(), product.end());
  return product;
}

int Decider::MonomialOf(Factors factors, bool make) {
  if (factors.size() == 1) return factors[0];
  for (int m : monomials_) {
    if (r_.variables[static_cast<size_t>(m)].factors == factors) return m;
  }
  if (!make) return -1;
  int v = static_cast<int>(r_.variables.size());
  if (v >= limits_.variables) truncated_ = true;
  DecideVariable& variable = r_.variables.emplace_back();
  variable.kind = NodeKind::kMonomial;
  variable.factors = std::move(factors);
  monomials_.push_back(v);
  return v;
}

int Decider::VariableOf(const Node* mono) {
  for (const auto& [node, variable] : variable_of_) {
    if (node == mono) return variable;
  }
  int v = 0;
  if (mono->kind == NodeKind::kSymbol) {
    v = static_cast<int>(r_.variables.size());
    r_.variables.emplace_back().symbol = mono->symbol;
    if (!theory_.MayBeNegative(mono->symbol)) {
      Premise p;
      p.kind = Premise::kNonNegative;
      p.index = v;
      p.row.terms = {{v, 1}};
      rows_.push_back(PremiseRow(std::move(p)));
    }
  } else if (mono->kind == NodeKind::kMonomial) {
    Factors factors;
    for (const Node* f : mono->factors) factors.push_back(VariableOf(f));
    std::sort(factors.begin(), factors.end());
    v = MonomialOf(std::move(factors), /*make=*/true);
  } else {
    v = Atom(mono->kind, mono->a, mono->b);
  }
  variable_of_.emplace_back(mono, v);
  return v;
}

int Decider::Atom(NodeKind kind, Dim a, Dim b) {
  for (size_t i = 0; i < r_.variables.size(); ++i) {
    const DecideVariable& v = r_.variables[i];
    if (v.kind == kind && v.a == a && v.b == b) return static_cast<int>(i);
  }
  int v = static_cast<int>(r_.variables.size());
  DecideVariable& variable = r_.variables.emplace_back();
  variable.kind = kind;
  variable.a = a;
  variable.b = b;
  if (v >= limits_.variables) {
    truncated_ = true;  // it stays without a meaning, which only loses knowledge
  } else {
    AddAxioms(v);
  }
  return v;
}

// d as a row, without a step.
bool Decider::RowOf(Dim d, LinearRow* row) {
  if (!d.ok()) return false;
  Poly p = PolyOf(d);
  row->terms.clear();
  row->constant = p.constant;
  for (const Term& t : p.terms) {
    if (!AddTerms(&row->terms, {{VariableOf(t.mono), 1}}, t.coef)) return false;
  }
  return true;
}

void Decider::AddAxioms(int variable) {
  const DecideVariable v = r_.variables[static_cast<size_t>(variable)];
  LinearRow a, b;
  if (!RowOf(v.a, &a) || !RowOf(v.b, &b)) return;
  Premise p;
  p.index = variable;
  switch (v.kind) {
    case NodeKind::kFloorDiv: {
      if (!b.terms.empty()) {
        divisions_.push_back(variable);
        return;
      }
      p.kind = Premise::kQuotient;
      p.row = a;
      if (b.constant < 1 || !AddTerms(&p.row.terms, {{variable, 1}}, -b.constant)) return;
      LinearRow above = p.row;
      rows_.push_back(PremiseRow(p));
      Negate(&above);
      above.constant += b.constant - 1;
      p.row = above;
      p.negated = true;
      rows_.push_back(PremiseRow(std::move(p)));
      return;
    }
    case NodeKind::kMod: {
      int q = Atom(NodeKind::kFloorDiv, v.a, v.b);
      if (!b.terms.empty()) {
        divisions_.push_back(variable);
        return;
      }
      p.kind = Premise::kDefinition;
      p.row = a;
      if (AddTerms(&p.row.terms, {{q, 1}}, -b.constant) &&
          AddTerms(&p.row.terms, {{variable, 1}}, -1)) {
        rows_.push_back(EqualRow(std::move(p)));
      }
      return;
    }
    case NodeKind::kCeilDiv: {
      int q = Atom(NodeKind::kFloorDiv, -v.a, v.b);
      p.kind = Premise::kDefinition;
      if (b.terms.empty()) return;
      p.row.terms = {};
      if (AddTerms(&p.row.terms, {{q, 1}}, -1) && AddTerms(&p.row.terms, {{variable, 1}}, -1)) {
        rows_.push_back(EqualRow(std::move(p)));
      }
      return;
    }
    case NodeKind::kMin:
    case NodeKind::kMax: {
      p.kind = Premise::kBound;
      for (const LinearRow* operand : {&a, &b}) {
        p.row = *operand;
        if (!AddTerms(&p.row.terms, {{variable, 1}}, -1)) return;
        if (v.kind == NodeKind::kMax) Negate(&p.row);
        p.negated = operand == &b;
        rows_.push_back(PremiseRow(p));
      }
      return;
    }
    default:
      return;
  }
}

void Decider::AddConstraint(int index, const Constraint& c) {
  Premise p;
  p.kind = Premise::kFact;
  p.index = index;
  if (!RowOf(c.e, &p.row)) return;
  switch (c.sense) {
    case Sense::kEq:
      rows_.push_back(EqualRow(std::move(p)));
      return;
    case Sense::kGe:
      rows_.push_back(PremiseRow(std::move(p)));
      return;
    case Sense::kNe:
      choices_.push_back({Sense::kNe, index, p.row.terms, p.row.constant, {0}});
      return;
    case Sense::kIn:
      break;
  }
  if (c.set.empty()) return;
  choices_.push_back({Sense::kIn, index, p.row.terms, p.row.constant, c.set});
  p.kind = Premise::kSetHull;
  Premise high = p;
  p.row.constant -= c.set.front();
  rows_.push_back(PremiseRow(std::move(p)));
  high.row.constant -= c.set.back();
  high.negated = true;
  Negate(&high.row);
  rows_.push_back(PremiseRow(std::move(high)));
}

void Decider::Assume(FactId id, const Constraint& claim) {
  if (claim.e.ok()) AddConstraint(id, claim);
}

void Decider::Deny(const Claim& claim) {
  Constraint c = ToConstraint(claim);
  Premise p;
  p.index = -1;
  if (!RowOf(c.e, &p.row)) return;
  switch (c.sense) {
    case Sense::kGe:  // e <= -1
      Negate(&p.row);
      p.row.constant -= 1;
      p.negated = true;
      rows_.push_back(PremiseRow(std::move(p)));
      return;
    case Sense::kNe:
      rows_.push_back(EqualRow(std::move(p)));
      return;
    case Sense::kEq:
      choices_.push_back({Sense::kNe, -1, p.row.terms, p.row.constant, {0}});
      return;
    case Sense::kIn:
      for (int64_t v : c.set) {
        choices_.push_back({Sense::kNe, -1, p.row.terms, p.row.constant, {v}});
      }
      return;
  }
}

}  // namespace lathe::dim
