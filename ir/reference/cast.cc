// cast: between any two element types.
#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

absl::StatusOr<Tensor> Eval_cast(const EvalContext& c) {
  absl::Status same = CheckSameShape(c);
  if (!same.ok()) return same;
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const int64_t count = result->num_elements();
  const Tensor& x = c.operands[0];
  VisitType(x.dtype(), [&](auto from) {
    VisitType(result->dtype(), [&](auto to) {
      using To = decltype(to);
      for (int64_t i = 0; i < count; ++i)
        result->data<To>()[i] = Convert<To>(x.data<decltype(from)>()[i]);
    });
  });
  return result;
}

}  // namespace lathe::ir
