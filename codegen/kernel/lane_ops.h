#pragma once
// Kernel IR ops on vectors of lanes held as bits (scalar_ops.h says what each lane does). For the
// evaluator. All ops with register operands only; memory, variables and indices are not here.
#include <cstdint>

#include "codegen/kernel/kernel.h"

namespace lathe::kernel {

struct LaneArgs {
  KType type;     // of the result
  KType operand;  // of the first operand; for kSelect, of the second
  const uint64_t* args[3];
  uint64_t* out;
};

// False if `op` isn't such an op.
bool ApplyLanes(KOp op, const LaneArgs& a);

}  // namespace lathe::kernel
