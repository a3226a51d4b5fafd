#include "codegen/llvm/scalar_ops.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace lathe::llvm_target {

using kernel::KOp;
using llvm::Value;
using llvm::Intrinsic::ID;

namespace {

Value* Intrinsic1(Builder& b, ID id, Value* a) { return b.CreateUnaryIntrinsic(id, a); }
Value* Intrinsic2(Builder& b, ID id, Value* x, Value* y) {
  return b.CreateBinaryIntrinsic(id, x, y);
}

// The machine's minimum of (x, y) and of (y, x) are one value, except that zeros of different sign
// and a NaN come out as the second operand. So the bitwise `or` of the two is the minimum that
// orders -0 below +0 and keeps NaN; for the maximum the sign bit is joined by `and`. Three to six
// instructions without a mask, and a short chain for accumulators. LLVM's own expansion is longer,
// but keeps scalars in their registers.
Value* EmitFloatMinMax(Builder& b, KOp op, Value* x, Value* y) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr || vector->getNumElements() == 1) {
    return Intrinsic2(b, op == KOp::kMin ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, x,
                      y);
  }
  const auto predicate = op == KOp::kMin ? llvm::CmpInst::FCMP_OLT : llvm::CmpInst::FCMP_OGT;
  llvm::Type* float_type = x->getType();
  const unsigned width = float_type->getScalarSizeInBits();
  llvm::Type* type = float_type->getWithNewType(b.getIntNTy(width));
  Value* p = b.CreateBitCast(b.CreateSelect(b.CreateFCmp(predicate, x, y), x, y), type);
  Value* q = b.CreateBitCast(b.CreateSelect(b.CreateFCmp(predicate, y, x), y, x), type);
  Value* bits = b.CreateOr(p, q);
  if (op == KOp::kMax) {
    Value* rest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(width));
    bits = b.CreateOr(b.CreateAnd(bits, rest), b.CreateAnd(p, q));
  }
  return b.CreateBitCast(bits, float_type);
}

Value* EmitFloatBinary(Builder& b, KOp op, Value* x, Value* y) {
  switch (op) {
    case KOp::kAdd:
      return b.CreateFAdd(x, y);
    case KOp::kSub:
      return b.CreateFSub(x, y);
    case KOp::kMul:
      return b.CreateFMul(x, y);
    case KOp::kDiv:
      return b.CreateFDiv(x, y);
    case KOp::kFloorDiv:
      return Intrinsic1(b, llvm::Intrinsic::floor, b.CreateFDiv(x, y));
    case KOp::kMin:
    case KOp::kMax:
      return EmitFloatMinMax(b, op, x, y);
    case KOp::kEq:
      return b.CreateFCmpOEQ(x, y);
    case KOp::kNe:
      return b.CreateFCmpUNE(x, y);
    case KOp::kLt:
      return b.CreateFCmpOLT(x, y);
    case KOp::kLe:
      return b.CreateFCmpOLE(x, y);
    case KOp::kGt:
      return b.CreateFCmpOGT(x, y);
    case KOp::kGe:
      return b.CreateFCmpOGE(x, y);
    default:
      return nullptr;
  }
}

// Amounts of the width or more (negative ones count as huge) give 0, or the sign.
Value* EmitShift(Builder& b, KOp op, Value* x, Value* amount) {
  llvm::Type* type = x->getType();
  const unsigned bits = type->getScalarSizeInBits();
  Value* in_range = b.CreateICmpULT(amount, llvm::ConstantInt::get(type, bits));
  if (op == KOp::kSar) {
    Value* most = llvm::ConstantInt::get(type, bits - 1);
    return b.CreateAShr(x, b.CreateSelect(in_range, amount, most));
  }
  Value* zero = llvm::ConstantInt::get(type, 0);
  Value* safe = b.CreateSelect(in_range, amount, zero);
  Value* shifted = op == KOp::kShl ? b.CreateShl(x, safe) : b.CreateLShr(x, safe);
  return b.CreateSelect(in_range, shifted, zero);
}

