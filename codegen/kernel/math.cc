#include "codegen/kernel/math.h"

#include <cassert>
#include <limits>

#include "codegen/kernel/math_internal.h"

namespace lathe::kernel {
namespace {

// Integers: max(x, 0). Floats: NaN stays, -0 becomes +0, as max(x, +0) in one compare and one
// select.
Reg EmitRelu(KernelBuilder& b, Reg x) {
  const Reg zero = b.Int(b.type(x), 0);
  if (!IsFloat(b.type(x).dtype)) return b.Bin(KOp::kMax, x, zero);
  return b.Select(b.Bin(KOp::kLe, x, zero), zero, x);
}

// -1, 0 or 1; NaN stays, -0 becomes +0.
Reg EmitSign(KernelBuilder& b, Reg x) {
  const Reg zero = b.Int(b.type(x), 0);
  const Reg other = b.Select(b.Bin(KOp::kEq, x, zero), zero, x);
  const Reg negative = b.Select(b.Bin(KOp::kLt, x, zero), b.Int(b.type(x), -1), other);
  return b.Select(b.Bin(KOp::kGt, x, zero), b.Int(b.type(x), 1), negative);
}

Reg EmitCeil(KernelBuilder& b, Reg x) {
  return b.Un(KOp::kNeg, b.Un(KOp::kFloor, b.Un(KOp::kNeg, x)));
}

Reg EmitTrunc(KernelBuilder& b, Reg x) {
  const math::Val v{&b, x};
  return math::Format(v).CopySign(math::Floor(math::Abs(v)), v).r;
}

Reg EmitIsInf(KernelBuilder& b, Reg x) {
  const Reg infinity = b.Float(b.type(x), std::numeric_limits<double>::infinity());
  return b.Bin(KOp::kEq, b.Un(KOp::kAbs, x), infinity);
}

Reg EmitRsqrt(KernelBuilder& b, Reg x) {
  return b.Bin(KOp::kDiv, b.Float(b.type(x), 1), b.Un(KOp::kSqrt, x));
}

}  // namespace

Reg EmitElementwise(KernelBuilder& b, ir::Op op, const std::vector<Reg>& operands) {
  const Reg x = operands[0];
  const Reg y = operands.size() > 1 ? operands[1] : kNoReg;
  const math::Val v{&b, x};
  const bool is_float = IsFloat(b.type(x).dtype);
  switch (op) {
    case ir::Op::k_neg:
      return b.Un(KOp::kNeg, x);
    case ir::Op::k_abs:
      return b.Un(KOp::kAbs, x);
    case ir::Op::k_exp:
      return math::Exp(v).r;
    case ir::Op::k_log:
      return math::Log(v).r;
    case ir::Op::k_sqrt:
      return b.Un(KOp::kSqrt, x);
    case ir::Op::k_rsqrt:
      return EmitRsqrt(b, x);
    case ir::Op::k_exp2:
      return math::Exp2(v).r;
    case ir::Op::k_expm1:
      return math::Expm1(v).r;
    case ir::Op::k_log2:
      return math::Log2(v).r;
    case ir::Op::k_log1p:
      return math::Log1p(v).r;
    case ir::Op::k_tanh:
      return math::Tanh(v).r;
    case ir::Op::k_erf:
      return math::Erf(v).r;
    case ir::Op::k_sin:
      return math::Sin(v).r;
    case ir::Op::k_cos:
      return math::Cos(v).r;
    case ir::Op::k_tan:
      return math::Tan(v).r;
    case ir::Op::k_asin:
      return math::Asin(v).r;
    case ir::Op::k_acos:
      return math::Acos(v).r;
    case ir::Op::k_atan:
      return math::Atan(v).r;
    case ir::Op::k_sinh:
      return math::Sinh(v).r;
    case ir::Op::k_cosh:
      return math::Cosh(v).r;
    case ir::Op::k_asinh:
      return math::Asinh(v).r;
    case ir::Op::k_acosh:
      return math::Acosh(v).r;
    case ir::Op::k_atanh:
      return math::Atanh(v).r;
    case ir::Op::k_floor:
      return b.Un(KOp::kFloor, x);
    case ir::Op::k_ceil:
      return EmitCeil(b, x);
    case ir::Op::k_round:
      return b.Un(KOp::kRound, x);
    case ir::Op::k_trunc:
      return EmitTrunc(b, x);
    case ir::Op::k_sign:
      return EmitSign(b, x);
    case ir::Op::k_relu:
      return EmitRelu(b, x);
    case ir::Op::k_sigmoid:
      return math::Sigmoid(v).r;
    case ir::Op::k_silu:
      return math::Silu(v).r;
    case ir::Op::k_gelu:
      return math::Gelu(v).r;
    case ir::Op::k_is_nan:
      return b.Bin(KOp::kNe, x, x);
    case ir::Op::k_is_inf:
      return EmitIsInf(b, x);
    case ir::Op::k_not:
    case ir::Op::k_bit_not:
      return b.Un(KOp::kNot, x);
    case ir::Op::k_add:
      return b.Bin(KOp::kAdd, x, y);
    case ir::Op::k_sub:
      return b.Bin(KOp::kSub, x, y);
    case ir::Op::k_mul:
      return b.Bin(KOp::kMul, x, y);
    case ir::Op::k_div:
      return b.Bin(KOp::kDiv, x, y);
    case ir::Op::k_rem:
      return is_float ? math::Rem(v, {&b, y}).r : b.Bin(KOp::kRem, x, y);
    case ir::Op::k_floordiv:
      return b.Bin(KOp::kFloorDiv, x, y);
    case ir::Op::k_mod:
      return is_float ? math::Mod(v, {&b, y}).r : b.Bin(KOp::kMod, x, y);
    case ir::Op::k_pow:
      return (is_float ? math::Pow(v, {&b, y}) : math::IntegerPow(v, {&b, y})).r;
    case ir::Op::k_atan2:
      return math::Atan2(v, {&b, y}).r;
    case ir::Op::k_maximum:
      return b.Bin(KOp::kMax, x, y);
    case ir::Op::k_minimum:
      return b.Bin(KOp::kMin, x, y);
    case ir::Op::k_and:
    case ir::Op::k_bit_and:
      return b.Bin(KOp::kAnd, x, y);
    case ir::Op::k_or:
    case ir::Op::k_bit_or:
      return b.Bin(KOp::kOr, x, y);
    case ir::Op::k_xor:
    case ir::Op::k_bit_xor:
      return b.Bin(KOp::kXor, x, y);
    case ir::Op::k_shift_left:
      return b.Bin(KOp::kShl, x, y);
    case ir::Op::k_shift_right:
      return b.Bin(IsUnsigned(b.type(x).dtype) ? KOp::kShr : KOp::kSar, x, y);
    case ir::Op::k_eq:
      return b.Bin(KOp::kEq, x, y);
    case ir::Op::k_ne:
      return b.Bin(KOp::kNe, x, y);
    case ir::Op::k_lt:
      return b.Bin(KOp::kLt, x, y);
    case ir::Op::k_le:
      return b.Bin(KOp::kLe, x, y);
    case ir::Op::k_gt:
      return b.Bin(KOp::kGt, x, y);
    case ir::Op::k_ge:
      return b.Bin(KOp::kGe, x, y);
    default:
      assert(false && "not an elementwise op of one or two operands");
      return kNoReg;
  }
}

Reg EmitExpNonPositive(KernelBuilder& b, Reg x) { return math::ExpNonPositive({&b, x}).r; }

}  // namespace lathe::kernel
