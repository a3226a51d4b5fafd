#include "ir/used_symbols.h"

#include "ir/attr_text.h"

namespace lathe::ir {

std::vector<bool> UsedSymbols(const Graph& graph) {
  std::vector<bool> used(static_cast<size_t>(graph.dims()->num_symbols()));
  auto use = [&](Dim d) {
    for (dim::SymbolId s : dim::FreeSymbols(d)) used[s] = true;
  };
  auto use_all = [&](const std::vector<Dim>& dims) {
    for (Dim d : dims) use(d);
  };
  std::vector<const Block*> blocks = {&graph.body};
  while (!blocks.empty()) {
    const Block* block = blocks.back();
    blocks.pop_back();
    for (ValueId v : block->nodes) {
      const Node& n = graph.node(v);
      use_all(n.type.shape);
      ForEachDim(n.attrs, use);
      for (const Block& inner : n.blocks) blocks.push_back(&inner);
    }
  }
  for (ValueId v : graph.inputs) use_all(graph.type(v).shape);
  return used;
}

}  // namespace lathe::ir
