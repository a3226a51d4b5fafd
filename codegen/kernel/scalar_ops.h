#pragma once
// The meaning of every Kernel IR op on one lane, as plain C++: the definition that the other
// targets match bit for bit (any NaN equals any NaN). For the evaluator and for constant folding.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ir/visit_dtype.h"

namespace lathe::kernel::scalar {

// An element as its bits, zero-extended to 64, and back.
template <typename T>
uint64_t ToBits(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v ? 1 : 0;
  } else {
    return std::bit_cast<BitsOf<T>>(v);
  }
}

template <typename T>
T FromBits(uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>) {
    return bits != 0;
  } else {
    return std::bit_cast<T>(static_cast<BitsOf<T>>(bits));
  }
}

template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;

// Integer arithmetic wraps: it is done on an unsigned type that is never promoted to a signed one.
template <typename T>
using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <typename T>
Unsigned<T> U(T v) {
  return static_cast<BitsOf<T>>(v);
}

template <typename T>
T Neg(T a) {
  if constexpr (kIsFloat<T>) {
    return -a;
  } else {
    return static_cast<T>(0 - U(a));
  }
}

template <typename T>
T Abs(T a) {
  if constexpr (kIsFloat<T>) {
    return std::fabs(a);
  } else {
    return std::is_signed_v<T> && a < T{0} ? Neg(a) : a;
  }
}

template <typename T>
T Add(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a + b;
  } else {
    return static_cast<T>(U(a) + U(b));
  }
}

template <typename T>
T Sub(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a - b;
  } else {
    return static_cast<T>(U(a) - U(b));
  }
}

template <typename T>
T Mul(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a * b;
  } else {
    return static_cast<T>(U(a) * U(b));
  }
}

// Whose quotient of the least value overflows.
template <typename T>
bool IsMinusOne(T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1);
}

template <typename T>
T Div(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    return IsMinusOne(b) ? Neg(a) : static_cast<T>(a / b);
  }
}

template <typename T>
T Rem(T a, T b) {
  return b == 0 || IsMinusOne(b) ? T{0} : static_cast<T>(a % b);
}

template <typename T>
T FloorDiv(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return std::floor(a / b);
  } else {
    const bool down = Rem(a, b) != 0 && (a < 0) != (b < 0);
    return Sub(Div(a, b), static_cast<T>(down));
  }
}

// The remainder with the divisor's sign.
template <typename T>
T Mod(T a, T b) {
  const T r = Rem(a, b);
  return r != 0 && (r < 0) != (b < 0) ? Add(r, b) : r;
}

template <typename T>
T Min(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? a : b;
  }
  return std::min(a, b);
}

template <typename T>
T Max(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
  }
  return std::max(a, b);
}

template <typename T>
inline constexpr Unsigned<T> kWidth = 8 * sizeof(T);

template <typename T>
T Shl(T a, T b) {
  return U(b) >= kWidth<T> ? T{0} : static_cast<T>(U(a) << U(b));
}

template <typename T>
T Shr(T a, T b) {
  return U(b) >= kWidth<T> ? T{0} : static_cast<T>(U(a) >> U(b));
}

template <typename T>
T Sar(T a, T b) {
  return static_cast<T>(a >> std::min<Unsigned<T>>(U(b), kWidth<T> - 1));
}

// Value conversion: float to int truncates and saturates, NaN gives 0; ints wrap; to a float rounds
// to nearest even, once; to bool is != 0.
template <typename To, typename From>
To Cast(From a) {
  if constexpr (kIsNarrowFloat<From> && !std::is_same_v<To, From>) {
    return Cast<To>(static_cast<float>(a));
  } else if constexpr (std::is_same_v<To, bool>) {
    return a != From{0};
  } else if constexpr (kIsFloat<From> && std::is_integral_v<To>) {
    // Both ends are powers of two or 0, hence exact as floats.
    using Limits = std::numeric_limits<To>;
    constexpr From kLow = static_cast<From>(Limits::min());
    constexpr From kHigh = static_cast<From>(Limits::max() / 2 + 1) * 2;
    if (std::isnan(a)) return 0;
    if (a < kLow) return Limits::min();
    return a >= kHigh ? Limits::max() : static_cast<To>(a);
  } else {
    return static_cast<To>(a);
  }
}

}  // namespace lathe::kernel::scalar
