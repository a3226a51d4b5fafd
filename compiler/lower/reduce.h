#pragma once
// What every reduction kernel shares: identities, combining ops, and how a sum of nothing ends.
#include "codegen/kernel/builder.h"
#include "ir/graph.h"

namespace lathe::compiler {

// The identity, splat: -0.0 for float sums (so that a sum of -0.0s stays -0.0), 1, -inf or the
// least value, +inf or the greatest.
kernel::Reg ReductionIdentity(kernel::KernelBuilder& b, ir::Op op, kernel::KType type);
uint64_t ReductionIdentityBits(ir::Op op, DType dtype);
// kAdd, kMul, kMax, kMin.
kernel::KOp ReductionOp(ir::Op op);
// kReduceAdd, ..
kernel::KOp LaneReductionOp(ir::Op op);
// What `n` gives over `count` elements: a float sum of nothing is +0.0, an extremum of nothing what
// the node's `value` says.
kernel::Reg FinishReduction(kernel::KernelBuilder& b, const ir::Node& n, kernel::Reg value,
                            Dim count);

// argmax and argmin, `n`: what their elements are compared for, k_max or k_min;
ir::Op ExtremumOf(ir::Op op);
// whether `x` beats `old`, or is NaN where that isn't; whether neither beats the other;
kernel::Reg IsBetter(kernel::KernelBuilder& b, const ir::Node& n, kernel::Reg x, kernel::Reg old);
kernel::Reg IsEqual(kernel::KernelBuilder& b, kernel::Reg x, kernel::Reg old);
// and whether `x`, which comes after `old`, takes its place.
kernel::Reg TakesPlace(kernel::KernelBuilder& b, const ir::Node& n, kernel::Reg x, kernel::Reg old);

}  // namespace lathe::compiler
