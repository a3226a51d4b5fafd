#pragma once
// When two nodes compute the same: equality and hash of what determines a node's value. And who
// uses a value, while nodes that were replaced are still in the blocks.
#include <cstddef>
#include <vector>

#include "ir/graph.h"

namespace lathe::compiler {

// Constants up to this size are compared by content, larger ones by their buffer.
inline constexpr int64_t kCompareBytes = 64 << 10;

// Op, operands (in either order where the op commutes), attributes and type. Names and locations
// don't count. Nodes with blocks and inputs are only equal to themselves.
bool SameValue(const ir::Node& a, const ir::Node& b);
size_t HashValue(const ir::Node& n);

// For each value the number of its uses by nodes that an output needs or that may fail, and as a
// result.
std::vector<int> LiveUses(const ir::Graph& graph);

}  // namespace lathe::compiler
