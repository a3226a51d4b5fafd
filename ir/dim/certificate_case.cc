// What one case of a proof knows: statements, rewritten by its equations.
#include "ir/dim/certificate_case.h"

#include <algorithm>

namespace lathe::dim {
namespace {

constexpr int kAddLimit = 400;

}  // namespace

CaseReasoner::Polynomial CaseReasoner::Sum(const Polynomial& p, Int k, const Polynomial& q,
                                           Int constant) {
  Polynomial sum = p;
  // An overflow leaves a polynomial that nothing will prove.
  if (!check::Add(q, k, &sum) || !check::Add(check::Constant(constant), 1, &sum)) return {};
  return sum;
}

bool CaseReasoner::Divide(const Mono& m, const Mono& p, Mono* rest) {
  if (!std::includes(m.begin(), m.end(), p.begin(), p.end())) return false;
  rest->clear();
  std::set_difference(m.begin(), m.end(), p.begin(), p.end(), std::back_inserter(*rest));
  return true;
}

bool CaseReasoner::Axioms(State* s, bool definitions) {
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
        ok = !definitions || Add(s, w_.Definition(x));
    }
    if (!ok) return false;
  }
  return true;
}

bool CaseReasoner::AddFact(State* s, int32_t index) {
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

void CaseReasoner::NoteProducts(const Polynomial& e) {
  for (const auto& [mono, coef] : e) {
    if (mono.size() > 1 && mono.size() <= kDegreeLimit) stated_.insert(mono);
  }
}

void CaseReasoner::Reduce(const State& s, Polynomial* rest, Parts* parts) {
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

bool CaseReasoner::Add(State* s, int first) {
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

bool CaseReasoner::AddBound(State* s, int step, std::vector<int>* open) {
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

int CaseReasoner::Rank(const Mono& m) const {
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

void CaseReasoner::AddEquation(State* s, int step, std::vector<int>* open) {
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

void CaseReasoner::Halve(int step, std::vector<int>* open) {
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

bool CaseReasoner::AddMembers(State* s, int step, std::vector<int>* open) {
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

bool CaseReasoner::Lower(const State& s, const Polynomial& e, Int* low, Parts* parts) {
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

int CaseReasoner::ByBounds(const State& s, const Polynomial& e) {
  Int low = 0;
  Parts parts;
  if (!Lower(s, e, &low, &parts) || low < 0 || parts.empty()) return -1;
  return w_.CombineTo(parts, {Sense::kGe, e, {}});
}
}  // namespace lathe::dim
