// cast: between any two element types.
#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

// VisitType with the narrow floats as what they are.
template <typename Fn>
void VisitStored(DType dtype, Fn&& fn) {
  VisitDType(dtype, [&](auto type) {
    if constexpr (std::is_same_v<decltype(type), bool>) {
      fn(Bool{});
    } else {
      fn(type);
    }
  });
}

}  // namespace

absl::StatusOr<Tensor> Eval_cast(const EvalContext& c) {
  absl::Status same = CheckSameShape(c);
  if (!same.ok()) return same;
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const int64_t count = result->num_elements();
  const Tensor& x = c.operands[0];
  const auto convert = [&](auto from, auto to) {
    using From = decltype(from);
    using To = decltype(to);
    for (int64_t i = 0; i < count; ++i) result->data<To>()[i] = Convert<To>(x.data<From>()[i]);
  };
  VisitStored(x.dtype(), [&](auto from) {
    VisitStored(result->dtype(), [&](auto to) { convert(from, to); });
  });
  return result;
}

}  // namespace lathe::ir
