// DeformConv: a convolution whose taps lie at computed places between the elements (Dai et al.
// 2017, with the mask of Zhu et al. 2018), for any number of spatial axes.
#include <array>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/conv.h"
#include "compiler/onnx/index.h"
#include "compiler/onnx/sampling.h"

namespace lathe::onnx {
namespace {

// Places of taps and results, [n, groups of offsets, 1, k.., o..].
struct Places {
  int axes = 0;
  Shape taps, results;  // k.., o..
  Dim batch, groups;

  // [n or 1, groups or 1, 1, k.., o..]
  Shape Of(Dim n, Dim g) const {
    Shape shape = {n, g, 1};
    shape.insert(shape.end(), taps.begin(), taps.end());
    shape.insert(shape.end(), results.begin(), results.end());
    return shape;
  }
  int tap_axis(int i) const { return 3 + i; }
  int result_axis(int i) const { return 3 + axes + i; }
};

// One of the two neighbours of each place along an axis.
struct Neighbour {
  V index, weight, inside;
};

// `offsets` are those of spatial axis `i`.
std::array<Neighbour, 2> NeighboursAlong(NodeContext& c, const Places& p, V offsets, int i,
                                         Dim extent, const Windows& w) {
  const size_t k = static_cast<size_t>(i);
  const DType type = offsets.dtype();
  const int rank = 3 + 2 * p.axes;
  Shape tap(static_cast<size_t>(rank), 1), result = tap;
  tap[static_cast<size_t>(p.tap_axis(i))] = w.sizes[k];
  result[static_cast<size_t>(p.result_axis(i))] = w.extents[k];
  V base = c.Iota(result, p.result_axis(i)) * c.ScalarInt(i64, w.strides[k]) +
           c.Iota(tap, p.tap_axis(i)) * c.ScalarInt(i64, w.dilations[k]) - c.SizeOf(w.low[k]);
  V at = Cast(base, type) + offsets;
  V low = Un(ir::Op::k_floor, at), share = at - low;
  V size = c.SizeOf(extent, type);
  std::array<Neighbour, 2> both;
  for (size_t side = 0; side < 2; ++side) {
    V place = side == 0 ? low : low + 1.0;
    both[side].weight = side == 0 ? 1.0 - share : share;
    both[side].inside =
        Bin(ir::Op::k_and, Bin(ir::Op::k_ge, place, 0.0), Bin(ir::Op::k_lt, place, size));
    both[side].index = Cast(place, i64);
  }
  return both;
}

// What each tap of each result reads: [n, groups, c / groups, k.., o..].
V ReadTaps(NodeContext& c, V x, V offsets, const Places& p, const Windows& w) {
  const DType type = WeightType(x.dtype());
  const Dim channels = x.dim(1), part = FloorDiv(channels, p.groups);
  std::vector<std::array<Neighbour, 2>> sides;
  for (int i = 0; i < p.axes && c.ok(); ++i) {
    const int axis = 2 + p.axes;  // of [n, groups, k.., axes, o..]
    V of = ReshapeTo(SliceAxis(offsets, axis, i, i + 1), p.Of(p.batch, p.groups));
    sides.push_back(NeighboursAlong(c, p, Cast(of, type), i, x.dim(2 + i), w));
  }
  if (!c.ok()) return {&c};
  Shape result = p.Of(p.batch, p.groups), one(result.size(), 1), by_batch = one, by_group = one,
        by_channel = one;
  result[2] = by_channel[2] = part;
  by_batch[0] = p.batch;
  by_group[1] = p.groups;
  V plane = c.Iota(by_batch, 0) * c.SizeOf(channels) + c.Iota(by_group, 1) * c.SizeOf(part) +
            c.Iota(by_channel, 2);
  V sum;
  for (size_t corner = 0; corner < size_t{1} << p.axes && c.ok(); ++corner) {
    V linear = plane, weight, inside;
    for (int i = 0; i < p.axes; ++i) {
      const Neighbour& n = sides[static_cast<size_t>(i)][corner >> i & 1];
      linear = linear * c.SizeOf(x.dim(2 + i)) + n.index;
      weight = i == 0 ? n.weight : weight * n.weight;
      inside = i == 0 ? n.inside : Bin(ir::Op::k_and, inside, n.inside);
    }
    linear = Select(inside, linear, c.ScalarInt(i64, -1));  // -1 reads 0
    V value = Cast(GatherFlat(x, Broadcast(linear, result)), type) * weight;
    sum = corner == 0 ? value : sum + value;
  }
  return sum;
}

void DeformConv(NodeContext& c) {
  V x = c.In(0), weights = c.In(1), offsets = c.In(2);
  const int64_t groups = c.Int("group", 1), offset_groups = c.Int("offset_group", 1);
  constexpr int kMostAxes = 3;
  if (!c.ok()) return;
  const int axes = x.rank() - 2;
  if (axes < 1 || axes > kMostAxes || weights.rank() != x.rank() || offsets.rank() != x.rank())
    return c.Fail(absl::StrCat("X is ", x.type().ToString(), ", W ", weights.type().ToString(),
                               ", offset ", offsets.type().ToString(),
                               "; wanted the same rank, with 1 to 3 spatial axes"));
  if (groups < 1 || offset_groups < 1)
    return c.Fail(absl::StrCat("group is ", groups, ", offset_group ", offset_groups));
  const Shape shape = weights.shape();
  const Windows w = ReadWindows(c, x, Shape(shape.begin() + 2, shape.end()));
  if (!c.ok()) return;
  Places p{.axes = axes,
           .taps = w.sizes,
           .results = w.extents,
           .batch = x.dim(0),
           .groups = offset_groups};
  Dim taps = 1, results = 1;
  for (Dim d : w.sizes) taps *= d;
  for (Dim d : w.extents) results *= d;
  const Dim channels = x.dim(1), part = shape[1], out = shape[0];
  c.Require(Eq(part * groups, channels), "the weights' channels times the groups are the input's");
  c.Require(Eq(lathe::Mod(out, groups), 0), "the groups divide the outputs");
  c.Require(Eq(lathe::Mod(channels, offset_groups), 0),
            "the groups of offsets divide the channels");
  const auto require_places = [&](V v, Dim second) {
    c.Require(Eq(v.dim(0), x.dim(0)), "offsets for each image");
    c.Require(Eq(v.dim(1), second), "offsets for each group and tap");
    for (int i = 0; i < axes; ++i)
      c.Require(Eq(v.dim(2 + i), w.extents[static_cast<size_t>(i)]), "offsets for each result");
  };
  require_places(offsets, taps * axes * offset_groups);
  Shape apart = {p.batch, p.groups};
  apart.insert(apart.end(), w.sizes.begin(), w.sizes.end());
  apart.push_back(axes);
  apart.insert(apart.end(), w.extents.begin(), w.extents.end());
  V read = ReadTaps(c, x, ReshapeTo(offsets, apart), p, w);
  if (c.Has(4)) {
    V mask = c.In(4);
    if (!c.ok()) return;
    require_places(mask, taps * offset_groups);
    read = read * Cast(ReshapeTo(mask, p.Of(p.batch, p.groups)), read.dtype());
  }
  // [n, g, o, c / g * k] by [g, c / g * k, m / g].
  const Dim depth = part * taps, columns = FloorDiv(out, groups);
  V rows = ReshapeTo(Cast(read, x.dtype()), {p.batch, groups, depth, results});
  rows = Permute(rows, {0, 1, 3, 2});
  V matrix = Transpose2(ReshapeTo(weights, {groups, columns, depth}));
  V y;
  if (groups == 1) {
    y = MatMul(ReshapeTo(rows, {p.batch * results, depth}), ReshapeTo(matrix, {depth, columns}));
  } else {
    y = MatMul(rows, matrix);
  }
  y = Permute(ReshapeTo(y, {p.batch, groups, results, columns}), {0, 1, 3, 2});
  Shape whole = {p.batch, out};
  whole.insert(whole.end(), w.extents.begin(), w.extents.end());
  y = ReshapeTo(y, whole);
  c.Out(0, c.Has(3) ? y + PerChannel(c.In(3), y.rank()) : y);
}

}  // namespace

std::vector<Mapping> DeformMappings() { return {{"", "DeformConv", DeformConv}}; }

}  // namespace lathe::onnx
