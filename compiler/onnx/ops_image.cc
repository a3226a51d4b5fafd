// GridSample, AffineGrid, Col2Im.
#include "absl/strings/str_cat.h"
#include "compiler/onnx/index.h"
#include "compiler/onnx/node.h"
#include "compiler/onnx/sampling.h"

namespace lathe::onnx {
namespace {

// -- GridSample

struct Sampling {
  std::string padding;  // zeros, border, reflection
  bool align_corners = false;
};

// A neighbour along one axis: where, and by how much.
struct Tap {
  V index;   // i64
  V weight;  // of the grid's type; none for the nearest
  V inside;  // bool; none where padding leads every index inside
};

V Number(V like, double value) { return like.c->Scalar(like.dtype(), value); }

// Between `low` and `high` by reflection at both, as often as it takes.
V Reflected(V x, V low, V high) {
  V range = high - low;
  V away = Abs(x - low);
  V twice = range + range;
  V rest = away - Un(ir::Op::k_floor, away / twice) * twice;
  V inside = Select(Bin(ir::Op::k_le, rest, range), low + rest, low + (twice - rest));
  return Select(Bin(ir::Op::k_gt, range, 0.0), inside, low);
}

// Taps along one axis of `extent` at the normalised coordinates `n`.
std::vector<Tap> TapsAlong(NodeContext& c, V n, Dim extent, Kernel kernel, const Sampling& s) {
  V size = c.SizeOf(extent, n.dtype()), last = size - 1.0;
  V x = s.align_corners ? (n + 1.0) / 2.0 * last : ((n + 1.0) * size - 1.0) / 2.0;
  if (kernel == Kernel::kNearest) x = Un(ir::Op::k_round, x);
  V low = Number(n, s.align_corners ? 0 : -0.5), high = s.align_corners ? last : size - 0.5;
  V outside = Bin(ir::Op::k_or, Bin(ir::Op::k_lt, x, low), Bin(ir::Op::k_gt, x, high));
  if (s.padding == "border") {
    x = Select(outside, Minimum(Maximum(x, Number(n, 0)), last), x);
  } else if (s.padding == "reflection") {
    x = Select(outside, Reflected(x, low, high), x);
  }
  V base = Un(ir::Op::k_floor, x), t = x - base;
  std::vector<V> weights;
  int first = 0;
  if (kernel == Kernel::kLinear) {
    weights = {1.0 - t, t};
  } else if (kernel == Kernel::kCubic) {
    weights = CubicWeights(t, -0.75);
    first = -1;
  } else {
    weights = {V()};
  }
  std::vector<Tap> taps;
  V zero = c.ScalarInt(i64, 0), end = c.SizeOf(extent);
  for (size_t i = 0; i < weights.size(); ++i) {
    Tap tap;
    tap.weight = weights[i];
    V at = base + static_cast<double>(first + static_cast<int>(i));
    if (s.padding == "reflection") at = Reflected(at, low, high);
    tap.index = Cast(at, i64);
    if (s.padding == "zeros") {
      tap.inside = Bin(ir::Op::k_and, Bin(ir::Op::k_ge, at, 0.0), Bin(ir::Op::k_lt, at, size));
    } else {
      tap.index = Minimum(Maximum(tap.index, zero), end - 1.0);
    }
    taps.push_back(tap);
  }
  return taps;
}

void GridSample(NodeContext& c) {
  V x = c.In(0), grid = c.In(1);
  const std::string mode = c.Str("mode", "linear");
  Sampling s;
  s.padding = c.Str("padding_mode", "zeros");
  s.align_corners = c.Int("align_corners") != 0;
  if (!c.ok()) return;
  const std::optional<Kernel> kernel = KernelNamed(mode);
  if (!kernel) return c.Fail(absl::StrCat("mode is '", mode, "'"));
  if (s.padding != "zeros" && s.padding != "border" && s.padding != "reflection")
    return c.Fail(absl::StrCat("padding_mode is '", s.padding, "'"));
  const int axes = x.rank() - 2;
  constexpr int kMostAxes = 3;
  if (axes < 1 || axes > kMostAxes || grid.rank() != x.rank())
    return c.Fail(absl::StrCat("X is ", x.type().ToString(), ", grid ", grid.type().ToString(),
                               "; wanted [n, c, ..] and [n, .., axes] with 1 to 3 axes"));
  c.Require(Eq(grid.dim(grid.rank() - 1), axes), "the grid's last axis holds a position");
  c.Require(Eq(grid.dim(0), x.dim(0)), "a grid for each image");
  if (!IsFloat(grid.dtype())) return c.Fail("the grid isn't of floats");
  const DType position = grid.dtype() == f64 ? f64 : f32;
  Shape spread = {x.dim(0), 1}, result = {x.dim(0), x.dim(1)};
  for (int i = 1; i + 1 < grid.rank(); ++i) {
    spread.push_back(grid.dim(i));
    result.push_back(grid.dim(i));
  }
  // Positions are written last axis first.
  std::vector<std::vector<Tap>> taps;
  for (int i = 0; i < axes && c.ok(); ++i) {
    const int64_t k = axes - 1 - i;
    V n = ReshapeTo(SliceAxis(grid, grid.rank() - 1, k, k + 1), spread);
    taps.push_back(TapsAlong(c, Cast(n, position), x.dim(2 + i), *kernel, s));
  }
  if (!c.ok()) return;
  Shape images(result.size(), 1), channels = images;
  images[0] = x.dim(0);
  channels[1] = x.dim(1);
  V plane = c.Iota(images, 0) * c.SizeOf(x.dim(1)) + c.Iota(channels, 1);
  const DType wide = WeightType(x.dtype());
  V sum;
  // Every combination of a tap for each axis.
  std::vector<size_t> at(static_cast<size_t>(axes), 0);
  for (bool more = true; more && c.ok();) {
    V linear = plane, weight, inside;
    for (size_t i = 0; i < at.size(); ++i) {
      const Tap& tap = taps[i][at[i]];
      linear = linear * c.SizeOf(x.dim(2 + static_cast<int>(i))) + tap.index;
      if (tap.weight.ok()) weight = weight.ok() ? weight * tap.weight : tap.weight;
      if (tap.inside.ok())
        inside = inside.ok() ? Bin(ir::Op::k_and, inside, tap.inside) : tap.inside;
    }
    // A position of -1 reads 0.
    if (inside.ok()) linear = Select(inside, linear, c.ScalarInt(i64, -1));
    V value = GatherFlat(x, Broadcast(linear, result));
    if (weight.ok()) value = Cast(value, wide) * Cast(weight, wide);
    sum = sum.ok() ? sum + value : value;
    more = false;
    for (size_t i = at.size(); i-- > 0 && !more;) {
      at[i] = (at[i] + 1) % taps[i].size();
      more = at[i] != 0;
    }
  }
  // Integers are cut off, as the standard has it here.
  c.Out(0, Cast(sum, x.dtype()));
}

// -- AffineGrid

void AffineGrid(NodeContext& c) {
  const auto size = c.Dims(1, /*least=*/1);
  V theta = c.In(0);
  const bool align = c.Int("align_corners") != 0;
  if (!c.ok()) return;
  const size_t axes = size->size() < 2 ? 0 : size->size() - 2;
  if ((axes != 2 && axes != 3) || theta.rank() != 3)
    return c.Fail(absl::StrCat("theta is ", theta.type().ToString(), ", size has ", size->size(),
                               " elements; wanted [n, 2, 3] and 4, or [n, 3, 4] and 5"));
  c.Require(Eq(theta.dim(0), (*size)[0]), "a matrix for each image");
  c.Require(Eq(theta.dim(1), static_cast<int64_t>(axes)), "a row of the matrix for each axis");
  c.Require(Eq(theta.dim(2), static_cast<int64_t>(axes) + 1), "a column for each axis, and one");
  Shape place = {theta.dim(0)};
  place.insert(place.end(), axes, 1);
  place.push_back(static_cast<int64_t>(axes));
  const auto column = [&](size_t k) {
    const auto i = static_cast<int64_t>(k);
    return ReshapeTo(SliceAxis(theta, 2, i, i + 1), place);
  };
  V sum = column(axes);
  Shape result = place;
  for (size_t i = 0; i < axes && c.ok(); ++i) {
    // The last axis is x, the first column.
    const size_t axis = axes - i;
    const Dim extent = (*size)[1 + axis];
    result[axis] = extent;
    Shape along(place.size(), 1);
    along[axis] = extent;
    V n = c.SizeOf(extent, f64);
    V step = 2.0 / (align ? n - 1.0 : n);
    V at = c.Iota(along, static_cast<int>(axis), f64) * step - 1.0;
    // A single aligned element lies at the first corner.
    at = align ? Select(Bin(ir::Op::k_eq, n, 1.0), c.Scalar(f64, -1), at) : at + step / 2.0;
    sum = sum + column(i) * Cast(at, theta.dtype());
  }
  c.Out(0, Broadcast(sum, result));
}

// -- Col2Im

// Blocks back into an image, one axis after another: each element of the image is the sum, over
// the places in a block, of the block that has it there.
void Col2Im(NodeContext& c) {
  const auto image = c.Dims(1, /*least=*/1);
  const auto block = c.Constants(2);
  V x = c.In(0);
  if (!c.ok()) return;
  const size_t axes = block->size();
  std::vector<int64_t> strides = c.SizeInts("strides"), dilations = c.SizeInts("dilations"),
                       pads = c.SizeInts("pads");
  if (strides.empty()) strides.assign(axes, 1);
  if (dilations.empty()) dilations.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  if (axes < 1 || image->size() != axes || strides.size() != axes || dilations.size() != axes ||
      pads.size() != 2 * axes || x.rank() != 3)
    return c.Fail(absl::StrCat("input is ", x.type().ToString(), ", ", axes, " axes of a block, ",
                               image->size(), " of the image; wanted [n, c * block, blocks]"));
  constexpr int64_t kLargestBlock = 4096;
  int64_t elements = 1;
  for (size_t i = 0; i < axes; ++i) {
    if ((*block)[i] < 1 || (*block)[i] > kLargestBlock / elements || strides[i] < 1 ||
        dilations[i] < 1)
      return c.Fail("a block, stride or dilation is out of range");
    elements *= (*block)[i];
  }
  c.Require(Eq(lathe::Mod(x.dim(1), elements), 0), "blocks divide the channels");
  Shape apart = {x.dim(0), FloorDiv(x.dim(1), elements)};
  for (int64_t k : *block) apart.push_back(k);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t reach = dilations[i] * ((*block)[i] - 1) + 1;
    const Dim span = (*image)[i] + (pads[i] + pads[axes + i]) - reach;
    c.Require(span >= 0, "a block fits the padded image");
    apart.push_back(FloorDiv(span, strides[i]) + 1);
  }
  x = ReshapeTo(x, apart);
  for (size_t i = axes; i-- > 0 && c.ok();) {
    const int place = 2 + static_cast<int>(i), along = 2 + static_cast<int>(2 * i);
    V sum;
    for (int64_t k = 0; k < (*block)[i] && c.ok(); ++k) {
      V at = c.Iota({(*image)[i]}, 0) + static_cast<double>(pads[i] - k * dilations[i]);
      V stride = c.ScalarInt(i64, strides[i]);
      V hits = Bin(ir::Op::k_eq, Bin(ir::Op::k_mod, at, stride), 0.0);
      ir::Attrs attrs;
      attrs.axis = along;
      attrs.unchecked = true;  // no block before the first or behind the last
      V from = Select(hits, Bin(ir::Op::k_floordiv, at, stride), c.ScalarInt(i64, -1));
      V part = c.Create(ir::Op::k_gather, {Squeeze(SliceAxis(x, place, k, k + 1), {place}), from},
                        std::move(attrs));
      sum = k == 0 ? part : sum + part;
    }
    x = sum;
  }
  c.Out(0, x);
}

}  // namespace

std::vector<Mapping> ImageMappings() {
  return {
      {"", "GridSample", GridSample},
      {"", "AffineGrid", AffineGrid},
      {"", "Col2Im", Col2Im},
  };
}

}  // namespace lathe::onnx
