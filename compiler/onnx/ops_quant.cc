// Quantisation: to and from 8 bits (and 4, unpacked while reading), products and convolutions of
// quantised operands. Integer sums are exact, in 32 bits.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/conv.h"
#include "compiler/onnx/quantised.h"

namespace lathe::onnx {
namespace {

struct Limits {
  double low, high;
};

Limits LimitsOf(DType t) {
  const double bits = static_cast<double>(SizeOf(t)) * 8;
  if (IsUnsigned(t)) return {0, std::exp2(bits) - 1};
  return {-std::exp2(bits - 1), std::exp2(bits - 1) - 1};
}

// One number, one an entry of `axis`, or one a block of it, as a tensor that broadcasts to x.
V Spread(NodeContext& c, V scale, V x, int64_t axis_attr, int64_t block) {
  if (!c.ok() || scale.rank() == 0) return scale;
  if (scale.rank() == 1 && scale.dim(0) == Dim(1)) return ReshapeTo(scale, {});
  const int axis = c.Axis(axis_attr, x.rank());
  if (!c.ok()) return scale;
  if (block > 0 && scale.rank() == x.rank()) {
    Shape apart = scale.shape(), wide = apart, joined = apart;
    apart.insert(apart.begin() + axis + 1, Dim(1));
    wide.insert(wide.begin() + axis + 1, Dim(block));
    joined[static_cast<size_t>(axis)] = scale.dim(axis) * block;
    V repeated = ReshapeTo(Broadcast(ReshapeTo(scale, apart), wide), joined);
    return SliceAxis(repeated, axis, 0, x.dim(axis));
  }
  if (scale.rank() != 1) return scale;
  Shape shape(static_cast<size_t>(x.rank()), 1);
  shape[static_cast<size_t>(axis)] = scale.dim(0);
  return ReshapeTo(scale, shape);
}

void QuantizeLinear(NodeContext& c) {
  V x = c.In(0), scale = c.In(1);
  if (!c.ok()) return;
  const int64_t axis = c.Int("axis", 1), block = c.Int("block_size");
  DType to = u8;
  V zero{&c};
  if (c.Has(2)) {
    zero = c.In(2);
    to = zero.dtype();
    zero = Spread(c, zero, x, axis, block);
  } else if (c.Int("output_dtype") != 0) {
    to = c.DTypeAttr("output_dtype");
  }
  if (IsFloat(to)) return c.Unsupported("quantisation to floats isn't supported");
  V wide = IsFloat(x.dtype()) && SizeOf(x.dtype()) >= 4 ? x : Cast(x, f32);
  V s = Spread(c, scale, x, axis, block);
  c.Out(0, Quantised(c, wide / Cast(s, wide.dtype()), zero, to));
}

void DequantizeLinear(NodeContext& c) {
  V x = c.In(0), scale = c.In(1);
  if (!c.ok()) return;
  if (IsFloat(x.dtype())) return c.Unsupported("quantised floats aren't supported");
  const int64_t axis = c.Int("axis", 1), block = c.Int("block_size");
  V zero{&c};
  if (c.Has(2)) zero = Spread(c, c.In(2), x, axis, block);
  V y = Dequantised(x, zero, Cast(Spread(c, scale, x, axis, block), f32));
  if (!c.ok()) return;
  DType to = scale.dtype();
  if (c.Int("output_dtype") != 0) to = c.DTypeAttr("output_dtype");
  c.Out(0, Cast(y, to));
}

// Of all elements, and 0.
V ExtremumWithZero(V x, ir::Op op) {
  NodeContext& c = *x.c;
  if (!c.ok()) return x;
  V flat = ReshapeTo(x, {Product(x.shape(), 0, x.rank())});
  return Reduce(op, PadBy(flat, {0}, {1}), {0}, false);
}

struct Dynamic {
  V y, scale, zero;
};

Dynamic DynamicallyQuantised(NodeContext& c, V x) {
  V low = ExtremumWithZero(x, ir::Op::k_min), high = ExtremumWithZero(x, ir::Op::k_max);
  V scale = (high - low) / 255.0;
  if (!c.ok()) return {x, x, x};
  scale = Select(Bin(ir::Op::k_eq, scale, 0.0), c.Scalar(f32, 1), scale);
  V zero = Quantised(c, -low / scale, {&c}, u8);
  return {Quantised(c, x / scale, zero, u8), scale, zero};
}

void DynamicQuantizeLinear(NodeContext& c) {
  const Dynamic d = DynamicallyQuantised(c, c.In(0));
  c.Out(0, d.y);
  c.Out(1, d.scale);
  c.Out(2, d.zero);
}

void MatMulInteger(NodeContext& c) {
  V a = c.In(0), b = c.In(1);
  c.Out(0, MatMul(Centred(a, OrNone(c, 2), true), Centred(b, OrNone(c, 3), false)));
}

void MatMulIntegerToFloat(NodeContext& c) {
  V a = c.In(0), b = c.In(1), a_scale = c.In(2), b_scale = c.In(3);
  V sum = MatMul(Centred(a, OrNone(c, 4), true), Centred(b, OrNone(c, 5), false));
  V y = Cast(sum, f32) * (a_scale * b_scale);
  c.Out(0, c.Has(6) ? y + c.In(6) : y);
}

void DynamicQuantizeMatMul(NodeContext& c) {
  V y = DynamicallyQuantisedMatMul(c.In(0), c.In(1), c.In(2), OrNone(c, 3));
  c.Out(0, c.Has(4) ? y + c.In(4) : y);
}

V Rows(V scale) {
  return scale.rank() == 1 && scale.dim(0) != Dim(1) ? Unsqueeze(scale, {1})
         : scale.rank() == 1                         ? ReshapeTo(scale, {})
                                                     : scale;
}

void QLinearMatMul(NodeContext& c) {
  V a = c.In(0), a_scale = c.In(1), a_zero = c.In(2), b = c.In(3), b_scale = c.In(4),
    b_zero = c.In(5), y_scale = c.In(6), y_zero = c.In(7);
  if (!c.ok()) return;
  V sum = MatMul(Centred(a, a_zero, true), Centred(b, b_zero, false));
  V scale = Cast(Rows(a_scale), f32) * Cast(b_scale, f32) / Cast(y_scale, f32);
  c.Out(0, Quantised(c, Cast(sum, f32) * scale, y_zero, y_zero.dtype()));
}

// A zero point of the weights, one an output.
V PerOutput(V zero, V weights) {
  if (!zero.ok() || zero.rank() == 0) return zero;
  Shape shape(static_cast<size_t>(weights.rank()), 1);
  shape[0] = zero.dim(0);
  return ReshapeTo(zero, shape);
}

V ConvolveIntegers(NodeContext& c, V x, V x_zero, V w, V w_zero) {
  if (!c.ok()) return x;
  if (x.rank() < 3 || w.rank() != x.rank()) {
    c.Fail(absl::StrCat("input ", x.type().ToString(), " and weights ", w.type().ToString(),
                        "; wanted [n, c, ..] and weights of its rank"));
    return x;
  }
  const Shape shape = w.shape();
  const Windows windows = ReadWindows(c, x, Shape(shape.begin() + 2, shape.end()));
  V wide = Cast(x, i32), weights = Cast(w, i32);
  if (x_zero.ok()) wide = wide - ReshapeTo(Cast(x_zero, i32), {});
  if (w_zero.ok()) weights = weights - PerOutput(Cast(w_zero, i32), weights);
  return Convolve(c, wide, weights, c.Int("group", 1), windows);
}

void ConvInteger(NodeContext& c) {
  V x = c.In(0), w = c.In(1);
  c.Out(0, ConvolveIntegers(c, x, OrNone(c, 2), w, OrNone(c, 3)));
}

void QLinearConv(NodeContext& c) {
  V x = c.In(0), x_scale = c.In(1), x_zero = c.In(2), w = c.In(3), w_scale = c.In(4),
    w_zero = c.In(5), y_scale = c.In(6), y_zero = c.In(7);
  V sum = ConvolveIntegers(c, x, x_zero, w, w_zero);
  if (!c.ok()) return;
  if (c.Has(8)) sum = sum + PerChannel(c.In(8), sum.rank());
  V scale = ReshapeTo(x_scale, {}) * PerChannel(w_scale, sum.rank()) / ReshapeTo(y_scale, {});
  c.Out(0, Quantised(c, Cast(sum, f32) * scale, ReshapeTo(y_zero, {}), y_zero.dtype()));
}

// Weights of 4 or 8 bits in blocks along K: b is [n, blocks, bytes], scales [n, blocks].
void MatMulNBits(NodeContext& c) {
  const int64_t k = c.SizeInt("K"), n = c.SizeInt("N"), bits = c.Int("bits", 4);
  const int64_t block = c.SizeInt("block_size");
  V a = c.In(0), b = c.In(1), scales = c.In(2);
  if (!c.ok()) return;
  if ((bits != 4 && bits != 8) || block < 16 || k < 1 || n < 1)
    return c.Unsupported(absl::StrCat("bits is ", bits, " and block_size ", block,
                                      "; wanted 4 or 8 bits and blocks of 16 or more"));
  if (c.Has(4)) return c.Unsupported("g_idx isn't supported");
  const int64_t blocks = (k + block - 1) / block;
  const auto unpack = [&](V packed, Dim rows, int64_t columns) {
    if (bits == 8) return ReshapeTo(packed, {rows, columns});
    V bytes = ReshapeTo(packed, {rows, (columns + 1) / 2, 1});
    V low = Bin(ir::Op::k_bit_and, bytes, c.ScalarInt(u8, 15));
    V high = Bin(ir::Op::k_shift_right, bytes, c.ScalarInt(u8, 4));
    V both = ReshapeTo(Concat({low, high}, 2), {rows, (columns + 1) / 2 * 2});
    return SliceAxis(both, 1, 0, columns);
  };
  const DType type = a.dtype();
  V w = Cast(ReshapeTo(unpack(b, Dim(n) * blocks, block), {n, blocks, block}), type);
  V zero = c.Scalar(type, bits == 4 ? 8 : 128);
  if (c.Has(3)) {
    zero = c.In(3);
    if (!c.ok()) return;
    zero = IsFloat(zero.dtype()) ? ReshapeTo(zero, {n, blocks, 1})
                                 : ReshapeTo(Cast(unpack(zero, n, blocks), type), {n, blocks, 1});
  }
  w = (w - zero) * ReshapeTo(Cast(scales, type), {n, blocks, 1});
  w = SliceAxis(ReshapeTo(w, {n, blocks * block}), 1, 0, k);
  V y = MatMul(a, Transpose2(w));
  c.Out(0, c.Has(5) ? y + c.In(5) : y);
}

}  // namespace

V OrNone(NodeContext& c, int input) { return c.Has(input) ? c.In(input) : V{&c}; }

V Quantised(NodeContext& c, V x, V zero, DType to) {
  const Limits limits = LimitsOf(to);
  V rounded = Un(ir::Op::k_round, x);
  if (zero.ok()) rounded = rounded + Cast(zero, x.dtype());
  if (!c.ok()) return rounded;
  return Cast(Clamp(rounded, limits.low, limits.high), to);
}

V Dequantised(V x, V zero, V scale) {
  V centred = Cast(x, i32);
  if (zero.ok()) centred = centred - Cast(zero, i32);
  return Cast(centred, scale.dtype()) * scale;
}

V Centred(V x, V zero, bool rows) {
  V wide = Cast(x, i32);
  if (!zero.ok()) return wide;
  V z = Cast(zero, i32);
  if (rows && z.rank() == 1 && z.dim(0) != Dim(1)) z = Unsqueeze(z, {1});
  if (z.rank() == 1 && z.dim(0) == Dim(1)) z = ReshapeTo(z, {});
  return wide - z;
}

V DynamicallyQuantisedMatMul(V a, V b, V b_scale, V b_zero) {
  const Dynamic d = DynamicallyQuantised(*a.c, a);
  V sum = MatMul(Centred(d.y, d.zero, true), Centred(b, b_zero, false));
  return Cast(sum, f32) * (d.scale * b_scale);
}

std::vector<Mapping> QuantMappings() {
  return {
      {"", "QuantizeLinear", QuantizeLinear},
      {"", "DequantizeLinear", DequantizeLinear},
      {"", "DynamicQuantizeLinear", DynamicQuantizeLinear},
      {"", "MatMulInteger", MatMulInteger},
      {"", "ConvInteger", ConvInteger},
      {"", "QLinearMatMul", QLinearMatMul},
      {"", "QLinearConv", QLinearConv},
      {"com.microsoft", "QuantizeLinear", QuantizeLinear},
      {"com.microsoft", "DequantizeLinear", DequantizeLinear},
      {"com.microsoft", "QLinearMatMul", QLinearMatMul},
      {"com.microsoft", "MatMulIntegerToFloat", MatMulIntegerToFloat},
      {"com.microsoft", "DynamicQuantizeMatMul", DynamicQuantizeMatMul},
      {"com.microsoft", "MatMulNBits", MatMulNBits},
  };
}

}  // namespace lathe::onnx
