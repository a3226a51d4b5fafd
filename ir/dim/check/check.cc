#include "ir/dim/check/check.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/dim/check/points.h"
#include "ir/dim/check/poly.h"

namespace lathe::dim::check {
namespace {

bool operator==(const Statement& x, const Statement& y) {
  return x.sense == y.sense && x.e == y.e && x.set == y.set;
}

// Whether `e` is `x * p + y * q + k`.
bool Is(const Poly& e, Int x, const Poly& p, Int y, const Poly& q, Int k) {
  Poly sum;
  return Add(p, x, &sum) && Add(q, y, &sum) && Add(Constant(k), 1, &sum) && sum == e;
}

class Checker {
 public:
  Checker(const Problem& problem, const Certificate& certificate) : p_(problem), c_(certificate) {}

  std::string Run() {
    for (const std::vector<Atom>* list : {&p_.atoms, &c_.atoms}) {
      for (const Atom& a : *list) {
        if (!IsValid(a.a) || !IsValid(a.b) || a.kind > AtomKind::kProduct) {
          return absl::StrCat("atom ", atoms_.size(), " is malformed");
        }
        atoms_.push_back(&a);
      }
      if (list != &p_.atoms) continue;
      bool ok = IsValid(p_.claim);
      for (const Statement& f : p_.facts) ok = ok && IsValid(f);
      if (!ok) return "the problem is malformed";
    }
    for (size_t i = 0; i < c_.steps.size(); ++i) {
      std::string error = Verify(i);
      if (!error.empty()) return absl::StrCat("step ", i, ": ", error);
    }
    if (c_.steps.empty()) return "there are no steps";
    if (!(c_.steps.back().conclusion == p_.claim)) return "the last step isn't the claim";
    if (!open_.back().empty()) return "the last step rests on an assumption";
    return "";
  }

 private:
  // Over the atoms so far, in canonical form.
  bool IsValid(const Poly& e) const {
    for (const auto& [mono, coef] : e) {
      if (coef == 0 || !std::is_sorted(mono.begin(), mono.end())) return false;
      if (mono.empty()) continue;
      if (mono.front() < 0 || static_cast<size_t>(mono.back()) >= atoms_.size()) return false;
    }
    return true;
  }
  bool IsValid(const Statement& s) const { return s.sense <= Sense::kFalse && IsValid(s.e); }

  std::string Verify(size_t i) {
    const Step& s = c_.steps[i];
    step_ = &s;
    std::set<int32_t> open;
    for (int32_t p : s.premises) {
      if (p < 0 || static_cast<size_t>(p) >= i) return "a premise isn't an earlier step";
      open.insert(open_[static_cast<size_t>(p)].begin(), open_[static_cast<size_t>(p)].end());
    }
    if (!IsValid(s.conclusion)) return "the conclusion is malformed";
    if (!std::all_of(s.multipliers.begin(), s.multipliers.end(),
                     [&](const Poly& m) { return IsValid(m); })) {
      return "a multiplier is malformed";
    }
    if (s.rule == Rule::kAssume) open = {static_cast<int32_t>(i)};
    std::string error;
    if (!Follows(&open, &error)) {
      return error.empty() ? "the conclusion doesn't follow by the rule" : error;
    }
    open_.push_back(std::move(open));
    return "";
  }

  size_t count() const { return step_->premises.size(); }
  const Step& Premise(size_t k) const { return c_.steps[static_cast<size_t>(step_->premises[k])]; }
  const Statement& Said(size_t k) const { return Premise(k).conclusion; }
  bool Says(size_t k, Sense sense) const { return k < count() && Said(k).sense == sense; }
  bool Concludes(Sense sense) const { return step_->conclusion.sense == sense; }
  const Poly& e() const { return step_->conclusion.e; }

  const Atom* AtomAt(int32_t index) const {
    bool ok = index >= 0 && static_cast<size_t>(index) < atoms_.size();
    return ok ? atoms_[static_cast<size_t>(index)] : nullptr;
  }

