#pragma once
// Half and BFloat16: the elements of f16 and bf16 tensors. Part of the public API; depends on the
// standard library alone. They hold bits and convert: arithmetic is that of float.
//
//   lathe::Half h(0.1f);          // rounded to nearest even; what is too large becomes infinity
//   float x = h;                  // exact
//   auto y = lathe::BFloat16::FromBits(0x3f80);  // 1
//
// A conversion from any arithmetic type rounds once. Denormals are kept; a NaN gives a quiet NaN.
#include <bit>
#include <cstdint>
#include <type_traits>

namespace lathe {
namespace half_detail {

// A double whose rounding to at most 32 bits of precision is that of `v`: of an integer below 2^53
// in magnitude v itself, else with the low 12 bits replaced by one that says whether any of them
// was set.
template <typename T>
constexpr double ToDouble(T v) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    constexpr T kLow = 0xfff;
    const T limit = T{1} << 52;
    const bool large = v >= limit || (std::is_signed_v<T> && v <= static_cast<T>(-limit));
    if (large && (v & kLow) != 0) v = static_cast<T>((v & ~kLow) | 0x800);
  }
  return static_cast<double>(v);
}

// The bits of `v` in a format with `mantissa` bits behind the point and `exponent` bits of biased
// exponent, rounded to nearest even.
template <int mantissa, int exponent>
constexpr uint16_t Encode(double v) {
  constexpr int kBias = (1 << (exponent - 1)) - 1;
  constexpr uint16_t kInfinity = static_cast<uint16_t>(((1 << exponent) - 1) << mantissa);
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (biased == 0x7ff && fraction != 0) {
    return static_cast<uint16_t>(sign | kInfinity | 1 << (mantissa - 1));
  }
  const int e = biased - 1023 + kBias;
  if (e >= (1 << exponent) - 1) return static_cast<uint16_t>(sign | kInfinity);
  // Digits to be rounded: of a normal number behind its exponent, so that a carry raises it.
  uint64_t digits = static_cast<uint64_t>(e) << 52 | fraction;
  int shift = 52 - mantissa;
  if (e < 1) {
    digits = (uint64_t{1} << 52) | fraction;
    shift += 1 - e;
    if (biased == 0 || shift > 62) return sign;
  }
  const uint64_t half = (uint64_t{1} << (shift - 1)) - 1 + (digits >> shift & 1);
  return static_cast<uint16_t>(sign | (digits + half) >> shift);
}

}  // namespace half_detail

// 1 sign bit, 5 of exponent, 10 of mantissa.
struct Half {
  uint16_t bits = 0;

  constexpr Half() = default;
  template <typename T>
  requires std::is_arithmetic_v<T>
  constexpr explicit Half(T v) : bits(half_detail::Encode<10, 5>(half_detail::ToDouble(v))) {}
  static constexpr Half FromBits(uint16_t b) {
    Half h;
    h.bits = b;
    return h;
  }

  constexpr operator float() const {  // NOLINT: exact, as float to double is
    const uint32_t sign = static_cast<uint32_t>(bits >> 15) << 31;
    const uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00) {  // infinity, NaN
      const uint32_t quiet = magnitude > 0x7c00 ? 0x400000u : 0u;
      return std::bit_cast<float>(sign | 0x7f800000u | quiet | (magnitude & 0x3ffu) << 13);
    }
    if (magnitude < 0x400) {  // 0 and denormals: units of 2^-24
      const float v = static_cast<float>(magnitude) * 0x1p-24f;
      return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(v));
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  }
};

// The upper 16 bits of a float.
struct BFloat16 {
  uint16_t bits = 0;

  constexpr BFloat16() = default;
  template <typename T>
  requires std::is_arithmetic_v<T>
  constexpr explicit BFloat16(T v) : bits(half_detail::Encode<7, 8>(half_detail::ToDouble(v))) {}
  static constexpr BFloat16 FromBits(uint16_t b) {
    BFloat16 h;
    h.bits = b;
    return h;
  }

  constexpr operator float() const {  // NOLINT: exact, as float to double is
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

}  // namespace lathe
