#pragma once
// What ops require of sizes, said again after a pass has put dims into other words. The claims
// follow from facts that the graph has, but the verifier asks for them as the ops now spell them,
// and the prover needn't see the way. A claim that it doesn't find becomes a fact of standing
// `required`.
#include "absl/functional/function_ref.h"
#include "ir/graph.h"

namespace lathe::compiler {

// For the nodes that `concerned` names, in all blocks.
void RestateRequirements(ir::Graph& graph, absl::FunctionRef<bool(ir::ValueId)> concerned);

}  // namespace lathe::compiler
