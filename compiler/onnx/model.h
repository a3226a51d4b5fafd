#pragma once
// An ONNX model as it stands in its file, before anything is made of it. reader.h fills it,
// importer.h turns it into a Program. Nothing here is checked beyond the format itself.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lathe/tensor.h"

namespace lathe::onnx {

// The numbers of TensorProto.DataType.
enum ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// A tensor of the file. Its elements lie in `bytes`: contiguous, row-major, little endian, four-bit
// elements two a byte, low half first; in the mapped file itself where they stand there as such.
struct TensorData {
  std::string name;
  int32_t element_type = kUndefined;
  std::vector<int64_t> dims;    // each >= 0; the product was checked against `num_bytes`
  std::shared_ptr<void> bytes;  // may be misaligned; null if there are none
  int64_t num_bytes = 0;
  std::vector<std::string> strings;  // kString
};

// Coordinates in, `values` of rank 1 at `indices`, [count] linear or [count, rank].
struct SparseTensorData {
  TensorData values, indices;
  std::vector<int64_t> dims;
};

struct Dimension {
  std::optional<int64_t> value;  // as declared: may be negative
  std::string name;              // dim_param; empty if unnamed
};

struct Type {
  enum class Kind : uint8_t { kNone, kTensor, kSparseTensor, kSequence, kOptional, kMap };
  Kind kind = Kind::kNone;
  int32_t element_type = kUndefined;
  std::optional<std::vector<Dimension>> shape;  // tensors; nothing: unknown rank
  std::shared_ptr<const Type> element;          // of a sequence or optional
};

struct ValueInfo {
  std::string name;
  Type type;
};

struct GraphDef;

struct Attribute {
  // The numbers of AttributeProto.AttributeType.
  enum class Kind : int32_t {
    kUndefined = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
    kTensors = 9,
    kGraphs = 10,
    kSparseTensor = 11,
    kSparseTensors = 12,
    kType = 13,
    kTypes = 14,
  };
  std::string name, ref_attr_name;  // ref: the value is the enclosing function's attribute
  Kind kind = Kind::kUndefined;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::vector<TensorData> tensors;                      // kTensor: one
  std::vector<SparseTensorData> sparse;                 // kSparseTensor: one
  std::vector<std::shared_ptr<const GraphDef>> graphs;  // kGraph: one
  std::vector<Type> types;                              // kType: one
};

struct NodeDef {
  std::string name, op_type, domain, overload;
  std::vector<std::string> inputs, outputs;  // an empty name: left out
  std::vector<Attribute> attributes;
  const Attribute* Find(const std::string& name) const;  // null if there is none
};

struct GraphDef {
  std::string name;
  std::vector<NodeDef> nodes;
  std::vector<TensorData> initializers;
  std::vector<std::pair<std::string, SparseTensorData>> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, value_info;
};

struct FunctionDef {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<Attribute> attribute_defaults;
  std::vector<NodeDef> nodes;
  std::vector<std::pair<std::string, int64_t>> opsets;
};

struct ModelDef {
  int64_t ir_version = 0;
  std::string producer;                                 // "pytorch 2.11.0"
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain ("" is ai.onnx), version
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<FunctionDef> functions;
  GraphDef graph;
};

// The tensor over the same bytes, if Lathe has its element type; a copy where they are misaligned.
// Unimplemented names the type.
absl::StatusOr<Tensor> ToTensor(const TensorData& t);
// Lathe's element type; Unimplemented names the type if it has none.
absl::StatusOr<DType> ToDType(int32_t element_type);
// The dense tensor. ResourceExhausted if it would have more than `most_bytes`.
absl::StatusOr<Tensor> Densify(const SparseTensorData& t, int64_t most_bytes);
// The standard's name: "FLOAT", "UINT8".
std::string ElementTypeName(int32_t element_type);

}  // namespace lathe::onnx
