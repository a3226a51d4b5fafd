// Resize and Upsample. Every axis is resized by itself: by repetition where that is what the
// nearest element comes to, by gathering where it isn't, by a sum of 2 or 4 weighted gathers, or,
// where an antialias filter has as many taps as the sizes say, by a product with a matrix of
// weights. Positions are computed from the sizes in the graph, in f64, so sizes may be open.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "compiler/onnx/node.h"
#include "compiler/onnx/sampling.h"
#include "ir/visit_dtype.h"

namespace lathe::onnx {
namespace {

struct Form {
  Kernel kernel = Kernel::kNearest;
  std::string coordinates, nearest;
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75, extrapolation = 0;
};

struct Fraction {
  int64_t above, below;
};

struct AxisPlan {
  int axis = 0;
  Dim in, out;
  bool by_size = false;              // the scale is out / in
  std::optional<Fraction> constant;  // the scale, where it is known
  V scale;            // f64[] or f32[], of one given as data or common to several axes
  V begin, end;       // f32[], the region of tf_crop_and_resize
  bool whole = true;  // the region is [0, 1]
};

// A fraction with a small denominator that `scale` is the nearest float of: 0.7f is 7/10, as
// whoever wrote it meant it. Sizes are floor(size * scale), so that matters.
std::optional<Fraction> AsFraction(float scale) {
  if (!(scale >= 1e-9F && scale <= 1e9F)) return std::nullopt;  // beyond, an int64 could overflow
  // The convergents of the continued fraction, until one is near enough.
  int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  double x = static_cast<double>(scale);
  for (int step = 0; step < 40; ++step) {
    const auto whole = static_cast<int64_t>(std::floor(x));
    const int64_t p = p0 + whole * p1, q = q0 + whole * q1;
    if (static_cast<float>(static_cast<double>(p) / static_cast<double>(q)) == scale)
      return Fraction{p, q};
    if (x == static_cast<double>(whole) || q > (int64_t{1} << 40)) return std::nullopt;
    p0 = std::exchange(p1, p);
    q0 = std::exchange(q1, q);
    x = 1 / (x - static_cast<double>(whole));
  }
  return std::nullopt;
}

V Number(NodeContext& c, double value) { return c.Scalar(f64, value); }

// x * scale, by a known scale exactly, as the sizes are; otherwise in the type of the scale.
V TimesScale(NodeContext& c, const AxisPlan& p, V x) {
  if (p.scale.ok()) return Cast(Cast(x, p.scale.dtype()) * p.scale, f64);
  if (p.constant)
    return x * static_cast<double>(p.constant->above) / static_cast<double>(p.constant->below);
  return x * c.SizeOf(p.out, f64) / c.SizeOf(p.in, f64);
}

V DividedByScale(NodeContext& c, const AxisPlan& p, V y) {
  if (p.scale.ok()) return Cast(Cast(y, p.scale.dtype()) / p.scale, f64);
  if (p.constant)
    return y * static_cast<double>(p.constant->below) / static_cast<double>(p.constant->above);
  return y * c.SizeOf(p.in, f64) / c.SizeOf(p.out, f64);
}

// The output's length as a fraction where the scale says so: in * scale.
V Width(NodeContext& c, const AxisPlan& p) {
  const bool scaled = p.scale.ok() || p.constant;
  return scaled ? TimesScale(c, p, c.SizeOf(p.in, f64)) : c.SizeOf(p.out, f64);
}

// Where each element of the result lies in the operand: f64[out]. `outside` becomes the mask of
// those that tf_crop_and_resize doesn't read at all.
V Positions(NodeContext& c, const AxisPlan& p, const Form& form, V* outside) {
  V y = c.Iota({p.out}, 0, f64);
  V last = c.SizeOf(p.in, f64) - 1.0;
  const std::string& mode = form.coordinates;
  if (mode == "asymmetric") return DividedByScale(c, p, y);
  if (mode == "tf_half_pixel_for_nn") return DividedByScale(c, p, y + 0.5);
  V width = Width(c, p);
  if (mode == "align_corners")
    return Select(Bin(ir::Op::k_eq, width, 1.0), Number(c, 0), y * last / (width - 1.0));
  V single = Bin(ir::Op::k_le, c.SizeOf(p.out, f64), 1.0);
  if (mode == "tf_crop_and_resize") {
    V begin = Cast(p.begin, f64), extent = Cast(p.end - p.begin, f64);
    V x = Select(single, extent * last / 2.0, y * extent * last / (width - 1.0)) + begin * last;
    *outside = Bin(ir::Op::k_or, Bin(ir::Op::k_lt, x, 0.0), Bin(ir::Op::k_gt, x, last));
    return x;
  }
  V x = DividedByScale(c, p, y + 0.5) - 0.5;
  if (mode == "pytorch_half_pixel") return Select(single, Number(c, 0), x);
  if (mode == "half_pixel_symmetric")
    return x + c.SizeOf(p.in, f64) / 2.0 * (1.0 - c.SizeOf(p.out, f64) / width);
  return x;  // half_pixel
}

V Clamped(NodeContext& c, V index, Dim extent) {
  return Minimum(Maximum(index, c.ScalarInt(i64, 0)), c.SizeOf(extent - 1));
}

V NearestIndex(NodeContext& c, const AxisPlan& p, const Form& form, V x) {
  V i;
  if (form.nearest == "floor") {
    i = Un(ir::Op::k_floor, x);
  } else if (form.nearest == "ceil") {
    i = Un(ir::Op::k_ceil, x);
  } else if (form.nearest == "round_prefer_ceil") {
    i = Un(ir::Op::k_floor, x + 0.5);
  } else if (form.nearest == "simple") {  // of opset 10
    V one = Number(c, 1);
    i = Select(Bin(ir::Op::k_le, DividedByScale(c, p, one), 1.0), Un(ir::Op::k_floor, x),
               Un(ir::Op::k_ceil, x));
  } else {
    i = Un(ir::Op::k_ceil, x - 0.5);
  }
  return Clamped(c, Cast(i, i64), p.in);
}

// The factor by which each element is repeated, if the nearest elements are a repetition.
std::optional<int64_t> Repeats(const AxisPlan& p, const Form& form) {
  if (form.kernel != Kernel::kNearest) return std::nullopt;
  int64_t k = 0;
  if (p.constant) {
    if (p.constant->below != 1 || p.constant->above > 1'000'000) return std::nullopt;
    k = p.constant->above;
  } else if (!p.scale.ok()) {
    constexpr int64_t kMostTried = 64;
    if (p.in.is_constant() && p.out.is_constant()) {
      if (p.in.constant() > 0 && p.out.constant() % p.in.constant() == 0)
        k = p.out.constant() / p.in.constant();
    } else {
      for (int64_t i = 1; i <= kMostTried && k == 0; ++i)
        if (p.in * i == p.out) k = i;
    }
  }
  if (k < 1) return std::nullopt;
  const std::string &mode = form.coordinates, &nearest = form.nearest;
  const bool floors = nearest == "floor" || nearest == "simple";
  const bool rounds = nearest == "round_prefer_floor" || nearest == "round_prefer_ceil";
  // y = k q + r is at q + r/k, q + (r + 1/2)/k, or that minus 1/2, which is less than 1/2 from q.
  if (mode == "asymmetric" || mode == "tf_half_pixel_for_nn")
    if (floors || (k == 1 && mode == "asymmetric") ||
        (k == 2 && nearest == "round_prefer_floor" && mode == "asymmetric"))
      return k;
  if (mode == "half_pixel" || mode == "pytorch_half_pixel" || mode == "half_pixel_symmetric")
    if (rounds || k == 1) return k;
  if (k == 1 && mode == "align_corners") return k;
  return std::nullopt;
}

V RepeatAxes(V x, const std::vector<std::pair<int, int64_t>>& repeats) {
  std::vector<int64_t> factor(static_cast<size_t>(x.rank()), 1);
  for (const auto& [axis, k] : repeats) factor[static_cast<size_t>(axis)] = k;
  Shape apart, wide, joined;
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t k = factor[static_cast<size_t>(i)];
    apart.push_back(x.dim(i));
    wide.push_back(x.dim(i));
    joined.push_back(x.dim(i) * k);
    if (k == 1) continue;
    apart.push_back(1);
    wide.push_back(k);
  }
  return ReshapeTo(Broadcast(ReshapeTo(x, apart), wide), joined);
}

// The sum over 2 or 4 neighbours.
V Interpolated(NodeContext& c, V x, const AxisPlan& p, const Form& form, V at) {
  V base = Un(ir::Op::k_floor, at);
  V t = at - base;
  V first = Cast(base, i64);
  std::vector<V> weights, indices;
  if (form.kernel == Kernel::kLinear) {
    weights = {1.0 - t, t};
    indices = {first, first + 1.0};
  } else {
    weights = CubicWeights(t, form.cubic_a);
    indices = {first - 1.0, first, first + 1.0, first + 2.0};
  }
  if (form.exclude_outside) {
    V total;
    for (size_t i = 0; i < weights.size(); ++i) {
      V inside = Bin(ir::Op::k_and, Bin(ir::Op::k_ge, indices[i], 0.0),
                     Bin(ir::Op::k_lt, indices[i], c.SizeOf(p.in)));
      weights[i] = Select(inside, weights[i], Number(c, 0));
      total = i == 0 ? weights[i] : total + weights[i];
    }
    total = Select(Bin(ir::Op::k_eq, total, 0.0), Number(c, 1), total);
    for (V& w : weights) w = w / total;
  }
  V sum;
  for (size_t i = 0; i < weights.size() && c.ok(); ++i) {
    V term = Gather(x, Clamped(c, indices[i], p.in), p.axis) *
             Along(Cast(weights[i], x.dtype()), x.rank(), p.axis);
    sum = i == 0 ? term : sum + term;
  }
  return sum;
}

// |d| -> weight of the kernel.
V KernelAt(NodeContext& c, V d, const Form& form) {
  V zero = Number(c, 0);
  d = Abs(d);
  if (form.kernel == Kernel::kLinear) return Maximum(1.0 - d, zero);
  V near = CubicNear(d, form.cubic_a), far = CubicFar(d, form.cubic_a);
  return Select(Bin(ir::Op::k_le, d, 1.0), near, Select(Bin(ir::Op::k_lt, d, 2.0), far, zero));
}

// The filter stretched by 1 / scale where that shrinks: x by a matrix of weights, whose rows sum to
// 1. Elements outside are those at the edge, which the axis is extended by.
V Antialiased(NodeContext& c, V x, const AxisPlan& p, const Form& form, V at) {
  V one = Number(c, 1), scale = Minimum(TimesScale(c, p, one), one);
  if (!p.constant && !p.scale.ok())
    c.Require(Min(p.out, 1) <= p.in, "an axis without elements is resized to one without any");
  Dim margin = 0;
  if (!form.exclude_outside) {
    margin = 2 * CeilDiv(p.in, Max(p.out, 1)) * (form.kernel == Kernel::kCubic ? 2 : 1) + 2;
    if (!c.Known(p.in >= 1)) margin *= Min(p.in, 1);  // there is no edge of nothing
    x = Gather(x, Clamped(c, c.Iota({p.in + 2 * margin}, 0) - c.SizeOf(margin), p.in), p.axis);
  }
  if (!c.ok()) return x;
  const Dim extent = p.in + 2 * margin;
  V column = c.Iota({1, extent}, 1, f64) - c.SizeOf(margin, f64);
  V weights = KernelAt(c, (column - ReshapeTo(at, {p.out, 1})) * scale, form);
  V total = Reduce(ir::Op::k_sum, weights, {1}, true);
  weights = Cast(weights / Select(Bin(ir::Op::k_eq, total, 0.0), Number(c, 1), total), x.dtype());
  std::vector<int> order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  std::swap(order[static_cast<size_t>(p.axis)], order.back());
  return Permute(MatMul(Permute(x, order), Transpose2(weights)), order);
}

bool Shrinks(const AxisPlan& p) {
  if (p.constant) return p.constant->above < p.constant->below;
  return !(p.in.is_constant() && p.out.is_constant() && p.out.constant() >= p.in.constant());
}

V ResizeAxis(NodeContext& c, V x, const AxisPlan& p, const Form& form) {
  V outside;
  V at = Positions(c, p, form, &outside);
  V y;
  if (form.kernel == Kernel::kNearest) {
    y = Gather(x, NearestIndex(c, p, form, at), p.axis);
  } else if (form.antialias && Shrinks(p)) {
    y = Antialiased(c, x, p, form, at);
  } else {
    y = Interpolated(c, x, p, form, at);
  }
  if (!outside.ok() || !c.ok()) return y;
  return Select(Along(outside, x.rank(), p.axis), c.Scalar(x.dtype(), form.extrapolation), y);
}

// An axis that stays as it is.
bool Stays(NodeContext& c, const AxisPlan& p, const Form& form) {
  if (p.scale.ok() || (p.constant && p.constant->above != p.constant->below)) return false;
  if (form.coordinates == "tf_crop_and_resize" && !p.whole) return false;
  if (form.coordinates == "tf_half_pixel_for_nn" && form.nearest != "floor") return false;
  return p.in == p.out || c.Known(Eq(p.in, p.out));
}

V ResizeAxes(NodeContext& c, V x, const std::vector<AxisPlan>& plans, const Form& form) {
  const DType type = x.dtype();
  std::vector<AxisPlan> rest;
  std::vector<std::pair<int, int64_t>> repeats;
  for (const AxisPlan& p : plans) {
    if (const auto k = Repeats(p, form)) {
      if (*k > 1) repeats.emplace_back(p.axis, *k);
    } else {
      rest.push_back(p);
    }
  }
  if (!repeats.empty()) x = RepeatAxes(x, repeats);
  if (rest.empty()) return x;
  const bool weighted = form.kernel != Kernel::kNearest;
  if (weighted) x = Cast(x, WeightType(type));
  for (const AxisPlan& p : rest) x = ResizeAxis(c, x, p, form);
  return weighted ? FromWeighted(x, type) : x;
}

void ResizeBy(NodeContext& c, V x, const std::vector<AxisPlan>& plans, const Form& form) {
  if (!c.ok()) return;
  std::vector<AxisPlan> moved;
  for (const AxisPlan& p : plans)
    if (!Stays(c, p, form)) moved.push_back(p);
  // Images lie with their channels innermost behind a convolution.
  const bool image =
      x.rank() >= 3 && !moved.empty() &&
      std::all_of(moved.begin(), moved.end(), [](const AxisPlan& p) { return p.axis >= 2; });
  if (!image) return c.Out(0, ResizeAxes(c, x, moved, form));
  for (AxisPlan& p : moved) --p.axis;
  c.Out(0, ChannelsFirst(ResizeAxes(c, ChannelsLast(x), moved, form)));
}

// An input that is there and has elements.
bool Given(NodeContext& c, int input) {
  if (!c.Has(input)) return false;
  const Val v = c.InVal(input);
  if (v.kind != Val::Kind::kTensor) return false;
  const Shape shape = c.scope().TypeOf(v).shape;
  return shape.size() != 1 || shape[0] != Dim(0);
}

// The floats of an input, if they are known without data.
std::optional<std::vector<float>> KnownFloats(NodeContext& c, int input) {
  const absl::StatusOr<std::optional<Tensor>> t = c.importer().Content(c.InVal(input));
  if (!t.ok()) {
    c.Fail(t.status());
    return std::nullopt;
  }
  if (!*t) return std::nullopt;
  const Tensor flat = (*t)->Contiguous();
  if (!IsFloat(flat.dtype())) {
    c.Fail(absl::StrCat("input ", input, " is of type ", Name(flat.dtype()), "; wanted floats"));
    return std::nullopt;
  }
  std::vector<float> values;
  VisitDType(flat.dtype(), [&](auto type) {
    for (int64_t i = 0; i < flat.num_elements(); ++i)
      values.push_back(static_cast<float>(flat.data<decltype(type)>()[i]));
  });
  return values;
}

V Element(V vector, int64_t i) { return ReshapeTo(SliceAxis(vector, 0, i, i + 1), {}); }

void PlanByConstants(NodeContext& c, const std::vector<float>& scales,
                     std::vector<AxisPlan>& plans) {
  if (scales.size() != plans.size())
    return c.Fail(absl::StrCat("has ", scales.size(), " scales for ", plans.size(), " axes"));
  for (size_t i = 0; i < plans.size(); ++i) {
    const auto fraction = AsFraction(scales[i]);
    if (!fraction) return c.Fail(absl::StrCat("scale ", i, " is ", scales[i]));
    plans[i].constant = fraction;
    plans[i].out = FloorDiv(plans[i].in * fraction->above, fraction->below);
  }
}

// Scales that only the data gives: so are the sizes. The nearest element is found with f32's
// rounding, which takes 4 / 0.8f to 5; what lies between elements has no need of it.
void PlanByScales(NodeContext& c, int input, const Form& form, std::vector<AxisPlan>& plans) {
  const auto scales = KnownFloats(c, input);
  if (!c.ok()) return;
  if (scales) return PlanByConstants(c, *scales, plans);
  const std::vector<Dim> sizes = c.SizesFromData(
      "size",
      [&] {
        std::vector<Dim> in;
        for (const AxisPlan& p : plans) in.push_back(p.in);
        V wide = Cast(c.FromDims(in), f32) * Cast(c.In(input), f32);
        return Cast(Un(ir::Op::k_floor, wide), i64);
      },
      std::vector<Dim>(plans.size(), ir::kMaxDim));
  V given = Cast(c.In(input), form.kernel == Kernel::kNearest ? f32 : f64);
  if (!c.ok()) return;
  if (sizes.size() != plans.size())
    return c.Fail(absl::StrCat("has ", sizes.size(), " scales for ", plans.size(), " axes"));
  for (size_t i = 0; i < plans.size(); ++i) {
    plans[i].scale = Element(given, static_cast<int64_t>(i));
    plans[i].out = sizes[i];
  }
}

void PlanBySizes(NodeContext& c, int input, const std::string& policy,
                 std::vector<AxisPlan>& plans) {
  const auto sizes = c.Dims(input, /*least=*/1);
  if (!sizes) return;
  if (sizes->size() != plans.size())
    return c.Fail(absl::StrCat("has ", sizes->size(), " sizes for ", plans.size(), " axes"));
  for (size_t i = 0; i < plans.size(); ++i) {
    plans[i].by_size = true;
    plans[i].out = (*sizes)[i];
  }
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller")
    return c.Fail(absl::StrCat("keep_aspect_ratio_policy is '", policy, "'"));
  // One scale for all, the least or the largest; a size is the rounded size * scale, ties up.
  const bool least = policy == "not_larger";
  V scale;
  std::vector<Dim> out(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    c.Require(plans[i].in >= 1, "a size that a ratio is kept of");
    V ratio = c.SizeOf((*sizes)[i], f64) / c.SizeOf(plans[i].in, f64);
    if (i > 0) ratio = least ? Minimum(scale, ratio) : Maximum(scale, ratio);
    scale = ratio;
    for (size_t j = 0; j < plans.size(); ++j) {
      const Dim size = FloorDiv(2 * (*sizes)[i] * plans[j].in + plans[i].in, 2 * plans[i].in);
      out[j] = i == 0 ? size : (least ? Min(out[j], size) : Max(out[j], size));
    }
  }
  for (size_t j = 0; j < plans.size(); ++j) {
    plans[j].by_size = false;
    plans[j].scale = scale;
    plans[j].out = out[j];
  }
}

std::vector<AxisPlan> PlansFor(V x, const std::vector<int>& axes) {
  std::vector<AxisPlan> plans;
  for (int axis : axes) {
    AxisPlan p;
    p.axis = axis;
    p.in = x.dim(axis);
    plans.push_back(p);
  }
  return plans;
}

void Resize(NodeContext& c) {
  const bool simple = c.opset() < 11;
  Form form;
  const std::string mode = c.Str("mode", "nearest");
  const auto kernel = KernelNamed(mode);
  if (!kernel) return c.Fail(absl::StrCat("mode is '", mode, "'"));
  form.kernel = *kernel;
  form.coordinates = simple ? "asymmetric" : c.Str("coordinate_transformation_mode", "half_pixel");
  form.nearest = simple ? "simple" : c.Str("nearest_mode", "round_prefer_floor");
  form.antialias = c.Int("antialias") != 0;
  form.exclude_outside = c.Int("exclude_outside") != 0;
  form.cubic_a = c.Float("cubic_coeff_a", -0.75);
  form.extrapolation = c.Float("extrapolation_value");
  const std::vector<std::string_view> known = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
      "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
  if (std::find(known.begin(), known.end(), form.coordinates) == known.end())
    return c.Fail(absl::StrCat("coordinate_transformation_mode is '", form.coordinates, "'"));
  V x = c.In(0);
  if (!c.ok()) return;
  std::vector<int> axes;
  if (c.HasAttr("axes")) {
    for (int64_t a : c.Ints("axes")) axes.push_back(c.Axis(a, x.rank()));
  } else {
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  }
  std::vector<AxisPlan> plans = PlansFor(x, axes);
  if (simple) {
    PlanByScales(c, 1, form, plans);
  } else if (Given(c, 3)) {
    PlanBySizes(c, 3, c.Str("keep_aspect_ratio_policy", "stretch"), plans);
  } else if (Given(c, 2)) {
    PlanByScales(c, 2, form, plans);
  } else {
    return c.Fail("has neither scales nor sizes");
  }
  if (!c.ok()) return;
  if (form.coordinates == "tf_crop_and_resize") {
    if (!Given(c, 1)) return c.Fail("tf_crop_and_resize needs the input roi");
    const auto region = KnownFloats(c, 1);
    V roi = c.In(1);
    const size_t n = plans.size();
    if (!c.ok()) return;
    if (roi.rank() != 1) return c.Fail(absl::StrCat("roi is ", roi.type().ToString()));
    c.Require(Eq(roi.dim(0), static_cast<int64_t>(2 * n)), "roi has two numbers for each axis");
    for (size_t i = 0; i < n && c.ok(); ++i) {
      plans[i].begin = Element(roi, static_cast<int64_t>(i));
      plans[i].end = Element(roi, static_cast<int64_t>(n + i));
      plans[i].whole =
          region && region->size() == 2 * n && (*region)[i] == 0 && (*region)[n + i] == 1;
    }
  }
  // The graph may have been cut after the first use.
  ResizeBy(c, c.In(0), plans, form);
}

// Resize as it was before opset 10.
void Upsample(NodeContext& c) {
  Form form;
  const std::string mode = c.Str("mode", "nearest");
  const auto kernel = KernelNamed(mode);
  if (!kernel || *kernel == Kernel::kCubic) return c.Fail(absl::StrCat("mode is '", mode, "'"));
  form.kernel = *kernel;
  form.coordinates = "asymmetric";
  form.nearest = "simple";
  V x = c.In(0);
  if (!c.ok()) return;
  std::vector<int> axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  std::vector<AxisPlan> plans = PlansFor(x, axes);
  if (c.HasAttr("height_scale")) {
    if (x.rank() != 4) return c.Fail("wanted [n, c, h, w]");
    PlanByConstants(c,
                    {1, 1, static_cast<float>(c.Float("height_scale")),
                     static_cast<float>(c.Float("width_scale"))},
                    plans);
  } else if (c.HasAttr("scales")) {
    PlanByConstants(c, c.Floats("scales"), plans);
  } else {
    PlanByScales(c, 1, form, plans);
  }
  if (c.ok()) ResizeBy(c, c.In(0), plans, form);
}

}  // namespace

std::vector<Mapping> ResizeMappings() {
  return {
      {"", "Resize", Resize},
      {"", "Upsample", Upsample},
  };
}

}  // namespace lathe::onnx
