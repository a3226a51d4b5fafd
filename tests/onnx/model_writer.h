#pragma once
// Writes ONNX files in memory, for tests of the reader and of the importer. A message is a string
// of its bytes; a helper makes each kind, and any field can be added by its number
// (compiler/onnx/fields.h) where a test wants something that no helper writes.
//
//   GraphWriter g("g");
//   g.Input("x", kFloat, {"batch", 3});
//   g.Initializer(TensorMessage<float>("w", {3}, {1, 2, 3}));
//   g.Node("Mul", {"x", "w"}, {"y"});
//   g.Output("y", kFloat, {"batch", 3});
//   absl::StatusOr<ModelDef> model = ParseBytes(ModelMessage(g, {{"", 21}}));
//
// Attributes: g.Node("Concat", {"a", "b"}, {"c"}, {Attr("axis", 1)}); sub-graphs:
// {GraphAttr("then_branch", inner)}; functions: ModelMessage(g, opsets, {FunctionMessage(...)}).
#include <cstdint>
#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/onnx/fields.h"
#include "compiler/onnx/reader.h"

namespace lathe::onnx {

using Bytes = std::string;  // an encoded message
using Names = std::vector<std::string>;
using Opsets = std::vector<std::pair<std::string, int64_t>>;

// Adds fields to a message; encodes them as the argument's type says.
class MessageWriter {
 public:
  MessageWriter() = default;
  explicit MessageWriter(Bytes bytes) : bytes_(std::move(bytes)) {}
  MessageWriter& Add(uint32_t tag, int64_t value) {
    protozero::pbf_writer(bytes_).add_int64(tag, value);
    return *this;
  }
  MessageWriter& Add(uint32_t tag, int value) { return Add(tag, int64_t{value}); }
  MessageWriter& Add(uint32_t tag, float value) {
    protozero::pbf_writer(bytes_).add_float(tag, value);
    return *this;
  }
  MessageWriter& Add(uint32_t tag, double value) {
    protozero::pbf_writer(bytes_).add_double(tag, value);
    return *this;
  }
  // A string or an inner message.
  MessageWriter& Add(uint32_t tag, const Bytes& value) {
    protozero::pbf_writer(bytes_).add_bytes(tag, value);
    return *this;
  }
  // Repeated: one field each.
  template <typename T>
  MessageWriter& AddEach(uint32_t tag, const std::vector<T>& values) {
    for (const T& value : values) Add(tag, value);
    return *this;
  }
  // Repeated numbers, packed into one field.
  MessageWriter& AddPacked(uint32_t tag, const std::vector<int64_t>& values) {
    protozero::pbf_writer(bytes_).add_packed_int64(tag, values.begin(), values.end());
    return *this;
  }
  MessageWriter& AddPacked(uint32_t tag, const std::vector<float>& values) {
    protozero::pbf_writer(bytes_).add_packed_float(tag, values.begin(), values.end());
    return *this;
  }
  MessageWriter& AddPacked(uint32_t tag, const std::vector<double>& values) {
    protozero::pbf_writer(bytes_).add_packed_double(tag, values.begin(), values.end());
    return *this;
  }
  const Bytes& bytes() const { return bytes_; }
  operator const Bytes&() const { return bytes_; }  // NOLINT: a message is its bytes

 private:
  Bytes bytes_;
};

template <typename T>
constexpr int32_t ElementTypeOf() {
  if (std::is_same_v<T, float>) return kFloat;
  if (std::is_same_v<T, double>) return kDouble;
  if (std::is_same_v<T, bool>) return kBool;
  if (std::is_same_v<T, int8_t>) return kInt8;
  if (std::is_same_v<T, uint8_t>) return kUint8;
  if (std::is_same_v<T, int16_t>) return kInt16;
  if (std::is_same_v<T, uint16_t>) return kUint16;
  if (std::is_same_v<T, int32_t>) return kInt32;
  if (std::is_same_v<T, uint32_t>) return kUint32;
  if (std::is_same_v<T, int64_t>) return kInt64;
  if (std::is_same_v<T, uint64_t>) return kUint64;
  return kUndefined;
}

// A TensorProto of a type, a shape and raw data.
inline Bytes RawTensorMessage(const std::string& name, int32_t element_type,
                              const std::vector<int64_t>& dims, const std::string& raw) {
  return MessageWriter()
      .AddEach(proto::Tensor::dims, dims)
      .Add(proto::Tensor::data_type, element_type)
      .Add(proto::Tensor::name, name)
      .Add(proto::Tensor::raw_data, raw);
}
template <typename T>
Bytes TensorMessage(const std::string& name, const std::vector<int64_t>& dims,
                    const std::vector<T>& values) {
  std::string raw;
  for (const T value : values) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    raw.append(bytes, sizeof(T));
  }
  return RawTensorMessage(name, ElementTypeOf<T>(), dims, raw);
}

