// Ops on ragged dims: each row lies at offsets[i]..offsets[i + 1] of the operand's first axis. Sums
// of f32 are held in float64 (of f64 in long double) and rounded once; those of integers wrap.
#include <cstring>
#include <optional>
#include <type_traits>

#include "ir/input_data.h"
#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

// The offsets, which the entry of the call has checked; here once more, since nothing is read
// outside.
absl::StatusOr<std::vector<int64_t>> OffsetsOf(const EvalContext& c, int64_t rows) {
  const Tensor& t = c.operands.back();
  if (t.num_elements() < 1) return InvalidArgument(c, "no offsets, wanted one or more");
  const OffsetsReading reading = ReadOffsets(t);
  if (reading.fault >= 0) return OffsetsError("the offsets", t, reading);
  if (reading.total != rows) {
    return InvalidArgument(c,
                           absl::StrCat("the last offset is ", reading.total, ", wanted ", rows));
  }
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < t.num_elements(); ++i) offsets.push_back(IntegerElement(t, i));
  return offsets;
}

int64_t Volume(absl::Span<const int64_t> shape, size_t skip) {
  int64_t volume = 1;
  for (size_t i = skip; i < shape.size(); ++i) volume *= shape[i];
  return volume;
}

// result[row][j] = fn(first element, count, stride).
template <typename Fn>
absl::StatusOr<Tensor> ReduceRows(const EvalContext& c, Fn fn) {
  const Tensor& x = c.operands[0];
  absl::StatusOr<std::vector<int64_t>> offsets = OffsetsOf(c, x.shape()[0]);
  if (!offsets.ok()) return offsets.status();
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const int64_t width = Volume(x.shape(), 1);
  VisitType(x.dtype(), [&](auto type) {
    using T = decltype(type);
    T* to = result->data<T>();
    for (size_t row = 0; row + 1 < offsets->size(); ++row) {
      const int64_t begin = (*offsets)[row], count = (*offsets)[row + 1] - begin;
      for (int64_t j = 0; j < width; ++j) *to++ = fn(x.data<T>() + begin * width + j, count, width);
    }
  });
  return result;
}

template <typename T>
T Least() {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity) {
    return -Limits::infinity();
  } else {
    return Limits::lowest();
  }
}

}  // namespace

absl::StatusOr<Tensor> Eval_segment_ids(const EvalContext& c) {
  absl::StatusOr<std::vector<int64_t>> offsets = OffsetsOf(c, c.result_shape[0]);
  if (!offsets.ok()) return offsets.status();
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  for (size_t row = 0; row + 1 < offsets->size(); ++row) {
    for (int64_t i = (*offsets)[row]; i < (*offsets)[row + 1]; ++i)
      result->data<int64_t>()[i] = static_cast<int64_t>(row);
  }
  return result;
}

absl::StatusOr<Tensor> Eval_segment_sum(const EvalContext& c) {
  return ReduceRows(c, [](const auto* x, int64_t count, int64_t stride) {
    using T = std::decay_t<decltype(*x)>;
    AccumulatorOf<T> total{0};
    if (std::is_floating_point_v<T> && count > 0) total = -total;
    for (int64_t i = 0; i < count; ++i) total += static_cast<AccumulatorOf<T>>(x[i * stride]);
    return static_cast<T>(total);
  });
}

absl::StatusOr<Tensor> Eval_segment_max(const EvalContext& c) {
  return ReduceRows(c, [&](const auto* x, int64_t count, int64_t stride) {
    using T = std::decay_t<decltype(*x)>;
    if (count == 0) return c.node->attrs.value ? Convert<T>(*c.node->attrs.value) : Least<T>();
    T best = x[0];
    for (int64_t i = 1; i < count; ++i) best = Maximum(best, x[i * stride]);
    return best;
  });
}

absl::StatusOr<Tensor> Eval_to_padded(const EvalContext& c) {
  const Tensor& x = c.operands[0];
  absl::StatusOr<std::vector<int64_t>> offsets = OffsetsOf(c, x.shape()[0]);
  if (!offsets.ok()) return offsets.status();
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const int64_t width = Volume(x.shape(), 1), room = c.result_shape[1];
  const double fill = c.node->attrs.value.value_or(0);
  absl::Status fits = absl::OkStatus();
  VisitType(x.dtype(), [&](auto type) {
    using T = decltype(type);
    T* to = result->data<T>();
    for (size_t row = 0; row + 1 < offsets->size(); ++row) {
      const int64_t begin = (*offsets)[row], count = (*offsets)[row + 1] - begin;
      if (count > room) {
        fits = InvalidArgument(
            c, absl::StrCat("row ", row, " has ", count, " elements, wanted at most ", room));
        return;
      }
      const T* from = x.data<T>() + begin * width;
      for (int64_t i = 0; i < room * width; ++i)
        *to++ = i < count * width ? from[i] : Convert<T>(fill);
    }
  });
  if (!fits.ok()) return fits;
  return result;
}

}  // namespace lathe::ir
