// sum, prod, max, min, all, any, argmax, argmin over any set of axes. Sums and products of f32 are
// held in float64 (of f64 in long double) and rounded once; those of integers wrap in their own
// type.
#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

// The operand as rows: where each row starts, and the offsets of its elements in row-major order
// over the reduced axes.
struct Rows {
  std::vector<int64_t> starts, elements;
};

Rows SplitRows(const Tensor& x, absl::Span<const int64_t> axes) {
  std::vector<int64_t> kept_shape, kept_strides, shape, strides;
  for (size_t i = 0; i < x.shape().size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    (reduced ? shape : kept_shape).push_back(x.shape()[i]);
    (reduced ? strides : kept_strides).push_back(x.strides()[i]);
  }
  return {Offsets(kept_shape, kept_strides), Offsets(shape, strides)};
}

// result[row] = fn(row's first element, element offsets), with T the operand's and R the result's
// type, which is T or i64. `needs_elements`: the op has no value for an empty row.
template <typename Fn>
absl::StatusOr<Tensor> Reduce(const EvalContext& c, absl::Span<const int64_t> axes,
                              bool needs_elements, Fn fn) {
  const Tensor& x = c.operands[0];
  const Rows rows = SplitRows(x, axes);
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  if (static_cast<int64_t>(rows.starts.size()) != result->num_elements()) {
    return InvalidArgument(c, absl::StrCat(ShapeText(x.shape()), " has ", rows.starts.size(),
                                           " rows, the result ", ShapeText(c.result_shape)));
  }
  if (needs_elements && rows.elements.empty() && !rows.starts.empty()) {
    return InvalidArgument(
        c, absl::StrCat("the reduced extent is 0 in ", ShapeText(x.shape()), " over axes ",
                        ShapeText(axes), ", wanted at least 1: an empty ",
                        std::string(Name(c.node->op)), " has no value"));
  }
  const auto reduce = [&](auto from, auto to) {
    using T = decltype(from);
    using R = decltype(to);
    for (size_t i = 0; i < rows.starts.size(); ++i) {
      result->data<R>()[i] =
          static_cast<R>(fn(x.data<T>() + rows.starts[i], absl::MakeSpan(rows.elements)));
    }
  };
  VisitType(x.dtype(), [&](auto from) {
    if (result->dtype() == x.dtype()) {
      reduce(from, from);
    } else {
      reduce(from, int64_t{});
    }
  });
  return result;
}

// max or min, by `better`; of an empty row the attribute `value`, if there is one.
template <typename Fn>
absl::StatusOr<Tensor> ReduceExtremum(const EvalContext& c, Fn better) {
  const std::optional<double>& of_nothing = c.node->attrs.value;
  return Reduce(c, c.node->attrs.axes, !of_nothing, [&](const auto* x, auto elements) {
    using T = std::decay_t<decltype(*x)>;
    if (elements.empty()) return Convert<T>(*of_nothing);
    T best = x[elements[0]];
    for (int64_t at : elements) best = better(best, x[at]);
    return best;
  });
}

// The first NaN if there is one, else the first element that no other beats; or the last of either.
template <typename Fn>
absl::StatusOr<Tensor> ArgExtremum(const EvalContext& c, Fn beats) {
  const int64_t axis = c.node->attrs.axis.value_or(0);
  const bool last = c.node->attrs.last;
  return Reduce(c, {axis}, true, [beats, last](const auto* x, auto elements) {
    size_t best = 0;
    for (size_t i = 1; i < elements.size(); ++i) {
      const auto value = x[elements[i]], champion = x[elements[best]];
      const bool is_nan = value != value, was_nan = champion != champion;
      const bool better = is_nan ? !was_nan : !was_nan && beats(value, champion);
      const bool equal = is_nan ? was_nan : value == champion;
      if (better || (last && equal)) best = i;
    }
    return static_cast<int64_t>(best);
  });
}

}  // namespace

absl::StatusOr<Tensor> Eval_sum(const EvalContext& c) {
  return Reduce(c, c.node->attrs.axes, false, [](const auto* x, auto elements) {
    using T = std::decay_t<decltype(*x)>;
    // A sum of -0 is -0, an empty one +0.
    AccumulatorOf<T> total{0};
    if (std::is_floating_point_v<T> && !elements.empty()) total = -total;
    for (int64_t at : elements) total += static_cast<AccumulatorOf<T>>(x[at]);
    return static_cast<T>(total);
  });
}

absl::StatusOr<Tensor> Eval_prod(const EvalContext& c) {
  return Reduce(c, c.node->attrs.axes, false, [](const auto* x, auto elements) {
    using T = std::decay_t<decltype(*x)>;
    AccumulatorOf<T> total{1};
    for (int64_t at : elements) total *= static_cast<AccumulatorOf<T>>(x[at]);
    return static_cast<T>(total);
  });
}

absl::StatusOr<Tensor> Eval_max(const EvalContext& c) {
  return ReduceExtremum(c, [](auto a, auto b) { return Maximum(a, b); });
}

absl::StatusOr<Tensor> Eval_min(const EvalContext& c) {
  return ReduceExtremum(c, [](auto a, auto b) { return Minimum(a, b); });
}

absl::StatusOr<Tensor> Eval_all(const EvalContext& c) {
  return Reduce(c, c.node->attrs.axes, false, [](const auto* x, auto elements) {
    return std::all_of(elements.begin(), elements.end(), [x](int64_t at) { return x[at] != 0; });
  });
}

absl::StatusOr<Tensor> Eval_any(const EvalContext& c) {
  return Reduce(c, c.node->attrs.axes, false, [](const auto* x, auto elements) {
    return std::any_of(elements.begin(), elements.end(), [x](int64_t at) { return x[at] != 0; });
  });
}

absl::StatusOr<Tensor> Eval_argmax(const EvalContext& c) {
  return ArgExtremum(c, [](auto a, auto b) { return a > b; });
}

absl::StatusOr<Tensor> Eval_argmin(const EvalContext& c) {
  return ArgExtremum(c, [](auto a, auto b) { return a < b; });
}

}  // namespace lathe::ir