// AttributeProto.
inline MessageWriter AttrOfKind(const std::string& name, Attribute::Kind kind) {
  return MessageWriter()
      .Add(proto::Attribute::name, name)
      .Add(proto::Attribute::type, static_cast<int32_t>(kind));
}
inline Bytes Attr(const std::string& name, int64_t v) {
  return AttrOfKind(name, Attribute::Kind::kInt).Add(proto::Attribute::i, v);
}
inline Bytes Attr(const std::string& name, int v) { return Attr(name, int64_t{v}); }
inline Bytes Attr(const std::string& name, float v) {
  return AttrOfKind(name, Attribute::Kind::kFloat).Add(proto::Attribute::f, v);
}
inline Bytes Attr(const std::string& name, const std::string& v) {
  return AttrOfKind(name, Attribute::Kind::kString).Add(proto::Attribute::s, v);
}
inline Bytes Attr(const std::string& name, const char* v) { return Attr(name, std::string(v)); }
inline Bytes Attr(const std::string& name, const std::vector<int64_t>& v) {
  return AttrOfKind(name, Attribute::Kind::kInts).AddEach(proto::Attribute::ints, v);
}
inline Bytes Attr(const std::string& name, const std::vector<float>& v) {
  return AttrOfKind(name, Attribute::Kind::kFloats).AddEach(proto::Attribute::floats, v);
}
inline Bytes Attr(const std::string& name, const Names& v) {
  return AttrOfKind(name, Attribute::Kind::kStrings).AddEach(proto::Attribute::strings, v);
}
inline Bytes TensorAttr(const std::string& name, const Bytes& tensor) {
  return AttrOfKind(name, Attribute::Kind::kTensor).Add(proto::Attribute::t, tensor);
}
inline Bytes GraphAttr(const std::string& name, const Bytes& graph) {
  return AttrOfKind(name, Attribute::Kind::kGraph).Add(proto::Attribute::g, graph);
}
// The attribute `ref` of the function that the node is in.
inline Bytes RefAttr(const std::string& name, Attribute::Kind kind, const std::string& ref) {
  return AttrOfKind(name, kind).Add(proto::Attribute::ref_attr_name, ref);
}

// NodeProto.
inline Bytes NodeMessage(const std::string& op, const Names& inputs, const Names& outputs,
                         const std::vector<Bytes>& attributes = {}, const std::string& domain = "",
                         const std::string& name = "") {
  MessageWriter m;
  m.AddEach(proto::Node::input, inputs).AddEach(proto::Node::output, outputs);
  if (!name.empty()) m.Add(proto::Node::name, name);
  m.Add(proto::Node::op_type, op).AddEach(proto::Node::attribute, attributes);
  if (!domain.empty()) m.Add(proto::Node::domain, domain);
  return m;
}

// A declared extent: a number, a name, or "" for one without either.
struct DeclaredDim {
  DeclaredDim(int64_t v) : value(v), is_value(true) {}  // NOLINT: reads as a list of extents
  DeclaredDim(int v) : value(v), is_value(true) {}      // NOLINT
  DeclaredDim(const char* n) : name(n) {}               // NOLINT
  int64_t value = 0;
  bool is_value = false;
  std::string name;
};

// TypeProto of a tensor; without a shape the rank is unknown.
inline Bytes TensorTypeMessage(int32_t element_type) {
  return MessageWriter().Add(proto::Type::tensor_type,
                             MessageWriter().Add(proto::TensorType::elem_type, element_type));
}
inline Bytes TensorTypeMessage(int32_t element_type, const std::vector<DeclaredDim>& dims) {
  MessageWriter shape;
  for (const DeclaredDim& d : dims) {
    MessageWriter dim;
    if (d.is_value) dim.Add(proto::Dimension::dim_value, d.value);
    if (!d.name.empty()) dim.Add(proto::Dimension::dim_param, d.name);
    shape.Add(proto::TensorShape::dim, dim.bytes());
  }
  return MessageWriter().Add(proto::Type::tensor_type,
                             MessageWriter()
                                 .Add(proto::TensorType::elem_type, element_type)
                                 .Add(proto::TensorType::shape, shape.bytes()));
}
inline Bytes SequenceTypeMessage(const Bytes& element) {
  return MessageWriter().Add(proto::Type::sequence_type,
                             MessageWriter().Add(proto::ElementOf::elem_type, element));
}
inline Bytes OptionalTypeMessage(const Bytes& element) {
  return MessageWriter().Add(proto::Type::optional_type,
                             MessageWriter().Add(proto::ElementOf::elem_type, element));
}
inline Bytes ValueInfoMessage(const std::string& name, const Bytes& type) {
  MessageWriter m;
  m.Add(proto::ValueInfo::name, name);
  if (!type.empty()) m.Add(proto::ValueInfo::type, type);
  return m;
}

