// cast: between any two element types. bitcast: between those of one size.
#include <cstring>

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

absl::StatusOr<Tensor> Eval_bitcast(const EvalContext& c) {
  absl::Status same = CheckSameShape(c);
  if (!same.ok()) return same;
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const int64_t count = result->num_elements();
  const Tensor& x = c.operands[0];
  const int64_t from = SizeOf(x.dtype()), to = SizeOf(result->dtype());
  // Where f32 is computed in f64, the bits are still those of the f32.
  for (int64_t i = 0; i < count; ++i) {
    if (from > to) {
      const float narrow = static_cast<float>(x.data<double>()[i]);
      std::memcpy(static_cast<char*>(result->raw()) + i * to, &narrow, sizeof narrow);
    } else if (from < to) {
      float narrow;
      std::memcpy(&narrow, static_cast<const char*>(x.raw()) + i * from, sizeof narrow);
      result->data<double>()[i] = static_cast<double>(narrow);
    } else {
      std::memcpy(static_cast<char*>(result->raw()) + i * to,
                  static_cast<const char*>(x.raw()) + i * from, static_cast<size_t>(to));
    }
  }
  return result;
}

}  // namespace lathe::ir
