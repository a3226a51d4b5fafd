#pragma once
// Ragged dims: rows of different lengths, packed one behind the other without padding. A value of
// type f32[batch, ~seq, 64] is the dense tensor f32[seq.total, 64]; row i of the batch is at
// offsets[i]..offsets[i + 1] of it, where `seq.offsets`: i64[batch + 1] is an input of its own.
// The symbols are seq.total, all rows together, and seq.max, the longest row.
//
// The offsets are checked when a call binds (runtime/entry_plan.h): they start at 0, never
// decrease, end at seq.total, and no row is longer than seq.max. Ops that take offsets
// (ir/ops_segment.cc) take them from such an input only, so what they read is always inside.
// Used by the tracing DSL and the text form; everything else sees ordinary ops on packed values.
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "ir/builder.h"

namespace lathe::ir {

struct RaggedDim {
  std::string name;
  ValueId offsets = kNoValue;  // the input
  Dim batch, total, longest;
};

// Appends the input `<name>.offsets`: dtype[batch + 1] with its symbols, and the facts that hold
// for all offsets: seq.max <= seq.total <= batch * seq.max. `bounds` are facts about the longest
// row:
// "<= 8192", or empty.
absl::StatusOr<RaggedDim> DeclareRagged(Builder& b, const std::string& name, Dim batch,
                                        std::string_view bounds, const dim::Source& source,
                                        DType dtype = DType::kI64);

// The ragged dim of that name, if one was declared.
std::optional<RaggedDim> FindRagged(const Graph& graph, std::string_view name);
// The ragged dim whose offsets `v` is.
std::optional<RaggedDim> RaggedOf(const Graph& graph, ValueId v);
// The ragged dim whose `total` the dim is; for errors about values of two ragged dims.
std::optional<RaggedDim> RaggedWithTotal(const Graph& graph, Dim total);

}  // namespace lathe::ir
