#pragma once
// Elementary functions as Kernel IR: polynomials over add, mul, fma and bit operations, so that the
// LLVM emitter, the CUDA text and the evaluator compute the same bits. Bounds against float64 (over
// all of float32): docs/numerics.md. f64 versions are sampled against MPFR.
#include "codegen/kernel/builder.h"
#include "ir/op.h"

namespace lathe::kernel {

// The elementwise op applied to registers of one lane count (an `ir::Op` of emission kElementwise
// except cast and select). Result lanes = operands' lanes.
Reg EmitElementwise(KernelBuilder& b, ir::Op op, const std::vector<Reg>& operands);

// exp for arguments that are known to be <= 0 or NaN (softmax): a shorter path, same bits as exp.
Reg EmitExpNonPositive(KernelBuilder& b, Reg x);

}  // namespace lathe::kernel
