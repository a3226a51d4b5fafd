#pragma once
// The fields of ONNX's protobuf messages: number, name and kind of each, from the specification
// (onnx-ml.proto and onnx-data.proto). The reader checks every field's kind by it and names fields
// in errors; tests write files by it. A field that isn't listed is skipped, as protobuf demands.
//
//   switch (fields.tag()) { case proto::Node::op_type: ... }
#include <cstdint>
#include <span>

namespace lathe::onnx {

enum class Wire : uint8_t {
  kInt,       // varint
  kFloat,     // 4 bytes
  kBytes,     // a length and so many bytes: strings, bytes
  kMessage,   // likewise, a message: at most one
  kInts,      // repeated, packed or not
  kFloats,    // repeated, packed or not, 4 bytes each
  kDoubles,   // repeated, packed or not, 8 bytes each
  kStrings,   // repeated kBytes
  kMessages,  // repeated messages
  kIgnored,   // carries nothing that Lathe reads
};

struct FieldSpec {
  uint32_t tag;
  const char* name;
  Wire wire;
};

struct MessageSpec {
  const char* name;
  std::span<const FieldSpec> fields;
};

inline constexpr int kMostFields = 20;  // of one message below

namespace proto {

#define LATHE_FIELD_TAG(number, name, wire) name = number,
#define LATHE_FIELD_SPEC(number, name, wire) FieldSpec{number, #name, Wire::wire},
#define LATHE_MESSAGE(Type, FIELDS)                                    \
  struct Type {                                                        \
    enum Tag : uint32_t { FIELDS(LATHE_FIELD_TAG) };                   \
    static constexpr FieldSpec kFields[] = {FIELDS(LATHE_FIELD_SPEC)}; \
    static constexpr MessageSpec kSpec{#Type "Proto", kFields};        \
  };                                                                   \
  static_assert(std::size(Type::kFields) <= kMostFields);

#define LATHE_FIELDS(F)            \
  F(1, ir_version, kInt)           \
  F(2, producer_name, kBytes)      \
  F(3, producer_version, kBytes)   \
  F(4, domain, kIgnored)           \
  F(5, model_version, kIgnored)    \
  F(6, doc_string, kIgnored)       \
  F(7, graph, kMessage)            \
  F(8, opset_import, kMessages)    \
  F(14, metadata_props, kMessages) \
  F(20, training_info, kMessages) F(25, functions, kMessages) F(26, configuration, kIgnored)
LATHE_MESSAGE(Model, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F)                    \
  F(1, node, kMessages)                    \
  F(2, name, kBytes)                       \
  F(5, initializer, kMessages)             \
  F(10, doc_string, kIgnored)              \
  F(11, input, kMessages)                  \
  F(12, output, kMessages)                 \
  F(13, value_info, kMessages)             \
  F(14, quantization_annotation, kIgnored) \
  F(15, sparse_initializer, kMessages) F(16, metadata_props, kIgnored)
LATHE_MESSAGE(Graph, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F)      \
  F(1, input, kStrings)      \
  F(2, output, kStrings)     \
  F(3, name, kBytes)         \
  F(4, op_type, kBytes)      \
  F(5, attribute, kMessages) \
  F(6, doc_string, kIgnored) \
  F(7, domain, kBytes)       \
  F(8, overload, kBytes) F(9, metadata_props, kIgnored) F(10, device_configurations, kIgnored)
LATHE_MESSAGE(Node, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F)         \
  F(1, name, kBytes)            \
  F(2, f, kFloat)               \
  F(3, i, kInt)                 \
  F(4, s, kBytes)               \
  F(5, t, kMessage)             \
  F(6, g, kMessage)             \
  F(7, floats, kFloats)         \
  F(8, ints, kInts)             \
  F(9, strings, kStrings)       \
  F(10, tensors, kMessages)     \
  F(11, graphs, kMessages)      \
  F(13, doc_string, kIgnored)   \
  F(14, tp, kMessage)           \
  F(15, type_protos, kMessages) \
  F(20, type, kInt)             \
  F(21, ref_attr_name, kBytes) F(22, sparse_tensor, kMessage) F(23, sparse_tensors, kMessages)
LATHE_MESSAGE(Attribute, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F)             \
  F(1, name, kBytes)                \
  F(4, input, kStrings)             \
  F(5, output, kStrings)            \
  F(6, attribute, kStrings)         \
  F(7, node, kMessages)             \
  F(8, doc_string, kIgnored)        \
  F(9, opset_import, kMessages)     \
  F(10, domain, kBytes)             \
  F(11, attribute_proto, kMessages) \
  F(12, value_info, kIgnored) F(13, overload, kBytes) F(14, metadata_props, kIgnored)
LATHE_MESSAGE(Function, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F)        \
  F(1, dims, kInts)            \
  F(2, data_type, kInt)        \
  F(3, segment, kMessage)      \
  F(4, float_data, kFloats)    \
  F(5, int32_data, kInts)      \
  F(6, string_data, kStrings)  \
  F(7, int64_data, kInts)      \
  F(8, name, kBytes)           \
  F(9, raw_data, kBytes)       \
  F(10, double_data, kDoubles) \
  F(11, uint64_data, kInts)    \
  F(12, doc_string, kIgnored)  \
  F(13, external_data, kMessages) F(14, data_location, kInt) F(16, metadata_props, kIgnored)
LATHE_MESSAGE(Tensor, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F) F(1, values, kMessage) F(2, indices, kMessage) F(3, dims, kInts)
LATHE_MESSAGE(SparseTensor, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F) \
  F(1, name, kBytes) F(2, type, kMessage) F(3, doc_string, kIgnored) F(4, metadata_props, kIgnored)
LATHE_MESSAGE(ValueInfo, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F)         \
  F(1, tensor_type, kMessage)   \
  F(4, sequence_type, kMessage) \
  F(5, map_type, kMessage)      \
  F(6, denotation, kIgnored)    \
  F(7, opaque_type, kMessage) F(8, sparse_tensor_type, kMessage) F(9, optional_type, kMessage)
LATHE_MESSAGE(Type, LATHE_FIELDS)
#undef LATHE_FIELDS

// TypeProto.Tensor, .SparseTensor, .Sequence and .Optional: the element is a number or a type.
#define LATHE_FIELDS(F) F(1, elem_type, kInt) F(2, shape, kMessage)
LATHE_MESSAGE(TensorType, LATHE_FIELDS)
#undef LATHE_FIELDS
#define LATHE_FIELDS(F) F(1, elem_type, kMessage)
LATHE_MESSAGE(ElementOf, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F) F(1, dim, kMessages)
LATHE_MESSAGE(TensorShape, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F) F(1, dim_value, kInt) F(2, dim_param, kBytes) F(3, denotation, kIgnored)
LATHE_MESSAGE(Dimension, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F) F(1, domain, kBytes) F(2, version, kInt)
LATHE_MESSAGE(OperatorSetId, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F) F(1, key, kBytes) F(2, value, kBytes)
LATHE_MESSAGE(StringStringEntry, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F)                 \
  F(1, name, kIgnored)                  \
  F(2, elem_type, kInt)                 \
  F(3, tensor_values, kMessages)        \
  F(4, sparse_tensor_values, kMessages) \
  F(5, sequence_values, kMessages) F(6, map_values, kMessages) F(7, optional_values, kMessages)
LATHE_MESSAGE(Sequence, LATHE_FIELDS)
#undef LATHE_FIELDS

#define LATHE_FIELDS(F)               \
  F(1, name, kIgnored)                \
  F(2, elem_type, kInt)               \
  F(3, tensor_value, kMessage)        \
  F(4, sparse_tensor_value, kMessage) \
  F(5, sequence_value, kMessage) F(6, map_value, kMessage) F(7, optional_value, kMessage)
LATHE_MESSAGE(Optional, LATHE_FIELDS)
#undef LATHE_FIELDS

#undef LATHE_MESSAGE
#undef LATHE_FIELD_SPEC
#undef LATHE_FIELD_TAG

}  // namespace proto
}  // namespace lathe::onnx
