#include "compiler/onnx/model.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
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
} kDTypes[] = {{kBool, DType::kBool},
               {kInt32, DType::kI32},
               {kInt64, DType::kI64},
               {kFloat, DType::kF32},
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
    const auto* bytes = static_cast<const unsigned char*>(t.bytes.get());
    const bool aligned =
        reinterpret_cast<uintptr_t>(bytes) % static_cast<uintptr_t>(SizeOf(row.dtype)) == 0;
    // A bool of the file may be any byte, one of Lathe is 0 or 1.
    const bool clean = row.dtype != DType::kBool ||
                       std::all_of(bytes, bytes + t.num_bytes, [](auto b) { return b <= 1; });
    if (bytes != nullptr && aligned && clean) return Tensor::Own(t.bytes, row.dtype, t.dims);
    absl::StatusOr<Tensor> copy = Tensor::Make(row.dtype, t.dims);
    if (!copy.ok()) return copy;
    if (copy->num_bytes() != t.num_bytes)
      return absl::InternalError(absl::StrCat("tensor \"", t.name, "\" has ", t.num_bytes,
                                              " bytes, its shape wants ", copy->num_bytes()));
    if (t.num_bytes > 0) std::memcpy(copy->raw(), bytes, static_cast<size_t>(t.num_bytes));
    if (!clean)
      for (int64_t i = 0; i < t.num_bytes; ++i) copy->data<unsigned char>()[i] = bytes[i] != 0;
    return copy;
  }
  return absl::UnimplementedError(absl::StrCat("tensor \"", t.name, "\" is of ",
                                               ElementTypeName(t.element_type),
                                               ", a type that Lathe doesn't have"));
}

}  // namespace lathe::onnx
