#pragma once
// The kernels of a small case as CUDA text, run on the host: each gives the evaluator's bits, and
// all together what the case wants. Products and attention have no text; a graph with one of them
// or with an `if` on sizes is left out as far as that goes, by name on standard output.
#include <string>
#include <vector>

#include "ir/graph.h"
#include "tests/whole/case.h"

namespace lathe::whole {

// A graph of the case, as it was parsed, and the calls that it serves.
struct CaseGraph {
  ir::Graph graph;
  std::vector<const CaseCall*> calls;
};

// All texts in one host module, which is kept from run to run.
void CheckCudaTexts(std::vector<CaseGraph> graphs);

}  // namespace lathe::whole
