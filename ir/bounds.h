#pragma once
// Bounds through the graph: how large each value can get under the declared facts, in elements and
// bytes, and whether something can exceed an amount of memory. Who asks: jit-repl's :bounds and
// :exceeds, tools that plan memory before anything is compiled.
//
//   BoundsOf(graph, y).max_bytes        // 268435456, or nullopt: unknown, never a guess
//   CouldExceed(graph, y, 8 << 30)      // proved that it can't, or sizes at which it does
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace lathe::ir {

struct ValueBounds {
  Dim elements, bytes;  // formulas; poisoned if their coefficients pass int64
  // Over all sizes that the declared facts admit; nullopt if no bound below 2^63 - 1 is known.
  std::optional<int64_t> max_elements, max_bytes;
};

ValueBounds BoundsOf(const Graph& graph, ValueId value);

// Of a whole graph, before fusion: every op's result in a buffer of its own.
struct GraphBounds {
  struct Row {
    ValueId value = 0;
    ValueBounds bounds;
  };
  std::vector<Row> rows;  // in execution order, blocks of `if` included
  // Inputs and constants are the caller's and count in neither.
  std::optional<int64_t> max_total_bytes;  // all results together
  std::optional<int64_t> max_peak_bytes;   // results alive at a time, each until its last use
};

GraphBounds BoundsOf(const Graph& graph);

// What is known of the value's open dims and of its bytes, on one line:
// "seq 8..8192 % 8; at most 25165824 bytes". Empty for a value without open dims.
std::string SizesText(const Graph& graph, ValueId value);

// Can the value take more than `bytes`? proved: no, with the facts that bound it; refuted: yes,
// with sizes at which it does; unknown: with a fact that would decide it.
dim::Answer CouldExceed(const Graph& graph, ValueId value, int64_t bytes);

}  // namespace lathe::ir
