// TypeProto, TensorShapeProto and ValueInfoProto.
#include "absl/strings/str_cat.h"
#include "compiler/onnx/reader_parts.h"

namespace lathe::onnx {
namespace {

using protozero::data_view;

void ParseDimension(Input& in, data_view bytes, Dimension* to) {
  for (Fields f(in, proto::Dimension::kSpec, bytes); f.Next();) {
    // One of the two; as everywhere in protobuf, the last counts.
    if (f.tag() == proto::Dimension::dim_value) {
      to->name.clear();
      to->value = f.Int();
    } else {
      to->value.reset();
      to->name = f.Name();
    }
  }
}

void ParseShape(Input& in, data_view bytes, std::vector<Dimension>* to) {
  for (Fields f(in, proto::TensorShape::kSpec, bytes); f.Next();) {
    if (static_cast<int64_t>(to->size()) == in.limits.rank)
      f.FailField(absl::StrCat("the rank limit is ", in.limits.rank),
                  absl::StatusCode::kResourceExhausted);
    ParseDimension(in, f.View(), &f.Add(*to));
  }
}

void ParseTensorType(Input& in, data_view bytes, Type* to) {
  for (Fields f(in, proto::TensorType::kSpec, bytes); f.Next();) {
    if (f.tag() == proto::TensorType::elem_type) {
      to->element_type = f.Int32();
    } else {
      ParseShape(in, f.View(), &to->shape.emplace());
    }
  }
}

void ParseElement(Input& in, data_view bytes, int64_t depth, Type* to) {
  auto element = std::make_shared<Type>();
  for (Fields f(in, proto::ElementOf::kSpec, bytes); f.Next();) {
    if (depth == in.limits.depth)
      f.FailField(absl::StrCat("the limit of types within types is ", in.limits.depth),
                  absl::StatusCode::kResourceExhausted);
    in.Charge(static_cast<int64_t>(sizeof(Type)));
    ParseType(in, f.View(), depth + 1, element.get());
  }
  to->element = std::move(element);
}

}  // namespace

void ParseType(Input& in, data_view bytes, int64_t depth, Type* to) {
  for (Fields f(in, proto::Type::kSpec, bytes); f.Next();) {
    *to = Type();
    switch (f.tag()) {
      case proto::Type::tensor_type:
        to->kind = Type::Kind::kTensor;
        ParseTensorType(in, f.View(), to);
        break;
      case proto::Type::sparse_tensor_type:
        to->kind = Type::Kind::kSparseTensor;
        ParseTensorType(in, f.View(), to);
        break;
      case proto::Type::sequence_type:
        to->kind = Type::Kind::kSequence;
        ParseElement(in, f.View(), depth, to);
        break;
      case proto::Type::optional_type:
        to->kind = Type::Kind::kOptional;
        ParseElement(in, f.View(), depth, to);
        break;
      case proto::Type::map_type:
        to->kind = Type::Kind::kMap;
        f.Skip();
        break;
      default:
        f.Skip();  // opaque: no kind
    }
  }
}

void ParseValueInfo(Input& in, data_view bytes, ValueInfo* to) {
  for (Fields f(in, proto::ValueInfo::kSpec, bytes); f.Next();) {
    if (f.tag() == proto::ValueInfo::name) {
      to->name = f.Name();
    } else {
      ParseType(in, f.View(), 0, &to->type);
    }
  }
}

}  // namespace lathe::onnx