llvm::CmpInst::Predicate IntPredicate(KOp op, bool is_signed) {
  switch (op) {
    case KOp::kEq:
      return llvm::CmpInst::ICMP_EQ;
    case KOp::kNe:
      return llvm::CmpInst::ICMP_NE;
    case KOp::kLt:
      return is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
    case KOp::kLe:
      return is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE;
    case KOp::kGt:
      return is_signed ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT;
    default:
      return is_signed ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE;
  }
}

Value* EmitIntBinary(Builder& b, KOp op, bool is_signed, Value* x, Value* y) {
  switch (op) {
    case KOp::kAdd:
      return b.CreateAdd(x, y);
    case KOp::kSub:
      return b.CreateSub(x, y);
    case KOp::kMul:
      return b.CreateMul(x, y);
    case KOp::kDiv:
    case KOp::kRem:
    case KOp::kFloorDiv:
    case KOp::kMod:
      return EmitIntDivision(b, op, is_signed, x, y);
    case KOp::kMin:
      return Intrinsic2(b, is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
    case KOp::kMax:
      return Intrinsic2(b, is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
    case KOp::kAnd:
      return b.CreateAnd(x, y);
    case KOp::kOr:
      return b.CreateOr(x, y);
    case KOp::kXor:
      return b.CreateXor(x, y);
    case KOp::kShl:
    case KOp::kShr:
    case KOp::kSar:
      return EmitShift(b, op, x, y);
    default:
      return b.CreateICmp(IntPredicate(op, is_signed), x, y);
  }
}

Value* EmitBoolBinary(Builder& b, KOp op, Value* x, Value* y) {
  switch (op) {
    case KOp::kAnd:
    case KOp::kMin:
      return b.CreateAnd(x, y);
    case KOp::kOr:
    case KOp::kMax:
      return b.CreateOr(x, y);
    case KOp::kXor:
      return b.CreateXor(x, y);
    default:
      return b.CreateICmp(IntPredicate(op, /*is_signed=*/false), x, y);
  }
}

KOp CombiningOp(KOp reduction) {
  switch (reduction) {
    case KOp::kReduceMul:
      return KOp::kMul;
    case KOp::kReduceMin:
      return KOp::kMin;
    case KOp::kReduceMax:
      return KOp::kMax;
    default:
      return KOp::kAdd;
  }
}

}  // namespace

Value* EmitUnary(Builder& b, KOp op, DType type, Value* a) {
  switch (op) {
    case KOp::kNeg:
      return IsFloat(type) ? b.CreateFNeg(a) : b.CreateNeg(a);
    case KOp::kAbs:
      if (IsFloat(type)) return Intrinsic1(b, llvm::Intrinsic::fabs, a);
      if (IsUnsigned(type)) return a;
      return Intrinsic2(b, llvm::Intrinsic::abs, a, b.getFalse());
    case KOp::kSqrt:
      return Intrinsic1(b, llvm::Intrinsic::sqrt, a);
    case KOp::kFloor:
      return Intrinsic1(b, llvm::Intrinsic::floor, a);
    case KOp::kRound:
      return Intrinsic1(b, llvm::Intrinsic::roundeven, a);
    case KOp::kNot:
      return b.CreateNot(a);
    default:
      return nullptr;
  }
}

Value* EmitBinary(Builder& b, KOp op, DType type, Value* x, Value* y) {
  if (IsFloat(type)) return EmitFloatBinary(b, op, x, y);
  if (type == DType::kBool) return EmitBoolBinary(b, op, x, y);
  return EmitIntBinary(b, op, IsSigned(type), x, y);
}

Value* EmitFma(Builder& b, Value* x, Value* y, Value* z) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

namespace {

// With 16-bit products of pairs: the bytes 0 and 2 of each lane, then 1 and 3. Both factors fit 9
// bits, so that the sum of two products is exact.
Value* EmitDot4ByPairs(Builder& b, ID multiply, Value* x, Value* y, Value* sum) {
  llvm::Type* type = x->getType();
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
  llvm::Type* pairs = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * lanes);
  Value* eight = llvm::ConstantInt::get(pairs, 8);
  Value* u = b.CreateBitCast(x, pairs);
  Value* v = b.CreateBitCast(y, pairs);
  Value* low_u = b.CreateAnd(u, llvm::ConstantInt::get(pairs, 255));
  Value* low_v = b.CreateAShr(b.CreateShl(v, eight), eight);
  Value* low = b.CreateIntrinsic(multiply, {}, {low_u, low_v});
  Value* high = b.CreateIntrinsic(multiply, {}, {b.CreateLShr(u, eight), b.CreateAShr(v, eight)});
  return b.CreateAdd(sum, b.CreateAdd(low, high));
}

}  // namespace