// GraphProto. Converts to its bytes; sub-graphs are written the same way.
class GraphWriter {
 public:
  explicit GraphWriter(const std::string& name = "g") { message_.Add(proto::Graph::name, name); }
  void Input(const std::string& name, const Bytes& type) {
    message_.Add(proto::Graph::input, ValueInfoMessage(name, type));
  }
  void Input(const std::string& name, int32_t type, const std::vector<DeclaredDim>& dims) {
    Input(name, TensorTypeMessage(type, dims));
  }
  void Output(const std::string& name, const Bytes& type) {
    message_.Add(proto::Graph::output, ValueInfoMessage(name, type));
  }
  void Output(const std::string& name, int32_t type, const std::vector<DeclaredDim>& dims) {
    Output(name, TensorTypeMessage(type, dims));
  }
  // An output whose type isn't declared.
  void Output(const std::string& name) { Output(name, Bytes()); }
  void ValueInfo(const std::string& name, const Bytes& type) {
    message_.Add(proto::Graph::value_info, ValueInfoMessage(name, type));
  }
  void Initializer(const Bytes& tensor) { message_.Add(proto::Graph::initializer, tensor); }
  void SparseInitializer(const Bytes& values, const Bytes& indices,
                         const std::vector<int64_t>& dims) {
    message_.Add(proto::Graph::sparse_initializer, MessageWriter()
                                                       .Add(proto::SparseTensor::values, values)
                                                       .Add(proto::SparseTensor::indices, indices)
                                                       .AddEach(proto::SparseTensor::dims, dims));
  }
  void Node(const std::string& op, const Names& inputs, const Names& outputs,
            const std::vector<Bytes>& attributes = {}, const std::string& domain = "",
            const std::string& name = "") {
    message_.Add(proto::Graph::node, NodeMessage(op, inputs, outputs, attributes, domain, name));
  }
  void Node(const Bytes& node) { message_.Add(proto::Graph::node, node); }
  operator const Bytes&() const { return message_.bytes(); }  // NOLINT: a graph is its bytes

 private:
  MessageWriter message_;
};

inline Bytes OpsetMessage(const std::string& domain, int64_t version) {
  return MessageWriter()
      .Add(proto::OperatorSetId::domain, domain)
      .Add(proto::OperatorSetId::version, version);
}

// FunctionProto: `nodes` by NodeMessage, `defaults` by Attr.
inline Bytes FunctionMessage(const std::string& domain, const std::string& name,
                             const Names& inputs, const Names& outputs,
                             const std::vector<Bytes>& nodes, const Opsets& opsets,
                             const Names& attributes = {},
                             const std::vector<Bytes>& defaults = {}) {
  MessageWriter m;
  m.Add(proto::Function::name, name)
      .AddEach(proto::Function::input, inputs)
      .AddEach(proto::Function::output, outputs)
      .AddEach(proto::Function::attribute, attributes)
      .AddEach(proto::Function::attribute_proto, defaults)
      .AddEach(proto::Function::node, nodes)
      .Add(proto::Function::domain, domain);
  for (const auto& [d, version] : opsets)
    m.Add(proto::Function::opset_import, OpsetMessage(d, version));
  return m;
}

// ModelProto.
inline Bytes ModelMessage(const Bytes& graph, const Opsets& opsets = {{"", 21}},
                          const std::vector<Bytes>& functions = {}, int64_t ir_version = 10) {
  MessageWriter m;
  m.Add(proto::Model::ir_version, ir_version).Add(proto::Model::producer_name, Bytes("test"));
  m.Add(proto::Model::graph, graph);
  for (const auto& [domain, version] : opsets)
    m.Add(proto::Model::opset_import, OpsetMessage(domain, version));
  return m.AddEach(proto::Model::functions, functions);
}

// Reads `bytes` as a file of just this size would be: a byte read past the end is one past the
// allocation, which sanitizers see.
inline std::shared_ptr<void> OwnedCopy(const Bytes& bytes) {
  std::shared_ptr<char[]> copy(new char[bytes.size()]);
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return {copy, copy.get()};
}
inline absl::StatusOr<ModelDef> ParseBytes(const Bytes& bytes, const ReadLimits& limits = {},
                                           const std::string& folder = "") {
  const std::shared_ptr<void> owner = OwnedCopy(bytes);
  return ParseModel({static_cast<const char*>(owner.get()), bytes.size()}, owner, folder, limits);
}
inline absl::StatusOr<TensorData> ParseTensorBytes(const Bytes& bytes,
                                                   const ReadLimits& limits = {},
                                                   const std::string& folder = "") {
  const std::shared_ptr<void> owner = OwnedCopy(bytes);
  return ParseTensor({static_cast<const char*>(owner.get()), bytes.size()}, owner, folder, limits);
}

}  // namespace lathe::onnx
