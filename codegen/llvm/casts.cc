#include "codegen/llvm/casts.h"

#include <cmath>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

namespace lathe::llvm_target {

using llvm::Value;

llvm::Type* CastEmitter::Like(Value* a, llvm::Type* element) const {
  return a->getType()->getWithNewType(element);
}

llvm::Constant* CastEmitter::Int(Value* like, uint64_t value) const {
  return llvm::ConstantInt::get(like->getType(), value);
}

Value* CastEmitter::AsInt(Value* a) {
  return b_.CreateBitCast(a, Like(a, b_.getIntNTy(a->getType()->getScalarSizeInBits())));
}

Value* CastEmitter::AsFloat(Value* bits, llvm::Type* element) {
  return b_.CreateBitCast(bits, Like(bits, element));
}

Value* CastEmitter::ToBool(DType from, Value* a) {
  Value* zero = llvm::Constant::getNullValue(a->getType());
  return IsFloat(from) ? b_.CreateFCmpUNE(a, zero) : b_.CreateICmpNE(a, zero);
}

Value* CastEmitter::FloatToInt(Value* a, DType to) {
  const unsigned bits = static_cast<unsigned>(8 * SizeOf(to));
  const bool is_signed = IsSigned(to);
  llvm::Type* type = Like(a, b_.getIntNTy(bits));
  // The least value and the first one that is too large are exact in both float types.
  const double limit = std::ldexp(1, static_cast<int>(bits) - (is_signed ? 1 : 0));
  Value* low = llvm::ConstantFP::get(a->getType(), is_signed ? -limit : 0);
  Value* high = llvm::ConstantFP::get(a->getType(), limit);
  Value* inside = b_.CreateAnd(b_.CreateFCmpOGE(a, low), b_.CreateFCmpOLT(a, high));
  Value* safe = b_.CreateSelect(inside, a, llvm::ConstantFP::get(a->getType(), 0.0));
  // Of the signed type whatever the result: no machine before AVX-512 converts to another.
  const bool through_signed = is_signed || bits < 64;
  llvm::Type* wide = Like(a, b_.getIntNTy(bits < 32 ? 32 : is_signed ? bits : 64));
  Value* converted = through_signed ? b_.CreateFPToSI(safe, wide) : b_.CreateFPToUI(safe, wide);
  converted = b_.CreateTrunc(converted, type);
  const llvm::APInt most =
      is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  const llvm::APInt least =
      is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getZero(bits);
  converted =
      b_.CreateSelect(b_.CreateFCmpOGE(a, high), llvm::ConstantInt::get(type, most), converted);
  return b_.CreateSelect(b_.CreateFCmpOLT(a, low), llvm::ConstantInt::get(type, least), converted);
}

// A normal number gets the other bias; a denormal one is put behind the point of 2^-14 and that
// subtracted; infinities and NaN keep their mantissa.
Value* CastEmitter::F16ToF32(Value* bits) {
  Value* sign = b_.CreateShl(b_.CreateAnd(bits, Int(bits, 0x8000)), 16);
  Value* shifted = b_.CreateShl(b_.CreateAnd(bits, Int(bits, 0x7fff)), 13);
  Value* exponent = b_.CreateAnd(shifted, Int(bits, 0x0f800000));
  Value* normal = b_.CreateAdd(shifted, Int(bits, uint64_t{112} << 23));
  Value* huge = b_.CreateAdd(shifted, Int(bits, uint64_t{224} << 23));
  Value* above = AsFloat(b_.CreateAdd(shifted, Int(bits, uint64_t{113} << 23)), b_.getFloatTy());
  Value* least = llvm::ConstantFP::get(above->getType(), 0x1p-14);
  Value* denormal = AsInt(b_.CreateFSub(above, least));
  Value* v = b_.CreateSelect(b_.CreateICmpEQ(exponent, Int(bits, 0)), denormal, normal);
  v = b_.CreateSelect(b_.CreateICmpEQ(exponent, Int(bits, 0x0f800000)), huge, v);
  return AsFloat(b_.CreateOr(v, sign), b_.getFloatTy());
}

// Below 2^-14 an addition of 0.5 rounds to units of 2^-24; above, half a unit less the parity of
// the last bit is added before the bits that go are cut off.
Value* CastEmitter::F32ToF16(Value* a) {
  Value* u = AsInt(a);
  Value* sign = b_.CreateAnd(u, Int(u, 0x80000000u));
  Value* magnitude = b_.CreateXor(u, sign);
  Value* half = llvm::ConstantFP::get(a->getType(), 0.5);
  Value* sum = AsInt(b_.CreateFAdd(AsFloat(magnitude, b_.getFloatTy()), half));
  Value* denormal = b_.CreateSub(sum, Int(u, 0x3f000000));
  Value* parity = b_.CreateAnd(b_.CreateLShr(magnitude, 13), Int(u, 1));
  Value* rounded = b_.CreateAdd(b_.CreateAdd(magnitude, Int(u, 0xc8000fffu)), parity);
  Value* normal = b_.CreateLShr(rounded, 13);
  Value* v = b_.CreateSelect(b_.CreateICmpULT(magnitude, Int(u, 0x38800000)), denormal, normal);
  v = b_.CreateSelect(b_.CreateICmpUGE(magnitude, Int(u, 0x47800000)), Int(u, 0x7c00), v);
  v = b_.CreateSelect(b_.CreateICmpUGT(magnitude, Int(u, 0x7f800000)), Int(u, 0x7e00), v);
  return b_.CreateOr(v, b_.CreateLShr(sign, 16));
}

Value* CastEmitter::F32ToBF16(Value* a) {
  Value* u = AsInt(a);
  Value* parity = b_.CreateAnd(b_.CreateLShr(u, 16), Int(u, 1));
  Value* rounded = b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(u, Int(u, 0x7fff)), parity), 16);
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), Int(u, 0x7fc0), rounded);
}

