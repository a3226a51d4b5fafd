#pragma once
// ModelFinder: sizes that satisfy a theory's claims, and sizes that also break one more claim.
// Everything it returns was verified by evaluation. Bounded by steps. Internal to ir/dim.
#include <cstdint>
#include <vector>

#include "ir/dim/theory.h"

namespace lathe::dim {

using Values = std::vector<int64_t>;  // by SymbolId

class ModelFinder {
 public:
  // Reads the theory at once and later; `theory` must outlive this and not change.
  explicit ModelFinder(const Theory* theory);

  static constexpr int kModels = 8;
  // One of kModels models, made when first asked for, with a value for `num_symbols` symbols; null
  // if none was found. Which one it is doesn't depend on what else was asked.
  const Values* Model(int index, int num_symbols);
  // After Model(0) found none: the claims that can't hold together, as trying all values of a small
  // domain has shown. Empty if that isn't known.
  const Why& Contradiction() const { return contradiction_; }

  enum class Outcome : uint8_t { kFound, kNone, kGaveUp };

  struct Limits {
    int64_t enumeration = 4096;  // domains up to that many values are tried out; 0: none
    int strategies = 3;          // short searches in others
  };
  // A model in which `claim` is false. kNone: all models were tried, and the claim is true (and
  // defined) in each; then `why` gets the facts that bounded the search.
  Outcome Break(const Claim& claim, int num_symbols, Limits limits, Values* model, Why* why);

  // All values of `d` if the domain is small; empty if it isn't, or `d` may be undefined.
  std::vector<int64_t> ValuesOf(Dim d, Why* why);

 private:
  // A constraint that is checked as soon as its last symbol has a value.
  struct Check {
    Constraint constraint;
    bool affine = false;  // in that symbol: e == slope * symbol + rest
    Dim slope, rest;
  };
  struct Walk;

  Check MakeCheck(const Constraint& c, SymbolId last) const;
  void Connect(const std::vector<SymbolId>& symbols);
  SymbolId Root(SymbolId s);
  // All symbols that constraints tie to these, ascending.
  std::vector<SymbolId> Closure(const std::vector<SymbolId>& roots);
  int64_t DomainSize(SymbolId s, int64_t limit) const;
  bool DomainProduct(const std::vector<SymbolId>& symbols, int64_t limit) const;
  bool Candidates(const Walk& walk, SymbolId s, std::vector<int64_t>* out) const;
  bool Consistent(const Walk& walk, SymbolId s) const;
  bool FillSolved(const std::vector<SymbolId>& symbols, Values* values) const;
  bool Satisfies(const std::vector<SymbolId>& symbols, const Values& values) const;
  template <typename Leaf>
  bool Enumerate(Walk* walk, Leaf leaf) const;
  bool MakeModel(int strategy, const Values* fallback, Values* values);
  Why ClaimsOf(const std::vector<SymbolId>& symbols) const;

  const Theory& theory_;
  std::vector<SymbolId> parent_;
  std::vector<std::vector<Check>> checks_;      // by last symbol
  std::vector<std::vector<size_t>> claims_of_;  // by symbol: indices of the theory's claims
  std::vector<size_t> ground_claims_;
  std::vector<std::vector<SymbolId>> components_;  // by root
  struct {
    bool tried = false, found = false;
    Values values;
  } models_[kModels];
  Why contradiction_;
};

}  // namespace lathe::dim
