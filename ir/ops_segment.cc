// Rows of the ops on ragged dims (ir/ragged.h). A packed value has all rows of the batch one behind
// the other on its first axis; the offsets, an input whose elements every call checks, say where
// each row starts. So no index that comes from them can be outside.
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/op_rows.h"
#include "ir/ragged.h"
#include "ir/reference/evaluators.h"
#include "ir/shape_rules.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

// The ragged dim of the last operand.
absl::StatusOr<RaggedDim> Ragged(const InferContext& c) {
  const size_t last = c.node->operands.size() - 1;
  std::optional<RaggedDim> r = RaggedOf(*c.graph, c.node->operands[last]);
  if (r) return *std::move(r);
  return c.Error(absl::StrCat("operand ", last, " is ", c.operand(last).ToString(),
                              "; wanted the offsets of a ragged dim, an input such as the one that "
                              "x: f32[batch, ~seq, 64] makes: seq.offsets"));
}

absl::Status CheckPacked(const InferContext& c, const std::string& wanted) {
  if (c.operand(0).rank() >= 1) return absl::OkStatus();
  return c.Error(absl::StrCat("operand 0 is a scalar; wanted ", wanted));
}

Shape WithFirst(std::vector<Dim> first, const Shape& shape, size_t skip) {
  first.insert(first.end(), shape.begin() + static_cast<std::ptrdiff_t>(skip), shape.end());
  return first;
}

absl::Status InferIds(InferContext& c) {
  LATHE_ASSIGN_OR_RETURN(const RaggedDim r, Ragged(c));
  c.node->type = {i64, {r.total}};
  return absl::OkStatus();
}

// [total, ..] -> [batch, ..]
absl::Status InferReduction(InferContext& c) {
  LATHE_RETURN_IF_ERROR(CheckOperandIs(c, 0, Info(c.node->op).dtypes, "rows"));
  if (absl::Status s = CheckPacked(c, "[total, ..], packed rows"); !s.ok()) return s;
  LATHE_ASSIGN_OR_RETURN(const RaggedDim r, Ragged(c));
  c.node->type = {c.operand(0).dtype, WithFirst({r.batch}, c.operand(0).shape, 1)};
  return absl::OkStatus();
}

absl::Status InferSame(InferContext& c) {
  LATHE_RETURN_IF_ERROR(CheckOperandIs(c, 0, Info(c.node->op).dtypes, "rows"));
  if (absl::Status s = CheckPacked(c, "[total, ..], packed rows"); !s.ok()) return s;
  LATHE_RETURN_IF_ERROR(Ragged(c).status());
  c.node->type = c.operand(0);
  return absl::OkStatus();
}

// [batch, ..] -> [total, ..]
absl::Status InferRows(InferContext& c) {
  if (absl::Status s = CheckPacked(c, "[batch, ..], an element a row"); !s.ok()) return s;
  LATHE_ASSIGN_OR_RETURN(const RaggedDim r, Ragged(c));
  c.node->type = {c.operand(0).dtype, WithFirst({r.total}, c.operand(0).shape, 1)};
  return absl::OkStatus();
}

absl::Status InferToPadded(InferContext& c) {
  if (absl::Status s = CheckPacked(c, "[total, ..], packed rows"); !s.ok()) return s;
  LATHE_ASSIGN_OR_RETURN(const RaggedDim r, Ragged(c));
  c.node->type = {c.operand(0).dtype, WithFirst({r.batch, r.longest}, c.operand(0).shape, 1)};
  return absl::OkStatus();
}

absl::Status InferToRagged(InferContext& c) {
  if (c.operand(0).rank() < 2) {
    return c.Error(absl::StrCat("operand 0 is ", c.operand(0).ToString(),
                                "; wanted [batch, longest row or more, ..]"));
  }
  LATHE_ASSIGN_OR_RETURN(const RaggedDim r, Ragged(c));
  c.node->type = {c.operand(0).dtype, WithFirst({r.total}, c.operand(0).shape, 2)};
  return absl::OkStatus();
}

absl::Status RequirePacked(InferContext& c) {
  LATHE_ASSIGN_OR_RETURN(const RaggedDim r, Ragged(c));
  const Dim rows = c.operand(0).shape[0];
  if (std::optional<RaggedDim> other = RaggedWithTotal(*c.graph, rows);
      other && other->offsets != r.offsets) {
    return c.Error(
        absl::StrCat("operand 0 has the rows of ~", other->name, ", the offsets are of ~", r.name));
  }
  return RequireEqualShapes(c, {rows}, {r.total},
                            absl::StrCat("operand 0 has all rows of ~", r.name));
}

absl::Status RequireBatch(InferContext& c) {
  LATHE_ASSIGN_OR_RETURN(const RaggedDim r, Ragged(c));
  return RequireEqualShapes(c, {c.operand(0).shape[0]}, {r.batch},
                            absl::StrCat("operand 0 has as many rows as ~", r.name));
}

