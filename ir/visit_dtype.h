#pragma once
// From an element type to its C++ type. Whoever reads or writes elements calls it; the one switch
// over element types for that.
//
//   VisitDType(t.dtype(), [&](auto type) { Use(t.data<decltype(type)>()); });
#include <cstdint>
#include <type_traits>
#include <utility>

#include "lathe/dtype.h"
#include "lathe/half.h"

namespace lathe {

// Calls fn(T{}) with the C++ type T for which DTypeOf<T>() is `t`, and returns its result.
template <typename Fn>
auto VisitDType(DType t, Fn&& fn) {
  switch (t) {
    case DType::kBool:
      return fn(bool{});
    case DType::kI8:
      return fn(int8_t{});
    case DType::kI16:
      return fn(int16_t{});
    case DType::kI32:
      return fn(int32_t{});
    case DType::kI64:
      return fn(int64_t{});
    case DType::kU8:
      return fn(uint8_t{});
    case DType::kU16:
      return fn(uint16_t{});
    case DType::kU32:
      return fn(uint32_t{});
    case DType::kU64:
      return fn(uint64_t{});
    case DType::kF16:
      return fn(Half{});
    case DType::kBF16:
      return fn(BFloat16{});
    case DType::kF32:
      return fn(float{});
    case DType::kF64:
      break;
  }
  return fn(double{});
}

// Half and BFloat16.
template <typename T>
inline constexpr bool kIsNarrowFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The unsigned integer of T's width.
template <typename T>
using BitsOf =
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

// Whether `value` is an element of the integer type `t`; of other types it always is.
inline bool FitsInt(DType t, int64_t value) {
  return VisitDType(t, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return std::in_range<T>(value);
    } else {
      return true;
    }
  });
}

}  // namespace lathe
