// AttributeProto: which of its fields holds the value, and that no other does.
#include "absl/strings/str_cat.h"
#include "compiler/onnx/reader_parts.h"

namespace lathe::onnx {
namespace {

using Kind = Attribute::Kind;
using protozero::data_view;

constexpr struct {
  Kind kind;
  uint32_t tag;
  const char* name;
  bool needed;  // a message; numbers and strings have defaults, lists may be empty
} kKinds[] = {{Kind::kFloat, proto::Attribute::f, "FLOAT", false},
              {Kind::kInt, proto::Attribute::i, "INT", false},
              {Kind::kString, proto::Attribute::s, "STRING", false},
              {Kind::kTensor, proto::Attribute::t, "TENSOR", true},
              {Kind::kGraph, proto::Attribute::g, "GRAPH", true},
              {Kind::kFloats, proto::Attribute::floats, "FLOATS", false},
              {Kind::kInts, proto::Attribute::ints, "INTS", false},
              {Kind::kStrings, proto::Attribute::strings, "STRINGS", false},
              {Kind::kTensors, proto::Attribute::tensors, "TENSORS", false},
              {Kind::kGraphs, proto::Attribute::graphs, "GRAPHS", false},
              {Kind::kSparseTensor, proto::Attribute::sparse_tensor, "SPARSE_TENSOR", true},
              {Kind::kSparseTensors, proto::Attribute::sparse_tensors, "SPARSE_TENSORS", false},
              {Kind::kType, proto::Attribute::tp, "TYPE_PROTO", true},
              {Kind::kTypes, proto::Attribute::type_protos, "TYPE_PROTOS", false}};

void ParseSubGraph(Input& in, Fields& f, int64_t depth, Attribute* to) {
  if (depth == in.limits.depth)
    f.FailField(absl::StrCat("the limit of sub-graph depth is ", in.limits.depth),
                absl::StatusCode::kResourceExhausted);
  in.Charge(static_cast<int64_t>(sizeof(GraphDef)));
  auto graph = std::make_shared<GraphDef>();
  ParseGraph(in, f.View(), depth + 1, graph.get());
  f.Add(to->graphs) = std::move(graph);
}

void ParseField(Input& in, Fields& f, int64_t depth, Attribute* to) {
  switch (f.tag()) {
    case proto::Attribute::name:
      to->name = f.Name();
      break;
    case proto::Attribute::ref_attr_name:
      to->ref_attr_name = f.Name();
      break;
    case proto::Attribute::type:
      to->kind = static_cast<Kind>(f.Int32());
      break;
    case proto::Attribute::f:
      to->f = f.Float();
      break;
    case proto::Attribute::i:
      to->i = f.Int();
      break;
    case proto::Attribute::s:
      to->s = f.String(in.limits.string_bytes);
      break;
    case proto::Attribute::floats:
      f.AppendFloats(to->floats);
      break;
    case proto::Attribute::ints:
      f.AppendInts(to->ints);
      break;
    case proto::Attribute::strings:
      f.Add(to->strings) = f.String(in.limits.string_bytes);
      break;
    case proto::Attribute::t:
    case proto::Attribute::tensors:
      ParseTensorMessage(in, f.View(), &f.Add(to->tensors));
      break;
    case proto::Attribute::g:
    case proto::Attribute::graphs:
      ParseSubGraph(in, f, depth, to);
      break;
    case proto::Attribute::sparse_tensor:
    case proto::Attribute::sparse_tensors:
      ParseSparseTensor(in, f.View(), &f.Add(to->sparse));
      break;
    case proto::Attribute::tp:
    case proto::Attribute::type_protos:
      ParseType(in, f.View(), 0, &f.Add(to->types));
      break;
  }
}

}  // namespace

void ParseAttribute(Input& in, data_view bytes, int64_t depth, Attribute* to) {
  Fields f(in, proto::Attribute::kSpec, bytes);
  while (f.Next()) ParseField(in, f, depth, to);

  // IR version 1 had no type: the field that is there tells it.
  if (to->kind == Kind::kUndefined)
    for (const auto& row : kKinds)
      if (f.Has(row.tag)) to->kind = row.kind;
  if (to->kind == Kind::kUndefined) {
    if (to->ref_attr_name.empty()) f.Fail("the attribute has neither type nor value");
    return;
  }
  const auto* own = std::begin(kKinds);
  while (own != std::end(kKinds) && own->kind != to->kind) ++own;
  if (own == std::end(kKinds))
    f.Fail(absl::StrCat("attribute type ", static_cast<int32_t>(to->kind), " isn't known"));
  for (const auto& row : kKinds)
    if (row.kind != to->kind && f.Has(row.tag))
      f.Fail(absl::StrCat("an attribute of type ", own->name, " has a value of ", row.name));
  if (own->needed && !f.Has(own->tag) && to->ref_attr_name.empty())
    f.Fail(absl::StrCat("an attribute of type ", own->name, " has no value"));
}

}  // namespace lathe::onnx
