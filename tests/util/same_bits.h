#pragma once
// Comparison of the raw elements that two runs of a kernel leave in a buffer. Tensors:
// ir/compare.h.
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "ir/visit_dtype.h"

namespace lathe {

// Equal bits, or NaN in both.
template <typename T>
bool SameElement(const uint8_t* a, const uint8_t* b) {
  if (std::memcmp(a, b, sizeof(T)) == 0) return true;
  if constexpr (std::is_integral_v<T>) return false;
  T x, y;
  std::memcpy(&x, a, sizeof(T));
  std::memcpy(&y, b, sizeof(T));
  return x != x && y != y;
}

// "" if all elements are the same; else the first that isn't, with the bits of both.
inline std::string FirstDifference(DType dtype, const uint8_t* want, const uint8_t* got,
                                   int64_t elements) {
  const size_t size = static_cast<size_t>(SizeOf(dtype));
  for (int64_t i = 0; i < elements; ++i, want += size, got += size) {
    const bool same =
        VisitDType(dtype, [&](auto type) { return SameElement<decltype(type)>(want, got); });
    if (same) continue;
    uint64_t x = 0, y = 0;
    std::memcpy(&x, want, size);
    std::memcpy(&y, got, size);
    return absl::StrCat("element ", i, ": wanted 0x", absl::Hex(x), ", got 0x", absl::Hex(y));
  }
  return "";
}

}  // namespace lathe
