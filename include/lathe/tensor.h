#pragma once
// Tensor: a typed, shaped view of memory. A Tensor shares its buffer with its copies; views may be
// strided, also by 0 and by negative strides, and misaligned.
//
//   lathe::Tensor x(lathe::f32, {2, 3});               // owned, contiguous, zero-filled
//   lathe::Tensor y = lathe::Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4});
//   lathe::Tensor v = lathe::Tensor::View(ptr, lathe::f32, {rows, cols}, {ld, 1});
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lathe/dtype.h"
#include "lathe/half.h"

namespace lathe {

template <typename T>
constexpr DType DTypeOf();
template <>
constexpr DType DTypeOf<bool>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<int32_t>() {
  return DType::kI32;
}
template <>
constexpr DType DTypeOf<int64_t>() {
  return DType::kI64;
}
template <>
constexpr DType DTypeOf<float>() {
  return DType::kF32;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kF64;
}
template <>
constexpr DType DTypeOf<int8_t>() {
  return DType::kI8;
}
template <>
constexpr DType DTypeOf<int16_t>() {
  return DType::kI16;
}
template <>
constexpr DType DTypeOf<uint8_t>() {
  return DType::kU8;
}
template <>
constexpr DType DTypeOf<uint16_t>() {
  return DType::kU16;
}
template <>
constexpr DType DTypeOf<uint32_t>() {
  return DType::kU32;
}
template <>
constexpr DType DTypeOf<uint64_t>() {
  return DType::kU64;
}
template <>
constexpr DType DTypeOf<Half>() {
  return DType::kF16;
}
template <>
constexpr DType DTypeOf<BFloat16>() {
  return DType::kBF16;
}

class Tensor {
 public:
  Tensor() = default;  // dtype f32, rank 1, 0 elements
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  // One that was moved from is invalid: `ok() == false`, no memory.
  Tensor(Tensor&& other) noexcept
      : owner_(std::move(other.owner_)),
        data_(std::exchange(other.data_, nullptr)),
        dtype_(other.dtype_),
        ok_(std::exchange(other.ok_, false)),
        shape_(std::move(other.shape_)),
        strides_(std::move(other.strides_)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    if (this == &other) return *this;
    owner_ = std::move(other.owner_);
    data_ = std::exchange(other.data_, nullptr);
    dtype_ = other.dtype_;
    ok_ = std::exchange(other.ok_, false);
    shape_ = std::exchange(other.shape_, {});
    strides_ = std::exchange(other.strides_, {});
    return *this;
  }
  ~Tensor() = default;
  // Owned, 64-byte aligned, zero-filled. Extents must be >= 0 and their product in bytes fit int64
  // and memory; otherwise the result has `ok() == false`. `Make` says why.
  Tensor(DType dtype, std::vector<int64_t> shape);
  static absl::StatusOr<Tensor> Make(DType dtype, std::vector<int64_t> shape);
  // Not owned; strides in elements; empty strides mean contiguous row-major.
  static Tensor View(void* data, DType dtype, std::vector<int64_t> shape,
                     std::vector<int64_t> strides = {});
  // Contiguous over memory that `owner` keeps alive: big enough and aligned as the caller likes.
  // Extents are >= 0.
  static Tensor Own(std::shared_ptr<void> owner, DType dtype, std::vector<int64_t> shape) {
    Tensor t;
    t.data_ = owner.get();
    t.owner_ = std::move(owner);
    t.dtype_ = dtype;
    t.strides_.resize(shape.size());
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      t.strides_[i] = stride;
      if (shape[i] > 1 && __builtin_mul_overflow(stride, shape[i], &stride)) stride = 1;
    }
    t.shape_ = std::move(shape);
    return t;
  }
  template <typename T>
  static Tensor FromVector(std::vector<int64_t> shape, const std::vector<T>& values) {
    Tensor t(DTypeOf<T>(), std::move(shape));
    for (size_t i = 0; i < values.size() && static_cast<int64_t>(i) < t.num_elements(); ++i)
      t.data<T>()[i] = values[i];
    return t;
  }
  template <typename T>
  static Tensor Scalar(T value) {
    return FromVector<T>({}, std::vector<T>{value});
  }

  bool ok() const { return ok_; }
  DType dtype() const { return dtype_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<int64_t>& strides() const { return strides_; }  // in elements
  int64_t num_elements() const;                                     // 0 of an invalid one
  int64_t num_bytes() const { return num_elements() * SizeOf(dtype_); }
  bool is_contiguous() const;

  void* raw() const { return data_; }
  template <typename T>
  T* data() const {
    return static_cast<T*>(data_);
  }

  // Contiguous copy (or itself, sharing the buffer, if contiguous already or a view of null).
  Tensor Contiguous() const;
  // Always a fresh contiguous buffer; invalid if this is, or is a view of null with elements.
  Tensor Clone() const;
  std::string ToString() const;  // "f32[2, 3]{1, 2, 3, ...}"

 private:
  std::shared_ptr<void> owner_;
  void* data_ = nullptr;
  DType dtype_ = DType::kF32;
  bool ok_ = true;
  std::vector<int64_t> shape_{0}, strides_{1};
};

}  // namespace lathe
