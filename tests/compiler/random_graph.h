#pragma once
// Seeded random programs for fuzzing: well-typed graphs of a few ops of all families over 1 to 3
// symbolic dims, sizes that satisfy their facts, and a shrinker.
//
//   ir::Graph g = fuzz::RandomGraph(seed, {.integer_valued = true});
//   std::vector<int64_t> sizes = fuzz::RandomSizes(g, seed);
//   std::vector<Tensor> inputs = ir::SampleInputs(g, sizes, seed, /*integer_valued=*/true);
//
// Equal arguments give equal graphs on every machine.
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ir/graph.h"

namespace lathe::fuzz {

struct RandomGraphOptions {
  // Only ops and constants that keep values whole and small: with integer-valued inputs every sum
  // is exact in whatever order, so results may be compared bit for bit.
  bool integer_valued = false;
  int ops = 0;  // 0: 3 to 12, drawn. The first ops of a larger number are those of a smaller one.
};

ir::Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

// A value for each symbol, of 0, 1, 2, 3, 7, 8 (or `extents`), that satisfies the facts if a few
// dozen draws find one.
std::vector<int64_t> RandomSizes(const ir::Graph& graph, uint64_t seed,
                                 std::vector<int64_t> extents = {0, 1, 2, 3, 7, 8});

// A smaller graph that still fails: the earliest value that does as its only output, and no node
// that can be left out. `fails` gets graphs whose inputs are those of `graph`, and is asked at most
// some hundred times.
ir::Graph Shrink(const ir::Graph& graph, absl::FunctionRef<bool(const ir::Graph&)> fails);

}  // namespace lathe::fuzz
