#include "tests/compiler_cuda/lowered_samples.h"

#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "ir/expand.h"
#include "ir/widen.h"

namespace lathe::compiler {
namespace {

using ir::OpSample;

// The masks of tests/whole/op_sweep_test.cc: all dims open, none, and pairwise covering subsets.
constexpr uint32_t kAll = 0b1111;
constexpr uint32_t kMasks[] = {kAll, 0b0000, 0b0011, 0b0101, 0b1001, 0b0110, 0b1010, 0b1100};
const std::vector<int64_t> kExtents[] = {{2, 33, 2, 5}, {3, 33, 2, 5}};

// f32 has every mask (if the op doesn't take it, the types that have code of their own); the other
// types with code of their own have all dims open, and by turns one of them a subset. Of those that
// share their code with another, one of each kind has open dims: the others are swept op by op in
// tests/cuda.
bool Has(const ir::OpInfo& op, DType dtype, uint32_t mask) {
  if (dtype > DType::kF64) return mask == kAll && (dtype == u8 || dtype == f16);
  if (dtype == f32 || !ir::Contains(op.dtypes, f32) || mask == kAll) return true;
  constexpr DType kOthers[] = {bool_, i32, i64, f64};
  const int turn = static_cast<int>(op.op);
  return dtype == kOthers[turn % 4] && mask == (turn % 8 < 4 ? 0b0101u : 0b1010u);
}

void LowerSample(OpSample sample, LoweredSample lowered, std::vector<LoweredSample>* out) {
  lowered.source = sample.graph.Clone();
  ASSERT_TRUE(ir::ExpandComposites(&sample.graph).ok()) << lowered.label;
  ir::WidenNarrowFloats(&sample.graph);
  sample.graph.RemoveDeadNodes();
  absl::StatusOr<LoweredGraph> graph = LowerWithTexts(std::move(sample.graph));
  ASSERT_TRUE(graph.ok()) << lowered.label << ": " << graph.status();
  lowered.lowered = *std::move(graph);
  out->push_back(std::move(lowered));
}

std::vector<LoweredSample> LowerAll() {
  std::vector<LoweredSample> all;
  for (const ir::OpInfo& op : ir::AllOps()) {
    if (op.emission == ir::Emission::kControl) continue;
    for (int t = 0; t < kNumDTypes; ++t) {
      const DType dtype = static_cast<DType>(t);
      std::set<std::pair<std::string, uint32_t>> seen;
      for (const uint32_t mask : kMasks) {
        if (!Has(op, dtype, mask)) continue;
        for (OpSample& sample :
             ir::SamplesOf(op.op, dtype, {.symbolic = mask, .extents = kExtents[(mask & 1) ^ 1]})) {
          const uint32_t used = mask & sample.used_slots;
          if (!sample.status.ok() || (mask != 0 && used == 0)) continue;
          if (!seen.insert({sample.label, used}).second) continue;
          const std::string label = absl::StrCat(std::string(op.name), " ", Name(dtype), ", ",
                                                 sample.label, ", symbols ", mask);
          LowerSample(std::move(sample),
                      {.label = label, .op = op.op, .all_symbolic = mask == kAll}, &all);
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

std::vector<GraphKernel> DistinctKernels(bool all_symbolic_only) {
  std::vector<GraphKernel> kernels;
  std::set<std::string> seen;
  for (const LoweredSample& s : LoweredSamples()) {
    if (all_symbolic_only && !s.all_symbolic) continue;
    for (const GraphKernel& k : s.lowered.kernels) {
      if (!k.text.empty() && seen.insert(k.text).second) kernels.push_back(k);
    }
  }
  return kernels;
}

}  // namespace lathe::compiler
