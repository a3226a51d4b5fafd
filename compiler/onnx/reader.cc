#include "compiler/onnx/reader.h"

#include "absl/strings/str_cat.h"
#include "compiler/io/mapped_file.h"
#include "compiler/onnx/reader_parts.h"

namespace lathe::onnx {
namespace {

using protozero::data_view;
using Opsets = std::vector<std::pair<std::string, int64_t>>;

constexpr int64_t kFirstIrWithOpsets = 3;

NodeDef& AddNode(Input& in, Fields& f, std::vector<NodeDef>& nodes) {
  if (in.nodes == in.limits.nodes)
    f.FailField(absl::StrCat("the limit of nodes is ", in.limits.nodes),
                absl::StatusCode::kResourceExhausted);
  ++in.nodes;
  return f.Add(nodes);
}

void ParseOpset(Input& in, data_view bytes, std::pair<std::string, int64_t>* to) {
  for (Fields f(in, proto::OperatorSetId::kSpec, bytes); f.Next();) {
    if (f.tag() == proto::OperatorSetId::domain) {
      to->first = f.Name();
    } else {
      to->second = f.Int();
    }
  }
}

void ParseEntry(Input& in, data_view bytes, std::pair<std::string, std::string>* to) {
  for (Fields f(in, proto::StringStringEntry::kSpec, bytes); f.Next();)
    (f.tag() == proto::StringStringEntry::key ? to->first : to->second) =
        f.String(in.limits.string_bytes);
}

void ParseFunction(Input& in, data_view bytes, FunctionDef* to) {
  for (Fields f(in, proto::Function::kSpec, bytes); f.Next();) {
    switch (f.tag()) {
      case proto::Function::name:
        to->name = f.Name();
        break;
      case proto::Function::domain:
        to->domain = f.Name();
        break;
      case proto::Function::overload:
        to->overload = f.Name();
        break;
      case proto::Function::input:
        f.Add(to->inputs) = f.Name();
        break;
      case proto::Function::output:
        f.Add(to->outputs) = f.Name();
        break;
      case proto::Function::attribute:
        f.Add(to->attributes) = f.Name();
        break;
      case proto::Function::attribute_proto:
        ParseAttribute(in, f.View(), 0, &f.Add(to->attribute_defaults));
        break;
      case proto::Function::node:
        ParseNode(in, f.View(), 0, &AddNode(in, f, to->nodes));
        break;
      case proto::Function::opset_import:
        ParseOpset(in, f.View(), &f.Add(to->opsets));
        break;
    }
  }
}

void ParseModelMessage(Input& in, data_view bytes, ModelDef* to) {
  std::string version;
  Fields f(in, proto::Model::kSpec, bytes);
  while (f.Next()) {
    switch (f.tag()) {
      case proto::Model::ir_version:
        to->ir_version = f.Int();
        break;
      case proto::Model::producer_name:
        to->producer = f.Name();
        break;
      case proto::Model::producer_version:
        version = f.Name();
        break;
      case proto::Model::graph:
        ParseGraph(in, f.View(), 0, &to->graph);
        break;
      case proto::Model::opset_import:
        ParseOpset(in, f.View(), &f.Add(to->opsets));
        break;
      case proto::Model::metadata_props:
        ParseEntry(in, f.View(), &f.Add(to->metadata));
        break;
      case proto::Model::training_info:
        f.FailField("training isn't supported; export the model for inference",
                    absl::StatusCode::kUnimplemented);
      case proto::Model::functions:
        ParseFunction(in, f.View(), &f.Add(to->functions));
        break;
    }
  }
  if (!version.empty()) absl::StrAppend(&to->producer, to->producer.empty() ? "" : " ", version);
  if (!f.Has(proto::Model::ir_version)) f.Fail("no ir_version: not an ONNX model, or cut short");
  if (!f.Has(proto::Model::graph)) f.Fail("no graph: not an ONNX model, or cut short");
  if (to->ir_version >= kFirstIrWithOpsets && to->opsets.empty())
    f.Fail(absl::StrCat("no opset_import, which IR version ", to->ir_version,
                        " wants: not an ONNX model, or cut short"));
}

void ParseSequence(Input& in, data_view bytes, std::vector<TensorData>* to) {
  for (Fields f(in, proto::Sequence::kSpec, bytes); f.Next();) {
    if (f.tag() == proto::Sequence::elem_type) {
      f.Skip();  // repeats what the type says; newer files leave it out
    } else if (f.tag() == proto::Sequence::tensor_values) {
      ParseTensorMessage(in, f.View(), &f.Add(*to));
    } else {
      f.FailField("only sequences of tensors are supported", absl::StatusCode::kUnimplemented);
    }
  }
}

void ParseOptional(Input& in, data_view bytes, std::vector<TensorData>* to, bool* present) {
  for (Fields f(in, proto::Optional::kSpec, bytes); f.Next();) {
    if (f.tag() == proto::Optional::elem_type) {
      f.Skip();
      continue;
    }
    if (*present) f.FailField("the optional has a value already");
    *present = true;
    if (f.tag() == proto::Optional::tensor_value) {
      ParseTensorMessage(in, f.View(), &f.Add(*to));
    } else if (f.tag() == proto::Optional::sequence_value) {
      ParseSequence(in, f.View(), to);
    } else {
      f.FailField("only optional tensors and sequences are supported",
                  absl::StatusCode::kUnimplemented);
    }
  }
}

data_view View(absl::Span<const char> bytes) { return {bytes.data(), bytes.size()}; }

// Maps `path`, calls parse(bytes, owner, folder) and puts the path before what it complains about.
template <typename Parse>
auto ReadMapped(const std::string& path, const ReadLimits& limits, Parse parse)
    -> decltype(parse({}, nullptr, path)) {
  absl::StatusOr<io::MappedFile> file = io::MapFile(path, limits.file_bytes);
  if (!file.ok()) return file.status();
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  auto result = parse(file->bytes, file->owner, folder);
  if (!result.ok())
    return absl::Status(result.status().code(),
                        absl::StrCat(path, ": ", result.status().message()));
  return result;
}

}  // namespace

void ParseNode(Input& in, data_view bytes, int64_t depth, NodeDef* to) {
  for (Fields f(in, proto::Node::kSpec, bytes); f.Next();) {
    switch (f.tag()) {
      case proto::Node::input:
        f.Add(to->inputs) = f.Name();
        break;
      case proto::Node::output:
        f.Add(to->outputs) = f.Name();
        break;
      case proto::Node::name:
        to->name = f.Name();
        break;
      case proto::Node::op_type:
        to->op_type = f.Name();
        break;
      case proto::Node::domain:
        to->domain = f.Name();
        break;
      case proto::Node::overload:
        to->overload = f.Name();
        break;
      case proto::Node::attribute:
        if (static_cast<int64_t>(to->attributes.size()) == in.limits.attributes)
          f.FailField(absl::StrCat("the limit of a node's attributes is ", in.limits.attributes),
                      absl::StatusCode::kResourceExhausted);
        ParseAttribute(in, f.View(), depth, &f.Add(to->attributes));
        break;
    }
  }
}

void ParseGraph(Input& in, data_view bytes, int64_t depth, GraphDef* to) {
  for (Fields f(in, proto::Graph::kSpec, bytes); f.Next();) {
    switch (f.tag()) {
      case proto::Graph::node:
        ParseNode(in, f.View(), depth, &AddNode(in, f, to->nodes));
        break;
      case proto::Graph::name:
        to->name = f.Name();
        break;
      case proto::Graph::initializer:
        ParseTensorMessage(in, f.View(), &f.Add(to->initializers));
        break;
      case proto::Graph::sparse_initializer: {
        auto& [name, tensor] = f.Add(to->sparse_initializers);
        ParseSparseTensor(in, f.View(), &tensor);
        name = tensor.values.name;
        break;
      }
      case proto::Graph::input:
        ParseValueInfo(in, f.View(), &f.Add(to->inputs));
        break;
      case proto::Graph::output:
        ParseValueInfo(in, f.View(), &f.Add(to->outputs));
        break;
      case proto::Graph::value_info:
        ParseValueInfo(in, f.View(), &f.Add(to->value_info));
        break;
    }
  }
}

absl::StatusOr<ModelDef> ParseModel(absl::Span<const char> bytes, std::shared_ptr<void> owner,
                                    const std::string& folder, const ReadLimits& limits) {
  Input in(bytes, std::move(owner), ExternalFiles(folder, limits.file_bytes), limits);
  ModelDef model;
  const absl::Status s = ReadGuarded(in, [&] { ParseModelMessage(in, View(bytes), &model); });
  if (!s.ok()) return s;
  return model;
}

absl::StatusOr<TensorData> ParseTensor(absl::Span<const char> bytes, std::shared_ptr<void> owner,
                                       const std::string& folder, const ReadLimits& limits) {
  Input in(bytes, std::move(owner), ExternalFiles(folder, limits.file_bytes), limits);
  TensorData tensor;
  const absl::Status s = ReadGuarded(in, [&] { ParseTensorMessage(in, View(bytes), &tensor); });
  if (!s.ok()) return s;
  return tensor;
}

absl::StatusOr<std::vector<TensorData>> ParseValue(absl::Span<const char> bytes,
                                                   std::shared_ptr<void> owner,
                                                   const std::string& folder, const Type& type,
                                                   const ReadLimits& limits, bool* present) {
  Input in(bytes, std::move(owner), ExternalFiles(folder, limits.file_bytes), limits);
  std::vector<TensorData> tensors;
  bool has_value = type.kind != Type::Kind::kOptional;
  const absl::Status s = ReadGuarded(in, [&] {
    switch (type.kind) {
      case Type::Kind::kTensor:
        ParseTensorMessage(in, View(bytes), &tensors.emplace_back());
        break;
      case Type::Kind::kSequence:
        ParseSequence(in, View(bytes), &tensors);
        break;
      case Type::Kind::kOptional:
        ParseOptional(in, View(bytes), &tensors, &has_value);
        break;
      default:
        throw ReadError(absl::UnimplementedError(
            "only values that are tensors, sequences or optionals are supported"));
    }
  });
  if (!s.ok()) return s;
  if (present != nullptr) *present = has_value;
  return tensors;
}

absl::StatusOr<ModelDef> ReadModel(const std::string& path, const ReadLimits& limits) {
  return ReadMapped(
      path, limits,
      [&](absl::Span<const char> bytes, std::shared_ptr<void> owner, const std::string& folder) {
        return ParseModel(bytes, std::move(owner), folder, limits);
      });
}

absl::StatusOr<std::vector<TensorData>> ReadValueFile(const std::string& path, const Type& type,
                                                      const ReadLimits& limits, bool* present) {
  return ReadMapped(
      path, limits,
      [&](absl::Span<const char> bytes, std::shared_ptr<void> owner, const std::string& folder) {
        return ParseValue(bytes, std::move(owner), folder, type, limits, present);
      });
}

}  // namespace lathe::onnx
