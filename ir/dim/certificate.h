#pragma once
// Proof certificates for answers of FactSet::Prove: what `proved` rests on, as data that the
// checker (ir/dim/check) replays without the prover.
//
//   absl::StatusOr<Proof> proof = Certify(facts, claim);
//   check::Check(proof->problem, proof->certificate).ok()
//   std::cout << check::ToString(proof->problem, proof->certificate);
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/dim/check/proof.h"
#include "ir/dim/facts.h"

namespace lathe::dim {

// The problem in plain data, of the facts `ids` (which become facts 0, 1, ... of it) of a set. Each
// operation of a Dim becomes one atom. The translation is all that one has to trust beside the
// checker.
check::Problem StateProblem(const FactSet& facts, const std::vector<FactId>& ids,
                            const Claim& claim);

// Dims as polynomials over atoms that `intern` numbers.
class DimTranslator {
 public:
  explicit DimTranslator(std::function<int32_t(const check::Atom&)> intern)
      : intern_(std::move(intern)) {}

  check::Poly Translate(Dim d);
  check::Statement Translate(const Claim& c);
  int32_t AtomOf(const Node* n);

 private:
  std::function<int32_t(const check::Atom&)> intern_;
  absl::flat_hash_map<const Node*, int32_t> atoms_;
};

struct Proof {
  std::vector<FactId> facts;  // of the problem, in its order
  check::Problem problem;
  check::Certificate certificate;
};

// A checked proof of what Prove calls proved. NotFound if the claim isn't proved; Unimplemented if
// it is, and no certificate was found within bounds.
absl::StatusOr<Proof> Certify(const FactSet& facts, const Claim& claim, bool use_required = false);

// Writes steps: computes each conclusion and shares equal steps. All functions return the step, or
// -1 if the arithmetic overflows or the rule doesn't apply.
class ProofWriter {
 public:
  explicit ProofWriter(const check::Problem& problem);

  // The atom, made when new, without simplification.
  int32_t Atom(const check::Atom& atom);
  const check::Atom& AtomOf(int32_t atom) const;
  int32_t num_atoms() const;  // the problem's included

  int Fact(int32_t index);
  int NonNegative(int32_t symbol_atom);
  int Assume(check::Statement s);  // always a new step
  // The sum of multiplier * premise, all of it divided by its content with rounding; false if it
  // is a contradiction.
  struct Part {
    check::Poly multiplier;
    int step;
  };
  int Combine(const std::vector<Part>& parts);
  // `s`, a bound or equality that is no stronger than the sum divided by the divisor.
  int CombineTo(const std::vector<Part>& parts, check::Statement s, check::Int divisor = 1);
  int Equal(int ge, int le);
  int Multiply(int a, int b);
  int Square(const check::Poly& e);
  int Quotient(int32_t atom, bool upper, int sign = -1);  // upper: a bounds q from above
  int Definition(int32_t atom);
  int Bound(int32_t atom, bool second);
  int Select(int32_t atom, int order);
  int Cases(int source, const std::vector<std::pair<int, int>>& cases);
  int Contradiction(int assumption, int falsehood);
  int Absurd(int falsehood, check::Statement s);
  int Member(int equality, check::Statement s);
  int Defined(int fact, int32_t atom);
  int Enumerate(std::vector<int32_t> premises, check::Statement s);

  const check::Statement& Of(int step) const;
  bool RestsOn(int step, int assumption) const;  // an assumption that isn't discharged yet
  // The steps that `last` rests on, renumbered.
  check::Certificate Finish(int last) const;

 private:
  int Push(check::Step step);
  bool Sum(const std::vector<Part>& parts, check::Step* step, check::Poly* sum, bool* equalities);

  const check::Problem& problem_;
  check::Certificate c_;
  std::vector<std::set<int32_t>> open_;  // of each step: the assumptions that it rests on
  std::map<std::tuple<check::AtomKind, uint32_t, check::Poly, check::Poly>, int32_t> atoms_;
  std::map<std::tuple<check::Rule, int32_t, std::vector<int32_t>, std::vector<check::Poly>,
                      check::Sense, check::Poly, std::vector<int64_t>>,
           int>
      steps_;
};

}  // namespace lathe::dim
