// check_index, scatter, argsort, cumsum, cumprod: element by element, in the order that the op
// says.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

absl::Status CheckRank1(const EvalContext& c) {
  for (const Tensor& t : c.operands) {
    if (t.shape().size() != 1)
      return InvalidArgument(
          c, absl::StrCat("an operand has shape ", ShapeText(t.shape()), ", wanted rank 1"));
  }
  return absl::OkStatus();
}

template <typename T>
T Combine(const std::string& reduction, T old, T update) {
  if (reduction == "max") return Maximum(old, update);
  if (reduction == "min") return Minimum(old, update);
  if constexpr (!std::is_same_v<T, Bool>) {
    // In the element type itself; integers wrap.
    using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    if (reduction == "add")
      return static_cast<T>(static_cast<Wide>(old) + static_cast<Wide>(update));
    if (reduction == "mul")
      return static_cast<T>(static_cast<Wide>(old) * static_cast<Wide>(update));
  }
  return update;
}

// Whether a comes before b in ascending order, NaN last.
template <typename T>
bool Before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b != b) return a == a;
  }
  return a < b;
}

absl::StatusOr<Tensor> Prefix(const EvalContext& c, bool product) {
  const Tensor& x = c.operands[0];
  const Attrs& a = c.node->attrs;
  const size_t axis = static_cast<size_t>(a.axis.value_or(0));
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok() || result->num_elements() == 0) return result;
  const int64_t extent = x.shape()[axis], stride = x.strides()[axis];
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    const T* from = x.data<T>();
    T* to = result->data<T>();
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      if (IndexOf(i, x.shape())[axis] != 0) continue;  // one turn a line along the axis
      // -0 so that the first sum is the first element itself.
      T sum = product ? T(1) : a.exclusive ? T(0) : static_cast<T>(-0.0);
      for (int64_t k = 0; k < extent; ++k) {
        const int64_t at = i + (a.reverse ? extent - 1 - k : k) * stride;
        const T next = Combine<T>(product ? "mul" : "add", sum, from[at]);
        to[at] = a.exclusive ? sum : next;
        sum = next;
      }
    }
  });
  return result;
}

}  // namespace

absl::StatusOr<Tensor> Eval_check_index(const EvalContext& c) {
  const Tensor& x = c.operands[0];
  absl::StatusOr<std::vector<int64_t>> bound = EvaluateDims(c, {*c.node->attrs.dim});
  if (!bound.ok()) return bound.status();
  const int64_t n = (*bound)[0];
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  absl::Status status;
  VisitType(x.dtype(), [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < x.num_elements() && status.ok(); ++i) {
      const int64_t found = static_cast<int64_t>(x.data<T>()[i]);
      if (found < -n || found >= n) {
        status =
            Error(c, absl::StatusCode::kOutOfRange,
                  absl::StrCat("index ", found, " at position ", ShapeText(IndexOf(i, x.shape())),
                               " is outside of ", n, " elements"));
      }
      result->data<T>()[i] = static_cast<T>(found < 0 ? found + n : found);
    }
  });
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<Tensor> Eval_scatter(const EvalContext& c) {
  if (absl::Status s = CheckRank1(c); !s.ok()) return s;
  const Tensor &data = c.operands[0], &indices = c.operands[1], &updates = c.operands[2];
  if (indices.dtype() != i64 || indices.shape() != updates.shape()) {
    return InvalidArgument(
        c, absl::StrCat("indices are ", Name(indices.dtype()), ShapeText(indices.shape()),
                        ", wanted i64", ShapeText(updates.shape())));
  }
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  if (data.num_bytes() > 0)
    std::memcpy(result->raw(), data.raw(), static_cast<size_t>(data.num_bytes()));
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t at = indices.data<int64_t>()[i];
      if (at < 0 || at >= data.num_elements()) continue;
      T& element = result->data<T>()[at];
      element = Combine<T>(c.node->attrs.reduction, element, updates.data<T>()[i]);
    }
  });
  return result;
}

absl::StatusOr<Tensor> Eval_argsort(const EvalContext& c) {
  const Tensor& x = c.operands[0];
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok() || result->num_elements() == 0) return result;
  const int64_t length = x.shape().back();
  const bool descending = c.node->attrs.descending;
  VisitType(x.dtype(), [&](auto type) {
    using T = decltype(type);
    for (int64_t first = 0; first < x.num_elements(); first += length) {
      const T* row = x.data<T>() + first;
      int64_t* at = result->data<int64_t>() + first;
      std::iota(at, at + length, int64_t{0});
      std::stable_sort(at, at + length, [&](int64_t i, int64_t j) {
        return descending ? Before(row[j], row[i]) : Before(row[i], row[j]);
      });
    }
  });
  return result;
}

absl::StatusOr<Tensor> Eval_cumsum(const EvalContext& c) { return Prefix(c, false); }
absl::StatusOr<Tensor> Eval_cumprod(const EvalContext& c) { return Prefix(c, true); }

}  // namespace lathe::ir
