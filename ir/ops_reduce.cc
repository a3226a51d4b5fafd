// Rows of the reductions.
#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/op_rows.h"
#include "ir/reference/evaluators.h"
#include "ir/shape_rules.h"

namespace lathe::ir {
namespace {

// The axes that go: `axes`, or `axis` for argmax and argmin.
std::vector<int64_t> ReducedAxes(const Node& n) {
  return n.attrs.axis ? std::vector<int64_t>{*n.attrs.axis} : n.attrs.axes;
}

absl::Status InferReduce(InferContext& c) {
  if (absl::Status s = CheckDTypes(c); !s.ok()) return s;
  const ValueType& x = c.operand(0);
  Attrs& a = c.node->attrs;
  if (absl::Status s = NormalizeAxes(c, &a.axes, x.rank()); !s.ok()) return s;
  c.node->type = {x.dtype, ReducedShape(x.shape, a.axes, a.keep_dims)};
  return absl::OkStatus();
}

absl::Status InferArgExtremum(InferContext& c) {
  if (absl::Status s = CheckDTypes(c); !s.ok()) return s;
  const Shape& shape = c.operand(0).shape;
  Attrs& a = c.node->attrs;
  if (absl::Status s = NormalizeAxis(c, &*a.axis, c.operand(0).rank()); !s.ok()) return s;
  c.node->type = {i64, ReducedShape(shape, {*a.axis}, a.keep_dims)};
  return absl::OkStatus();
}

// An extremum of nothing is an error, unless there is no result to hold it or `value` says what it
// is.
absl::Status RequireNonEmpty(InferContext& c) {
  if (c.node->attrs.value) return absl::OkStatus();
  Dim extent = 1;
  for (int64_t axis : ReducedAxes(*c.node)) extent *= c.operand(0).shape[axis];
  if (KnownLe(c, 1, extent)) return absl::OkStatus();
  const std::string why =
      absl::StrCat("the extremum of an empty axis of ", c.operand(0).ToString(), " is undefined");
  const Dim results = Volume(c.node->type.shape);
  if (KnownLe(c, 1, results)) {
    const absl::Status required = c.Require(extent >= 1, why);
    if (required.ok()) return required;
    if (c.node->attrs.axis) return WithHint(required, {Hint::Kind::kDims, "0", "1"});
    const bool largest = c.node->op == Op::k_max;
    return WithHint(required, {Hint::Kind::kAttr, "value", largest ? "-inf" : "inf"});
  }
  return c.Require(Eq(Max(0, 1 - extent) * results, 0), why);
}

OpInfo Reduction(Op op, absl::StatusOr<Tensor> (*evaluate)(const EvalContext&)) {
  OpInfo info{.op = op, .min_operands = 1, .max_operands = 1};
  info.attrs = {{"axes", false}, {"keep_dims", false}};
  info.dtypes = kNumericTypes;
  info.emission = Emission::kReduction;
  info.infer = InferReduce;
  info.evaluate = evaluate;
  return info;
}

OpInfo Extremum(Op op, absl::StatusOr<Tensor> (*evaluate)(const EvalContext&)) {
  OpInfo info = Reduction(op, evaluate);
  info.attrs.push_back({"value", false});
  info.require = RequireNonEmpty;
  info.bound = "exact";
  return info;
}

OpInfo ArgExtremum(Op op, absl::StatusOr<Tensor> (*evaluate)(const EvalContext&)) {
  OpInfo info = Extremum(op, evaluate);
  info.attrs = {{"axis"}, {"keep_dims", false}, {"last", false}};
  info.infer = InferArgExtremum;
  return info;
}

}  // namespace

std::vector<OpInfo> ReduceOps() {
  OpInfo sum = Reduction(Op::k_sum, Eval_sum);
  sum.doc = "Sum over `axes` (all, if none is named); integers wrap; 0 over nothing.";
  sum.example = "y = sum(x, axes=[1], keep_dims=true)";
  sum.bound = "(n/32 + 6) * eps * sum |terms|";

  OpInfo prod = Reduction(Op::k_prod, Eval_prod);
  prod.doc = "Product over `axes` (all, if none is named); integers wrap; 1 over nothing.";
  prod.example = "y = prod(x, axes=[1])";
  prod.bound = "n * eps * |result|";

  OpInfo max = Extremum(Op::k_max, Eval_max);
  max.doc =
      "Largest over `axes` (all, if none is named), NaN if there is one; `value` over nothing, "
      "an error without it.";
  max.example = "y = max(x, axes=[0, 1])";

  OpInfo min = Extremum(Op::k_min, Eval_min);
  min.doc =
      "Smallest over `axes` (all, if none is named), NaN if there is one; `value` over nothing, "
      "an error without it.";
  min.example = "y = min(x, axes=[0, 1])";

  OpInfo all = Reduction(Op::k_all, Eval_all);
  all.dtypes = kBoolType;
  all.doc = "Whether all over `axes` (all, if none is named) are true; true over nothing.";
  all.example = "q = all(p, axes=[1])";
  all.bound = "exact";

  OpInfo any = Reduction(Op::k_any, Eval_any);
  any.dtypes = kBoolType;
  any.doc = "Whether any over `axes` (all, if none is named) is true; false over nothing.";
  any.example = "q = any(p, axes=[1])";
  any.bound = "exact";

  OpInfo argmax = ArgExtremum(Op::k_argmax, Eval_argmax);
  argmax.doc =
      "Index (i64) along `axis` of the first NaN if there is one, else of the first largest; with "
      "`last` of the last one.";
  argmax.example = "k = argmax(x, axis=1)";

  OpInfo argmin = ArgExtremum(Op::k_argmin, Eval_argmin);
  argmin.doc =
      "Index (i64) along `axis` of the first NaN if there is one, else of the first smallest; with "
      "`last` of the last one.";
  argmin.example = "k = argmin(x, axis=1, last=true)";

  return {sum, prod, max, min, all, any, argmax, argmin};
}

}  // namespace lathe::ir
