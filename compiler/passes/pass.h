#pragma once
// Passes over the graph, and the manager that runs them. A pass is a free function that makes the
// graph better and keeps its meaning: every output has the bits that it had, for all admitted sizes
// (any NaN equals any NaN). A row that says so changes bits within the bounds of the ops that it
// makes (docs/numerics.md); one that may change what is infinite runs for graphs with `fast_math`.
// The table says in which order they run and why.
//
//   PassContext context;
//   context.skip = {"merge_products"};
//   absl::Status s = RunPasses(graph, context);
//
// Called by the engine once for each program, on one thread. A pass walks blocks from front to back
// and never recurses over the graph's size. docs/adding_a_pass.md shows how to add one.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace lathe::compiler {

#ifdef NDEBUG
inline constexpr bool kVerifyPasses = false;
#else
inline constexpr bool kVerifyPasses = true;
#endif

struct PassTiming {
  std::string_view pass;
  double seconds = 0;  // without verification and dump
  bool changed = false;
  bool skipped = false;
};

struct PassContext {
  // Given by the caller.
  std::vector<std::string> skip;  // names of rows; an unknown one is an error
  bool verify = kVerifyPasses;    // ir::Verify after each pass
  // Called after each pass that changed the graph.
  std::function<void(std::string_view pass, const ir::Graph& graph)> dump;
  int64_t fold_bytes = int64_t{64} << 20;  // most bytes of one folded constant
  int64_t fold_work = int64_t{1} << 26;    // most multiplications spent on one

  // Filled by the passes.
  std::vector<PassTiming> timings;      // one a row, in order
  std::map<std::string, int> rewrites;  // how often each rule applied

  // A pass tells what it did; that also marks the graph as changed.
  void Count(std::string_view rule, int times = 1) {
    if (times > 0) rewrites[std::string(rule)] += times, changed = true;
  }
  bool changed = false;  // by the pass that runs

  // Set by RunPipeline: composites are primitives now, whose sums keep the composites' order.
  bool expanded = false;
};

struct PassRow {
  std::string_view name;
  absl::Status (*run)(ir::Graph& graph, PassContext& context);
  std::string_view why_here;
  bool keeps_bits = true;  // false: results change within the bounds of the ops
  bool keeps_specials =
      true;  // false: NaN, infinities and -0 may change: for graphs with fast_math
};

// In the order in which they run.
absl::Span<const PassRow> PassTable();

// Runs the table. An error names the pass.
absl::Status RunPasses(ir::Graph& graph, PassContext& context);

// What a graph goes through before it is fused: the passes, the expansion of composites, and the
// widening of narrow floats; where that changed something, the passes once more (they fold the
// casts of weights).
absl::Status RunPipeline(ir::Graph& graph, PassContext& context);

absl::Status RefineShapes(ir::Graph& graph, PassContext& context);
absl::Status ResolveIf(ir::Graph& graph, PassContext& context);
absl::Status Canonicalize(ir::Graph& graph, PassContext& context);
absl::Status FoldConstants(ir::Graph& graph, PassContext& context);
absl::Status EliminateCommon(ir::Graph& graph, PassContext& context);
absl::Status RecognizeGelu(ir::Graph& graph, PassContext& context);
absl::Status RecognizeNorm(ir::Graph& graph, PassContext& context);
absl::Status RecognizeAttention(ir::Graph& graph, PassContext& context);
absl::Status SinkViews(ir::Graph& graph, PassContext& context);
absl::Status FoldScale(ir::Graph& graph, PassContext& context);
absl::Status NarrowProducts(ir::Graph& graph, PassContext& context);
absl::Status MergeProducts(ir::Graph& graph, PassContext& context);
absl::Status RemoveDead(ir::Graph& graph, PassContext& context);

}  // namespace lathe::compiler
