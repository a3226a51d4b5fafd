#pragma once
// Puts lowered groups together into a version's host program: steps, buffers, memory plan, dim
// program.
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/lower/lower.h"
#include "compiler/plan/weights.h"
#include "runtime/version.h"

namespace lathe::compiler {

// Different kernels of one version. Each takes some milliseconds to compile; passing the limit is
// an error before the first one is.
inline constexpr size_t kMaxKernels = 4096;

struct HostContext {
  const ir::Graph& graph;
  const FusionPlan& plan;
  const dim::FactSet& facts;  // declared, with the version's guard
  int num_symbols;            // of the function's entry plan: slots 0..n-1
  WeightStore& weights;
  size_t compile_threads = 1;  // that compile at once
  // The machine code of a kernel, from the cache or compiled now. Thread-safe.
  std::function<absl::StatusOr<std::shared_ptr<rt::Artefact>>(const kernel::Kernel&)> compile;
  // Lowers a group of the plan, or a copy.
  std::function<absl::StatusOr<LoweredKernel>(const Group&)> lower;
  std::function<absl::StatusOr<LoweredKernel>(ir::ValueId from, ir::ValueId to)> lower_copy;
};

// Fills `version`'s program, groups and code_bytes.
absl::Status BuildHostProgram(const HostContext& c, rt::Version* version);

}  // namespace lathe::compiler
