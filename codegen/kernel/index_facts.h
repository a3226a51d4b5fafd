#pragma once
// IndexFacts: the ranges of index arithmetic at one place of a kernel, from the bounds of its sizes
// and the loops around. Copyable: a copy is what is known inside of a loop. Asking builds Dims.
#include <vector>

#include "absl/types/span.h"
#include "codegen/kernel/kernel.h"
#include "ir/dim/facts.h"

namespace lathe::kernel {

class IndexFacts {
 public:
  explicit IndexFacts(dim::DimContext* context) : facts_(context) {}

  // A symbol that is a number from 0 on. Of others nothing is known.
  void AddNumber(Dim symbol);
  // Claims about sizes, among them `0 <= n` for all sizes n that aren't negative.
  void AddBounds(absl::Span<const Claim> claims);
  // Inside of a loop: the values of its variable, if it begins at 0 or above.
  void AddLoop(Dim variable, Dim begin, Dim end);

  // All integers that `d` may be; those of 64 bits if a symbol in it is unknown.
  dim::Interval Range(Dim d) const;

 private:
  bool Knows(Dim d) const;
  void Add(const Claim& c);

  dim::FactSet facts_;
  std::vector<dim::SymbolId> known_;
};

// Whether i32 holds all of `r` and their negatives.
bool FitsI32(const dim::Interval& r);

}  // namespace lathe::kernel
