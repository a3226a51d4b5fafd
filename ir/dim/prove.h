#pragma once
// Prover and Simplifier: what a Theory says of one claim or one Dim. Internal to ir/dim.
#include "absl/container/flat_hash_map.h"
#include "ir/dim/theory.h"

namespace lathe::dim {

// `d` with `%` and ceildiv written through `//`, and the dividends of constant divisors reduced, so
// that sums which are equal for all integers (where they are defined) tend to become the same Dim:
// 8*(n // 8) + n % 8 becomes n. Larger than `d` as a rule; for proofs.
Dim Linearize(Dim d);

// Decides constraints by intervals, congruences, known sums, elimination of `//`, min and max, and
// corners of multilinear sums. Bounded by steps.
class Prover {
 public:
  // Reasons are appended to `why` when a proof succeeds; may be null.
  Prover(const Theory& theory, Why* why) : theory_(theory), why_(why) {}

  bool Holds(const Constraint& c);
  // Without the deep search: intervals, congruences and known sums only.
  bool HoldsQuickly(const Constraint& c);

 private:
  bool Decide(const Constraint& c, int depth);
  bool NonNegative(const LinearForm& form, int depth);
  bool NonNegativeByAtom(const LinearForm& f, size_t index, int depth);
  bool NonNegativeByFloorDiv(const LinearForm& f, const Term& t, int depth);
  bool NonNegativeByMinMax(const LinearForm& f, const Term& t, int depth);
  bool NonNegativeByCorners(const LinearForm& f, int depth);
  Interval Remainder(Dim a, int64_t c, Why* why) const;
  bool Differs(const LinearForm& f, int depth);
  bool Member(const Constraint& c);

  const Theory& theory_;
  Why* why_;
  int steps_ = 200;
};

// Rewrites under the facts of a theory; see FactSet::Simplify.
class Simplifier {
 public:
  Simplifier(const Theory& theory, Why* why) : theory_(theory), why_(why) {}

  Dim Run(Dim d);

 private:
  Dim Part(Dim d);
  Dim Sum(Dim d);
  Dim Atom(const Node* n);
  Dim FloorDivision(Dim a, Dim b);
  Dim Modulo(Dim a, Dim b);
  Dim MinMax(NodeKind kind, Dim a, Dim b);
  bool Holds(const Claim& c);

  const Theory& theory_;
  Why* why_;
  absl::flat_hash_map<const Node*, Dim> memo_;
};

}  // namespace lathe::dim
