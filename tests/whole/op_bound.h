#pragma once
// How far a result may be from the interpreter's. Shared with tests/compiler_cuda.
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/op.h"
#include "lathe/tensor.h"

namespace lathe::whole {

// Element i of a dense tensor as a number.
double At(const Tensor& t, int64_t i);

// OK if found is as close as a whole program keeps its values: equal bits where `exact`, otherwise
// |found - wanted| <= 8 |wanted - wanted64| + (relative 4e-6 of the largest magnitude beside it).
absl::Status WithinBound(const Tensor& found, const Tensor& wanted, const Tensor& wanted64,
                         bool exact);

// OK if the result of a graph of one op is within the bound that the op table gives the op: equal
// bits where the op rounds at most once, or where it sums and its operands are `whole` numbers;
// each element by itself for the other elementwise ops. What is left is as for WithinBound.
absl::Status WithinOpBound(ir::Op op, absl::Span<const Tensor> inputs, bool whole,
                           const Tensor& found, const Tensor& wanted, const Tensor& wanted64);

}  // namespace lathe::whole
