#include "codegen/kernel/math.h"

#include <cassert>

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

Reg EmitFloor(KernelBuilder& b, Reg x) {
  return IsFloat(b.type(x).dtype) ? b.Un(KOp::kFloor, x) : x;
}

Reg EmitRsqrt(KernelBuilder& b, Reg x) {
  return b.Bin(KOp::kDiv, b.Float(b.type(x), 1), b.Un(KOp::kSqrt, x));
}

}  // namespace

Reg EmitElementwise(KernelBuilder& b, ir::Op op, const std::vector<Reg>& operands) {
  const Reg x = operands[0];
  const Reg y = operands.size() > 1 ? operands[1] : kNoReg;
  const math::Val v{&b, x};
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
    case ir::Op::k_tanh:
      return math::Tanh(v).r;
    case ir::Op::k_erf:
      return math::Erf(v).r;
    case ir::Op::k_sin:
      return math::Sin(v).r;
    case ir::Op::k_cos:
      return math::Cos(v).r;
    case ir::Op::k_floor:
      return EmitFloor(b, x);
    case ir::Op::k_relu:
      return EmitRelu(b, x);
    case ir::Op::k_sigmoid:
      return math::Sigmoid(v).r;
    case ir::Op::k_silu:
      return math::Silu(v).r;
    case ir::Op::k_gelu:
      return math::Gelu(v).r;
    case ir::Op::k_not:
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
      return b.Bin(KOp::kRem, x, y);
    case ir::Op::k_floordiv:
      return b.Bin(KOp::kFloorDiv, x, y);
    case ir::Op::k_mod:
      return b.Bin(KOp::kMod, x, y);
    case ir::Op::k_maximum:
      return b.Bin(KOp::kMax, x, y);
    case ir::Op::k_minimum:
      return b.Bin(KOp::kMin, x, y);
    case ir::Op::k_and:
      return b.Bin(KOp::kAnd, x, y);
    case ir::Op::k_or:
      return b.Bin(KOp::kOr, x, y);
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
