// Normalisations and softmax forms. f16 and bf16 are computed in f32 and rounded at the end:
// squares, and an epsilon, lie outside what f16 holds.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

std::vector<int> From(int first, int rank) {
  std::vector<int> axes;
  for (int i = first; i < rank; ++i) axes.push_back(i);
  return axes;
}

// Mean 0 and variance 1 over `axes`; the mean and 1 / deviation go out where they are wanted.
V Normalised(V x, const std::vector<int>& axes, double epsilon, V* mean = nullptr,
             V* inverse = nullptr) {
  V m = Reduce(ir::Op::k_mean, x, axes, true);
  V d = x - m;
  V inv = 1.0 / Sqrt(Reduce(ir::Op::k_mean, d * d, axes, true) + epsilon);
  if (mean != nullptr) *mean = m;
  if (inverse != nullptr) *inverse = inv;
  return d * inv;
}

// Over one axis; before opset 13 over all from `axis` on, joined.
Mapper OverAxis(const std::function<V(V x, int axis)>& f) {
  return [f](NodeContext& c) {
    V x = c.In(0);
    if (!c.ok()) return;
    if (x.rank() == 0) return c.Fail("X is a scalar; wanted an axis");
    const Shape shape = x.shape();
    if (c.opset() >= 13) return c.Out(0, f(x, c.Axis(c.Int("axis", -1), x.rank())));
    const int axis = c.Axis(c.Int("axis", 1), x.rank());
    V rows = ReshapeTo(x, {Product(shape, 0, axis), Product(shape, axis, x.rank())});
    c.Out(0, ReshapeTo(f(rows, 1), shape));
  };
}

V LogSoftmax(V x, int axis) {
  V wide = Cast(x, ComputeType(x.dtype()));
  V d = wide - Reduce(ir::Op::k_max, wide, {axis}, true);
  return Cast(d - Log(Reduce(ir::Op::k_sum, Exp(d), {axis}, true)), x.dtype());
}

V Hardmax(V x, int axis) {
  NodeContext& c = *x.c;
  ir::Attrs attrs;
  attrs.axis = axis;
  attrs.keep_dims = true;
  V first = c.Create(ir::Op::k_argmax, {x}, std::move(attrs));
  Shape along(static_cast<size_t>(x.rank()), 1);
  along[static_cast<size_t>(axis)] = x.dim(axis);
  return Cast(Bin(ir::Op::k_eq, c.Iota(along, axis), first), x.dtype());
}

void BatchNormalization(NodeContext& c) {
  V x = c.In(0), scale = c.In(1), bias = c.In(2), mean = c.In(3), var = c.In(4);
  if (c.Int("training_mode") != 0 || (c.opset() < 7 && c.Int("is_test") == 0))
    return c.Unsupported("training isn't supported");
  if (!c.ok()) return;
  if (x.rank() == 0) return c.Fail("X is a scalar; wanted [n, c, ..], or [n] of one channel");
  // One factor and one term a channel.
  const DType wide = x.dtype() == f64 ? f64 : ComputeType(var.dtype());
  V factor = Cast(scale, wide) / Sqrt(Cast(var, wide) + c.Float("epsilon", 1e-5));
  V term = Cast(bias, wide) - Cast(mean, wide) * factor;
  const auto over = [&](V v) {  // before opset 9 also one an element of a row, `spatial` being 0
    return c.opset() < 9 && v.rank() > 1 ? v : PerChannel(v, x.rank());
  };
  c.Out(0, Cast(Cast(x, wide) * over(factor) + over(term), x.dtype()));
}

void InstanceNormalization(NodeContext& c) {
  V x = c.In(0), scale = c.In(1), bias = c.In(2);
  if (!c.ok()) return;
  if (x.rank() < 2)
    return c.Fail(absl::StrCat("X is ", x.type().ToString(), "; wanted [n, c, ..]"));
  const DType wide = ComputeType(x.dtype());
  const auto per_channel = [&](V v) { return PerChannel(Cast(v, wide), x.rank()); };
  V y = Normalised(Cast(x, wide), From(2, x.rank()), c.Float("epsilon", 1e-5));
  c.Out(0, Cast(y * per_channel(scale) + per_channel(bias), x.dtype()));
}

