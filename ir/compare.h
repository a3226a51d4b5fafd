#pragma once
// Comparison of results in tests, fuzzing and the admission of versions.
#include "absl/status/status.h"
#include "lathe/tensor.h"

namespace lathe::ir {

// OK if types, shapes and every bit agree; any NaN equals any NaN, -0 differs from +0. Otherwise
// the first difference: index, found, wanted, and how many elements differ.
absl::Status SameBits(const Tensor& found, const Tensor& wanted);

// max|found - wanted| / max|wanted|, in float64, for any pair of equal shapes; both all zero: 0.
// Equal infinities and NaN beside NaN count as no error, other non-finite pairs as infinity; so do
// shapes that differ.
double RelativeError(const Tensor& found, const Tensor& wanted);

}  // namespace lathe::ir
