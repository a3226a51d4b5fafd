#pragma once
// Elementwise ops and reductions on LLVM values: one row per KOp, total as kernel.h says. Operands
// are scalars or vectors of one lane count. Internal to codegen/llvm; the statement emitter calls
// it.
#include "codegen/kernel/kernel.h"
#include "codegen/llvm/llvm_target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace lathe::llvm_target {

using Builder = llvm::IRBuilder<>;

llvm::Value* EmitUnary(Builder& b, kernel::KOp op, DType type, llvm::Value* a);
// `type` is the operands' element type (comparisons give bool).
llvm::Value* EmitBinary(Builder& b, kernel::KOp op, DType type, llvm::Value* x, llvm::Value* y);
llvm::Value* EmitFma(Builder& b, llvm::Value* x, llvm::Value* y, llvm::Value* z);
llvm::Value* EmitDot4(Builder& b, const CpuTarget& target, llvm::Value* x, llvm::Value* y,
                      llvm::Value* sum);
// All lanes of all parts to one scalar, in the order that kernel.h fixes.
llvm::Value* EmitReduce(Builder& b, kernel::KOp op, DType type, llvm::ArrayRef<llvm::Value*> parts);
llvm::Value* EmitAny(Builder& b, llvm::ArrayRef<llvm::Value*> parts);

// Integer division that never traps: x/0 = 0, x%0 = 0, min/-1 = min (int_division.cc).
llvm::Value* EmitIntDivision(Builder& b, kernel::KOp op, bool is_signed, llvm::Value* x,
                             llvm::Value* y);

}  // namespace lathe::llvm_target
