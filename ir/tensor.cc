#include "lathe/tensor.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/visit_dtype.h"

namespace lathe {
namespace {

constexpr size_t kAlignment = 64;
constexpr int64_t kMaxOwnedBytes = int64_t{1}
                                   << 39;  // no machine has more; allocators differ above
constexpr int64_t kMaxPrinted = 64;        // elements in ToString

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// The number of elements, or why there can't be that many. An extent of 0 wins over an overflow.
absl::StatusOr<int64_t> CountElements(DType dtype, const std::vector<int64_t>& shape) {
  bool empty = false;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", Name(dtype), ShapeText(shape),
                                                     ": extent of axis ", axis, " is ", shape[axis],
                                                     ", wanted >= 0"));
    }
    if (shape[axis] == 0) empty = true;
  }
  if (empty) return 0;
  int64_t count = 1, bytes = 0;
  bool overflow = false;
  for (int64_t extent : shape) overflow |= __builtin_mul_overflow(count, extent, &count);
  overflow = overflow || __builtin_mul_overflow(count, SizeOf(dtype), &bytes);
  if (overflow) {
    return absl::OutOfRangeError(absl::StrCat("tensor ", Name(dtype), ShapeText(shape),
                                              ": the number of bytes passes 64 bits"));
  }
  return count;
}

// Row-major; those of an empty tensor address nothing and stay within int64.
std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    int64_t next = 0;
    if (!__builtin_mul_overflow(stride, shape[i] > 0 ? shape[i] : 1, &next)) stride = next;
  }
  return strides;
}

template <typename T>
void AppendNumber(std::string& out, T value) {
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void AppendElement(std::string& out, DType dtype, const void* at) {
  if (dtype == DType::kBool) {
    out += *static_cast<const uint8_t*>(at) != 0 ? "true" : "false";
    return;
  }
  VisitDType(dtype, [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    if constexpr (kIsNarrowFloat<decltype(value)>) {
      AppendNumber(out, static_cast<float>(value));
    } else if constexpr (!std::is_same_v<decltype(value), bool>) {
      AppendNumber(out, value);
    }
  });
}

}  // namespace

absl::StatusOr<Tensor> Tensor::Make(DType dtype, std::vector<int64_t> shape) {
  absl::StatusOr<int64_t> count = CountElements(dtype, shape);
  if (!count.ok()) return count.status();
  if (*count * SizeOf(dtype) > kMaxOwnedBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("tensor ", Name(dtype), ShapeText(shape),
                                                     " takes ", *count * SizeOf(dtype),
                                                     " bytes, the limit is ", kMaxOwnedBytes));
  }
  Tensor t;
  t.dtype_ = dtype;
  t.strides_ = RowMajorStrides(shape);
  t.shape_ = std::move(shape);
  // calloc leaves untouched pages unmapped; the slack makes room for the alignment.
  const size_t bytes = static_cast<size_t>(*count * SizeOf(dtype));
  void* block = std::calloc(bytes + kAlignment, 1);
  if (block == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("tensor ", Name(dtype), ShapeText(t.shape_),
                                                     ": no memory for ", bytes, " bytes"));
  }
  t.owner_ = std::shared_ptr<void>(block, std::free);
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  t.data_ = reinterpret_cast<void*>((address + kAlignment - 1) & ~uintptr_t{kAlignment - 1});
  return t;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape) {
  absl::StatusOr<Tensor> made = Make(dtype, shape);
  if (made.ok()) {
    *this = *std::move(made);
    return;
  }
  dtype_ = dtype;
  ok_ = false;
}

Tensor Tensor::View(void* data, DType dtype, std::vector<int64_t> shape,
                    std::vector<int64_t> strides) {
  Tensor t;
  t.dtype_ = dtype;
  if (!CountElements(dtype, shape).ok() || (!strides.empty() && strides.size() != shape.size())) {
    t.ok_ = false;
    return t;
  }
  t.data_ = data;
  t.strides_ = strides.empty() ? RowMajorStrides(shape) : std::move(strides);
  t.shape_ = std::move(shape);
  return t;
}

int64_t Tensor::num_elements() const {
  if (!ok_) return 0;
  for (int64_t extent : shape_) {
    if (extent == 0) return 0;
  }
  int64_t count = 1;
  for (int64_t extent : shape_) count *= extent;
  return count;
}

bool Tensor::is_contiguous() const {
  if (num_elements() == 0) return true;
  int64_t expected = 1;
  for (size_t i = shape_.size(); i-- > 0;) {
    if (shape_[i] != 1 && strides_[i] != expected) return false;
    expected *= shape_[i];
  }
  return true;
}

Tensor Tensor::Contiguous() const { return is_contiguous() || data_ == nullptr ? *this : Clone(); }

Tensor Tensor::Clone() const {
  Tensor copy(dtype_, shape_);
  const int64_t count = num_elements();
  if (!ok_ || !copy.ok_ || (data_ == nullptr && count != 0)) {
    copy.ok_ = false;
    return copy;
  }
  if (count == 0) return copy;
  const int64_t size = SizeOf(dtype_);
  const char* from = static_cast<const char*>(data_);
  char* to = static_cast<char*>(copy.data_);
  if (is_contiguous()) {
    std::memcpy(to, from, static_cast<size_t>(count * size));
    return copy;
  }
  std::vector<int64_t> index(shape_.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * size, from + offset * size, static_cast<size_t>(size));
    for (size_t axis = shape_.size(); axis-- > 0;) {
      offset += strides_[axis];
      if (++index[axis] < shape_[axis]) break;
      offset -= strides_[axis] * shape_[axis];
      index[axis] = 0;
    }
  }
  return copy;
}

std::string Tensor::ToString() const {
  if (!ok_) return absl::StrCat(Name(dtype_), "[invalid]");
  std::string out = absl::StrCat(Name(dtype_), ShapeText(shape_), "{");
  const Tensor dense = Contiguous();
  const int64_t count = num_elements();
  if (dense.raw() == nullptr && count != 0) return out + "...}";  // null, or too many to copy
  const char* data = static_cast<const char*>(dense.raw());
  for (int64_t i = 0; i < count && i < kMaxPrinted; ++i) {
    if (i > 0) out += ", ";
    AppendElement(out, dtype_, data + i * SizeOf(dtype_));
  }
  if (count > kMaxPrinted) out += ", ...";
  return out + "}";
}

}  // namespace lathe
