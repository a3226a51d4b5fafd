// Fourier transforms, windows, and the mel matrix. A transform is one matrix product: the last two
// axes (time, real or complex part) against a table of cosines and sines of exact angles, whose
// length is a size like any other.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct Transform {
  Dim length;
  bool inverse = false, onesided = false;
  bool to_real() const { return inverse && onesided; }
};

// cos and sin of 2 pi n k / length; products are reduced as integers, so angles stay exact.
V Angle(NodeContext& c, V n, V k, Dim length) {
  V turns = Bin(ir::Op::k_mod, n * k, c.SizeOf(length));
  return Cast(turns, f64) * (2 * kPi / c.SizeOf(length, f64));
}

// f64[rows * parts, columns * out_parts], for input (n, p) and output (k, q).
V Table(NodeContext& c, Dim rows, int64_t parts, Dim columns, int64_t out_parts,
        const Transform& t) {
  V n = c.Iota({rows, 1, 1, 1}, 0), k = c.Iota({1, 1, columns, 1}, 2);
  V angle = Angle(c, n, k, t.length);
  V cosine = Un(ir::Op::k_cos, angle), sine = Un(ir::Op::k_sin, angle);
  V p = c.Iota({1, parts, 1, 1}, 1), q = c.Iota({1, 1, 1, out_parts}, 3);
  // (a + ib)(cos + i s sin): real from real and imaginary from imaginary part by the cosine.
  V to_imaginary = t.inverse ? sine : -sine;
  V table = Select(Bin(ir::Op::k_eq, p, q), cosine,
                   Select(Bin(ir::Op::k_gt, q, p), to_imaginary, -to_imaginary));
  if (t.inverse) table = table / c.SizeOf(t.length, f64);
  if (t.to_real()) {
    // What isn't given is the conjugate of what is, but for the ends.
    V ends =
        Bin(ir::Op::k_or, Bin(ir::Op::k_eq, n, 0.0), Bin(ir::Op::k_eq, n + n, c.SizeOf(t.length)));
    table = Select(ends, table, table * 2.0);
  }
  return ReshapeTo(table, {rows * parts, columns * out_parts});
}

// 1 or 2: the extent of the last axis of `x`.
int64_t PartsOf(NodeContext& c, V x) {
  const Dim d = x.dim(x.rank() - 1);
  if (d == Dim(1) || c.Known(Eq(d, 1))) return 1;
  c.Require(Eq(d, 2), "the last axis holds real and imaginary part");
  return 2;
}

// Along `axis` of x, whose last axis holds the parts.
V Transformed(NodeContext& c, V x, int axis, const Transform& t) {
  if (!c.ok()) return x;
  c.Require(t.length >= 1, "the length of a transform");
  const int64_t parts = PartsOf(c, x), out_parts = t.to_real() ? 1 : 2;
  const Dim half = FloorDiv(t.length, 2) + 1;
  x = SliceAxis(x, axis, 0, t.to_real() ? half : t.length);
  if (!c.ok()) return x;
  std::vector<int> order, back(static_cast<size_t>(x.rank()));
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis && i != x.rank() - 1) order.push_back(i);
  order.push_back(axis);
  order.push_back(x.rank() - 1);
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int>(i);
  const Dim rows = x.dim(axis), columns = t.onesided && !t.inverse ? half : t.length;
  V y = Permute(x, order);
  if (!c.ok()) return y;
  Shape flat = y.shape(), result = y.shape();
  flat.pop_back();
  flat.back() = rows * parts;
  result[result.size() - 2] = columns;
  result.back() = out_parts;
  V table = Cast(Table(c, rows, parts, columns, out_parts, t), x.dtype());
  // A vector of rows, so that a single signal is a row as well.
  const Dim signals = Product(flat, 0, static_cast<int>(flat.size()) - 1);
  y = MatMul(ReshapeTo(y, {signals, rows * parts}), table);
  return Permute(ReshapeTo(y, result), back);
}

void Dft(NodeContext& c) {
  std::optional<std::vector<Dim>> length;
  if (c.Has(1)) {
    length = c.Dims(1);
    if (!length) return;
  }
  int64_t axis_given = c.opset() < 20 ? c.Int("axis", 1) : -2;
  if (c.opset() >= 20 && c.Has(2)) {
    const auto given = c.Constants(2);
    if (!given) return;
    if (given->size() != 1) return c.Fail("axis isn't one number");
    axis_given = (*given)[0];
  }
  V x = c.In(0);
  if (!c.ok()) return;
  if (x.rank() < 2) return c.Fail("wanted a signal whose last axis holds the parts");
  const int axis = c.Axis(axis_given, x.rank());
  if (axis == x.rank() - 1) return c.Fail("axis is the one that holds the parts");
  Transform t;
  t.inverse = c.Int("inverse") != 0;
  t.onesided = c.Int("onesided") != 0;
  t.length = t.to_real() ? 2 * (x.dim(axis) - 1) : x.dim(axis);
  if (length) {
    if (length->size() != 1) return c.Fail("dft_length isn't one number");
    t.length = (*length)[0];
  }
  c.Out(0, Transformed(c, x, axis, t));
}

