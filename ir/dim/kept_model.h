#pragma once
// KeptModel: one model of a growing list of claims, so that a claim that is true in it needs no
// proof of consistency, and one that is false in it needs no search for a counterexample. Internal
// to ir/dim; FactSet keeps one.
#include <cstdint>
#include <vector>

#include "ir/dim/theory.h"

namespace lathe::dim {

class KeptModel {
 public:
  // The values, with one for every symbol below `num_symbols`; null if no model is known.
  const std::vector<int64_t>* Values(int num_symbols);

  // Whether the claim is true in the model, or is once one symbol's value is changed, which then
  // is changed. `theory` has the claims so far.
  bool Admit(const Theory& theory, const Claim& claim, int num_symbols);

  void Set(std::vector<int64_t> values);
  void Lose() { known_ = false; }
  // The claim that lost it was taken back.
  void Regain() { known_ = true; }
  bool known() const { return known_; }
  // Also of a model that was lost, as a place to start from.
  const std::vector<int64_t>& values() const { return values_; }

 private:
  bool Try(const Theory& theory, const Claim& claim, SymbolId symbol, int64_t value);

  bool known_ = true;  // no claims yet
  std::vector<int64_t> values_;
};

}  // namespace lathe::dim