absl::Status RequirePadded(InferContext& c) {
  if (absl::Status s = RequireBatch(c); !s.ok()) return s;
  LATHE_ASSIGN_OR_RETURN(const RaggedDim r, Ragged(c));
  const Dim room = c.operand(0).shape[1];
  if (KnownLe(c, r.longest, room)) return absl::OkStatus();
  return c.Require(r.longest <= room, absl::StrCat("axis 1 of ", c.operand(0).ToString(),
                                                   " has room for the longest row of ~", r.name));
}

// -- expansions

absl::StatusOr<ValueId> RowsOf(Builder& b, ValueId per_row, ValueId offsets) {
  LATHE_ASSIGN_OR_RETURN(const ValueId ids, b.Create(Op::k_segment_ids, {offsets}));
  return b.Create(Op::k_gather, {per_row, ids}, {.axis = 0});
}

absl::StatusOr<ValueId> ExpandRows(Builder& b, const Node& n) {
  return RowsOf(b, n.operands[0], n.operands[1]);
}

// offsets[from .. batch + from], as i64.
absl::StatusOr<ValueId> Ends(Builder& b, ValueId offsets, int64_t from) {
  const Dim batch = b.graph()->type(offsets).shape[0] - 1;
  LATHE_ASSIGN_OR_RETURN(const ValueId part,
                         b.Create(Op::k_slice, {offsets},
                                  {.starts = {Dim(from)}, .limits = {batch + from}, .steps = {1}}));
  if (b.graph()->type(offsets).dtype == i64) return part;
  return b.Create(Op::k_cast, {part}, {.dtype = i64});
}

absl::StatusOr<ValueId> ExpandMean(Builder& b, const Node& n) {
  const ValueId offsets = n.operands[1];
  LATHE_ASSIGN_OR_RETURN(const ValueId sum, b.Create(Op::k_segment_sum, n.operands));
  LATHE_ASSIGN_OR_RETURN(const ValueId starts, Ends(b, offsets, 0));
  LATHE_ASSIGN_OR_RETURN(const ValueId ends, Ends(b, offsets, 1));
  LATHE_ASSIGN_OR_RETURN(const ValueId lengths, b.Create(Op::k_sub, {ends, starts}));
  LATHE_ASSIGN_OR_RETURN(const ValueId counts,
                         b.Create(Op::k_cast, {lengths}, {.dtype = n.type.dtype}));
  LATHE_ASSIGN_OR_RETURN(
      const ValueId wide,
      b.Create(Op::k_broadcast, {counts}, {.axes = {0}, .shape = b.graph()->type(sum).shape}));
  return b.Create(Op::k_div, {sum, wide});
}

absl::StatusOr<ValueId> ExpandSoftmax(Builder& b, const Node& n) {
  const ValueId x = n.operands[0], offsets = n.operands[1];
  constexpr double kLeast = -std::numeric_limits<double>::infinity();
  LATHE_ASSIGN_OR_RETURN(const ValueId most,
                         b.Create(Op::k_segment_max, {x, offsets}, {.value = kLeast}));
  LATHE_ASSIGN_OR_RETURN(const ValueId shift, RowsOf(b, most, offsets));
  LATHE_ASSIGN_OR_RETURN(const ValueId centred, b.Create(Op::k_sub, {x, shift}));
  LATHE_ASSIGN_OR_RETURN(const ValueId powers, b.Create(Op::k_exp, {centred}));
  LATHE_ASSIGN_OR_RETURN(const ValueId total, b.Create(Op::k_segment_sum, {powers, offsets}));
  LATHE_ASSIGN_OR_RETURN(const ValueId one, b.ScalarConstant(n.type.dtype, 1));
  LATHE_ASSIGN_OR_RETURN(const ValueId ones, b.BroadcastTo(one, b.graph()->type(total).shape));
  // One division a row.
  LATHE_ASSIGN_OR_RETURN(const ValueId inverse, b.Create(Op::k_div, {ones, total}));
  LATHE_ASSIGN_OR_RETURN(const ValueId factor, RowsOf(b, inverse, offsets));
  return b.Create(Op::k_mul, {powers, factor});
}

