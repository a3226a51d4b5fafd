#pragma once
// Puts every composite's expansion (OpInfo::expand) in its place, nested composites included, until
// only primitives are left. Used by the interpreter on a copy of the graph, and by passes that want
// no composites. Values keep their ids; the composite's uses move to what the expansion computes.
#include "absl/status/status.h"
#include "ir/graph.h"

namespace lathe::ir {

bool HasComposites(const Graph& graph);
absl::Status ExpandComposites(Graph* graph);

}  // namespace lathe::ir
