#pragma once
// Products of dims, compared and divided factor by factor: what cancels, cancels for every size, 0
// included. Used by the rule of reshape and by Builder::Reshape. Internal to ir/.
#include <optional>
#include <vector>

#include "ir/builder.h"

namespace lathe::ir {

// A product: `constant` times symbolic factors in a fixed order (repeats stand several times).
struct Factors {
  int64_t constant = 1;
  std::vector<Dim> symbolic;
  bool overflow = false;  // the constant doesn't fit int64

  Dim Product() const;
};

Factors FactorsOf(const Shape& shape);

// Drops from both what they share: equal factors and the constants' greatest common divisor.
void Cancel(Factors* a, Factors* b);

// True if the element counts are equal for all admitted sizes. A factor `e // d` beside a factor
// `d` counts as `e` where `e % d == 0` is known.
bool KnownEqualVolumes(const InferContext& c, const Shape& a, const Shape& b);

// If the counts are equal for all sizes but for one `e % d == 0` that isn't known: that claim.
std::optional<Claim> MissingDivision(const Shape& a, const Shape& b);

}  // namespace lathe::ir
