#include "tests/compiler_cuda/lowered_samples.h"

#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/cuda_text.h"
#include "compiler/lower/micro.h"
#include "ir/expand.h"
#include "ir/widen.h"

namespace lathe::compiler {
namespace {

using ir::OpSample;

struct Shapes {
  uint32_t symbolic;
  std::vector<int64_t> extents;
};
const Shapes kShapes[] = {{0b1111, {}}, {0b0101, {2, 33, 2, 5}}, {0b0000, {3, 33, 2, 5}}};

bool HasProduct(const Group& g) {
  return g.kind == GroupKind::kGemm || g.kind == GroupKind::kAttention;
}

void LowerSample(OpSample sample, bool all_symbolic, const std::string& label,
                 std::vector<LoweredSample>* out) {
  ASSERT_TRUE(ir::ExpandComposites(&sample.graph).ok()) << label;
  ir::WidenNarrowFloats(&sample.graph);
  sample.graph.RemoveDeadNodes();
  LoweredSample lowered{label, all_symbolic, std::move(sample.graph), {}};
  const FusionPlan plan = Fuse(lowered.graph);
  const ScheduleTarget target;
  MicroKernels micro;
  for (const FusedItem& item : plan.items) {
    ASSERT_EQ(item.kind, FusedItem::kGroup) << label;
    const Group& group = plan.groups[static_cast<size_t>(item.group)];
    DimQuery query(lowered.graph.facts());
    absl::StatusOr<LoweredKernel> k =
        LowerGroup({lowered.graph, plan, target, query, micro}, group);
    ASSERT_TRUE(k.ok()) << label << ": " << k.status();
    const absl::StatusOr<std::string> text = cuda::CudaText(*k->kernel);
    if (!text.ok() && !(HasProduct(group) && absl::IsUnimplemented(text.status()))) {
      ADD_FAILURE() << label << ": " << text.status();
    }
    lowered.kernels.push_back({*std::move(k), text.value_or("")});
  }
  out->push_back(std::move(lowered));
}

std::vector<LoweredSample> LowerAll() {
  std::vector<LoweredSample> all;
  for (const ir::OpInfo& op : ir::AllOps()) {
    if (op.emission == ir::Emission::kControl) continue;
    for (int t = 0; t < kNumDTypes; ++t) {
      const DType dtype = static_cast<DType>(t);
      for (const Shapes& s : kShapes) {
        // Of the types that share their code with another, one of each kind with open dims: the
        // others are swept op by op in tests/cuda.
        if (dtype > DType::kF64 && dtype != u8 && dtype != f16) continue;
        if (dtype > DType::kF64 && s.symbolic != 0b1111) continue;
        for (OpSample& sample :
             ir::SamplesOf(op.op, dtype, {.symbolic = s.symbolic, .extents = s.extents})) {
          if (!sample.status.ok()) continue;
          const std::string label = absl::StrCat(std::string(op.name), " ", Name(dtype), ", ",
                                                 sample.label, ", symbols ", s.symbolic);
          LowerSample(std::move(sample), s.extents.empty(), label, &all);
        }
      }
    }
  }
  return all;
}

}  // namespace

const std::vector<LoweredSample>& LoweredSamples() {
  static const auto& samples = *new std::vector<LoweredSample>(LowerAll());
  return samples;
}

std::vector<SampleKernel> DistinctKernels(bool all_symbolic_only) {
  std::vector<SampleKernel> kernels;
  std::set<std::string> seen;
  for (const LoweredSample& s : LoweredSamples()) {
    if (all_symbolic_only && !s.all_symbolic) continue;
    for (const SampleKernel& k : s.kernels) {
      if (!k.text.empty() && seen.insert(k.text).second) kernels.push_back(k);
    }
  }
  return kernels;
}

}  // namespace lathe::compiler
