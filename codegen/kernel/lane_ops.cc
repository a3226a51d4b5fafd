#include "codegen/kernel/lane_ops.h"

#include <algorithm>

#include "codegen/kernel/scalar_ops.h"

namespace lathe::kernel {
namespace {

using scalar::FromBits;
using scalar::kIsFloat;
using scalar::ToBits;

template <typename T, typename Fn>
bool Map1(const LaneArgs& a, Fn fn) {
  for (int i = 0; i < a.type.lanes; ++i) a.out[i] = ToBits<T>(fn(FromBits<T>(a.args[0][i])));
  return true;
}

template <typename T, typename R = T, typename Fn>
bool Map2(const LaneArgs& a, Fn fn) {
  for (int i = 0; i < a.type.lanes; ++i) {
    a.out[i] = ToBits<R>(fn(FromBits<T>(a.args[0][i]), FromBits<T>(a.args[1][i])));
  }
  return true;
}

template <typename T, typename Fn>
bool Halve(const LaneArgs& a, Fn fn) {
  T p[kMaxLanes];
  int n = a.operand.lanes;
  for (int i = 0; i < n; ++i) p[i] = FromBits<T>(a.args[0][i]);
  for (n /= 2; n > 0; n /= 2) {
    for (int i = 0; i < n; ++i) p[i] = fn(p[i], p[i + n]);
  }
  a.out[0] = ToBits<T>(p[0]);
  return true;
}

bool Cast(const LaneArgs& a) {
  return VisitDType(a.operand.dtype, [&](auto from) {
    return VisitDType(a.type.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      for (int i = 0; i < a.type.lanes; ++i) {
        a.out[i] = ToBits<To>(scalar::Cast<To>(FromBits<From>(a.args[0][i])));
      }
      return true;
    });
  });
}

// Ops on bits that don't look at the type.
bool ApplyUntyped(KOp op, const LaneArgs& a) {
  const int lanes = a.type.lanes;
  switch (op) {
    case KOp::kBitcast:
      std::copy_n(a.args[0], lanes, a.out);
      return true;
    case KOp::kSplat:
      std::fill_n(a.out, lanes, a.args[0][0]);
      return true;
    case KOp::kAny:
      a.out[0] = std::any_of(a.args[0], a.args[0] + a.operand.lanes,
                             [](uint64_t lane) { return lane != 0; });
      return true;
    case KOp::kSelect:
      for (int i = 0; i < lanes; ++i) a.out[i] = a.args[0][i] != 0 ? a.args[1][i] : a.args[2][i];
      return true;
    case KOp::kAnd:
      for (int i = 0; i < lanes; ++i) a.out[i] = a.args[0][i] & a.args[1][i];
      return true;
    case KOp::kOr:
      for (int i = 0; i < lanes; ++i) a.out[i] = a.args[0][i] | a.args[1][i];
      return true;
    case KOp::kXor:
      for (int i = 0; i < lanes; ++i) a.out[i] = a.args[0][i] ^ a.args[1][i];
      return true;
    default:
      return false;
  }
}

// Comparisons, minimum and maximum: of every type.
template <typename T>
bool ApplyOrder(KOp op, const LaneArgs& a) {
  switch (op) {
    case KOp::kMin:
      return Map2<T>(a, [](T x, T y) { return scalar::Min(x, y); });
    case KOp::kMax:
      return Map2<T>(a, [](T x, T y) { return scalar::Max(x, y); });
    case KOp::kReduceMin:
      return Halve<T>(a, [](T x, T y) { return scalar::Min(x, y); });
    case KOp::kReduceMax:
      return Halve<T>(a, [](T x, T y) { return scalar::Max(x, y); });
    case KOp::kEq:
      return Map2<T, bool>(a, [](T x, T y) { return x == y; });
    case KOp::kNe:
      return Map2<T, bool>(a, [](T x, T y) { return x != y; });
    case KOp::kLt:
      return Map2<T, bool>(a, [](T x, T y) { return x < y; });
    case KOp::kLe:
      return Map2<T, bool>(a, [](T x, T y) { return x <= y; });
    case KOp::kGt:
      return Map2<T, bool>(a, [](T x, T y) { return x > y; });
    case KOp::kGe:
      return Map2<T, bool>(a, [](T x, T y) { return x >= y; });
    default:
      return false;
  }
}

template <typename T>
bool ApplyArithmetic(KOp op, const LaneArgs& a) {
  switch (op) {
    case KOp::kNeg:
      return Map1<T>(a, [](T x) { return scalar::Neg(x); });
    case KOp::kAbs:
      return Map1<T>(a, [](T x) { return scalar::Abs(x); });
    case KOp::kReduceAdd:
      return Halve<T>(a, [](T x, T y) { return scalar::Add(x, y); });
    case KOp::kReduceMul:
      return Halve<T>(a, [](T x, T y) { return scalar::Mul(x, y); });
    case KOp::kAdd:
      return Map2<T>(a, [](T x, T y) { return scalar::Add(x, y); });
    case KOp::kSub:
      return Map2<T>(a, [](T x, T y) { return scalar::Sub(x, y); });
    case KOp::kMul:
      return Map2<T>(a, [](T x, T y) { return scalar::Mul(x, y); });
    case KOp::kDiv:
      return Map2<T>(a, [](T x, T y) { return scalar::Div(x, y); });
    case KOp::kFloorDiv:
      return Map2<T>(a, [](T x, T y) { return scalar::FloorDiv(x, y); });
    default:
      return false;
  }
}

template <typename T>
bool ApplyFloat(KOp op, const LaneArgs& a) {
  switch (op) {
    case KOp::kSqrt:
      return Map1<T>(a, [](T x) { return std::sqrt(x); });
    case KOp::kFloor:
      return Map1<T>(a, [](T x) { return std::floor(x); });
    case KOp::kRound:
      return Map1<T>(a, [](T x) { return std::nearbyint(x); });
    case KOp::kFma:
      for (int i = 0; i < a.type.lanes; ++i) {
        a.out[i] = ToBits<T>(std::fma(FromBits<T>(a.args[0][i]), FromBits<T>(a.args[1][i]),
                                      FromBits<T>(a.args[2][i])));
      }
      return true;
    default:
      return false;
  }
}

// Sums of products of bytes; they wrap.
void Dot4(const LaneArgs& a) {
  for (int i = 0; i < a.type.lanes; ++i) {
    uint32_t sum = static_cast<uint32_t>(a.args[2][i]);
    for (int byte = 0; byte < 32; byte += 8) {
      const int32_t x = static_cast<uint8_t>(a.args[0][i] >> byte);
      const int32_t y = static_cast<int8_t>(a.args[1][i] >> byte);
      sum += static_cast<uint32_t>(x * y);
    }
    a.out[i] = sum;
  }
}

template <typename T>
bool ApplyInt(KOp op, const LaneArgs& a) {
  switch (op) {
    case KOp::kRem:
      return Map2<T>(a, [](T x, T y) { return scalar::Rem(x, y); });
    case KOp::kMod:
      return Map2<T>(a, [](T x, T y) { return scalar::Mod(x, y); });
    case KOp::kNot:
      return Map1<T>(a, [](T x) { return static_cast<T>(~x); });
    case KOp::kShl:
      return Map2<T>(a, [](T x, T y) { return scalar::Shl(x, y); });
    case KOp::kShr:
      return Map2<T>(a, [](T x, T y) { return scalar::Shr(x, y); });
    case KOp::kSar:
      if constexpr (std::is_signed_v<T>) {
        return Map2<T>(a, [](T x, T y) { return scalar::Sar(x, y); });
      }
      return false;
    default:
      return false;
  }
}

}  // namespace

bool ApplyLanes(KOp op, const LaneArgs& a) {
  if (op == KOp::kCast) return Cast(a);
  if (ApplyUntyped(op, a)) return true;
  if (op == KOp::kDot4) {
    Dot4(a);
    return true;
  }
  return VisitDType(a.operand.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (kIsNarrowFloat<T>) {
      return false;
    } else if (ApplyOrder<T>(op, a)) {
      return true;
    } else if constexpr (std::is_same_v<T, bool>) {
      return op == KOp::kNot && Map1<bool>(a, [](bool x) { return !x; });
    } else if constexpr (kIsFloat<T>) {
      return ApplyArithmetic<T>(op, a) || ApplyFloat<T>(op, a);
    } else {
      return ApplyArithmetic<T>(op, a) || ApplyInt<T>(op, a);
    }
  });
}

}  // namespace lathe::kernel
