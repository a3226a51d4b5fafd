#pragma once
// Element types of tensors. Part of the public API; depends on nothing.

#include <cstdint>

namespace lathe {

enum class DType : uint8_t {
  kBool,
  kI32,
  kI64,
  kF32,
  kF64,
  kI8,
  kI16,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,   // IEEE 754 binary16
  kBF16,  // the upper half of a binary32
};

inline constexpr DType bool_ = DType::kBool;
inline constexpr DType i8 = DType::kI8;
inline constexpr DType i16 = DType::kI16;
inline constexpr DType i32 = DType::kI32;
inline constexpr DType i64 = DType::kI64;
inline constexpr DType u8 = DType::kU8;
inline constexpr DType u16 = DType::kU16;
inline constexpr DType u32 = DType::kU32;
inline constexpr DType u64 = DType::kU64;
inline constexpr DType f16 = DType::kF16;
inline constexpr DType bf16 = DType::kBF16;
inline constexpr DType f32 = DType::kF32;
inline constexpr DType f64 = DType::kF64;
inline constexpr int kNumDTypes = 13;

// Bytes of one element; a bool is one byte that holds 0 or 1.
constexpr int64_t SizeOf(DType t) {
  switch (t) {
    case DType::kBool:
    case DType::kI8:
    case DType::kU8:
      return 1;
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI32:
    case DType::kU32:
    case DType::kF32:
      return 4;
    case DType::kI64:
    case DType::kU64:
    case DType::kF64:
      return 8;
  }
  return 0;
}

// The name used in text: "bool", "i32", "bf16".
constexpr const char* Name(DType t) {
  switch (t) {
    case DType::kBool:
      return "bool";
    case DType::kI8:
      return "i8";
    case DType::kI16:
      return "i16";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kU8:
      return "u8";
    case DType::kU16:
      return "u16";
    case DType::kU32:
      return "u32";
    case DType::kU64:
      return "u64";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
  }
  return "?";
}

// Types of two bytes that hold the results of f32 arithmetic, rounded: nothing is computed in them.
constexpr bool IsNarrowFloat(DType t) { return t == DType::kF16 || t == DType::kBF16; }
constexpr bool IsFloat(DType t) { return t == DType::kF32 || t == DType::kF64 || IsNarrowFloat(t); }
constexpr bool IsUnsigned(DType t) {
  return t == DType::kU8 || t == DType::kU16 || t == DType::kU32 || t == DType::kU64;
}
constexpr bool IsSigned(DType t) {
  return t == DType::kI8 || t == DType::kI16 || t == DType::kI32 || t == DType::kI64;
}
constexpr bool IsInt(DType t) { return IsSigned(t) || IsUnsigned(t); }
// What may index, be an offset of a ragged dim, or give sizes.
constexpr bool IsIndex(DType t) { return t == DType::kI32 || t == DType::kI64; }

}  // namespace lathe
