#pragma once
// Before kernels are made, arithmetic on narrow floats (f16, bf16) becomes arithmetic on f32
// between casts: lowering and Kernel IR load, move, convert and store them, nothing else. It is
// what the interpreter computes (ir/evaluate.h).
#include "ir/graph.h"

namespace lathe::ir {

// Whether anything changed. The graph has no composites (ExpandComposites goes before). Values keep
// their names and types.
bool WidenNarrowFloats(Graph* graph);

}  // namespace lathe::ir
