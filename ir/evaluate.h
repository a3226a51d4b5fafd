#pragma once
// One op on concrete tensors, by its reference evaluator. The interpreter and constant folding call
// it. An op on narrow floats (f16, bf16) is the op on the same values as f32, its result rounded
// once more: evaluators see no narrow floats, but for that of `cast`.
#include "absl/status/statusor.h"
#include "ir/op.h"

namespace lathe::ir {

// The op has an evaluator.
absl::StatusOr<Tensor> EvaluateOp(const EvalContext& c);

// The elements converted to `dtype`, as `cast` does it.
Tensor ConvertTo(const Tensor& t, DType dtype);

}  // namespace lathe::ir
