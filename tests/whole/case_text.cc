#include "tests/whole/case_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/compile.h"
#include "ir/compare.h"
#include "ir/interpreter.h"
#include "tests/compiler_cuda/lowered_graph.h"

namespace lathe::whole {
namespace {

using compiler::GraphKernel;
using compiler::HostRun;
using compiler::LoweredGraph;
using compiler::ModuleOfText;

constexpr int64_t kMostElements = 1 << 20;  // of a value; a call with more is left out

bool IsSmall(const LoweredGraph& lowered, const HostRun& run) {
  for (ir::ValueId v = 0; v < lowered.graph.num_nodes(); ++v) {
    const int64_t elements = run.Elements(v);
    if (elements < 0 || elements > kMostElements) return false;
  }
  return true;
}

void CheckCallByTexts(const LoweredGraph& lowered, const CaseCall& call,
                      const ModuleOfText& modules) {
  SCOPED_TRACE(absl::StrCat("CUDA text, sizes ", absl::StrJoin(call.sizes, ", "), "\n",
                            ir::Print(lowered.graph)));
  const absl::StatusOr<std::vector<int64_t>> sizes = ir::BindSymbols(lowered.graph, call.inputs);
  if (!call.error.empty() && !(sizes.ok() && ir::CheckFacts(lowered.graph, *sizes).ok())) return;
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  HostRun run(lowered, *sizes);
  if (!IsSmall(lowered, run)) return;
  const std::string difference = run.Run(modules, call.inputs);
  if (!call.error.empty() && run.unstartable()) return;
  ASSERT_EQ(difference, "");
  if (!lowered.HasAllTexts()) return;
  ASSERT_EQ(run.failed(), !call.error.empty());
  if (run.failed()) return;
  const std::vector<Tensor> found = run.Outputs();
  ASSERT_EQ(found.size(), call.wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const absl::Status s = ir::SameBits(found[i], call.wanted[i]);
    ASSERT_TRUE(s.ok()) << "output " << i << ": " << s;
  }
}

}  // namespace

void CheckCudaTexts(std::vector<CaseGraph> graphs) {
  std::vector<LoweredGraph> all;
  std::vector<std::shared_ptr<const kernel::Kernel>> kernels;
  std::vector<std::string> skipped;
  for (CaseGraph& g : graphs) {
    ASSERT_TRUE(compiler::Optimise(g.graph, {}).ok());
    absl::StatusOr<LoweredGraph> lowered = compiler::LowerWithTexts(std::move(g.graph));
    if (absl::IsUnimplemented(lowered.status())) {
      skipped.emplace_back(lowered.status().message());
      lowered = LoweredGraph();
    }
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    for (const GraphKernel& k : lowered->kernels) {
      if (k.text.empty()) {
        skipped.push_back(k.lowered.kernel->name);
      } else {
        kernels.push_back(k.lowered.kernel);
      }
    }
    all.push_back(*std::move(lowered));
  }
  std::printf("%zu kernels as CUDA text; skipped %zu: %s\n", kernels.size(), skipped.size(),
              absl::StrJoin(skipped, ", ").c_str());
  if (kernels.empty()) return;
  const std::unique_ptr<cuda::HostModule> module = cuda::BuildModule(kernels);
  ASSERT_NE(module, nullptr);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].graph.num_nodes() == 0) continue;
    ModuleOfText modules;
    for (const GraphKernel& k : all[i].kernels) modules[k.text] = module.get();
    for (const CaseCall* call : graphs[i].calls) {
      CheckCallByTexts(all[i], *call, modules);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace lathe::whole
