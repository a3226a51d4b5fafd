// broadcast, reshape, permute, slice, pad, concat: elements move, none changes.
#include <cstring>

#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

absl::StatusOr<Tensor> Eval_broadcast(const EvalContext& c) {
  const Tensor& x = c.operands[0];
  std::vector<int64_t> strides(c.result_shape.size(), 0);
  for (size_t i = 0; i < x.shape().size(); ++i) {
    const size_t axis = static_cast<size_t>(c.node->attrs.axes[i]);
    const int64_t found = x.shape()[i], wanted = c.result_shape[axis];
    if (found != 1 && found != wanted) {
      return InvalidArgument(
          c, absl::StrCat("axis ", i, " of ", ShapeText(x.shape()), " is ", found, ", wanted 1 or ",
                          wanted, " to become axis ", axis, " of ", ShapeText(c.result_shape)));
    }
    strides[axis] = found == 1 ? 0 : x.strides()[i];
  }
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (result.ok()) CopyStrided(x, strides, 0, &*result);
  return result;
}

absl::StatusOr<Tensor> Eval_reshape(const EvalContext& c) {
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const Tensor& x = c.operands[0];
  if (x.num_elements() != result->num_elements()) {
    return InvalidArgument(
        c, absl::StrCat(ShapeText(x.shape()), " has ", x.num_elements(), " elements, ",
                        ShapeText(c.result_shape), " wants ", result->num_elements()));
  }
  if (x.num_elements() > 0) std::memcpy(result->raw(), x.raw(), static_cast<size_t>(x.num_bytes()));
  return result;
}

absl::StatusOr<Tensor> Eval_permute(const EvalContext& c) {
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  std::vector<int64_t> strides;
  for (int64_t axis : c.node->attrs.axes)
    strides.push_back(c.operands[0].strides()[static_cast<size_t>(axis)]);
  CopyStrided(c.operands[0], strides, 0, &*result);
  return result;
}

absl::StatusOr<Tensor> Eval_slice(const EvalContext& c) {
  const Tensor& x = c.operands[0];
  absl::StatusOr<std::vector<int64_t>> starts = EvaluateDims(c, c.node->attrs.starts);
  if (!starts.ok()) return starts.status();
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok() || result->num_elements() == 0) return result;
  std::vector<int64_t> strides;
  int64_t base = 0;
  for (size_t i = 0; i < x.shape().size(); ++i) {
    const int64_t first = (*starts)[i], step = c.node->attrs.steps[i];
    const int64_t last = first + (c.result_shape[i] - 1) * step;
    if (first < 0 || first >= x.shape()[i] || last < 0 || last >= x.shape()[i]) {
      return InvalidArgument(c, absl::StrCat("axis ", i, " is read from ", first, " to ", last,
                                             ", wanted within 0..", x.shape()[i] - 1));
    }
    strides.push_back(x.strides()[i] * step);
    base += x.strides()[i] * first;
  }
  CopyStrided(x, strides, base, &*result);
  return result;
}

absl::StatusOr<Tensor> Eval_pad(const EvalContext& c) {
  const Tensor& x = c.operands[0];
  absl::StatusOr<std::vector<int64_t>> low = EvaluateDims(c, c.node->attrs.low);
  if (!low.ok()) return low.status();
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  for (size_t i = 0; i < x.shape().size(); ++i) {
    if ((*low)[i] < 0 || (*low)[i] + x.shape()[i] > c.result_shape[i]) {
      return InvalidArgument(
          c, absl::StrCat("axis ", i, " of extent ", x.shape()[i], " put at ", (*low)[i],
                          " passes the result's ", c.result_shape[i]));
    }
  }
  int64_t base = 0;
  for (size_t i = 0; i < x.shape().size(); ++i) base += (*low)[i] * result->strides()[i];
  const double fill = c.node->attrs.value.value_or(0);
  const int64_t count = result->num_elements();
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    T* to = result->data<T>();
    const T* from = x.data<T>();
    const T value = Convert<T>(fill);
    for (int64_t i = 0; i < count; ++i) to[i] = value;
    ForEachOffset(x.shape(), result->strides(), base,
                  [&](int64_t offset) { to[offset] = *from++; });
  });
  return result;
}

absl::StatusOr<Tensor> Eval_concat(const EvalContext& c) {
  const size_t axis = static_cast<size_t>(c.node->attrs.axis.value_or(0));
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  int64_t at = 0;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const Tensor& x = c.operands[i];
    std::vector<int64_t> wanted = c.result_shape;
    wanted[axis] = x.shape()[axis];
    if (x.shape() != wanted) {
      return InvalidArgument(c, absl::StrCat("operand ", i, " has shape ", ShapeText(x.shape()),
                                             ", wanted ", ShapeText(wanted)));
    }
    if (at + x.shape()[axis] > c.result_shape[axis]) break;  // reported below
    const size_t size = static_cast<size_t>(SizeOf(x.dtype()));
    const char* from = x.data<char>();
    char* to = result->data<char>();
    ForEachOffset(x.shape(), result->strides(), at * result->strides()[axis], [&](int64_t offset) {
      std::memcpy(to + offset * static_cast<int64_t>(size), from, size);
      from += size;
    });
    at += x.shape()[axis];
  }
  if (at != c.result_shape[axis]) {
    return InvalidArgument(
        c, absl::StrCat("operands don't fill axis ", axis, " of ", ShapeText(c.result_shape)));
  }
  return result;
}

}  // namespace lathe::ir