  bool Follows(std::set<int32_t>* open, std::string* error) {
    const Step& s = *step_;
    switch (s.rule) {
      case Rule::kFact: {
        bool ok = s.index >= 0 && static_cast<size_t>(s.index) < p_.facts.size();
        return ok && s.conclusion == p_.facts[static_cast<size_t>(s.index)];
      }
      case Rule::kNonNegative: {
        const Atom* x = AtomAt(s.index);
        return x != nullptr && x->kind == AtomKind::kSymbol && Concludes(Sense::kGe) &&
               e() == Variable(s.index) &&
               std::find(p_.negative.begin(), p_.negative.end(), x->symbol) == p_.negative.end();
      }
      case Rule::kAssume:
        return true;
      case Rule::kCombine:
        return Combine();
      case Rule::kEqual:
        return Says(0, Sense::kGe) && Says(1, Sense::kGe) && Concludes(Sense::kEq) &&
               Said(0).e == e() && Is(Said(1).e, -1, e(), 0, {}, 0);
      case Rule::kMultiply: {
        Poly product;
        return Says(0, Sense::kGe) && Says(1, Sense::kGe) && Concludes(Sense::kGe) &&
               AddProduct(Said(0).e, Said(1).e, 1, &product) && product == e();
      }
      case Rule::kSquare: {
        Poly square;
        return s.multipliers.size() == 1 && Concludes(Sense::kGe) &&
               AddProduct(s.multipliers[0], s.multipliers[0], 1, &square) && square == e();
      }
      case Rule::kQuotient:
        return Quotient();
      case Rule::kDefinition:
        return Definition();
      case Rule::kBound:
        return Bound();
      case Rule::kSelect:
        return Select();
      case Rule::kCases:
        return Cases(open);
      case Rule::kContradiction:
        return Contradiction(open);
      case Rule::kAbsurd:
        return Says(0, Sense::kFalse);
      case Rule::kMember:
        return Member();
      case Rule::kDefined:
        return Defined();
      case Rule::kEnumerate:
        return Enumerate(error);
    }
    return false;
  }

  bool Combine() const {
    const Step& s = *step_;
    if (count() == 0 || count() != s.multipliers.size() || s.divisor < 1) return false;
    Poly sum;
    bool equalities = true;
    for (size_t k = 0; k < count(); ++k) {
      if (Says(k, Sense::kGe)) {
        Int m = 0;
        if (!IsConstant(s.multipliers[k], &m) || m < 0) return false;
        equalities = false;
      } else if (!Says(k, Sense::kEq)) {
        return false;
      }
      if (!AddProduct(s.multipliers[k], Said(k).e, 1, &sum)) return false;
    }
    Int constant = 0;
    if (Concludes(Sense::kFalse)) {
      if (IsConstant(sum, &constant)) return constant < 0 || (equalities && constant > 0);
      bool multiple = std::all_of(sum.begin(), sum.end(), [&](const auto& term) {
        return term.first.empty() || term.second % s.divisor == 0;
      });
      return equalities && multiple && ConstantOf(sum) % s.divisor != 0;
    }
    Poly difference;
    if (!Add(e(), s.divisor, &difference) || !Add(sum, -1, &difference)) return false;
    if (Concludes(Sense::kEq)) return equalities && difference.empty();
    return Concludes(Sense::kGe) && IsConstant(difference, &constant) && constant > -s.divisor;
  }

  // 1 or -1 if the divisor is known to be above or below 0, otherwise 0.
  int SignOf(const Poly& b) const {
    Int c = 0;
    if (IsConstant(b, &c)) return c > 0 ? 1 : c < 0 ? -1 : 0;
    if (!Says(0, Sense::kGe)) return 0;
    return Is(Said(0).e, 1, b, 0, {}, -1) ? 1 : Is(Said(0).e, -1, b, 0, {}, -1) ? -1 : 0;
  }

  bool Quotient() const {
    const Atom* q = AtomAt(step_->index);
    if (q == nullptr || q->kind != AtomKind::kFloorDiv || !Concludes(Sense::kGe)) return false;
    Poly rest = q->a;  // a - b*q, between 0 and b
    if (!AddProduct(q->b, Variable(step_->index), -1, &rest)) return false;
    int sign = SignOf(q->b);
    return sign != 0 && (Is(e(), sign, rest, 0, {}, 0) || Is(e(), -sign, rest, sign, q->b, -1));
  }

