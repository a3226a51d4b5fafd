#pragma once
// Where a dim of a value comes from: the chain of ops that handed it on, down to the inputs,
// constants and attributes that introduced it. Used by jit-repl's `:facts y.1 why`.
#include <string>
#include <vector>

#include "ir/graph.h"

namespace lathe::ir {

struct DimOrigin {
  ValueId value = 0;
  int axis = 0;
  int depth = 0;     // 0: the dim that was asked about; parts of it are one deeper, and so on
  std::string text;  // "y.1 = seq: axis 1 of x, by softmax at demo.lathe:3"
};

// The dim first, then what it was made of, depth first; at most `limit` lines, each place once.
// `axis` counts from the end if negative and must be in range.
std::vector<DimOrigin> OriginsOf(const Graph& graph, ValueId value, int axis, size_t limit = 64);

}  // namespace lathe::ir