// Packed row t is row t - offsets[id] of the padded part `id`.
absl::StatusOr<ValueId> ExpandToRagged(Builder& b, const Node& n) {
  const ValueId padded = n.operands[0], offsets = n.operands[1];
  const Shape shape = b.graph()->type(padded).shape;
  const Shape total = {n.type.shape[0]};
  const Shape flat = WithFirst({shape[0] * shape[1]}, shape, 2);
  LATHE_ASSIGN_OR_RETURN(const ValueId rows, b.Create(Op::k_reshape, {padded}, {.shape = flat}));
  LATHE_ASSIGN_OR_RETURN(const ValueId ids, b.Create(Op::k_segment_ids, {offsets}));
  LATHE_ASSIGN_OR_RETURN(const ValueId starts, Ends(b, offsets, 0));
  LATHE_ASSIGN_OR_RETURN(const ValueId begin, b.Create(Op::k_gather, {starts, ids}, {.axis = 0}));
  LATHE_ASSIGN_OR_RETURN(const ValueId position,
                         b.Create(Op::k_iota, {}, {.axis = 0, .shape = total, .dtype = i64}));
  LATHE_ASSIGN_OR_RETURN(const ValueId room, b.Create(Op::k_size, {}, {.dim = shape[1]}));
  LATHE_ASSIGN_OR_RETURN(const ValueId stride, b.BroadcastTo(room, total));
  LATHE_ASSIGN_OR_RETURN(const ValueId part, b.Create(Op::k_mul, {ids, stride}));
  LATHE_ASSIGN_OR_RETURN(const ValueId within, b.Create(Op::k_sub, {position, begin}));
  LATHE_ASSIGN_OR_RETURN(const ValueId index, b.Create(Op::k_add, {part, within}));
  return b.Create(Op::k_gather, {rows, index}, {.axis = 0});
}

}  // namespace

std::vector<OpInfo> SegmentOps() {
  return {
      {.op = Op::k_segment_ids,
       .min_operands = 1,
       .max_operands = 1,
       .dtypes = kIndexTypes,
       .emission = Emission::kSegment,
       .infer = InferIds,
       .evaluate = Eval_segment_ids,
       .doc = "The number (i64) of the row to which each packed position belongs.",
       .example = "y = segment_ids(seq.offsets)",
       .bound = "exact"},
      {.op = Op::k_segment_sum,
       .min_operands = 2,
       .max_operands = 2,
       .dtypes = kNumericTypes,
       .emission = Emission::kSegment,
       .infer = InferReduction,
       .require = RequirePacked,
       .evaluate = Eval_segment_sum,
       .doc = "Sum over each row of a ragged dim, the first axis; integers wrap; 0 over nothing.",
       .example = "y = segment_sum(r, seq.offsets)",
       .bound = "(n/32 + 6) * eps * sum |terms|; n * eps where other axes follow"},
      {.op = Op::k_segment_max,
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {{"value", false}},
       .dtypes = kNumericTypes,
       .emission = Emission::kSegment,
       .infer = InferReduction,
       .require = RequirePacked,
       .evaluate = Eval_segment_max,
       .doc = "Largest over each row of a ragged dim, the first axis; NaN if there is one; `value` "
              "over nothing, the least of the type without it.",
       .example = "y = segment_max(r, seq.offsets)",
       .bound = "exact"},
      {.op = Op::k_segment_mean,
       .min_operands = 2,
       .max_operands = 2,
       .traits = kFloatOnly,
       .dtypes = kFloatTypes,
       .emission = Emission::kComposite,
       .infer = InferReduction,
       .require = RequirePacked,
       .expand = ExpandMean,
       .doc = "Mean over each row of a ragged dim, the first axis; NaN over nothing.",
       .example = "y = segment_mean(r, seq.offsets)",
       .bound = "of its expansion"},
      {.op = Op::k_segment_softmax,
       .min_operands = 2,
       .max_operands = 2,
       .traits = kFloatOnly,
       .dtypes = kFloatTypes,
       .emission = Emission::kComposite,
       .infer = InferSame,
       .require = RequirePacked,
       .expand = ExpandSoftmax,
       .doc = "Softmax along each row of a ragged dim, the first axis.",
       .example = "y = segment_softmax(r, seq.offsets)",
       .bound = "of its expansion"},
      {.op = Op::k_segment_rows,
       .min_operands = 2,
       .max_operands = 2,
       .dtypes = kAllTypes,
       .emission = Emission::kComposite,
       .infer = InferRows,
       .require = RequireBatch,
       .expand = ExpandRows,
       .doc = "An element a row, [batch, ..], repeated for each packed position of its row.",
       .example = "y = segment_rows(segment_max(r, seq.offsets), seq.offsets)",
       .bound = "exact"},
      {.op = Op::k_to_padded,
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {{"value"}},
       .dtypes = kAllTypes,
       .emission = Emission::kSegment,
       .infer = InferToPadded,
       .require = RequirePacked,
       .evaluate = Eval_to_padded,
       .doc = "Packed rows as [batch, longest row, ..], `value` behind the end of each.",
       .example = "y = to_padded(r, seq.offsets, value=0)",
       .bound = "exact"},
      {.op = Op::k_to_ragged,
       .min_operands = 2,
       .max_operands = 2,
       .dtypes = kAllTypes,
       .emission = Emission::kComposite,
       .infer = InferToRagged,
       .require = RequirePadded,
       .expand = ExpandToRagged,
       .doc = "The rows of [batch, longest row or more, ..] packed, without what is behind their "
              "ends.",
       .example = "y = to_ragged(to_padded(r, seq.offsets, value=0), seq.offsets)",
       .bound = "exact"},
  };
}

}  // namespace lathe::ir
