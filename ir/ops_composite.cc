// Rows of the composites: named groups of primitives. `expand` appends the primitives that define
// the composite; the fused kernels compute exactly these.
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/op_rows.h"
#include "ir/shape_rules.h"
#include "ir/volumes.h"

namespace lathe::ir {
namespace {

// Appends nodes until one fails; then every further call gives kNoValue and the error stays.
class Chain {
 public:
  explicit Chain(Builder& b) : b_(b) {}

  ValueId operator()(Op op, std::vector<ValueId> operands, Attrs attrs = {}) {
    return Keep([&] { return b_.Create(op, std::move(operands), std::move(attrs)); });
  }
  // Binary op after broadcasting `y` to the shape of `x`.
  ValueId With(Op op, ValueId x, ValueId y) {
    const ValueId wide = Keep([&] { return b_.BroadcastTo(y, ShapeOf(x)); });
    return (*this)(op, {x, wide});
  }
  // scalar / y.
  ValueId Over(ValueId scalar, ValueId y) {
    const ValueId wide = Keep([&] { return b_.BroadcastTo(scalar, ShapeOf(y)); });
    return (*this)(Op::k_div, {wide, y});
  }
  ValueId Scalar(DType dtype, double value) {
    return Keep([&] { return b_.ScalarConstant(dtype, value); });
  }
  // The number of elements along `axes` of `x`, as a scalar of x's type.
  ValueId Count(ValueId x, const std::vector<int64_t>& axes) {
    if (!status_.ok()) return kNoValue;
    Dim count = 1;
    for (int64_t axis : axes) count *= ShapeOf(x)[axis];
    const DType dtype = b_.graph()->type(x).dtype;
    if (count.is_constant()) return Scalar(dtype, static_cast<double>(count.constant()));
    return (*this)(Op::k_cast, {(*this)(Op::k_size, {}, {.dim = count})}, {.dtype = dtype});
  }
  absl::StatusOr<ValueId> Result(ValueId v) const {
    if (!status_.ok()) return status_;
    return v;
  }

 private:
  Shape ShapeOf(ValueId v) const { return status_.ok() ? b_.graph()->type(v).shape : Shape(); }
  template <typename Make>
  ValueId Keep(Make make) {
    if (!status_.ok()) return kNoValue;
    absl::StatusOr<ValueId> v = make();
    if (v.ok()) return *v;
    status_ = v.status();
    return kNoValue;
  }

