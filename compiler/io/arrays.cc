#include "compiler/io/arrays.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lathe::io {
namespace {

constexpr struct {
  DType dtype;
  const char* npy;
  const char* safetensors;
} kNames[] = {
    {DType::kBool, "|b1", "BOOL"}, {DType::kI8, "|i1", "I8"},       {DType::kI16, "<i2", "I16"},
    {DType::kI32, "<i4", "I32"},   {DType::kI64, "<i8", "I64"},     {DType::kU8, "|u1", "U8"},
    {DType::kU16, "<u2", "U16"},   {DType::kU32, "<u4", "U32"},     {DType::kU64, "<u8", "U64"},
    {DType::kF16, "<f2", "F16"},   {DType::kBF16, nullptr, "BF16"}, {DType::kF32, "<f4", "F32"},
    {DType::kF64, "<f8", "F64"}};

}  // namespace

const char* NpyName(DType t) {
  for (const auto& row : kNames)
    if (row.dtype == t) return row.npy;
  return nullptr;
}

const char* SafetensorsName(DType t) {
  for (const auto& row : kNames)
    if (row.dtype == t) return row.safetensors;
  return nullptr;
}

bool FromNpyName(absl::string_view name, DType* t) {
  for (const auto& row : kNames)
    if (row.npy != nullptr && name == row.npy) {
      *t = row.dtype;
      return true;
    }
  return false;
}

bool FromSafetensorsName(absl::string_view name, DType* t) {
  for (const auto& row : kNames)
    if (name == row.safetensors) {
      *t = row.dtype;
      return true;
    }
  return false;
}

absl::StatusOr<int64_t> ArrayBytes(DType t, const std::vector<int64_t>& shape,
                                   const ArrayLimits& limits) {
  if (static_cast<int64_t>(shape.size()) > limits.rank)
    return absl::ResourceExhaustedError(
        absl::StrCat("has rank ", shape.size(), ", the limit is ", limits.rank));
  int64_t bytes = SizeOf(t);
  bool overflow = false, empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("shape [", absl::StrJoin(shape, ", "), "] has a negative extent"));
    empty |= extent == 0;
    overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (empty) return 0;
  if (overflow || bytes > limits.bytes)
    return absl::ResourceExhaustedError(
        absl::StrCat(Name(t), " of shape [", absl::StrJoin(shape, ", "), "] is ",
                     overflow ? "more than 2^63" : std::to_string(bytes), " bytes, the limit is ",
                     limits.bytes));
  return bytes;
}

absl::StatusOr<Tensor> TensorOver(std::shared_ptr<void> bytes, int64_t num_bytes, DType t,
                                  std::vector<int64_t> shape) {
  const auto* data = static_cast<const unsigned char*>(bytes.get());
  const bool aligned = reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(SizeOf(t)) == 0;
  const bool clean = t != DType::kBool ||
                     std::all_of(data, data + num_bytes, [](unsigned char b) { return b <= 1; });
  if (data != nullptr && aligned && clean)
    return Tensor::Own(std::move(bytes), t, std::move(shape));
  absl::StatusOr<Tensor> copy = Tensor::Make(t, std::move(shape));
  if (!copy.ok()) return copy;
  if (copy->num_bytes() != num_bytes)
    return absl::InternalError(
        absl::StrCat("the array has ", num_bytes, " bytes, its shape wants ", copy->num_bytes()));
  if (num_bytes > 0) std::memcpy(copy->raw(), data, static_cast<size_t>(num_bytes));
  NormalizeBools(*copy);
  return copy;
}

void NormalizeBools(const Tensor& t) {
  if (t.dtype() != DType::kBool) return;
  auto* const bytes = t.data<unsigned char>();
  for (int64_t i = 0; i < t.num_bytes(); ++i) bytes[i] = bytes[i] != 0;
}

}  // namespace lathe::io