  bool Definition() const {
    const Atom* x = AtomAt(step_->index);
    if (x == nullptr || !Concludes(Sense::kEq)) return false;
    Poly wanted = Variable(step_->index);
    if (x->kind == AtomKind::kProduct) {
      return AddProduct(x->a, x->b, -1, &wanted) && wanted == e();
    }
    const Atom* q = AtomAt(step_->other);
    if (q == nullptr || q->kind != AtomKind::kFloorDiv || q->b != x->b) return false;
    if (x->kind == AtomKind::kMod) {
      return q->a == x->a && Add(x->a, -1, &wanted) &&
             AddProduct(x->b, Variable(step_->other), 1, &wanted) && wanted == e();
    }
    return x->kind == AtomKind::kCeilDiv && Is(q->a, -1, x->a, 0, {}, 0) &&
           Add(Variable(step_->other), 1, &wanted) && wanted == e();
  }

  // The least or the greatest of two; null if the step's atom is neither.
  const Atom* Extreme(int* sign) const {
    const Atom* x = AtomAt(step_->index);
    if (x == nullptr || (x->kind != AtomKind::kMin && x->kind != AtomKind::kMax)) return nullptr;
    *sign = x->kind == AtomKind::kMin ? 1 : -1;
    return x;
  }

  bool Bound() const {
    int sign = 0;
    const Atom* x = Extreme(&sign);
    if (x == nullptr || !Concludes(Sense::kGe)) return false;
    const Poly self = Variable(step_->index);
    return Is(e(), sign, x->a, -sign, self, 0) || Is(e(), sign, x->b, -sign, self, 0);
  }

  bool Select() const {
    int sign = 0;
    const Atom* x = Extreme(&sign);
    if (x == nullptr || !Says(0, Sense::kGe) || !Concludes(Sense::kEq)) return false;
    const Poly self = Variable(step_->index);
    return (Is(Said(0).e, -sign, x->a, sign, x->b, 0) && Is(e(), 1, self, -1, x->a, 0)) ||
           (Is(Said(0).e, sign, x->a, -sign, x->b, 0) && Is(e(), 1, self, -1, x->b, 0));
  }

  // Whether premise `k` is an assumption of `sense` about x * p + c.
  bool Assumes(size_t k, Sense sense, Int x, const Poly& p, Int c) const {
    return Premise(k).rule == Rule::kAssume && Says(k, sense) && Is(Said(k).e, x, p, 0, {}, c);
  }

  bool Cases(std::set<int32_t>* open) const {
    size_t first = count() % 2, cases = count() / 2;
    bool complete = false;
    if (cases == 0) return false;
    if (first == 0) {
      complete =
          cases == 2 &&
          ((Assumes(0, Sense::kGe, 1, Said(0).e, 0) && Assumes(2, Sense::kGe, -1, Said(0).e, -1)) ||
           (Assumes(0, Sense::kEq, 1, Said(0).e, 0) && Assumes(2, Sense::kNe, 1, Said(0).e, 0)));
    } else if (Says(0, Sense::kNe)) {
      complete = cases == 2 && Assumes(1, Sense::kGe, 1, Said(0).e, -1) &&
                 Assumes(3, Sense::kGe, -1, Said(0).e, -1);
    } else if (Says(0, Sense::kIn)) {
      complete = cases == Said(0).set.size();
      for (size_t k = 0; complete && k < cases; ++k) {
        complete = Assumes(1 + 2 * k, Sense::kEq, 1, Said(0).e, -Int{Said(0).set[k]});
      }
    }
    if (!complete) return false;
    open->clear();
    if (first == 1) *open = open_[static_cast<size_t>(step_->premises[0])];
    for (size_t k = first; k < count(); k += 2) {
      if (!(Said(k + 1) == step_->conclusion)) return false;
      for (int32_t a : open_[static_cast<size_t>(step_->premises[k + 1])]) {
        if (a != step_->premises[k]) open->insert(a);
      }
    }
    return true;
  }