  Builder& b_;
  absl::Status status_;
};

int64_t LastAxis(const Builder& b, ValueId v) { return b.graph()->type(v).rank() - 1; }

// -- mean

absl::Status InferMean(InferContext& c) {
  if (IsInt(c.operand(0).dtype)) {
    return WithHint(c.Error(absl::StrCat("the mean of ", Name(c.operand(0).dtype),
                                         " elements is not defined; cast them first, as in "
                                         "cast(x, dtype=f32)")),
                    {Hint::Kind::kWrap, "cast(", ", dtype=f32)", 0});
  }
  if (absl::Status s = CheckDTypes(c); !s.ok()) return s;
  const ValueType& x = c.operand(0);
  Attrs& a = c.node->attrs;
  if (absl::Status s = NormalizeAxes(c, &a.axes, x.rank()); !s.ok()) return s;
  c.node->type = {x.dtype, ReducedShape(x.shape, a.axes, a.keep_dims)};
  return absl::OkStatus();
}

absl::StatusOr<ValueId> ExpandMean(Builder& b, const Node& n) {
  const ValueId x = n.operands[0];
  const Attrs sums{.axes = n.attrs.axes, .keep_dims = n.attrs.keep_dims};
  Chain chain(b);
  const ValueId count = chain.Count(x, sums.axes);
  return chain.Result(chain.With(Op::k_div, chain(Op::k_sum, {x}, sums), count));
}

// -- softmax

absl::Status InferSoftmax(InferContext& c) {
  if (absl::Status s = CheckDTypes(c); !s.ok()) return s;
  c.node->type = c.operand(0);
  return NormalizeAxis(c, &*c.node->attrs.axis, c.node->type.rank());
}

absl::StatusOr<ValueId> ExpandSoftmax(Builder& b, const Node& n) {
  const ValueId x = n.operands[0];
  const std::vector<int64_t> axes = {*n.attrs.axis};
  // A row without elements has nothing to subtract from: any maximum will do.
  constexpr double kLeast = -std::numeric_limits<double>::infinity();
  Chain chain(b);
  const ValueId largest = chain(Op::k_max, {x}, {.axes = axes, .value = kLeast, .keep_dims = true});
  const ValueId powers = chain(Op::k_exp, {chain.With(Op::k_sub, x, largest)});
  const ValueId total = chain(Op::k_sum, {powers}, {.axes = axes, .keep_dims = true});
  // One division a row.
  const ValueId inverse = chain.Over(chain.Scalar(n.type.dtype, 1), total);
  return chain.Result(chain.With(Op::k_mul, powers, inverse));
}

// -- norms

absl::Status InferNorm(InferContext& c) {
  if (absl::Status s = CheckDTypes(c); !s.ok()) return s;
  const ValueType& x = c.operand(0);
  if (x.rank() == 0) return c.Error("operand 0 is a scalar; wanted rank 1 or more");
  for (size_t i = 1; i < c.node->operands.size(); ++i) {
    if (c.operand(i).rank() == 1) continue;
    return c.Error(absl::StrCat("operand ", i, " is ", c.operand(i).ToString(), "; wanted [",
                                x.shape.back().ToString(), "], the last axis of ", x.ToString()));
  }
  c.node->type = x;
  return absl::OkStatus();
}

absl::Status RequireNorm(InferContext& c) {
  const Shape last = {c.operand(0).shape.back()};
  for (size_t i = 1; i < c.node->operands.size(); ++i) {
    const std::string what = absl::StrCat("operand ", i, " has the extent of the last axis of ",
                                          c.operand(0).ToString());
    if (absl::Status s = RequireEqualShapes(c, c.operand(i).shape, last, what); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// 1 / sqrt(mean(v * v) + epsilon) over the last axis, which is kept.
ValueId InverseRms(Builder& b, Chain& chain, ValueId v, double epsilon) {
  const std::vector<int64_t> axes = {LastAxis(b, v)};
  const ValueId squares =
      chain(Op::k_sum, {chain(Op::k_mul, {v, v})}, {.axes = axes, .keep_dims = true});
  const ValueId mean = chain.With(Op::k_div, squares, chain.Count(v, axes));
  const DType dtype = b.graph()->type(v).dtype;
  return chain(Op::k_rsqrt, {chain.With(Op::k_add, mean, chain.Scalar(dtype, epsilon))});
}

absl::StatusOr<ValueId> ExpandLayerNorm(Builder& b, const Node& n) {
  const ValueId x = n.operands[0], gamma = n.operands[1], beta = n.operands[2];
  const double epsilon = *n.attrs.epsilon;
  const std::vector<int64_t> axes = {LastAxis(b, x)};
  Chain chain(b);
  const ValueId sum = chain(Op::k_sum, {x}, {.axes = axes, .keep_dims = true});
  const ValueId mean = chain.With(Op::k_div, sum, chain.Count(x, axes));
  const ValueId centred = chain.With(Op::k_sub, x, mean);
  if (absl::StatusOr<ValueId> v = chain.Result(centred); !v.ok()) return v;
  const ValueId unit = chain.With(Op::k_mul, centred, InverseRms(b, chain, centred, epsilon));
  return chain.Result(chain.With(Op::k_add, chain.With(Op::k_mul, unit, gamma), beta));
}

absl::StatusOr<ValueId> ExpandRmsNorm(Builder& b, const Node& n) {
  const ValueId x = n.operands[0], gamma = n.operands[1];
  Chain chain(b);
  const ValueId unit = chain.With(Op::k_mul, x, InverseRms(b, chain, x, *n.attrs.epsilon));
  return chain.Result(chain.With(Op::k_mul, unit, gamma));
}

// -- embedding

absl::Status InferEmbedding(InferContext& c) {
  const ValueType& table = c.operand(0);
  if (table.rank() != 2) {
    return c.Error(
        absl::StrCat("operand 0, the table, is ", table.ToString(), "; wanted [rows, width]"));
  }
  if (absl::Status s = CheckOperandIs(c, 1, kIndexTypes, "operand 1, the ids,"); !s.ok()) return s;
  c.node->type = {table.dtype, c.operand(1).shape};
  c.node->type.shape.push_back(table.shape[1]);
  return absl::OkStatus();
}

absl::StatusOr<ValueId> ExpandEmbedding(Builder& b, const Node& n) {
  return b.Create(Op::k_gather, n.operands, {.axis = 0});
}

}  // namespace

std::vector<OpInfo> CompositeOps() {
  std::vector<OpInfo> ops = {
      {.op = Op::k_mean,
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {{"axes", false}, {"keep_dims", false}},
       .infer = InferMean,
       .expand = ExpandMean,
       .doc = "Sum over `axes` (all, if none is named) divided by their count; NaN over nothing.",
       .example = "y = mean(x, axes=[1])",
       .bound = "(n/32 + 7) * eps * sum |terms| / n"},
      {.op = Op::k_softmax,
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {{"axis"}},
       .infer = InferSoftmax,
       .expand = ExpandSoftmax,
       .doc = "exp(x - max) / sum(exp(x - max)) along `axis`; NaN for a row of -inf.",
       .example = "y = softmax(x, axis=1)",
       .bound = "(n/32 + 16 + |x - max|) * eps * result"},
      {.op = Op::k_layer_norm,
       .min_operands = 3,
       .max_operands = 3,
       .attrs = {{"epsilon"}},
       .infer = InferNorm,
       .require = RequireNorm,
       .expand = ExpandLayerNorm,
       .doc =
           "(x - mean) * rsqrt(variance + epsilon) * gamma + beta over the last axis; the variance "
           "is the mean square of x - mean.",
       .example = "y = layer_norm(x, w4, w4, epsilon=1e-05)",
       .bound = "of its expansion"},
      {.op = Op::k_rms_norm,
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {{"epsilon"}},
       .infer = InferNorm,
       .require = RequireNorm,
       .expand = ExpandRmsNorm,
       .doc = "x * rsqrt(mean(x * x) + epsilon) * gamma over the last axis.",
       .example = "y = rms_norm(x, w4, epsilon=1e-05)",
       .bound = "of its expansion"},
      {.op = Op::k_embedding,
       .min_operands = 2,
       .max_operands = 2,
       .traits = kMayFail,
       .infer = InferEmbedding,
       .expand = ExpandEmbedding,
       .doc = "Rows of a table [rows, width] at ids of any shape: gather along axis 0.",
       .example = "y = embedding(x, k)",
       .bound = "exact"},
  };
  for (OpInfo& op : ops) {
    op.emission = Emission::kComposite;
    op.dtypes = op.op == Op::k_embedding ? kAllTypes : kFloatTypes;
    if (op.op != Op::k_embedding) op.traits |= kFloatOnly;
  }
  return ops;
}

}  // namespace lathe::ir
