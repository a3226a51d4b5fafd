#include "compiler/lower/reduce.h"

#include <cmath>
#include <limits>

#include "codegen/kernel/scalar_ops.h"

namespace lathe::compiler {

using ir::Op;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::KType;
using kernel::Reg;

namespace {

template <typename T>
T Identity(Op op) {
  using Limits = std::numeric_limits<T>;
  switch (op) {
    case Op::k_sum:
      return std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{0};
    case Op::k_prod:
      return T{1};
    case Op::k_max:
      return Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
    default:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
}

}  // namespace

uint64_t ReductionIdentityBits(Op op, DType dtype) {
  if (dtype == DType::kBool) return op == Op::k_prod || op == Op::k_min || op == Op::k_all;
  return VisitDType(dtype, [&](auto type) -> uint64_t {
    using T = decltype(type);
    if constexpr (kIsNarrowFloat<T>) {
      return 0;  // reductions are of f32
    } else {
      return kernel::scalar::ToBits(Identity<T>(op));
    }
  });
}

Reg ReductionIdentity(KernelBuilder& b, Op op, KType type) {
  return b.Bits(type, ReductionIdentityBits(op, type.dtype));
}

KOp ReductionOp(Op op) {
  switch (op) {
    case Op::k_sum:
      return KOp::kAdd;
    case Op::k_prod:
      return KOp::kMul;
    case Op::k_max:
    case Op::k_any:
      return KOp::kMax;
    default:
      return KOp::kMin;
  }
}

KOp LaneReductionOp(Op op) {
  switch (op) {
    case Op::k_sum:
      return KOp::kReduceAdd;
    case Op::k_prod:
      return KOp::kReduceMul;
    case Op::k_max:
    case Op::k_any:
      return KOp::kReduceMax;
    default:
      return KOp::kReduceMin;
  }
}

Reg FinishReduction(KernelBuilder& b, const ir::Node& n, Reg value, Dim count) {
  const DType dtype = b.type(value).dtype;
  const bool extremum = n.op == Op::k_max || n.op == Op::k_min;
  if (count.is_constant() && count != Dim(0)) return value;
  Reg nothing;
  if (n.op == Op::k_sum && IsFloat(dtype)) {
    nothing = b.Float({dtype, 1}, 0);
  } else if (extremum && n.attrs.value) {
    if (IsFloat(dtype) && std::isinf(*n.attrs.value) && (*n.attrs.value < 0) == (n.op == Op::k_max))
      return value;  // the identity
    nothing = b.Float({dtype, 1}, *n.attrs.value);
  } else {
    return value;
  }
  return b.Select(b.Bin(KOp::kEq, b.Index(count), b.Int({i64, 1}, 0)), nothing, value);
}

Op ExtremumOf(Op op) { return op == Op::k_argmin ? Op::k_min : Op::k_max; }

Reg IsBetter(KernelBuilder& b, const ir::Node& n, Reg x, Reg old) {
  const Reg beats = b.Bin(n.op == Op::k_argmin ? KOp::kLt : KOp::kGt, x, old);
  if (!IsFloat(b.type(x).dtype)) return beats;
  const Reg new_nan = b.Bin(KOp::kAnd, b.Bin(KOp::kNe, x, x), b.Bin(KOp::kEq, old, old));
  return b.Bin(KOp::kOr, beats, new_nan);
}

Reg IsEqual(KernelBuilder& b, Reg x, Reg old) {
  const Reg equal = b.Bin(KOp::kEq, x, old);
  if (!IsFloat(b.type(x).dtype)) return equal;
  const Reg both_nan = b.Bin(KOp::kAnd, b.Bin(KOp::kNe, x, x), b.Bin(KOp::kNe, old, old));
  return b.Bin(KOp::kOr, equal, both_nan);
}

Reg TakesPlace(KernelBuilder& b, const ir::Node& n, Reg x, Reg old) {
  const Reg better = IsBetter(b, n, x, old);
  return n.attrs.last ? b.Bin(KOp::kOr, better, IsEqual(b, x, old)) : better;
}

}  // namespace lathe::compiler
