// cast: between any two element types.
#include <cmath>
#include <limits>

#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

// Truncates towards zero and saturates; NaN gives 0.
template <typename To, typename From>
To Saturate(From x) {
  if (x != x) return 0;
  // Both bounds are powers of two up to sign, hence exact in From.
  constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
  if (x < kLow) return std::numeric_limits<To>::min();
  if (x >= -kLow) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

template <typename To, typename From>
To Convert(From x) {
  if constexpr (std::is_same_v<To, uint8_t>) {  // bool
    return x != 0 ? 1 : 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return Saturate<To>(x);
  } else {
    return static_cast<To>(x);  // integers wrap; to a float, rounded once
  }
}

}  // namespace

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