void Stft(NodeContext& c) {
  const auto step = c.Dims(1, /*least=*/1);
  if (!step) return;
  std::optional<std::vector<Dim>> given;
  if (c.Has(3)) {
    given = c.Dims(3, /*least=*/1);
    if (!given) return;
  }
  V x = c.In(0);
  if (!c.ok()) return;
  if (x.rank() == 2) x = Unsqueeze(x, {2});
  if (!c.ok()) return;
  if (x.rank() != 3)
    return c.Fail(
        absl::StrCat("signal is ", x.type().ToString(), "; wanted [batch, length, 1 or 2]"));
  V window;
  if (c.Has(2)) window = c.In(2);
  if (!c.ok()) return;
  if (window.ok() && window.rank() != 1) return c.Fail("window isn't a vector");
  if (step->size() != 1 || (given && given->size() != 1))
    return c.Fail("frame_step and frame_length are one number each");
  Transform t;
  t.onesided = c.Int("onesided", 1) != 0;
  t.length = given ? (*given)[0] : (window.ok() ? window.dim(0) : x.dim(1));
  const Dim wide = window.ok() ? window.dim(0) : t.length;
  c.Require((*step)[0] >= 1, "frame_step");
  c.Require(wide <= t.length, "the window is no longer than a frame");
  c.Require(t.length <= x.dim(1), "a frame is no longer than the signal");
  const Dim frames = FloorDiv(x.dim(1) - t.length, (*step)[0]) + 1;
  V at = c.Iota({frames, 1}, 0) * c.SizeOf((*step)[0]) + c.Iota({1, wide}, 1);
  V y = Gather(x, at, 1);  // [batch, frames, wide, parts]
  if (window.ok()) y = y * ReshapeTo(window, {wide, 1});
  c.Out(0, Transformed(c, y, 2, t));
}

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
Mapper Window(double a0, double a1, double a2) {
  return [=](NodeContext& c) {
    const auto size = c.Dims(0);
    if (!size) return;
    if (size->size() != 1) return c.Fail("size isn't one number");
    const DType type = c.DTypeAttr("output_datatype", 1);
    if (!c.ok()) return;
    const bool periodic = c.Int("periodic", 1) != 0;
    V whole = c.SizeOf(periodic ? (*size)[0] : (*size)[0] - 1, f64);
    V angle = c.Iota({(*size)[0]}, 0, f64) * (2 * kPi) / whole;
    V y = a0 - a1 * Un(ir::Op::k_cos, angle);
    if (a2 != 0) y = y + a2 * Un(ir::Op::k_cos, 2.0 * angle);
    c.Out(0, Cast(y, type));
  };
}

// Triangles between points that are evenly spaced on the mel scale, in bins of the spectrum.
void MelWeightMatrix(NodeContext& c) {
  const auto mels = c.Dims(0), length = c.Dims(1);
  if (!mels || !length) return;
  if (mels->size() != 1 || length->size() != 1)
    return c.Fail("num_mel_bins and dft_length are one number each");
  const DType type = c.DTypeAttr("output_datatype", 1);
  if (!c.ok()) return;
  const auto number = [&](int input) { return ReshapeTo(Cast(c.In(input), f64), {}); };
  V rate = number(2), low = number(3), high = number(4);
  const Dim n = (*mels)[0];
  V low_mel = 2595 / std::log(10.0) * Un(ir::Op::k_log1p, low / 700.0);
  V high_mel = 2595 / std::log(10.0) * Un(ir::Op::k_log1p, high / 700.0);
  V step = (high_mel - low_mel) / c.SizeOf(n + 2, f64);
  V mel = c.Iota({n + 2}, 0, f64) * step + low_mel;
  V hertz = 700.0 * Un(ir::Op::k_expm1, mel * (std::log(10.0) / 2595));
  V bins = Un(ir::Op::k_floor, c.SizeOf((*length)[0] + 1, f64) * hertz / rate);
  V left = SliceAxis(bins, 0, 0, n), top = SliceAxis(bins, 0, 1, n + 1),
    right = SliceAxis(bins, 0, 2, n + 2);
  V j = c.Iota({FloorDiv((*length)[0], 2) + 1, 1}, 0, f64);
  V zero = c.Scalar(f64, 0), one = c.Scalar(f64, 1);
  V rises = Bin(ir::Op::k_and, Bin(ir::Op::k_ge, j, left), Bin(ir::Op::k_le, j, top));
  V falls = Bin(ir::Op::k_and, Bin(ir::Op::k_ge, j, top), Bin(ir::Op::k_lt, j, right));
  V steep = Bin(ir::Op::k_eq, top, left);
  V up = Select(rises, Select(steep, one, (j - left) / (top - left)), zero);
  c.Out(0, Cast(Select(falls, (right - j) / (right - top), up), type));
}

}  // namespace

std::vector<Mapping> SignalMappings() {
  return {
      {"", "DFT", Dft},
      {"", "STFT", Stft},
      {"", "HannWindow", Window(0.5, 0.5, 0)},
      {"", "HammingWindow", Window(25.0 / 46, 21.0 / 46, 0)},
      {"", "BlackmanWindow", Window(0.42, 0.5, 0.08)},
      {"", "MelWeightMatrix", MelWeightMatrix},
  };
}

}  // namespace lathe::onnx
