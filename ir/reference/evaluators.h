#pragma once
// The reference evaluator of each primitive op, on concrete tensors: slow, obvious, right. The op
// table points at them and the interpreter calls them through it; nothing else does. One .cc file
// for each family of ops.
//
// Operands must be contiguous and of the types that inference admits, with f64 in place of f32 when
// the interpreter runs in f64. The result is contiguous, of `result_shape` and `result_dtype`.
// Errors name the op and what was found; no operand is ever read outside of its extents.
#include "absl/status/statusor.h"
#include "ir/op.h"

namespace lathe::ir {

// `Eval_add`, `Eval_matmul`, ... Declared for each word of ops.def; not defined for `input`,
// `constant` and `if` (the interpreter's own) and for the composites (`mean`, `softmax`,
// `layer_norm`, `rms_norm`, `embedding`), whose expansions are evaluated.
#define LATHE_OP(word) absl::StatusOr<Tensor> Eval_##word(const EvalContext& c);
#include "ir/ops.def"
#undef LATHE_OP

}  // namespace lathe::ir
