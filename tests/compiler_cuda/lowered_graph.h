#pragma once
// A graph's fused groups, lowered, with the CUDA text of each; and a run of the texts on the host,
// kernel after kernel. Shared with tests/whole.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/lower/lower.h"
#include "ir/graph.h"
#include "tests/cuda/harness.h"

namespace lathe::compiler {

struct GraphKernel {
  LoweredKernel lowered;
  std::string text;  // CUDA text; "" if the kernel is a product's or attention's
};

struct LoweredGraph {
  ir::Graph graph;                   // primitives only
  std::vector<GraphKernel> kernels;  // in execution order
  bool HasAllTexts() const;
};

// Of a graph of primitives; Unimplemented if there are `if`s on sizes. A kernel that has no text
// and should have one is an error.
absl::StatusOr<LoweredGraph> LowerWithTexts(ir::Graph graph);

// Where the texts are that were compiled.
using ModuleOfText = std::map<std::string, const cuda::HostModule*>;

// One run of a graph at one assignment of sizes.
class HostRun {
 public:
  // `sizes` by SymbolId.
  HostRun(const LoweredGraph& lowered, std::vector<int64_t> sizes)
      : lowered_(lowered), sizes_(std::move(sizes)) {}

  // Elements of a value, or less than 0 if its extents have none.
  int64_t Elements(ir::ValueId v) const;

  // Each kernel that has a text by it, up to one that fails on its data: "", or where the text
  // isn't what the evaluator does.
  std::string Run(const ModuleOfText& modules, absl::Span<const Tensor> inputs);

  bool failed() const { return failed_; }            // a kernel reached a fail site
  bool unstartable() const { return unstartable_; }  // a kernel's sizes can't be computed
  // After a run of a graph that has all texts, if none failed.
  std::vector<Tensor> Outputs() const;

 private:
  cuda::TestBuffer Contents(ir::ValueId v) const;
  std::string RunKernel(const cuda::HostModule& module, const GraphKernel& k);

  const LoweredGraph& lowered_;
  std::vector<int64_t> sizes_;
  std::map<ir::ValueId, cuda::TestBuffer> values_;
  bool failed_ = false, unstartable_ = false;
};

}  // namespace lathe::compiler
