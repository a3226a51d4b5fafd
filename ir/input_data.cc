#include "ir/input_data.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace lathe::ir {
namespace {

template <typename T>
int64_t Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
OffsetsReading Read(const Tensor& t) {
  const int64_t count = t.shape()[0];
  const int64_t step = t.strides()[0] * static_cast<int64_t>(sizeof(T));
  const char* at = static_cast<const char*>(t.raw());
  OffsetsReading r;
  int64_t before = Load<T>(at);
  if (before != 0) {
    r.fault = 0;
    return r;
  }
  for (int64_t i = 1; i < count; ++i) {
    at += step;
    const int64_t offset = Load<T>(at);
    if (offset < before) {
      r.fault = i;
      return r;
    }
    r.longest = std::max(r.longest, offset - before);
    before = offset;
  }
  r.total = before;
  return r;
}

}  // namespace

int64_t IntegerElement(const Tensor& t, int64_t index) {
  int64_t offset = 0;
  for (size_t axis = t.shape().size(); axis-- > 0;) {
    const int64_t extent = t.shape()[axis];
    offset += index % extent * t.strides()[axis];
    index /= extent;
  }
  const char* at = static_cast<const char*>(t.raw()) + offset * SizeOf(t.dtype());
  return t.dtype() == DType::kI32 ? Load<int32_t>(at) : Load<int64_t>(at);
}

OffsetsReading ReadOffsets(const Tensor& t) {
  return t.dtype() == DType::kI32 ? Read<int32_t>(t) : Read<int64_t>(t);
}

absl::Status OffsetsError(const std::string& input, const Tensor& t,
                          const OffsetsReading& reading) {
  const int64_t i = reading.fault;
  const std::string wanted =
      i == 0 ? "0, where the first row starts"
             : absl::StrCat(">= ", IntegerElement(t, i - 1), ", element ", i - 1, ": row ", i - 1,
                            " would end before it starts");
  return absl::InvalidArgumentError(
      absl::StrCat(input, ": element ", i, " is ", IntegerElement(t, i), ", wanted ", wanted));
}

}  // namespace lathe::ir
