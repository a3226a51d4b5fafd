#pragma once
// The messages that the reader's files share, one function a message. Each throws a ReadError; each
// fills `to`, which is empty. For reader*.cc alone.
#include "compiler/onnx/model.h"
#include "compiler/onnx/wire.h"

namespace lathe::onnx {

void ParseTensorMessage(Input& in, protozero::data_view bytes, TensorData* to);
void ParseSparseTensor(Input& in, protozero::data_view bytes, SparseTensorData* to);
void ParseType(Input& in, protozero::data_view bytes, int64_t depth, Type* to);
void ParseValueInfo(Input& in, protozero::data_view bytes, ValueInfo* to);
// `depth` is that of the graph which the node is in; a function's nodes are at 0.
void ParseNode(Input& in, protozero::data_view bytes, int64_t depth, NodeDef* to);
void ParseAttribute(Input& in, protozero::data_view bytes, int64_t depth, Attribute* to);
void ParseGraph(Input& in, protozero::data_view bytes, int64_t depth, GraphDef* to);

// Bits of an element in raw data; 0 for strings and for types that aren't known.
int BitsOf(int32_t element_type);

}  // namespace lathe::onnx
