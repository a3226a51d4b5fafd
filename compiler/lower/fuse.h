#pragma once
// Fusion: splits a graph into groups, each of which becomes one kernel, and decides which values
// get a buffer. Everything else is computed inside the group that uses it.
//
// Kinds: pointwise (any index map, also pad, concat, gather), row (reductions over one space with
// all that is computed on it between and after: softmax, norms), GEMM with its epilogue, attention
// with the views behind it, segment (rows of a ragged dim), sequential (scatter, argsort, cumsum).
// A value joins a group only if its other operands exist before the group starts, so groups depend
// on each other in one direction.
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace lathe::compiler {

enum class GroupKind : uint8_t {
  kPointwise,
  kRow,
  kGemm,
  kAttention,
  kSegment,
  kSequential,
  kIndexCheck
};
const char* Name(GroupKind kind);

struct Group {
  GroupKind kind = GroupKind::kPointwise;
  ir::ValueId anchor = ir::kNoValue;  // the matmul, attention, first reduction, or pointwise root
  std::vector<ir::ValueId> members;   // in order; without values that are inlined from outside
  std::vector<ir::ValueId> outputs;   // members that get a buffer
  // kRow: all reductions of the group reduce `axes` of `space`.
  Shape space;
  std::vector<int64_t> axes;
};

// The groups in execution order, with `if`s on sizes between them.
struct FusedItem {
  enum Kind : uint8_t { kGroup, kIf, kElse, kEndIf } kind = kGroup;
  int group = -1;                   // kGroup
  ir::ValueId node = ir::kNoValue;  // the `if`
};

struct FusionPlan {
  std::vector<Group> groups;
  std::vector<FusedItem> items;
  std::vector<bool> buffered;  // by ValueId: input, constant, or written by a group or an if
  bool IsBuffer(ir::ValueId v) const { return buffered[v]; }
  std::string ToString(const ir::Graph& graph) const;
};

// `graph` holds primitives only (ExpandComposites has run).
FusionPlan Fuse(const ir::Graph& graph);

// True if `axes` (ascending) are the last ones of a shape of that rank.
bool AreTrailing(const std::vector<int64_t>& axes, size_t rank);
// True if every index of the gather that matters is read whenever there is one: its other result
// dims are >= 1, or it is unchecked.
bool ReadsEveryIndex(const ir::Graph& graph, ir::ValueId gather);
// True for a matmul that the GEMM schedule takes: f32 with a constant right-hand side of rank 2, or
// one of rank 3 and groups of windows in place, or of bytes.
bool IsGemm(const ir::Graph& graph, ir::ValueId v);
// True for an i32 product of u8 values with a constant i8 matrix, both cast to i32 (what the pass
// narrow_products makes): the casts are not computed.
bool IsByteGemm(const ir::Graph& graph, ir::ValueId v);
// The u8 value under such a product's left operand (reshapes and one cast).
ir::ValueId BytesOf(const ir::Graph& graph, ir::ValueId v);
// Windows whose elements are the rows of a product's left operand, where they can be read in place:
// rows a fixed step apart within a row of positions, each of pieces of neighbouring elements.
struct InPlaceWindows {
  ir::ValueId windows = ir::kNoValue;
  // The last axis of positions counts groups: the product is of [groups, rows, depth] with a matrix
  // for each.
  bool grouped = false;
};
std::optional<InPlaceWindows> WindowsInPlace(const ir::Graph& graph, ir::ValueId product);
// True for a reduction that a row group takes: the last axis is among the reduced ones, which are
// no windows.
bool IsRowReduction(const ir::Graph& graph, ir::ValueId v);
bool IsReduction(ir::Op op);
// True for a reduction of whole windows (or of what elementwise ops make of them): a plain loop in
// row-major order, with the positions of the windows along the lanes.
bool IsWindowReduction(const ir::Graph& graph, ir::ValueId v);
bool IsArgExtremum(ir::Op op);  // argmax, argmin
// Index maps that cost nothing: broadcast, reshape, permute, slice.
bool IsView(ir::Op op);
// The axes that a reduction reduces.
std::vector<int64_t> ReducedAxes(const ir::Node& n);

}  // namespace lathe::compiler
