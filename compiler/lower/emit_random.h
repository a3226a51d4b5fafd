#pragma once
// The `random` op as Kernel IR: Philox4x32-10, the same bits as ir/philox.h.
#include "codegen/kernel/builder.h"
#include "ir/graph.h"

namespace lathe::compiler {

// Element `index` (i64, any lanes) of the stream of node `n`.
kernel::Reg EmitRandomElement(kernel::KernelBuilder& b, const ir::Node& n, kernel::Reg index);

}  // namespace lathe::compiler
