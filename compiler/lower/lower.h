#pragma once
// Lowering: a fused group becomes Kernel IR under a schedule. Each kind has its own file; all ask
// about sizes only through DimQuery.
#include <algorithm>

#include "absl/status/statusor.h"
#include "compiler/lower/fuse.h"
#include "compiler/lower/lowered.h"
#include "compiler/lower/query.h"

namespace lathe::compiler {

// What schedules know about the machine.
struct ScheduleTarget {
  int vector_bytes = 32;
  int num_vector_registers = 16;
  // Whether index arithmetic has 32 bits where bounds allow it: they become lines of the kernels.
  bool has_narrow_indices = false;
  int native_lanes(DType t) const {
    return vector_bytes / static_cast<int>(std::max<int64_t>(SizeOf(t), 4));
  }
};

class MicroKernels;

struct LowerContext {
  const ir::Graph& graph;
  const FusionPlan& plan;
  const ScheduleTarget& target;
  DimQuery& query;
  MicroKernels& micro;
};

absl::StatusOr<LoweredKernel> LowerGroup(const LowerContext& c, const Group& group);

LoweredKernel LowerPointwise(const LowerContext& c, const Group& group);
LoweredKernel LowerRow(const LowerContext& c, const Group& group);
LoweredKernel LowerArgExtremumRow(const LowerContext& c, const Group& group);
LoweredKernel LowerGemm(const LowerContext& c, const Group& group);
LoweredKernel LowerAttention(const LowerContext& c, const Group& group);
LoweredKernel LowerSegment(const LowerContext& c, const Group& group);
LoweredKernel LowerSequential(const LowerContext& c, const Group& group);
LoweredKernel LowerArgsort(const LowerContext& c, const Group& group);
// Fails as the gather would, for every index.
LoweredKernel LowerIndexCheck(const LowerContext& c, const Group& group);
// Copies `from` into the buffer of `to` (an `if` takes its side's result).
LoweredKernel LowerCopy(const LowerContext& c, ir::ValueId from, ir::ValueId to);

// Estimated ns to compute one element of a group's expressions on one core.
double ElementCost(const ir::Graph& graph, const std::vector<ir::ValueId>& members);

}  // namespace lathe::compiler