Value* EmitDot4(Builder& b, const CpuTarget& target, Value* x, Value* y, Value* sum) {
  llvm::Type* type = x->getType();
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const unsigned bytes = vector == nullptr ? 0 : vector->getNumElements() * 4;
  if (target.is_x86 && (bytes == 16 || bytes == 32 || bytes == 64)) {
    using namespace llvm::Intrinsic;
    if (target.has_dot4) {
      const ID dot = bytes == 64   ? x86_avx512_vpdpbusd_512
                     : bytes == 32 ? x86_avx512_vpdpbusd_256
                                   : x86_avx512_vpdpbusd_128;
      return b.CreateIntrinsic(dot, {}, {sum, x, y});
    }
    if (bytes <= static_cast<unsigned>(target.vector_bytes)) {
      const ID multiply = bytes == 64   ? x86_avx512_pmaddw_d_512
                          : bytes == 32 ? x86_avx2_pmadd_wd
                                        : x86_sse2_pmadd_wd;
      return EmitDot4ByPairs(b, multiply, x, y, sum);
    }
  }
  for (uint64_t byte = 0; byte < 32; byte += 8) {
    Value* u = b.CreateAnd(b.CreateLShr(x, byte), 255);
    Value* v = b.CreateAShr(b.CreateShl(y, 24 - byte), uint64_t{24});
    sum = b.CreateAdd(sum, b.CreateMul(u, v));
  }
  return sum;
}

Value* EmitReduce(Builder& b, KOp op, DType type, llvm::ArrayRef<Value*> parts) {
  const KOp combine = CombiningOp(op);
  llvm::SmallVector<Value*, 4> p(parts.begin(), parts.end());
  while (p.size() > 1) {
    const size_t half = p.size() / 2;
    for (size_t i = 0; i < half; ++i) p[i] = EmitBinary(b, combine, type, p[i], p[i + half]);
    p.resize(half);
  }
  Value* v = p[0];
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  if (vector == nullptr) return v;
  // Halving: lane i combines with lane i + half; the low half goes on.
  for (int lanes = static_cast<int>(vector->getNumElements()); lanes > 1; lanes /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (int i = 0; i < lanes / 2; ++i) {
      low.push_back(i);
      high.push_back(i + lanes / 2);
    }
    v = EmitBinary(b, combine, type, b.CreateShuffleVector(v, low), b.CreateShuffleVector(v, high));
  }
  return b.CreateExtractElement(v, uint64_t{0});
}

Value* EmitAny(Builder& b, llvm::ArrayRef<Value*> parts) {
  // Parts of one lane count are joined first; a shorter last part is tested on its own.
  Value* any = nullptr;
  Value* joined = parts[0];
  for (Value* part : parts.drop_front()) {
    if (part->getType() == joined->getType()) {
      joined = b.CreateOr(joined, part);
    } else {
      any = b.CreateOrReduce(part);
    }
  }
  Value* result = joined->getType()->isVectorTy() ? b.CreateOrReduce(joined) : joined;
  return any == nullptr ? result : b.CreateOr(result, any);
}

}  // namespace lathe::llvm_target
