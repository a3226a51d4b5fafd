#include "tests/compiler_cuda/lowered_graph.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/cuda_text.h"
#include "compiler/lower/micro.h"
#include "ir/status_macros.h"

namespace lathe::compiler {

using cuda::TestBuffer;
using ir::ValueId;

namespace {

bool HasProduct(const Group& g) {
  return g.kind == GroupKind::kGemm || g.kind == GroupKind::kAttention;
}

TestBuffer OfTensor(const Tensor& t) {
  TestBuffer b{t.dtype(), std::vector<uint8_t>(static_cast<size_t>(t.num_bytes()))};
  if (!b.bytes.empty()) std::memcpy(b.bytes.data(), t.raw(), b.bytes.size());
  return b;
}

}  // namespace

bool LoweredGraph::HasAllTexts() const {
  return std::none_of(kernels.begin(), kernels.end(),
                      [](const GraphKernel& k) { return k.text.empty(); });
}

absl::StatusOr<LoweredGraph> LowerWithTexts(ir::Graph graph) {
  LoweredGraph lowered{std::move(graph), {}};
  const FusionPlan plan = Fuse(lowered.graph);
  const ScheduleTarget target;
  MicroKernels micro;
  for (const FusedItem& item : plan.items) {
    if (item.kind != FusedItem::kGroup) return absl::UnimplementedError("an if on sizes");
    const Group& group = plan.groups[static_cast<size_t>(item.group)];
    DimQuery query(lowered.graph.facts());
    LATHE_ASSIGN_OR_RETURN(LoweredKernel k,
                           LowerGroup({lowered.graph, plan, target, query, micro}, group));
    const absl::StatusOr<std::string> text = cuda::CudaText(*k.kernel);
    if (!text.ok() && !(HasProduct(group) && absl::IsUnimplemented(text.status())))
      return absl::InternalError(absl::StrCat("no text: ", text.status().ToString()));
    lowered.kernels.push_back({std::move(k), text.value_or("")});
  }
  return lowered;
}

int64_t HostRun::Elements(ValueId v) const {
  int64_t n = 1;
  for (Dim d : lowered_.graph.type(v).shape) n *= dim::Evaluate(d, sizes_).value_or(-1);
  return n;
}

std::string HostRun::Run(const ModuleOfText& modules, absl::Span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    values_[lowered_.graph.inputs[i]] = OfTensor(inputs[i].Contiguous());
  for (const GraphKernel& k : lowered_.kernels) {
    if (k.text.empty()) continue;
    const std::string difference = RunKernel(*modules.at(k.text), k);
    if (!difference.empty())
      return absl::StrCat("kernel ", k.lowered.kernel->name, ": ", difference, "\n", k.text);
    if (failed_) break;
  }
  return "";
}

std::vector<Tensor> HostRun::Outputs() const {
  std::vector<Tensor> outputs;
  for (ValueId v : lowered_.graph.body.results) {
    std::vector<int64_t> shape;
    for (Dim d : lowered_.graph.type(v).shape) shape.push_back(*dim::Evaluate(d, sizes_));
    const TestBuffer contents = Contents(v);
    Tensor& out = outputs.emplace_back(contents.dtype, shape);
    if (!contents.bytes.empty())
      std::memcpy(out.raw(), contents.bytes.data(), contents.bytes.size());
  }
  return outputs;
}

TestBuffer HostRun::Contents(ValueId v) const {
  if (auto it = values_.find(v); it != values_.end()) return it->second;
  const ir::Node& n = lowered_.graph.node(v);
  if (n.op == ir::Op::k_constant) return OfTensor(n.attrs.tensor);
  return TestBuffer::Canaries(n.type.dtype, Elements(v));
}

std::string HostRun::RunKernel(const cuda::HostModule& module, const GraphKernel& k) {
  std::vector<TestBuffer> buffers, after;
  std::vector<int64_t> sizes;
  for (const KernelArg& a : k.lowered.args) {
    if (a.kind == KernelArg::kValue) buffers.push_back(Contents(a.value));
  }
  for (Dim d : k.lowered.sizes) {
    const absl::StatusOr<int64_t> value = dim::Evaluate(d, sizes_);
    if (!value.ok()) {
      unstartable_ = true;
      return value.status().ToString();
    }
    sizes.push_back(*value);
  }
  const std::string difference =
      cuda::Difference(module, *k.lowered.kernel, buffers, sizes, &after, &failed_);
  size_t next = 0;
  for (const KernelArg& a : k.lowered.args) {
    if (a.kind == KernelArg::kValue && next < after.size()) values_[a.value] = after[next++];
  }
  return difference;
}

}  // namespace lathe::compiler
