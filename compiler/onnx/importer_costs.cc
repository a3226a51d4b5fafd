// What bounds an import whose calls and loops are written out, beside the number of nodes: a small
// file can have the same long list of names gone through, or the same tensor copied, at each call.
#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "ir/status_macros.h"

namespace lathe::onnx {
namespace {

constexpr int64_t kPartsPerNode = 16;  // so many of max_nodes
constexpr double kPartsPerInitializer = 4;
constexpr double kBytesPerPart = 64;  // of a name: about as long to hash as a part takes anyway
constexpr int64_t kMostItemsCopied = int64_t{1} << 22;

double PartsOf(const std::string& name) { return static_cast<double>(name.size()) / kBytesPerPart; }

double PartsOf(const std::vector<std::string>& names) {
  double parts = 0;
  for (const std::string& name : names) parts += 1 + PartsOf(name);
  return parts;
}

double PartsOf(const std::vector<ValueInfo>& values) {
  double parts = 0;
  for (const ValueInfo& v : values) parts += 1 + PartsOf(v.name);
  return parts;
}

// Of a tensor that isn't used where it lies in the file, or that is looked through.
double CopiedBytes(const TensorData& t) {
  const absl::StatusOr<DType> dtype = ToDType(t.element_type);
  if (!dtype.ok()) return 0;
  const bool aligned =
      reinterpret_cast<uintptr_t>(t.bytes.get()) % static_cast<uintptr_t>(SizeOf(*dtype)) == 0;
  return aligned && *dtype != DType::kBool ? 0 : static_cast<double>(t.num_bytes);
}

}  // namespace

double Importer::CopiedBytes(const SparseTensorData& t) const {
  const absl::StatusOr<DType> dtype = ToDType(t.values.element_type);
  if (!dtype.ok()) return 0;
  auto dense = static_cast<double>(SizeOf(*dtype));
  for (int64_t n : t.dims) dense *= static_cast<double>(n);
  if (dense > static_cast<double>(options_.max_folded_bytes)) return 0;  // Densify refuses it
  return dense + static_cast<double>(t.values.num_bytes + t.indices.num_bytes);
}

double Importer::CopiedBytes(const Attribute& a) const {
  double bytes = static_cast<double>(a.s.size() + 4 * a.floats.size() + 8 * a.ints.size());
  for (const std::string& s : a.strings) bytes += static_cast<double>(s.size());
  for (const TensorData& t : a.tensors) bytes += onnx::CopiedBytes(t);
  for (const SparseTensorData& t : a.sparse) bytes += CopiedBytes(t);
  return bytes;
}

absl::Status Importer::ChargeParts(double parts) {
  parts_ += parts;
  if (parts_ <= kPartsPerNode * static_cast<double>(options_.max_nodes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "with all calls of functions and steps of loops written out, the model has more than ",
      kPartsPerNode, " times max_nodes = ", options_.max_nodes, " inputs, outputs and attributes"));
}

absl::Status Importer::ChargeBytes(double bytes) {
  copied_ += bytes;
  if (copied_ <= static_cast<double>(options_.limits.memory)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("with all calls of functions and steps of loops written out, more is copied of "
                   "the file than the limit of ",
                   options_.limits.memory, " bytes (limits.memory)"));
}

absl::Status Importer::ChargeNode(const NodeDef& node) {
  const auto levels = static_cast<double>(env_.size() - env_base_);  // that a name is looked for in
  double bytes = 0;
  for (const Attribute& a : node.attributes) {
    const Attribute* given = a.ref_attr_name.empty() ? &a : AttributeOfCall(a.ref_attr_name);
    if (given != nullptr) bytes += CopiedBytes(*given);
  }
  LATHE_RETURN_IF_ERROR(ChargeBytes(bytes));
  return ChargeParts(levels * PartsOf(node.inputs) + PartsOf(node.outputs) +
                     static_cast<double>(node.attributes.size()) + PartsOf(node.name) +
                     PartsOf(node.domain) + PartsOf(node.op_type) + PartsOf(node.overload));
}

absl::Status Importer::ChargeGraph(const GraphDef& graph) {
  double parts = PartsOf(graph.inputs) + PartsOf(graph.outputs);
  for (const TensorData& t : graph.initializers) parts += kPartsPerInitializer + PartsOf(t.name);
  for (const auto& [name, sparse] : graph.sparse_initializers)
    parts += kPartsPerInitializer + PartsOf(name);
  return ChargeParts(parts);
}

absl::Status Importer::ChargeFunction(const FunctionDef& function) {
  return ChargeParts(PartsOf(function.inputs) + PartsOf(function.outputs));
}

absl::Status Importer::ChargeCopies(const GraphDef& graph) {
  double bytes = 0;
  for (const TensorData& t : graph.initializers) bytes += onnx::CopiedBytes(t);
  for (const auto& [name, sparse] : graph.sparse_initializers) bytes += CopiedBytes(sparse);
  return ChargeBytes(bytes);
}

absl::Status Importer::TakeItems(int64_t count) {
  items_ += count;
  if (items_ <= kMostItemsCopied) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the sequences of the model have more items together than the limit of ", kMostItemsCopied));
}

}  // namespace lathe::onnx
