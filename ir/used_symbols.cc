#include "ir/used_symbols.h"

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
      for (const auto* shape : {&n.attrs.shape, &n.attrs.elements, &n.attrs.offsets})
        if (*shape) use_all(**shape);
      use_all(n.attrs.starts);
      use_all(n.attrs.limits);
      use_all(n.attrs.low);
      use_all(n.attrs.high);
      use_all(n.attrs.sizes);
      if (n.attrs.dim) use(*n.attrs.dim);
      if (n.attrs.claim) {
        use(n.attrs.claim->lhs);
        use(n.attrs.claim->rhs);
      }
      for (const Block& inner : n.blocks) blocks.push_back(&inner);
    }
  }
  for (ValueId v : graph.inputs) use_all(graph.type(v).shape);
  return used;
}

}  // namespace lathe::ir