  bool Contradiction(std::set<int32_t>* open) const {
    if (count() != 2 || Premise(0).rule != Rule::kAssume || !Says(1, Sense::kFalse)) return false;
    *open = open_[static_cast<size_t>(step_->premises[1])];
    open->erase(step_->premises[0]);
    const Statement& s = Said(0);
    return (s.sense == Sense::kGe && Concludes(Sense::kGe) && Is(e(), -1, s.e, 0, {}, -1)) ||
           (s.sense == Sense::kEq && Concludes(Sense::kNe) && e() == s.e) ||
           (s.sense == Sense::kNe && Concludes(Sense::kEq) && e() == s.e);
  }

  bool Member() const {
    if (!Says(0, Sense::kEq) || !Concludes(Sense::kIn)) return false;
    Poly difference;
    Int v = 0;
    if (!Add(e(), 1, &difference) || !Add(Said(0).e, -1, &difference)) return false;
    const std::vector<int64_t>& set = step_->conclusion.set;
    return IsConstant(difference, &v) && std::find(set.begin(), set.end(), v) != set.end();
  }

  bool Defined() const {
    const Atom* q = AtomAt(step_->index);
    bool divides = q != nullptr && (q->kind == AtomKind::kFloorDiv || q->kind == AtomKind::kMod ||
                                    q->kind == AtomKind::kCeilDiv);
    if (!divides || count() != 1 || Premise(0).rule != Rule::kFact) return false;
    std::vector<bool> marked(atoms_.size());
    MarkAtoms(atoms_, Said(0).e, &marked);
    return marked[static_cast<size_t>(step_->index)] && Concludes(Sense::kNe) && e() == q->b;
  }

  bool Enumerate(std::string* error) const {
    std::vector<const Statement*> said;
    std::vector<bool> is_fact;
    for (size_t k = 0; k < count(); ++k) {
      said.push_back(&Said(k));
      is_fact.push_back(Premise(k).rule == Rule::kFact);
    }
    return TryAllPoints(atoms_, said, is_fact, step_->conclusion, error);
  }

  const Problem& p_;
  const Certificate& c_;
  std::vector<const Atom*> atoms_;
  std::vector<std::set<int32_t>> open_;  // of each step: the assumptions that it rests on
  const Step* step_ = nullptr;
};

}  // namespace

absl::Status Check(const Problem& problem, const Certificate& certificate) {
  std::string error = Checker(problem, certificate).Run();
  return error.empty() ? absl::OkStatus() : absl::InvalidArgumentError(error);
}

absl::Status CheckWitness(const Problem& problem, const std::vector<int64_t>& values) {
  // Malformed problems are refused as Check refuses them.
  Certificate trivial;
  trivial.steps.push_back({Rule::kAssume, {}, {}, 1, 0, 0, problem.claim});
  std::string error = Checker(problem, trivial).Run();
  if (error != "the last step rests on an assumption") return absl::InvalidArgumentError(error);
  std::vector<const Atom*> atoms;
  for (const Atom& a : problem.atoms) atoms.push_back(&a);
  std::vector<bool> needed(atoms.size(), true);
  Point point(atoms, needed);
  point.Set(std::vector<Int>(values.begin(), values.end()), std::vector<bool>(values.size(), true));
  for (size_t s = 0; s < values.size(); ++s) {
    bool may =
        std::find(problem.negative.begin(), problem.negative.end(), s) != problem.negative.end();
    if (values[s] < 0 && !may) {
      return absl::InvalidArgumentError(absl::StrCat("symbol ", s, " is below 0"));
    }
  }
  for (size_t i = 0; i < problem.facts.size(); ++i) {
    if (point.Evaluate(problem.facts[i]) != Truth::kTrue) {
      return absl::InvalidArgumentError(absl::StrCat("fact ", i, " doesn't hold"));
    }
  }
  if (point.Evaluate(problem.claim) == Truth::kFalse) return absl::OkStatus();
  return absl::InvalidArgumentError("the claim isn't false");
}

}  // namespace lathe::dim::check
