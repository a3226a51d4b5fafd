// iota, size, random: values made from nothing but sizes.
#include "ir/philox.h"
#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

absl::StatusOr<Tensor> Eval_iota(const EvalContext& c) {
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const size_t axis = static_cast<size_t>(c.node->attrs.axis.value_or(0));
  int64_t inner = 1;
  for (size_t i = axis + 1; i < c.result_shape.size(); ++i) inner *= c.result_shape[i];
  const int64_t count = result->num_elements();
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < count; ++i)
      result->data<T>()[i] = static_cast<T>(i / inner % c.result_shape[axis]);
  });
  return result;
}

absl::StatusOr<Tensor> Eval_size(const EvalContext& c) {
  absl::StatusOr<std::vector<int64_t>> value =
      EvaluateDims(c, {c.node->attrs.dim.value_or(Dim(0))});
  if (!value.ok()) return value.status();
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    *result->data<T>() = static_cast<T>(value->front());
  });
  return result;
}

// An f32 random value is that f32 value also when it is held as f64.
absl::StatusOr<Tensor> Eval_random(const EvalContext& c) {
  const bool normal = c.node->attrs.distribution == "normal";
  if (!normal && !c.node->attrs.distribution.empty() && c.node->attrs.distribution != "uniform") {
    return InvalidArgument(c, absl::StrCat("distribution '", c.node->attrs.distribution,
                                           "', wanted 'uniform' or 'normal'"));
  }
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const uint64_t seed = static_cast<uint64_t>(c.node->attrs.seed.value_or(0));
  const bool narrow = c.node->type.dtype != DType::kF64;
  const int64_t count = result->num_elements();
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t index = static_cast<uint64_t>(i);
    const double value =
        narrow ? double{normal ? PhiloxNormal(seed, index) : PhiloxUniform(seed, index)}
               : (normal ? PhiloxNormalF64(seed, index) : PhiloxUniformF64(seed, index));
    if (result->dtype() == DType::kF32) {
      result->data<float>()[i] = static_cast<float>(value);
    } else {
      result->data<double>()[i] = value;
    }
  }
  return result;
}

}  // namespace lathe::ir
