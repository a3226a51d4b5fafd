#include "ir/evaluate.h"

#include <vector>

#include "ir/reference/common.h"

namespace lathe::ir {

Tensor ConvertTo(const Tensor& t, DType dtype) {
  const Node cast{.op = Op::k_cast};
  const Tensor dense = t.Contiguous();
  const EvalContext c{.graph = nullptr,
                      .node = &cast,
                      .operands = absl::MakeConstSpan(&dense, 1),
                      .symbols = {},
                      .result_shape = t.shape(),
                      .result_dtype = dtype};
  absl::StatusOr<Tensor> converted = Info(Op::k_cast).evaluate(c);
  return converted.ok() ? *std::move(converted) : Tensor(dtype, {-1});
}

absl::StatusOr<Tensor> EvaluateOp(const EvalContext& c) {
  const auto evaluate = Info(c.node->op).evaluate;
  bool narrow = IsNarrowFloat(c.result_dtype);
  for (const Tensor& t : c.operands) narrow = narrow || IsNarrowFloat(t.dtype());
  if (!narrow || c.node->op == Op::k_cast) return evaluate(c);
  std::vector<Tensor> operands(c.operands.begin(), c.operands.end());
  for (Tensor& t : operands)
    if (IsNarrowFloat(t.dtype())) t = ConvertTo(t, f32);
  EvalContext wide = c;
  wide.operands = operands;
  if (IsNarrowFloat(c.result_dtype)) wide.result_dtype = f32;
  absl::StatusOr<Tensor> result = evaluate(wide);
  if (!result.ok() || wide.result_dtype == c.result_dtype) return result;
  Tensor rounded = ConvertTo(*result, c.result_dtype);
  if (!rounded.ok()) return reference::Error(c, absl::StatusCode::kResourceExhausted, "no memory");
  return rounded;
}

}  // namespace lathe::ir
