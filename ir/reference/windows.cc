// windows: each element of each window, looked up.
#include <cstring>

#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

absl::StatusOr<Tensor> Eval_windows(const EvalContext& c) {
  const Tensor& x = c.operands[0];
  const Attrs& a = c.node->attrs;
  absl::StatusOr<std::vector<int64_t>> low = EvaluateDims(c, a.low);
  if (!low.ok()) return low.status();
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const size_t rank = x.shape().size(), count = a.sizes.size(), first = rank - count;
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    const T fill = Convert<T>(a.value.value_or(0));
    const T* from = x.data<T>();
    T* to = result->data<T>();
    for (int64_t i = 0; i < result->num_elements(); ++i) {
      const std::vector<int64_t> at = IndexOf(i, result->shape());
      int64_t offset = 0;
      bool inside = true;
      for (size_t axis = 0; axis < rank; ++axis) {
        int64_t index = at[axis];
        if (axis >= first) {
          const size_t k = axis - first;
          index = index * a.steps[k] - (*low)[k] + at[rank + k] * a.dilations[k];
        }
        inside &= index >= 0 && index < x.shape()[axis];
        offset += index * x.strides()[axis];
      }
      to[i] = inside ? from[offset] : fill;
    }
  });
  return result;
}

}  // namespace lathe::ir
