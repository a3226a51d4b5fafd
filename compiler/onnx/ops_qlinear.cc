// The QLinear forms of com.microsoft: an operator between 8-bit tensors, each of one scale and zero
// point. What can be summed as integers is, exactly, and is scaled once.
#include "absl/strings/str_cat.h"
#include "compiler/onnx/activations.h"
#include "compiler/onnx/conv.h"
#include "compiler/onnx/quantised.h"

namespace lathe::onnx {
namespace {

// A scale as a scalar: files have it as [1], too. A zero point likewise, which may be left out.
V Scale(NodeContext& c, int input) { return ReshapeTo(c.In(input), {}); }
V Zero(NodeContext& c, int input) {
  V v = OrNone(c, input);
  return v.ok() ? ReshapeTo(v, {}) : v;
}

// What the tensor at `input` stands for; its scale and zero point follow it.
V RealAt(NodeContext& c, int input) {
  return Dequantised(c.In(input), Zero(c, input + 2), Scale(c, input + 1));
}
// The same in units of its scale, as i32.
V CentredAt(NodeContext& c, int input) {
  return Centred(c.In(input), Zero(c, input + 2), /*rows=*/false);
}

// `y` is in units of the result's scale, which is input `scale`; its zero point follows.
void Emit(NodeContext& c, V y, int scale) {
  V zero = Zero(c, scale + 1);
  const DType type = zero.ok() ? zero.dtype() : c.In(0).dtype();
  if (c.ok()) c.Out(0, Quantised(c, y, zero, type));
}

void QLinearAdd(NodeContext& c) {
  V y = Cast(CentredAt(c, 0), f32) * (Scale(c, 1) / Scale(c, 6)) +
        Cast(CentredAt(c, 3), f32) * (Scale(c, 4) / Scale(c, 6));
  Emit(c, y, 6);
}

void QLinearMul(NodeContext& c) {
  V scale = Scale(c, 1) * Scale(c, 4) / Scale(c, 6);
  Emit(c, Cast(CentredAt(c, 0) * CentredAt(c, 3), f32) * scale, 6);
}

// f of what the elements stand for.
Mapper QLinearUnary(const std::function<V(NodeContext&, V)>& f) {
  return [f](NodeContext& c) { Emit(c, f(c, RealAt(c, 0)) / Scale(c, 3), 3); };
}

// Inputs are the result's scale and zero point, then three a tensor.
void QLinearConcat(NodeContext& c) {
  const int inputs = c.num_inputs();
  if (inputs < 5 || inputs % 3 != 2)
    return c.Fail(absl::StrCat("has ", inputs, " inputs; wanted 2, and 3 a tensor"));
  std::vector<V> parts;
  for (int i = 2; i < inputs; i += 3) parts.push_back(RealAt(c, i));
  V zero = c.In(1);
  if (!c.ok()) return;
  V y = Concat(parts, c.Axis(c.Int("axis"), parts[0].rank())) / Scale(c, 0);
  c.Out(0, Quantised(c, y, Zero(c, 1), zero.dtype()));
}

void QLinearWhere(NodeContext& c) {
  V y = Select(c.In(0), RealAt(c, 1), RealAt(c, 4)) / Scale(c, 7), zero = c.In(8);
  if (c.ok()) c.Out(0, Quantised(c, y, Zero(c, 8), zero.dtype()));
}

// Over one axis; as Softmax before opset 13 over all from `axis` on, joined.
void QLinearSoftmax(NodeContext& c) {
  V x = RealAt(c, 0);
  if (!c.ok()) return;
  const Shape shape = x.shape();
  const bool joined = c.Int("opset", 13) < 13;
  int axis = c.Axis(c.Int("axis", joined ? 1 : -1), x.rank());
  if (joined) {
    x = ReshapeTo(x, {Product(shape, 0, axis), Product(shape, axis, x.rank())});
    axis = 1;
  }
  Emit(c, ReshapeTo(Softmax(x, axis), shape) / Scale(c, 3), 3);
}

// -- means: of the tensor at input 0, with the result's scale at input 3

void EmitMean(NodeContext& c, V mean) { Emit(c, mean * (Scale(c, 1) / Scale(c, 3)), 3); }

constexpr int64_t kMostTerms = 8'000'000;  // of at most 255 each: their sum is an i32

V MeanOver(NodeContext& c, V x, const std::vector<int>& axes, bool keep) {
  Dim count = 1;
  for (int axis : axes) count *= x.dim(axis);
  if (!c.Known(count <= kMostTerms)) x = Cast(x, i64);
  return Cast(Reduce(ir::Op::k_sum, x, axes, keep), f32) / c.SizeOf(count, f32);
}

void QLinearReduceMean(NodeContext& c) {
  V x = CentredAt(c, 0);
  if (!c.ok()) return;
  std::vector<int> axes = c.Axes(c.Ints("axes"), x.rank());
  if (axes.empty())
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  EmitMean(c, MeanOver(c, x, axes, c.Int("keepdims", 1) != 0));
}

V ImageAt(NodeContext& c, int input) {
  V x = CentredAt(c, input);
  if (c.ok() && x.rank() < 3)
    c.Fail(absl::StrCat("X is ", x.type().ToString(), "; wanted [n, c, ..]"));
  return x;
}

void QLinearGlobalAveragePool(NodeContext& c) {
  V x = ImageAt(c, 0);
  if (!c.ok()) return;
  const bool last = c.Int("channels_last") != 0;
  std::vector<int> axes;
  for (int i = 2; i < x.rank(); ++i) axes.push_back(last ? i - 1 : i);
  EmitMean(c, MeanOver(c, x, axes, true));
}

// Sums of a window are whole numbers, exact in f32 for windows of up to 65,793 elements.
void QLinearAveragePool(NodeContext& c) {
  V x = Cast(ImageAt(c, 0), f32);
  if (!c.ok()) return;
  const bool last = c.Int("channels_last") != 0;
  V mean = AveragePooled(c, last ? ChannelsFirst(x) : x);
  EmitMean(c, last ? ChannelsLast(mean) : mean);
}

// a * b + bias in units of alpha * a_scale * b_scale; f32 where the result has no scale.
void QGemm(NodeContext& c) {
  V a = CentredAt(c, 0), b = c.In(3), b_scale = c.In(4);
  if (c.Int("transA") != 0) a = Transpose2(a);
  if (c.Int("transB") != 0) b = Transpose2(b);
  V sum = MatMul(a, Centred(b, OrNone(c, 5), /*rows=*/false));
  if (c.Has(6)) sum = sum + c.In(6);
  V scale = Scale(c, 1) * b_scale * c.Float("alpha", 1);
  if (!c.Has(7)) return c.Out(0, Cast(sum, f32) * scale);
  Emit(c, Cast(sum, f32) * (scale / Scale(c, 7)), 7);
}

}  // namespace

std::vector<Mapping> QLinearMappings() {
  const auto sigmoid = [](NodeContext&, V x) { return Sigmoid(x); };
  const auto leaky = [](NodeContext& c, V x) { return LeakyReluOf(x, c.Float("alpha", 0.01)); };
  return {
      {"com.microsoft", "QLinearAdd", QLinearAdd},
      {"com.microsoft", "QLinearMul", QLinearMul},
      {"com.microsoft", "QLinearSigmoid", QLinearUnary(sigmoid)},
      {"com.microsoft", "QLinearLeakyRelu", QLinearUnary(leaky)},
      {"com.microsoft", "QLinearConcat", QLinearConcat},
      {"com.microsoft", "QLinearWhere", QLinearWhere},
      {"com.microsoft", "QLinearSoftmax", QLinearSoftmax},
      {"com.microsoft", "QLinearReduceMean", QLinearReduceMean},
      {"com.microsoft", "QLinearGlobalAveragePool", QLinearGlobalAveragePool},
      {"com.microsoft", "QLinearAveragePool", QLinearAveragePool},
      {"com.microsoft", "QGemm", QGemm},
  };
}

}  // namespace lathe::onnx
