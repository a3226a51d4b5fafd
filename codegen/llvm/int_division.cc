// Division of integers, total and without traps. A zero divisor is replaced by 1 before the machine
// divides, so is -1 under the least value (whose quotient overflows and would trap on x86).
#include "codegen/llvm/scalar_ops.h"
#include "llvm/IR/Constants.h"

namespace lathe::llvm_target {

using kernel::KOp;
using llvm::Value;

namespace {

// x / y truncated. x86 divides no lanes of integers, so i32 lanes take the way over f64: a quotient
// that isn't whole is at least 1 / y away from one, further than f64 rounds.
Value* EmitSignedQuotient(Builder& b, Value* x, Value* y) {
  const bool over_f64 = x->getType()->isVectorTy() && x->getType()->getScalarSizeInBits() == 32 &&
                        !llvm::isa<llvm::Constant>(y);
  if (!over_f64) return b.CreateSDiv(x, y);
  llvm::Type* f64 = x->getType()->getWithNewType(b.getDoubleTy());
  return b.CreateFPToSI(b.CreateFDiv(b.CreateSIToFP(x, f64), b.CreateSIToFP(y, f64)), x->getType());
}

// A quotient by 0 is 0, a remainder by 0 too: x % 1.
Value* EmitUnsignedDivision(Builder& b, KOp op, Value* x, Value* y) {
  Value* zero = llvm::ConstantInt::get(x->getType(), 0);
  Value* by_zero = b.CreateICmpEQ(y, zero);
  Value* safe = b.CreateSelect(by_zero, llvm::ConstantInt::get(x->getType(), 1), y);
  if (op == KOp::kRem || op == KOp::kMod) return b.CreateURem(x, safe);
  return b.CreateSelect(by_zero, zero, b.CreateUDiv(x, safe));
}

}  // namespace

Value* EmitIntDivision(Builder& b, KOp op, bool is_signed, Value* x, Value* y) {
  if (!is_signed) return EmitUnsignedDivision(b, op, x, y);
  llvm::Type* type = x->getType();
  const unsigned bits = type->getScalarSizeInBits();
  Value* zero = llvm::ConstantInt::get(type, 0);
  Value* one = llvm::ConstantInt::get(type, 1);
  Value* least = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits));
  Value* by_zero = b.CreateICmpEQ(y, zero);
  Value* overflows = b.CreateAnd(b.CreateICmpEQ(x, least),
                                 b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(type)));
  Value* safe = b.CreateSelect(b.CreateOr(by_zero, overflows), one, y);
  Value* quotient = EmitSignedQuotient(b, x, safe);
  if (op == KOp::kDiv) return b.CreateSelect(by_zero, zero, quotient);
  // x % 1 is 0, which is what a remainder by 0 and min % -1 are.
  Value* remainder = b.CreateSub(x, b.CreateMul(quotient, safe));
  if (op == KOp::kRem) return remainder;
  Value* inexact = b.CreateICmpNE(remainder, zero);
  Value* signs_differ = b.CreateICmpSLT(b.CreateXor(remainder, safe), zero);
  Value* adjust = b.CreateAnd(inexact, signs_differ);
  if (op == KOp::kMod) return b.CreateSelect(adjust, b.CreateAdd(remainder, safe), remainder);
  Value* floored = b.CreateSub(quotient, b.CreateZExt(adjust, type));
  return b.CreateSelect(by_zero, zero, floored);
}

}  // namespace lathe::llvm_target