void GroupNormalization(NodeContext& c) {
  V x = c.In(0), scale = c.In(1), bias = c.In(2);
  const int64_t groups = c.Int("num_groups");
  if (!c.ok()) return;
  if (groups < 1 || x.rank() < 2) return c.Fail("wanted [n, c, ..] and num_groups >= 1");
  const Shape shape = x.shape();
  Shape apart = {x.dim(0), groups, FloorDiv(x.dim(1), groups)};
  c.Require(Eq(lathe::Mod(x.dim(1), groups), 0), "the groups divide the channels");
  apart.insert(apart.end(), shape.begin() + 2, shape.end());
  const DType stash = c.DTypeAttr("stash_type", 1);
  if (!c.ok()) return;
  const DType type = x.dtype();
  V y = ReshapeTo(type == f64 ? x : Cast(x, stash), apart);
  y = Normalised(y, From(2, y.rank()), c.Float("epsilon", 1e-5));
  if (c.opset() < 21) {  // scale and bias of a group
    Shape per(static_cast<size_t>(y.rank()), 1);
    per[1] = groups;
    y = Cast(y, type) * ReshapeTo(scale, per) + ReshapeTo(bias, per);
    return c.Out(0, ReshapeTo(y, shape));
  }
  y = Cast(ReshapeTo(y, shape), type);
  c.Out(0, y * PerChannel(scale, y.rank()) + PerChannel(bias, y.rank()));
}

// Whether `v` [n] lies along an axis of extent d and isn't one number for all of it.
bool IsAlong(NodeContext& c, V v, Dim d) {
  if (!v.ok() || v.rank() != 1) return false;
  return c.Known(Eq(v.dim(0), d)) || c.Known(Ne(v.dim(0), 1));
}

void LayerNormalization(NodeContext& c) {
  V x = c.In(0), scale = c.In(1);
  if (!c.ok()) return;
  const int axis = c.Axis(c.Int("axis", -1), x.rank());
  const DType type = x.dtype();
  const DType stash = c.DTypeAttr("stash_type", 1);
  if (!c.ok()) return;
  const double epsilon = c.Float("epsilon", 1e-5);
  const V bias = c.Has(2) ? c.In(2) : V{&c};
  if (!c.ok()) return;
  const Dim last = x.dim(x.rank() - 1);
  if (axis == x.rank() - 1 && type == stash && !c.WantsOutput(1) && !c.WantsOutput(2) &&
      IsAlong(c, scale, last) && IsAlong(c, bias, last)) {
    ir::Attrs attrs;
    attrs.epsilon = epsilon;
    return c.Out(0, c.Create(ir::Op::k_layer_norm, {x, scale, bias}, std::move(attrs)));
  }
  V mean, inverse;
  V y =
      Normalised(type == f64 ? x : Cast(x, stash), From(axis, x.rank()), epsilon, &mean, &inverse);
  y = Cast(y, type) * scale;
  if (bias.ok()) y = y + bias;
  c.Out(0, y);
  c.Out(1, Cast(mean, stash));
  c.Out(2, Cast(inverse, stash));
}

// 1 / root mean square goes out where it is wanted.
V RmsNormalised(V x, const std::vector<int>& axes, double epsilon, V* inverse) {
  V root = Sqrt(Reduce(ir::Op::k_mean, x * x, axes, true) + epsilon);
  if (inverse != nullptr) *inverse = 1.0 / root;
  return x / root;
}

void RmsNormalization(NodeContext& c) {
  V x = c.In(0), scale = c.In(1);
  if (!c.ok()) return;
  const int axis = c.Axis(c.Int("axis", -1), x.rank());
  const DType stash = c.DTypeAttr("stash_type", 1);
  if (!c.ok()) return;
  V inverse;
  V y = RmsNormalised(x.dtype() == f64 ? x : Cast(x, stash), From(axis, x.rank()),
                      c.Float("epsilon", 1e-5), c.WantsOutput(1) ? &inverse : nullptr);
  c.Out(0, Cast(y, scale.dtype()) * scale);
  c.Out(1, inverse);  // of the simplified form
}

