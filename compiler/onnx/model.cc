#include "compiler/onnx/model.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "compiler/io/arrays.h"
#include "compiler/onnx/reader_parts.h"

namespace lathe::onnx {
namespace {

struct ElementRow {
  int32_t type;
  const char* name;
  int bits;
};

constexpr ElementRow kElements[] = {
    {kUndefined, "UNDEFINED", 0},
    {kFloat, "FLOAT", 32},
    {kUint8, "UINT8", 8},
    {kInt8, "INT8", 8},
    {kUint16, "UINT16", 16},
    {kInt16, "INT16", 16},
    {kInt32, "INT32", 32},
    {kInt64, "INT64", 64},
    {kString, "STRING", 0},
    {kBool, "BOOL", 8},
    {kFloat16, "FLOAT16", 16},
    {kDouble, "DOUBLE", 64},
    {kUint32, "UINT32", 32},
    {kUint64, "UINT64", 64},
    {kComplex64, "COMPLEX64", 64},
    {kComplex128, "COMPLEX128", 128},
    {kBfloat16, "BFLOAT16", 16},
    {kFloat8E4M3FN, "FLOAT8E4M3FN", 8},
    {kFloat8E4M3FNUZ, "FLOAT8E4M3FNUZ", 8},
    {kFloat8E5M2, "FLOAT8E5M2", 8},
    {kFloat8E5M2FNUZ, "FLOAT8E5M2FNUZ", 8},
    {kUint4, "UINT4", 4},
    {kInt4, "INT4", 4},
    {kFloat4E2M1, "FLOAT4E2M1", 4},
    {kFloat8E8M0, "FLOAT8E8M0", 8},
    {kUint2, "UINT2", 2},
    {kInt2, "INT2", 2},
};

// The element types of the file that Lathe has as they stand.
constexpr struct {
  int32_t type;
  DType dtype;
} kDTypes[] = {{kBool, DType::kBool},   {kInt8, DType::kI8},       {kInt16, DType::kI16},
               {kInt32, DType::kI32},   {kInt64, DType::kI64},     {kUint8, DType::kU8},
               {kUint16, DType::kU16},  {kUint32, DType::kU32},    {kUint64, DType::kU64},
               {kFloat16, DType::kF16}, {kBfloat16, DType::kBF16}, {kFloat, DType::kF32},
               {kDouble, DType::kF64}};

const ElementRow* FindElement(int32_t type) {
  for (const ElementRow& row : kElements)
    if (row.type == type) return &row;
  return nullptr;
}

}  // namespace

int BitsOf(int32_t element_type) {
  const ElementRow* row = FindElement(element_type);
  return row == nullptr ? 0 : row->bits;
}

absl::StatusOr<DType> ToDType(int32_t element_type) {
  for (const auto& row : kDTypes)
    if (row.type == element_type) return row.dtype;
  return absl::UnimplementedError(
      absl::StrCat("elements of type ", ElementTypeName(element_type), " aren't supported"));
}

absl::StatusOr<Tensor> Densify(const SparseTensorData& t, int64_t most_bytes) {
  absl::StatusOr<Tensor> values = ToTensor(t.values), indices = ToTensor(t.indices);
  if (!values.ok()) return values.status();
  if (!indices.ok()) return indices.status();
  int64_t bytes = SizeOf(values->dtype());
  for (int64_t n : t.dims) {
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes) || bytes > most_bytes)
      return absl::ResourceExhaustedError(
          absl::StrCat("a sparse tensor has more than max_folded_bytes = ", most_bytes,
                       " bytes when written out"));
  }
  const int64_t count = values->num_elements(), rank = static_cast<int64_t>(t.dims.size());
  const bool linear = indices->rank() == 1;
  if (indices->dtype() != i64 || indices->num_elements() != (linear ? count : count * rank))
    return absl::InvalidArgumentError("the indices of a sparse tensor don't fit its values");
  absl::StatusOr<Tensor> dense = Tensor::Make(values->dtype(), t.dims);
  if (!dense.ok()) return dense.status();
  const auto size = static_cast<size_t>(SizeOf(values->dtype()));
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = linear ? indices->data<int64_t>()[i] : 0;
    bool inside = !linear || (at >= 0 && at < dense->num_elements());
    for (int64_t k = 0; k < rank && !linear; ++k) {
      const int64_t index = indices->data<int64_t>()[i * rank + k];
      inside = inside && index >= 0 && index < t.dims[static_cast<size_t>(k)];
      if (inside) at = at * t.dims[static_cast<size_t>(k)] + index;
    }
    if (!inside) return absl::OutOfRangeError("an index of a sparse tensor is out of range");
    std::memcpy(dense->data<char>() + static_cast<size_t>(at) * size,
                values->data<char>() + static_cast<size_t>(i) * size, size);
  }
  return dense;
}

std::string ElementTypeName(int32_t element_type) {
  const ElementRow* row = FindElement(element_type);
  return row == nullptr ? absl::StrCat("element type ", element_type) : row->name;
}

const Attribute* NodeDef::Find(const std::string& attribute) const {
  for (const Attribute& a : attributes)
    if (a.name == attribute) return &a;
  return nullptr;
}

absl::StatusOr<Tensor> ToTensor(const TensorData& t) {
  for (const auto& row : kDTypes) {
    if (row.type != t.element_type) continue;
    return io::TensorOver(t.bytes, t.num_bytes, row.dtype, t.dims);
  }
  return absl::UnimplementedError(absl::StrCat("tensor \"", t.name, "\" is of ",
                                               ElementTypeName(t.element_type),
                                               ", a type that Lathe doesn't have"));
}

}  // namespace lathe::onnx
