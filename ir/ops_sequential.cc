// Rows of the ops that walk elements in an order: prefix sums, sorting, scatter; and the check of
// indices that comes before reads and writes at computed places.
#include "absl/strings/str_cat.h"
#include "ir/op_rows.h"
#include "ir/reference/evaluators.h"
#include "ir/shape_rules.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

absl::Status InferCheckIndex(InferContext& c) {
  c.node->type = c.operand(0);
  return CheckOperandIs(c, 0, kIndexTypes, "operand 0, the indices,");
}

absl::Status RequireCheckIndex(InferContext& c) {
  const Dim n = *c.node->attrs.dim;
  return KnownLe(c, 0, n) ? absl::OkStatus() : c.Require(n >= 0, "the bound is 0 or more");
}

absl::Status InferScatter(InferContext& c) {
  const ValueType &data = c.operand(0), &updates = c.operand(2);
  LATHE_RETURN_IF_ERROR(CheckOperandIs(c, 1, TypeSet(i64), "operand 1, the indices,"));
  if (updates.dtype != data.dtype) {
    return c.Error(absl::StrCat("operand 2, the updates, is ", updates.ToString(), "; wanted ",
                                Name(data.dtype), ", the type of operand 0"));
  }
  for (size_t i = 0; i < 3; ++i) {
    if (c.operand(i).rank() != 1) {
      return c.Error(absl::StrCat("operand ", i, " is ", c.operand(i).ToString(),
                                  "; wanted rank 1: flatten data and updates"));
    }
  }
  std::string& reduction = c.node->attrs.reduction;
  if (reduction == "none") reduction.clear();
  const bool ordered = reduction == "max" || reduction == "min";
  const bool arithmetic = reduction == "add" || reduction == "mul";
  if (!reduction.empty() && !ordered && !arithmetic) {
    return c.Error(absl::StrCat("reduction is '", reduction,
                                "'; wanted 'none', 'add', 'mul', 'max' or 'min'"));
  }
  if (arithmetic && data.dtype == DType::kBool)
    return c.Error(absl::StrCat("reduction '", reduction, "' has no meaning for bool"));
  c.node->type = data;
  return absl::OkStatus();
}

absl::Status RequireScatter(InferContext& c) {
  return RequireEqualShapes(c, c.operand(1).shape, c.operand(2).shape,
                            "there is an update for each index");
}

absl::Status InferArgsort(InferContext& c) {
  const ValueType& x = c.operand(0);
  if (x.rank() == 0) return c.Error("operand 0 is a scalar; wanted rows along a last axis");
  c.node->type = {i64, x.shape};
  return absl::OkStatus();
}

absl::Status InferPrefix(InferContext& c) {
  if (absl::Status s = CheckOperandIs(c, 0, Info(c.node->op).dtypes, "x"); !s.ok()) return s;
  c.node->type = c.operand(0);
  return NormalizeAxis(c, &*c.node->attrs.axis, c.operand(0).rank());
}

}  // namespace

std::vector<OpInfo> SequentialOps() {
  std::vector<OpInfo> ops = {
      {.op = Op::k_check_index,
       .attrs = {{"dim"}},
       .traits = kMayFail,
       .dtypes = kIndexTypes,
       .emission = Emission::kGather,
       .infer = InferCheckIndex,
       .require = RequireCheckIndex,
       .evaluate = Eval_check_index,
       .doc = "Indices into an axis of `dim` elements, negative ones counted from the end; one out "
              "of range is an error.",
       .example = "y = check_index(k, dim=n)"},
      {.op = Op::k_scatter,
       .min_operands = 3,
       .max_operands = 3,
       .attrs = {{"reduction", false}},
       .dtypes = kAllTypes,
       .infer = InferScatter,
       .require = RequireScatter,
       .evaluate = Eval_scatter,
       .doc = "Operand 0 (rank 1) with its element at each index of operand 1 (i64, rank 1) "
              "replaced by the update of operand 2, the last one winning, or combined with it "
              "as `reduction` says, in order: add, mul, max, min. An index outside, negative ones "
              "included, writes nothing.",
       .example = "y = scatter(w4, iota([n], axis=0, dtype=i64), iota([n], axis=0, dtype=f32), "
                  "reduction=\"add\")"},
      {.op = Op::k_argsort,
       .attrs = {{"descending", false}},
       .dtypes = kAllTypes,
       .infer = InferArgsort,
       .evaluate = Eval_argsort,
       .doc = "Positions (i64) along the last axis in ascending (`descending`) order of their "
              "elements; equal ones keep their order, NaN is the greatest.",
       .example = "y = argsort(x, descending=true)"},
      {.op = Op::k_cumsum,
       .attrs = {{"axis"}, {"exclusive", false}, {"reverse", false}},
       .dtypes = kNumericTypes,
       .infer = InferPrefix,
       .evaluate = Eval_cumsum,
       .doc = "Sums of the elements up to each one along an axis, added one after another in their "
              "type (narrow floats: in f32); `exclusive` leaves the element itself out, `reverse` "
              "runs from the end.",
       .example = "y = cumsum(x, axis=0)"},
      {.op = Op::k_cumprod,
       .attrs = {{"axis"}, {"exclusive", false}, {"reverse", false}},
       .dtypes = kNumericTypes,
       .infer = InferPrefix,
       .evaluate = Eval_cumprod,
       .doc = "The same with products.",
       .example = "y = cumprod(x, axis=1, exclusive=true)"},
  };
  for (OpInfo& op : ops) {
    if (op.max_operands == 0) op.min_operands = op.max_operands = 1;
    if (op.op != Op::k_check_index) op.emission = Emission::kSequential;
    op.bound = "exact";
  }
  return ops;
}

}  // namespace lathe::ir