// (x + skip + bias) normalised; the sum is output 3.
Mapper SkipNorm(bool rms) {
  return [rms](NodeContext& c) {
    const DType type = c.In(0).dtype(), wide = ComputeType(type);
    const auto in = [&](int input) { return Cast(c.In(input), wide); };
    V gamma = in(2), sum = in(0) + in(1);
    const int bias = rms ? 3 : 4;
    if (c.Has(bias)) sum = sum + in(bias);
    if (!c.ok()) return;
    const std::vector<int> last = {sum.rank() - 1};
    const double epsilon = c.Float("epsilon", 1e-12);
    V mean, inverse;
    V y = rms ? RmsNormalised(sum, last, epsilon, c.WantsOutput(2) ? &inverse : nullptr)
              : Normalised(sum, last, epsilon, &mean, &inverse);
    y = y * gamma;
    if (!rms && c.Has(3)) y = y + in(3);
    c.Out(0, Cast(y, type));
    c.Out(1, mean);  // of the form with a mean
    c.Out(2, inverse);
    c.Out(3, Cast(sum, type));
  };
}

void LpNormalization(NodeContext& c) {
  V x = c.In(0);
  if (!c.ok()) return;
  const int axis = c.Axis(c.Int("axis", -1), x.rank());
  const DType type = x.dtype();
  x = Cast(x, ComputeType(type));
  V norm = c.Int("p", 2) == 1 ? Reduce(ir::Op::k_sum, Abs(x), {axis}, true)
                              : Sqrt(Reduce(ir::Op::k_sum, x * x, {axis}, true));
  V zero = Bin(ir::Op::k_eq, norm, 0.0);
  c.Out(0, Cast(Select(zero, c.Scalar(x.dtype(), 0), x / norm), type));
}

void MeanVarianceNormalization(NodeContext& c) {
  V x = c.In(0);
  if (!c.ok()) return;
  std::vector<int64_t> axes = c.Ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const std::vector<int> over = c.Axes(axes, x.rank());
  const DType type = x.dtype();
  x = Cast(x, ComputeType(type));
  V mean = Reduce(ir::Op::k_mean, x, over, true);
  V d = x - mean;
  c.Out(0, Cast(d / (Sqrt(Reduce(ir::Op::k_mean, d * d, over, true)) + 1e-9), type));
}

void Lrn(NodeContext& c) {
  V x = c.In(0);
  const int64_t size = c.Int("size", 1);
  if (!c.ok()) return;
  if (size < 1 || size > 1024 || x.rank() < 2) return c.Fail("size is out of range");
  const DType type = x.dtype();
  x = Cast(x, ComputeType(type));
  const double alpha = c.Float("alpha", 1e-4), beta = c.Float("beta", 0.75);
  const int64_t before = (size - 1) / 2, behind = size - 1 - before;
  std::vector<Dim> low(static_cast<size_t>(x.rank()), 0), high = low;
  low[1] = before;
  high[1] = behind;
  V squares = PadBy(x * x, low, high);
  V sum;
  for (int64_t i = 0; i < size && c.ok(); ++i) {
    V part = SliceAxis(squares, 1, i, x.dim(1) + i);
    sum = i == 0 ? part : sum + part;
  }
  V base = c.Float("bias", 1) + (alpha / static_cast<double>(size)) * sum;
  c.Out(0, Cast(x / Bin(ir::Op::k_pow, base, c.Scalar(x.dtype(), beta)), type));
}

}  // namespace

std::vector<Mapping> NormMappings() {
  return {
      {"", "Softmax", OverAxis(Softmax)},
      {"", "LogSoftmax", OverAxis(LogSoftmax)},
      {"", "Hardmax", OverAxis(Hardmax)},
      {"", "BatchNormalization", BatchNormalization},
      {"", "InstanceNormalization", InstanceNormalization},
      {"", "GroupNormalization", GroupNormalization},
      {"", "LayerNormalization", LayerNormalization},
      {"", "RMSNormalization", RmsNormalization},
      {"", "SimplifiedLayerNormalization", RmsNormalization},
      {"com.microsoft", "SimplifiedLayerNormalization", RmsNormalization},
      {"com.microsoft", "SkipLayerNormalization", SkipNorm(false)},
      {"com.microsoft", "SkipSimplifiedLayerNormalization", SkipNorm(true)},
      {"", "LpNormalization", LpNormalization},
      {"", "MeanVarianceNormalization", MeanVarianceNormalization},
      {"", "LRN", Lrn},
  };
}

}  // namespace lathe::onnx
