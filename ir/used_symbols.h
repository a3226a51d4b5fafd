#pragma once
// Which symbols a graph needs: those that occur in a shape, attribute or condition of its nodes or
// inputs. Who asks: the entry plan, which binds them, and whoever cuts a program into graphs.
#include <vector>

#include "ir/graph.h"

namespace lathe::ir {

// By SymbolId, one for each symbol of the graph's DimContext.
std::vector<bool> UsedSymbols(const Graph& graph);

}  // namespace lathe::ir