Value* CastEmitter::Widen(DType from, Value* a) {
  if (from == DType::kF16 && has_f16c_) {
    return b_.CreateFPExt(AsFloat(a, b_.getHalfTy()), Like(a, b_.getFloatTy()));
  }
  Value* bits = b_.CreateZExt(a, Like(a, b_.getInt32Ty()));
  if (from == DType::kF16) return F16ToF32(bits);
  return AsFloat(b_.CreateShl(bits, 16), b_.getFloatTy());
}

// An f32 from which a narrow float rounds as from the f64: what is inexact is cut towards 0 and
// made odd.
Value* CastEmitter::RoundToOdd(Value* a) {
  Value* nearest = b_.CreateFPTrunc(a, Like(a, b_.getFloatTy()));
  Value* back = b_.CreateFPExt(nearest, a->getType());
  Value* bits = AsInt(nearest);
  Value* inexact = b_.CreateZExt(b_.CreateFCmpUNE(a, back), bits->getType());
  Value* beyond = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                   b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a));
  bits = b_.CreateSub(bits, b_.CreateZExt(beyond, bits->getType()));
  return AsFloat(b_.CreateOr(bits, inexact), b_.getFloatTy());
}

// Integers of 64 bits pass 53: from 2^52 on, one bit says whether any of the low 12 was set.
Value* CastEmitter::IntToOddF64(DType from, Value* a) {
  if (SizeOf(from) == 8) {
    Value* limit = Int(a, uint64_t{1} << 52);
    Value* large = IsSigned(from)
                       ? b_.CreateICmpUGE(b_.CreateAdd(a, limit), Int(a, uint64_t{1} << 53))
                       : b_.CreateICmpUGE(a, limit);
    Value* low = b_.CreateICmpNE(b_.CreateAnd(a, Int(a, 0xfff)), Int(a, 0));
    Value* sticky = b_.CreateOr(b_.CreateAnd(a, Int(a, ~uint64_t{0xfff})), Int(a, 0x800));
    a = b_.CreateSelect(b_.CreateAnd(large, low), sticky, a);
  }
  llvm::Type* type = Like(a, b_.getDoubleTy());
  return IsSigned(from) ? b_.CreateSIToFP(a, type) : b_.CreateUIToFP(a, type);
}

Value* CastEmitter::ToNarrow(DType from, DType to, Value* a) {
  if (IsInt(from)) {
    a = SizeOf(from) < 4 ? Cast(from, f32, a) : RoundToOdd(IntToOddF64(from, a));
  } else {
    a = from == DType::kF64 ? RoundToOdd(a) : Cast(from, f32, a);
  }
  llvm::Type* word = Like(a, b_.getInt16Ty());
  if (to == DType::kBF16) return b_.CreateTrunc(F32ToBF16(a), word);
  if (!has_f16c_) return b_.CreateTrunc(F32ToF16(a), word);
  return b_.CreateBitCast(b_.CreateFPTrunc(a, Like(a, b_.getHalfTy())), word);
}

Value* CastEmitter::Cast(DType from, DType to, Value* a) {
  if (from == to) return a;
  if (IsNarrowFloat(from)) return Cast(f32, to, Widen(from, a));
  if (to == DType::kBool) return ToBool(from, a);
  if (IsNarrowFloat(to)) return ToNarrow(from, to, a);
  if (IsInt(to)) {
    if (IsFloat(from)) return FloatToInt(a, to);
    llvm::Type* type = Like(a, b_.getIntNTy(static_cast<unsigned>(8 * SizeOf(to))));
    return IsSigned(from) ? b_.CreateSExtOrTrunc(a, type) : b_.CreateZExtOrTrunc(a, type);
  }
  llvm::Type* type = Like(a, to == DType::kF32 ? b_.getFloatTy() : b_.getDoubleTy());
  if (from == DType::kBool) {
    return b_.CreateSelect(a, llvm::ConstantFP::get(type, 1.0), llvm::ConstantFP::get(type, 0.0));
  }
  if (IsFloat(from)) return b_.CreateFPCast(a, type);
  return IsSigned(from) ? b_.CreateSIToFP(a, type) : b_.CreateUIToFP(a, type);
}

}  // namespace lathe::llvm_target
