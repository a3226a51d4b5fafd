#pragma once
// CaseReasoner: what follows in one case of a proof, by rewriting, bounds, products of bounds and
// linear combinations; each conclusion is a step of a ProofWriter. SearchForProof
// (certificate_search.cc) splits into cases. Internal to ir/dim.
//
// Files: certificate_case.cc (adding statements), certificate_case_rules.cc (what follows).
#include <map>
#include <set>
#include <vector>

#include "ir/dim/certificate.h"
#include "ir/dim/check/poly.h"

namespace lathe::dim {

class CaseReasoner {
 public:
  using AtomKind = check::AtomKind;
  using Int = check::Int;
  using Mono = check::Mono;
  using Sense = check::Sense;
  using Statement = check::Statement;
  using Polynomial = check::Poly;
  using Parts = std::vector<ProofWriter::Part>;
  using Values = std::map<Mono, double>;

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
    std::set<int32_t> divided;   // quotients by a divisor that isn't constant, with their axioms
    std::set<int> known;         // steps that were added
    int falsehood = -1;          // if what is known is contradictory: the step that says so
  };

  CaseReasoner(const check::Problem& problem, ProofWriter* writer) : p_(problem), w_(*writer) {}

  static constexpr size_t kSetCases = 64;    // larger sets are left alone
  static constexpr int64_t kWork = 1500000;  // cells of all linear problems
  static constexpr size_t kDegreeLimit = 4;  // of products

  static Polynomial One() { return check::Constant(1); }
  // p + k * q + constant; of no use if that overflows.
  static Polynomial Sum(const Polynomial& p, Int k, const Polynomial& q, Int constant);
  // The rest of `m` without the factors of `p`, if it has them all.
  static bool Divide(const Mono& m, const Mono& p, Mono* rest);

  // Functions that add to a state return false if it has become contradictory.
  // The axioms of all atoms that need no premise.
  bool Axioms(State* s, bool definitions = true);
  // A fact, and that its divisors aren't 0.
  bool AddFact(State* s, int32_t index);
  // Products as they were stated: the atoms in them may have bounds that the terms that they are
  // rewritten to don't have.
  void NoteProducts(const Polynomial& e);
  // Rewrites by the equations: e == *rest + sum of parts.
  void Reduce(const State& s, Polynomial* rest, Parts* parts);
  // Adds a statement. False if it contradicts the state.
  bool Add(State* s, int first);
  // M - low >= 0 or high - M >= 0.
  bool AddBound(State* s, int step, std::vector<int>* open);
  int Rank(const Mono& m) const;
  void AddEquation(State* s, int step, std::vector<int>* open);
  // An equation without a coefficient of 1 or -1: with m the least one, the rest of it is divisible
  // by m, and the quotient t gives two equations with smaller coefficients (Euclid's algorithm).
  void Halve(int step, std::vector<int>* open);
  // e in set: at least the least member, at most the greatest.
  bool AddMembers(State* s, int step, std::vector<int>* open);
  // The least value of `e` by bounds of its terms: e - *low == sum of parts.
  bool Lower(const State& s, const Polynomial& e, Int* low, Parts* parts);
  // A step that concludes e >= 0, by bounds alone, or -1.
  int ByBounds(const State& s, const Polynomial& e);

  bool PropagateRow(State* s, int step, Int sign, int depth = 0);
  bool Propagate(State* s);
  // A min that is less than one operand equals the other; max alike.
  bool Exclude(State* s, int32_t x);
  // A min is at least the least value of an operand; max alike.
  bool BoundExtreme(State* s, int32_t x);
  // A step that concludes e >= 0, by linear reasoning in one go, or -1.
  int ByLinear(const State& s, const Polynomial& e);
  // Extremes whose operands are ordered, differences that are known to be one-sided, divisors of
  // known sign.
  bool Settle(State* s);
  std::set<Mono> Products(const State& s) const;
  std::vector<int> BoundsOf(const State& s, const Mono& m);
  // Products of bounds for every product of atoms that occurs; and of bounds and rows, if that
  // makes no new products.
  bool Multiply(State* s);
  bool Saturate(State* s);
  // False if a combination of what is known is a contradiction. Otherwise `point` gets values of
  // the terms that satisfy all rows, if there are any.
  bool Linear(State* s, Values* point);
  // The value of `e` at a point of the terms; terms without a value count as products.
  double ValueOf(const Polynomial& e, const Values& point) const;
  double ValueOf(const Mono& mono, const Values& point) const;

 protected:
  const check::Problem& p_;
  ProofWriter& w_;
  std::set<Mono> stated_;  // products
  int64_t work_ = kWork;
  bool changed_ = false;
};

}  // namespace lathe::dim
