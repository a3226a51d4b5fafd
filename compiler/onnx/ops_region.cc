// RoiAlign, MaxRoiPool, MaxUnpool, NonMaxSuppression.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "compiler/onnx/index.h"
#include "compiler/onnx/loops.h"
#include "compiler/onnx/node.h"
#include "compiler/onnx/sampling.h"

namespace lathe::onnx {
namespace {

// The image of `images` that a region lies in, by its number; one below 0 is an error as well.
V ImageOf(NodeContext& c, V number, Dim images) {
  V i = Cast(number, i64);
  return CheckIndex(Select(Bin(ir::Op::k_lt, i, 0.0), i - c.SizeOf(images), i), images);
}

// -- RoiAlign

// Regions along one axis: f32 or f64, [regions].
struct Extents {
  V start, length;  // in elements of the image
  V count;          // samples in a bin
  Dim bins, most;   // at most so many samples
};

struct AxisSamples {
  V low, high;              // i64, of the shape asked for
  V low_share, high_share;  // 0 outside the image
  V counts;                 // bool: not behind the samples of the region
};

// Samples of a bin along one axis; `shape` has regions first, bins at `bin`, samples at `sample`.
AxisSamples SamplesAlong(NodeContext& c, const Extents& e, Dim extent, int bin, int sample) {
  constexpr size_t kRank = 6;
  const DType type = e.start.dtype();
  Shape regions(kRank, 1), bins(kRank, 1), samples(kRank, 1);
  regions[0] = e.start.dim(0);
  bins[static_cast<size_t>(bin)] = e.bins;
  samples[static_cast<size_t>(sample)] = e.most;
  V count = ReshapeTo(e.count, regions);
  V size = ReshapeTo(e.length / c.SizeOf(e.bins, type), regions);
  V i = c.Iota(samples, sample, type);
  V at = ReshapeTo(e.start, regions) + c.Iota(bins, bin, type) * size + (i + 0.5) * size / count;
  AxisSamples s;
  s.counts = Bin(ir::Op::k_lt, i, count);
  V extent_as = c.SizeOf(extent, type);
  V inside = Bin(ir::Op::k_and, s.counts,
                 Bin(ir::Op::k_and, Bin(ir::Op::k_ge, at, -1.0), Bin(ir::Op::k_le, at, extent_as)));
  at = Maximum(at, c.Scalar(type, 0));
  V base = Un(ir::Op::k_floor, at), last = extent_as - 1.0;
  V share = Select(Bin(ir::Op::k_ge, base, last), c.Scalar(type, 0), at - base);
  V zero = c.Scalar(type, 0);
  s.low_share = Select(inside, 1.0 - share, zero);
  s.high_share = Select(inside, share, zero);
  s.low = Minimum(Cast(base, i64), c.SizeOf(extent - 1));
  s.high = Minimum(s.low + 1.0, c.SizeOf(extent - 1));
  return s;
}

void RoiAlign(NodeContext& c) {
  const std::string mode = c.Str("mode", "avg");
  const bool shifted =
      c.opset() >= 16 && c.Str("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const int64_t ratio = c.Int("sampling_ratio"), height = c.Int("output_height", 1),
                width = c.Int("output_width", 1);
  const double scale = c.Float("spatial_scale", 1);
  constexpr int64_t kMostSamples = 1 << 16;
  if (mode != "avg" && mode != "max") return c.Fail(absl::StrCat("mode is '", mode, "'"));
  if (height < 1 || width < 1 || ratio < 0 || ratio > kMostSamples)
    return c.Fail("output_height, output_width or sampling_ratio is out of range");
  // Both axes of the regions: where they start, how long they are, how many samples a bin has.
  const auto extents = [&](bool vertical) {
    Extents e;
    V rois = c.In(1);
    if (!c.ok()) return e;
    if (rois.rank() != 2) {
      c.Fail(absl::StrCat("rois are ", rois.type().ToString(), "; wanted [regions, 4]"));
      return e;
    }
    const int64_t first = vertical ? 1 : 0;
    const DType type = rois.dtype() == f64 ? f64 : f32;
    const auto column = [&](int64_t k) {
      V side = ReshapeTo(SliceAxis(rois, 1, k, k + 1), {rois.dim(0)});
      return Cast(side, type) * scale - (shifted ? 0.5 : 0.0);
    };
    e.start = column(first);
    e.length = column(first + 2) - e.start;
    if (!shifted) e.length = Maximum(e.length, c.Scalar(type, 1));
    e.bins = vertical ? height : width;
    e.most = ratio;
    e.count = ratio > 0 ? c.Fill({rois.dim(0)}, type, static_cast<double>(ratio))
                        : Un(ir::Op::k_ceil, e.length / c.SizeOf(e.bins, type));
    return e;
  };
  std::vector<Dim> most = {ratio, ratio};
  if (ratio == 0) {
    most = c.SizesFromData("samples",
                           [&] {
                             std::vector<V> parts;
                             for (bool vertical : {true, false}) {
                               V counts = Cast(extents(vertical).count, i64);
                               V with_one = Concat({counts, c.I64({1})}, 0);
                               parts.push_back(Reduce(ir::Op::k_max, with_one, {0}, true));
                             }
                             return Concat(parts, 0);
                           },
                           {kMostSamples, kMostSamples});
  }
  Extents rows = extents(true), columns = extents(false);
  V x = c.In(0), batch = c.In(2);
  if (!c.ok()) return;
  if (x.rank() != 4 || batch.rank() != 1)
    return c.Fail(absl::StrCat("X is ", x.type().ToString(), "; wanted [n, c, h, w]"));
  c.Require(Eq(batch.dim(0), rows.start.dim(0)), "an image for each region");
  rows.most = most[0];
  columns.most = most[1];
  // [regions, channels, bins y, bins x, samples y, samples x]
  const AxisSamples y = SamplesAlong(c, rows, x.dim(2), 2, 4);
  const AxisSamples z = SamplesAlong(c, columns, x.dim(3), 3, 5);
  if (!c.ok()) return;
  const Dim regions = batch.dim(0);
  V image = ReshapeTo(ImageOf(c, batch, x.dim(0)), {regions, 1, 1, 1, 1, 1});
  V plane = image * c.SizeOf(x.dim(1)) + c.Iota({1, x.dim(1), 1, 1, 1, 1}, 1);
  const Shape all = {regions, x.dim(1), height, width, most[0], most[1]};
  const DType wide = WeightType(x.dtype());
  const auto part = [&](V row, V column, V row_share, V column_share) {
    V at = (plane * c.SizeOf(x.dim(2)) + row) * c.SizeOf(x.dim(3)) + column;
    return Cast(GatherFlat(x, Broadcast(at, all)), wide) * Cast(row_share * column_share, wide);
  };
  V corners[4] = {part(y.low, z.low, y.low_share, z.low_share),
                  part(y.low, z.high, y.low_share, z.high_share),
                  part(y.high, z.low, y.high_share, z.low_share),
                  part(y.high, z.high, y.high_share, z.high_share)};
  V result;
  if (mode == "avg") {
    V sum =
        Reduce(ir::Op::k_sum, corners[0] + corners[1] + (corners[2] + corners[3]), {4, 5}, false);
    V samples = Maximum(rows.count, c.Scalar(rows.count.dtype(), 0)) *
                Maximum(columns.count, c.Scalar(rows.count.dtype(), 0));
    samples = Maximum(samples, c.Scalar(samples.dtype(), 1));
    result = sum / Cast(ReshapeTo(samples, {regions, 1, 1, 1}), wide);
  } else {
    V best = Maximum(Maximum(corners[0], corners[1]), Maximum(corners[2], corners[3]));
    V counts = Bin(ir::Op::k_and, y.counts, z.counts);
    V least = c.Scalar(wide, -std::numeric_limits<double>::infinity());
    best = Reduce(ir::Op::k_max, Select(counts, best, least), {4, 5}, false);
    // A region without a sample gives 0.
    result = Select(Bin(ir::Op::k_eq, best, least), c.Scalar(wide, 0), best);
  }
  c.Out(0, Cast(result, x.dtype()));
}

// -- MaxRoiPool

// The bins of regions along one axis, i64[regions, bins]: elements of the image from `begin` to
// before `end`, none if these are equal.
struct Bins {
  V begin, end;
};

// `first` is the column of `rois` that the regions start in; they end two columns later.
Bins BinsAlong(NodeContext& c, V rois, int64_t first, int64_t bins, Dim extent) {
  if (!c.ok()) return {{&c}, {&c}};
  const DType type = rois.dtype() == f64 ? f64 : f32;
  const double scale = c.Float("spatial_scale", 1);
  const auto side = [&](int64_t k) {  // the nearest whole number, halves away from 0
    V at = Cast(Cast(SliceAxis(rois, 1, k, k + 1), type) * scale, f64);
    V whole = Un(ir::Op::k_floor, Abs(at) + 0.5);
    return Cast(Select(Bin(ir::Op::k_lt, at, 0.0), -whole, whole), i64);
  };
  V start = side(first);
  V length = Maximum(side(first + 2) - start + 1.0, c.ScalarInt(i64, 1));
  V bin = Cast(length, type) / static_cast<double>(bins);
  V k = c.Iota({1, bins}, 1, type);
  const auto inside = [&](ir::Op whole, V at) {
    V edge = start + Cast(Un(whole, at), i64);
    return Minimum(Maximum(edge, c.ScalarInt(i64, 0)), c.SizeOf(extent));
  };
  return {inside(ir::Op::k_floor, k * bin), inside(ir::Op::k_ceil, (k + 1.0) * bin)};
}

void MaxRoiPool(NodeContext& c) {
  const std::vector<int64_t> pooled = c.Ints("pooled_shape");
  constexpr int64_t kMostBins = 1 << 16;
  if (pooled.size() != 2 || std::min(pooled[0], pooled[1]) < 1 ||
      std::max(pooled[0], pooled[1]) > kMostBins)
    return c.Fail("pooled_shape is out of range; wanted two numbers above 0");
  const auto along = [&](bool vertical) {
    V x = c.In(0), rois = c.In(1);
    if (c.ok() && (x.rank() != 4 || rois.rank() != 2))
      c.Fail(absl::StrCat("X is ", x.type().ToString(), " and rois are ", rois.type().ToString(),
                          "; wanted [n, c, h, w] and [regions, 5]"));
    if (!c.ok()) return Bins{{&c}, {&c}};
    c.Require(Eq(rois.dim(1), 5), "a region is an image and two corners");
    return vertical ? BinsAlong(c, rois, 2, pooled[0], x.dim(2))
                    : BinsAlong(c, rois, 1, pooled[1], x.dim(3));
  };
  // As many rows and columns as the largest bins have.
  const Shape image = c.In(0).shape();
  const std::vector<Dim> most = c.SizesFromData(
      "bin",
      [&] {
        std::vector<V> parts;
        for (bool vertical : {true, false}) {
          const Bins bins = along(vertical);
          V size = Maximum(bins.end - bins.begin, c.ScalarInt(i64, 0));
          parts.push_back(ReshapeTo(Reduce(ir::Op::k_max, size, {0, 1}, false, 0), {1}));
        }
        return Concat(parts, 0);
      },
      image.size() == 4 ? std::vector<Dim>{image[2], image[3]} : std::vector<Dim>(2));
  const Bins rows = along(true), columns = along(false);
  V x = c.In(0), rois = c.In(1);
  if (!c.ok()) return;
  // [regions, channels, bins y, bins x, rows, columns]
  const Dim regions = rois.dim(0);
  const Shape down = {regions, 1, pooled[0], 1, 1, 1}, across = {regions, 1, 1, pooled[1], 1, 1};
  V row = ReshapeTo(rows.begin, down) + c.Iota({1, 1, 1, 1, most[0], 1}, 4);
  V column = ReshapeTo(columns.begin, across) + c.Iota({1, 1, 1, 1, 1, most[1]}, 5);
  V inside = Bin(ir::Op::k_and, Bin(ir::Op::k_lt, row, ReshapeTo(rows.end, down)),
                 Bin(ir::Op::k_lt, column, ReshapeTo(columns.end, across)));
  V number = ImageOf(c, SliceAxis(rois, 1, 0, 1), x.dim(0));
  V plane = ReshapeTo(number, {regions, 1, 1, 1, 1, 1}) * c.SizeOf(x.dim(1)) +
            c.Iota({1, x.dim(1), 1, 1, 1, 1}, 1);
  V at = (plane * c.SizeOf(x.dim(2)) + row) * c.SizeOf(x.dim(3)) + column;
  const double least = -std::numeric_limits<double>::infinity();
  V largest = Reduce(ir::Op::k_max, Select(inside, GatherFlat(x, at), c.Scalar(x.dtype(), least)),
                     {4, 5}, false, least);
  // A bin without an element gives 0.
  const auto some = [&](const Bins& b, const Shape& shape) {
    return ReshapeTo(Bin(ir::Op::k_lt, b.begin, b.end), shape);
  };
  V any = Bin(ir::Op::k_and, some(rows, {regions, 1, pooled[0], 1}),
              some(columns, {regions, 1, 1, pooled[1]}));
  c.Out(0, Select(any, largest, c.Scalar(x.dtype(), 0)));
}

// -- MaxUnpool

void MaxUnpool(NodeContext& c) {
  std::optional<std::vector<Dim>> given;
  if (c.Has(2)) {
    given = c.Dims(2, /*least=*/1);
    if (!given) return;
  }
  V x = c.In(0), indices = c.In(1);
  if (!c.ok()) return;
  const std::vector<int64_t> kernel = c.SizeInts("kernel_shape");
  std::vector<int64_t> strides = c.SizeInts("strides"), pads = c.SizeInts("pads");
  const size_t axes = kernel.size();
  if (strides.empty()) strides.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  if (axes < 1 || x.rank() != static_cast<int>(axes) + 2 || strides.size() != axes ||
      pads.size() != 2 * axes || (given && given->size() != axes + 2))
    return c.Fail(absl::StrCat("X is ", x.type().ToString(), "; wanted [n, c, ..] with ", axes,
                               " axes, as kernel_shape, strides, pads and output_shape have"));
  Shape shape = {x.dim(0), x.dim(1)};
  for (size_t i = 0; i < axes; ++i)
    shape.push_back((x.dim(static_cast<int>(i) + 2) - 1) * strides[i] + kernel[i] -
                    (pads[i] + pads[axes + i]));
  V flat = CheckIndex(indices, Product(shape, 0, static_cast<int>(shape.size())));
  V y = ScatterFlat(c.Fill(shape, x.dtype(), 0), flat, x, "");
  if (!given) return c.Out(0, y);
  // More than the pooling saw is 0.
  std::vector<Dim> none(shape.size(), 0), behind;
  for (size_t i = 0; i < shape.size(); ++i) {
    behind.push_back((*given)[i] - shape[i]);
    c.Require(behind.back() >= 0, "output_shape is what is unpooled, or more");
  }
  c.Out(0, PadBy(y, none, behind));
}

// -- NonMaxSuppression

// Sides of boxes: [batches, 1, boxes].
struct Boxes {
  V top, left, bottom, right;
};

Boxes SidesOf(NodeContext& c, V boxes, bool centers) {
  const auto column = [&](int64_t k) {
    return ReshapeTo(SliceAxis(boxes, 2, k, k + 1), {boxes.dim(0), 1, boxes.dim(1)});
  };
  if (!c.ok()) return {};
  V a = column(0), b = column(1), p = column(2), q = column(3);
  if (centers) return {b - q / 2.0, a - p / 2.0, b + q / 2.0, a + p / 2.0};
  return {Minimum(a, p), Minimum(b, q), Maximum(a, p), Maximum(b, q)};
}

V AreaOf(const Boxes& b) { return (b.right - b.left) * (b.bottom - b.top); }

// Whether boxes overlap by more than `threshold` of what they cover together.
V Overlap(NodeContext& c, const Boxes& a, const Boxes& b, V threshold) {
  V zero = c.Scalar(a.top.dtype(), 0);
  V wide = Minimum(a.right, b.right) - Maximum(a.left, b.left);
  V high = Minimum(a.bottom, b.bottom) - Maximum(a.top, b.top);
  V common = Maximum(wide, zero) * Maximum(high, zero);
  V area_a = AreaOf(a), area_b = AreaOf(b);
  V whole = area_a + area_b - common;
  const auto positive = [&](V v) { return Bin(ir::Op::k_gt, v, zero); };
  V proper = Bin(ir::Op::k_and, Bin(ir::Op::k_and, positive(common), positive(whole)),
                 Bin(ir::Op::k_and, positive(area_a), positive(area_b)));
  return Bin(ir::Op::k_and, proper, Bin(ir::Op::k_gt, common / whole, threshold));
}

V Lowest(NodeContext& c, DType type) {
  return c.Scalar(type, -std::numeric_limits<double>::infinity());
}

// What the loop starts from and looks at: values of the graph before it.
struct Candidates {
  Val scores, alive, threshold;
  Val sides[4];
};

// One step: the best box alive of each batch and class, [batches, classes] or -1, which takes with
// it all that it covers.
absl::StatusOr<std::vector<Val>> SelectBest(NodeContext& outer, const Candidates& from,
                                            Scope& scope, Val alive_before) {
  NodeContext c(outer.importer(), scope, outer.node(), outer.opset());
  V scores = c.Use(from.scores), alive = c.Use(alive_before), threshold = c.Use(from.threshold);
  const Boxes all = {c.Use(from.sides[0]), c.Use(from.sides[1]), c.Use(from.sides[2]),
                     c.Use(from.sides[3])};
  if (!c.ok()) return c.status();
  V lowest = Lowest(c, scores.dtype());
  V rated = Select(alive, scores, lowest);
  ir::Attrs attrs;
  attrs.axis = 2;
  attrs.keep_dims = true;
  V best = c.Create(ir::Op::k_argmax, {rated}, std::move(attrs));
  V found = Bin(ir::Op::k_gt, Reduce(ir::Op::k_max, rated, {2}, true), lowest);
  const Dim batches = scores.dim(0), boxes = scores.dim(2);
  V position = c.Iota({batches, 1, 1}, 0) * c.SizeOf(boxes) + Cast(best, i64);
  const auto pick = [&](V side) { return GatherFlat(side, position); };
  const Boxes chosen = {pick(all.top), pick(all.left), pick(all.bottom), pick(all.right)};
  V other = Bin(ir::Op::k_ne, c.Iota({1, 1, boxes}, 2), Cast(best, i64));
  V rest = Bin(ir::Op::k_and, alive,
               Bin(ir::Op::k_and, other, Un(ir::Op::k_not, Overlap(c, chosen, all, threshold))));
  V worth = Bin(ir::Op::k_and, rest, Bin(ir::Op::k_gt, scores, lowest));
  V more = Reduce(ir::Op::k_any, worth, {0, 1, 2}, false);
  V pick_of = Select(found, Cast(best, i64), c.ScalarInt(i64, -1));
  pick_of = Squeeze(pick_of, {2});
  if (!c.ok()) return c.status();
  return std::vector<Val>{scope.Here(more.id), scope.Here(rest.id), scope.Here(pick_of.id)};
}

// The selected boxes, [steps, batches, classes], -1 where there was none any more.
V RunSelection(NodeContext& c) {
  V boxes = c.In(0), scores = c.In(1);
  if (!c.ok()) return boxes;
  if (boxes.rank() != 3 || scores.rank() != 3) {
    c.Fail(absl::StrCat("boxes are ", boxes.type().ToString(), ", scores ",
                        scores.type().ToString(), "; wanted [n, boxes, 4], [n, classes, boxes]"));
    return boxes;
  }
  c.Require(Eq(boxes.dim(0), scores.dim(0)), "boxes and scores have one batch");
  c.Require(Eq(boxes.dim(1), scores.dim(2)), "a score for each box");
  c.Require(Eq(boxes.dim(2), 4), "a box has four numbers");
  const DType type = scores.dtype();
  const auto number = [&](int input, double otherwise) {
    return c.Has(input) ? ReshapeTo(Cast(c.In(input), type), {}) : c.Scalar(type, otherwise);
  };
  V alive = c.Has(4) ? Bin(ir::Op::k_gt, scores, number(4, 0)) : c.Fill(scores.shape(), bool_, 1);
  V some =
      Reduce(ir::Op::k_any, Bin(ir::Op::k_and, alive, Bin(ir::Op::k_gt, scores, Lowest(c, type))),
             {0, 1, 2}, false);
  V steps = c.Has(2) ? ReshapeTo(Cast(c.In(2), i64), {}) : c.ScalarInt(i64, 0);
  V threshold = number(3, 0);
  const Boxes sides = SidesOf(c, boxes, c.Int("center_point_box") != 0);
  if (!c.ok()) return boxes;
  Scope& scope = c.scope();
  Candidates from;
  from.scores = scope.Here(scores.id);
  from.threshold = scope.Here(threshold.id);
  from.sides[0] = scope.Here(sides.top.id);
  from.sides[1] = scope.Here(sides.left.id);
  from.sides[2] = scope.Here(sides.bottom.id);
  from.sides[3] = scope.Here(sides.right.id);
  LoopSpec spec;
  spec.carried = {scope.Here(alive.id)};
  spec.trips = scope.Here(steps.id);
  spec.condition = scope.Here(some.id);
  spec.gives_condition = true;
  spec.body = [&](Scope& body, std::vector<Val> in) { return SelectBest(c, from, body, in[1]); };
  const std::vector<Val> out = RunLoop(c, std::move(spec));
  return out.size() == 2 ? c.Use(out[1]) : V{&c};
}

void NonMaxSuppression(NodeContext& c) {
  // By batch, class and step.
  const Val kept = c.Keep("selected", [&] { return Permute(RunSelection(c), {1, 2, 0}); });
  const auto chosen = [&] { return Bin(ir::Op::k_ge, Flat(c.Use(kept)), 0.0); };
  if (!c.ok()) return;
  const Shape shape = c.scope().TypeOf(kept).shape;
  const Val positions = c.Keep("positions", [&] { return Compact(c, chosen()).padded; });
  const std::vector<Dim> count =
      c.SizesFromData("count", [&] { return Compact(c, chosen()).count; }, {Product(shape, 0, 3)});
  V at = c.Use(positions), selected = c.Use(kept);
  if (!c.ok()) return;
  at = SliceAxis(at, 0, 0, count[0]);
  V box = GatherFlat(selected, at);
  V row = Bin(ir::Op::k_div, at, c.SizeOf(shape[2]));
  V batch = Bin(ir::Op::k_div, row, c.SizeOf(shape[1]));
  V label = Bin(ir::Op::k_rem, row, c.SizeOf(shape[1]));
  c.Out(0, Concat({Unsqueeze(batch, {1}), Unsqueeze(label, {1}), Unsqueeze(box, {1})}, 1));
}

}  // namespace

std::vector<Mapping> RegionMappings() {
  return {
      {"", "RoiAlign", RoiAlign},
      {"", "MaxRoiPool", MaxRoiPool},
      {"", "MaxUnpool", MaxUnpool},
      {"", "NonMaxSuppression", NonMaxSuppression},
  };
}

}  // namespace lathe::onnx
