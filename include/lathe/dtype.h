#pragma once
// Element types of tensors. Part of the public API; depends on nothing.

#include <cstdint>

namespace lathe {

enum class DType : uint8_t { kBool, kI32, kI64, kF32, kF64 };

inline constexpr DType bool_ = DType::kBool;
inline constexpr DType i32 = DType::kI32;
inline constexpr DType i64 = DType::kI64;
inline constexpr DType f32 = DType::kF32;
inline constexpr DType f64 = DType::kF64;
inline constexpr int kNumDTypes = 5;

// Bytes of one element; a bool is one byte that holds 0 or 1.
constexpr int64_t SizeOf(DType t) {
  switch (t) {
    case DType::kBool:
      return 1;
    case DType::kI32:
    case DType::kF32:
      return 4;
    case DType::kI64:
    case DType::kF64:
      return 8;
  }
  return 0;
}

// The name used in text: "bool", "i32", "i64", "f32", "f64".
constexpr const char* Name(DType t) {
  switch (t) {
    case DType::kBool:
      return "bool";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
  }
  return "?";
}

constexpr bool IsFloat(DType t) { return t == DType::kF32 || t == DType::kF64; }
constexpr bool IsInt(DType t) { return t == DType::kI32 || t == DType::kI64; }

}  // namespace lathe
