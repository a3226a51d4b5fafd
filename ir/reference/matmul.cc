// matmul: [..., M, K] x [..., K, N] with batch axes broadcast from the right. Products are summed
// in ascending K in float64 (long double for f64) and rounded once; integers wrap. K = 0 gives 0.
#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

template <typename T, typename Sum>
void Product(const T* a, const T* b, T* y, int64_t m, int64_t k, int64_t n) {
  std::vector<Sum> row(static_cast<size_t>(n));
  for (int64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), Sum{0});
    for (int64_t p = 0; p < k; ++p) {
      const Sum factor = static_cast<Sum>(a[i * k + p]);
      const T* b_row = b + p * n;
      for (int64_t j = 0; j < n; ++j)
        row[static_cast<size_t>(j)] += factor * static_cast<Sum>(b_row[j]);
    }
    for (int64_t j = 0; j < n; ++j) y[i * n + j] = static_cast<T>(row[static_cast<size_t>(j)]);
  }
}

}  // namespace

absl::StatusOr<Tensor> Eval_matmul(const EvalContext& c) {
  const Tensor &a = c.operands[0], &b = c.operands[1];
  const size_t rank = c.result_shape.size();
  if (a.rank() < 2 || b.rank() < 2 || rank < 2) {
    return InvalidArgument(c, absl::StrCat("operands ", ShapeText(a.shape()), " and ",
                                           ShapeText(b.shape()), ", wanted rank 2 or more"));
  }
  const int64_t m = a.shape()[a.shape().size() - 2], k = a.shape().back();
  const int64_t n = b.shape().back();
  if (b.shape()[b.shape().size() - 2] != k || c.result_shape[rank - 2] != m ||
      c.result_shape[rank - 1] != n) {
    return InvalidArgument(c, absl::StrCat(ShapeText(a.shape()), " x ", ShapeText(b.shape()),
                                           " doesn't give ", ShapeText(c.result_shape)));
  }
  const absl::Span<const int64_t> batch(c.result_shape.data(), rank - 2);
  absl::StatusOr<std::vector<int64_t>> a_strides = BroadcastStrides(c, a, batch, 2);
  if (!a_strides.ok()) return a_strides.status();
  absl::StatusOr<std::vector<int64_t>> b_strides = BroadcastStrides(c, b, batch, 2);
  if (!b_strides.ok()) return b_strides.status();
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok() || result->num_elements() == 0) return result;
  const std::vector<int64_t> a_at = Offsets(batch, *a_strides), b_at = Offsets(batch, *b_strides);
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    using Sum = AccumulatorOf<T>;
    using NarrowSum = std::conditional_t<std::is_same_v<T, double>, double, Sum>;
    auto* const product =
        c.node->type.dtype != DType::kF64 ? &Product<T, NarrowSum> : &Product<T, Sum>;
    for (size_t i = 0; i < a_at.size(); ++i) {
      product(a.data<T>() + a_at[i], b.data<T>() + b_at[i],
              result->data<T>() + static_cast<int64_t>(i) * m * n, m, k, n);
    }
  });
  return result;
}

}  // namespace lathe::ir
