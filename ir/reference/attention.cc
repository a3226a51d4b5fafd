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

double Element(const Tensor& t, int64_t at) {
  return t.dtype() == DType::kF64 ? t.data<double>()[at] : double{t.data<float>()[at]};
}

class Attention {
 public:
  Attention(const EvalContext& c, Sizes sizes) : c_(c), n_(sizes) {
    scale_ = c.node->attrs.scale.value_or(1 / std::sqrt(static_cast<double>(n_.depth)));
  }

  // Strides over result axes [..., S, T] of the mask, if there is one.
  absl::Status BindMask(absl::Span<const int64_t> shape) {
    if (c_.operands.size() < 4) return absl::OkStatus();
    absl::StatusOr<std::vector<int64_t>> strides = BroadcastStrides(c_, c_.operands[3], shape);
    if (!strides.ok()) return strides.status();
    mask_query_stride_ = (*strides)[shape.size() - 2];
    mask_key_stride_ = (*strides)[shape.size() - 1];
    strides->resize(shape.size() - 2);
    mask_at_ = Offsets(shape.first(shape.size() - 2), *strides);
    return absl::OkStatus();
  }

  // One query of one batch entry; offsets are of its row in q and its matrices in k and v.
  void Row(int64_t batch, int64_t query, int64_t q, int64_t k, int64_t v, Tensor* result) {
    Scores(batch, query, q, k);
    double peak = -std::numeric_limits<double>::infinity();
    bool nan = false;
    for (double s : scores_) {
      nan |= s != s;
      peak = std::max(peak, s);
    }
    const double inf = std::numeric_limits<double>::infinity();
    const bool empty = !nan && peak == -inf;
    double total = 0;
    for (double& s : scores_) {
      s = std::exp(s - peak);
      total += s;
    }
    for (int64_t e = 0; e < n_.width; ++e) {
      double value = 0;
      if (empty) {
        if (c_.node->attrs.empty_row_nan) value = std::numeric_limits<double>::quiet_NaN();
      } else {
        for (size_t j = 0; j < keys_.size(); ++j)
          value += scores_[j] * Element(c_.operands[2], v + keys_[j] * n_.width + e);
        value /= total;
      }
      Store(result, (batch * n_.queries + query) * n_.width + e, value);
    }
  }

 private:
  // Fills keys_ with the visible keys and scores_ with their scores.
  void Scores(int64_t batch, int64_t query, int64_t q, int64_t k) {
    keys_.clear();
    scores_.clear();
    const bool masked = c_.operands.size() == 4;
    const int64_t last = c_.node->attrs.causal ? query + n_.keys - n_.queries : n_.keys - 1;
    for (int64_t j = 0; j < n_.keys && j <= last; ++j) {
      double bias = 0;
      if (masked) {
        const Tensor& mask = c_.operands[3];
        const int64_t at = mask_at_[static_cast<size_t>(batch)] + query * mask_query_stride_ +
                           j * mask_key_stride_;
        if (mask.dtype() == DType::kBool) {
          if (mask.data<uint8_t>()[at] == 0) continue;
        } else {
          bias = Element(mask, at);
        }
      }
      double dot = 0;
      for (int64_t d = 0; d < n_.depth; ++d)
        dot += Element(c_.operands[0], q + d) * Element(c_.operands[1], k + j * n_.depth + d);
      keys_.push_back(j);
      scores_.push_back((n_.depth == 0 ? 0 : scale_ * dot) + bias);
    }
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
  double scale_;
  std::vector<int64_t> mask_at_;  // where each batch entry's mask starts
  int64_t mask_query_stride_ = 0, mask_key_stride_ = 0;
  std::vector<int64_t> keys_;
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
  for (size_t b = 0; b < offsets[0].size(); ++b) {
    for (int64_t i = 0; i < sizes.queries; ++i) {
      attention.Row(static_cast<int64_t>(b), i, offsets[0][b] + i * sizes.depth, offsets[1][b],
                    offsets[2][b], &*result);
    }
  }
  return result;
}

}  // namespace lathe::ir
