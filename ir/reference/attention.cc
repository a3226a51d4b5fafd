// attention(q [..., S, D], k [..., T, D], v [..., T, E], mask?): softmax(scale * q.k + mask) v, row
// by row in float64, rounded once. A hidden key takes no part at all, not even with a NaN. Leading
// axes broadcast from the right.
#include <cmath>
#include <limits>

#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

struct Sizes {
  int64_t queries, keys, depth, width;  // S, T, D, E
};

std::vector<double> Widen(const Tensor& t) {
  std::vector<double> wide(static_cast<size_t>(t.num_elements()));
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = t.dtype() == DType::kF64 ? t.data<double>()[i] : double{t.data<float>()[i]};
  return wide;
}

class Attention {
 public:
  Attention(const EvalContext& c, Sizes sizes)
      : c_(c),
        n_(sizes),
        q_(Widen(c.operands[0])),
        k_(Widen(c.operands[1])),
        v_(Widen(c.operands[2])) {
    scale_ = c.node->attrs.scale.value_or(1 / std::sqrt(static_cast<double>(n_.depth)));
  }

  // Strides over result axes [..., S, T] of the mask, if there is one.
  absl::Status BindMask(absl::Span<const int64_t> shape) {
    if (c_.operands.size() < 4) return absl::OkStatus();
    mask_ = &c_.operands[3];
    if (mask_->dtype() != DType::kBool) bias_ = Widen(*mask_);
    absl::StatusOr<std::vector<int64_t>> strides = BroadcastStrides(c_, *mask_, shape);
    if (!strides.ok()) return strides.status();
    mask_query_stride_ = (*strides)[shape.size() - 2];
    mask_key_stride_ = (*strides)[shape.size() - 1];
    strides->resize(shape.size() - 2);
    mask_at_ = Offsets(shape.first(shape.size() - 2), *strides);
    return absl::OkStatus();
  }

  // All queries of one batch entry; offsets are of its matrices in q, k and v.
  void Entry(int64_t batch, int64_t q, int64_t k, int64_t v, Tensor* result) {
    for (int64_t i = 0; i < n_.queries; ++i) {
      Scores(batch, i, q_.data() + q + i * n_.depth, k_.data() + k);
      const std::vector<double> row = Average(v_.data() + v);
      for (int64_t e = 0; e < n_.width; ++e)
        Store(result, (batch * n_.queries + i) * n_.width + e, row[static_cast<size_t>(e)]);
    }
  }

 private:
  // Fills visible_ with the keys that the query sees and scores_ with their scores.
  void Scores(int64_t batch, int64_t query, const double* q, const double* k) {
    visible_.clear();
    scores_.clear();
    const int64_t last = c_.node->attrs.causal ? query + n_.keys - n_.queries : n_.keys - 1;
    for (int64_t j = 0; j < n_.keys && j <= last; ++j) {
      double bias = 0;
      if (mask_ != nullptr) {
        const int64_t at = mask_at_[static_cast<size_t>(batch)] + query * mask_query_stride_ +
                           j * mask_key_stride_;
        if (mask_->dtype() == DType::kBool) {
          if (mask_->data<uint8_t>()[at] == 0) continue;
        } else {
          bias = bias_[static_cast<size_t>(at)];
          if (bias == -std::numeric_limits<double>::infinity()) continue;
        }
      }
      double dot = 0;
      for (int64_t d = 0; d < n_.depth; ++d) dot += q[d] * k[j * n_.depth + d];
      visible_.push_back(j);
      scores_.push_back(InRange(InRange(n_.depth == 0 ? 0 : scale_ * dot) + bias));
    }
  }

  // Infinite where the operands' type has nothing as large.
  double InRange(double score) const {
    if (c_.operands[0].dtype() == DType::kF64) return score;
    return std::isinf(static_cast<float>(score)) ? std::copysign(HUGE_VAL, score) : score;
  }

  // The rows of v, weighted by the softmax of the scores.
  std::vector<double> Average(const double* v) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::vector<double> row(static_cast<size_t>(n_.width), 0);
    double peak = -kInfinity;
    bool nan = false;
    for (double s : scores_) {
      nan |= s != s;
      peak = std::max(peak, s);
    }
    if (!nan && peak == -kInfinity) {
      if (c_.node->attrs.empty_row_nan && n_.keys > 0)  // over no keys at all: 0
        std::fill(row.begin(), row.end(), std::numeric_limits<double>::quiet_NaN());
      return row;
    }
    double total = 0;
    for (size_t j = 0; j < scores_.size(); ++j) {
      const double weight = std::exp(scores_[j] - peak);
      total += weight;
      for (size_t e = 0; e < row.size(); ++e)
        row[e] += weight * v[visible_[j] * n_.width + static_cast<int64_t>(e)];
    }
    for (double& value : row) value /= total;
    return row;
  }

  static void Store(Tensor* result, int64_t at, double value) {
    if (result->dtype() == DType::kF64) {
      result->data<double>()[at] = value;
    } else {
      result->data<float>()[at] = static_cast<float>(value);
    }
  }

  const EvalContext& c_;
  const Sizes n_;
  const std::vector<double> q_, k_, v_;
  double scale_;
  const Tensor* mask_ = nullptr;
  std::vector<double> bias_;      // of a mask that is added
  std::vector<int64_t> mask_at_;  // where each batch entry's mask starts
  int64_t mask_query_stride_ = 0, mask_key_stride_ = 0;
  std::vector<int64_t> visible_;
  std::vector<double> scores_;
};

}  // namespace

absl::StatusOr<Tensor> Eval_attention(const EvalContext& c) {
  const Tensor &q = c.operands[0], &k = c.operands[1], &v = c.operands[2];
  const size_t rank = c.result_shape.size();
  if (rank < 2 || q.rank() < 2 || k.rank() < 2 || v.rank() < 2)
    return InvalidArgument(c, "operands of rank 2 or more wanted");
  const auto at = [](const Tensor& t, size_t from_end) {
    return t.shape()[t.shape().size() - from_end];
  };
  const Sizes sizes{at(q, 2), at(k, 2), at(q, 1), at(v, 1)};
  if (at(k, 1) != sizes.depth || at(v, 2) != sizes.keys ||
      c.result_shape[rank - 2] != sizes.queries || c.result_shape[rank - 1] != sizes.width) {
    return InvalidArgument(
        c, absl::StrCat("q ", ShapeText(q.shape()), ", k ", ShapeText(k.shape()), ", v ",
                        ShapeText(v.shape()), " don't give ", ShapeText(c.result_shape)));
  }
  const absl::Span<const int64_t> batch(c.result_shape.data(), rank - 2);
  std::vector<int64_t> offsets[3];
  for (size_t i = 0; i < 3; ++i) {
    absl::StatusOr<std::vector<int64_t>> strides = BroadcastStrides(c, c.operands[i], batch, 2);
    if (!strides.ok()) return strides.status();
    offsets[i] = Offsets(batch, *strides);
  }
  Attention attention(c, sizes);
  std::vector<int64_t> mask_shape(batch.begin(), batch.end());
  mask_shape.insert(mask_shape.end(), {sizes.queries, sizes.keys});
  absl::Status bound = attention.BindMask(mask_shape);
  if (!bound.ok()) return bound;
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok() || result->num_elements() == 0) return result;
  for (size_t b = 0; b < offsets[0].size(); ++b)
    attention.Entry(static_cast<int64_t>(b), offsets[0][b], offsets[1][b], offsets[2][b], &*result);
  return result;
}

}  // namespace lathe::ir
