// Operators that move elements or speak of shapes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "compiler/onnx/node.h"
#include "ir/visit_dtype.h"

namespace lathe::onnx {
namespace {

std::vector<int> AllAxes(int rank) {
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

// The node's own tensors of any kind become constants.
void Constant(NodeContext& c) {
  if (const Attribute* a = c.Find("value"); a != nullptr && !a->tensors.empty()) {
    absl::StatusOr<Tensor> t = ToTensor(a->tensors[0]);
    if (!t.ok()) return c.Fail(t.status());
    return c.OutVal(0, Val::Constant(*std::move(t)));
  }
  if (const Attribute* a = c.Find("sparse_value"); a != nullptr && !a->sparse.empty()) {
    absl::StatusOr<Tensor> t = Densify(a->sparse[0], c.importer().options().max_folded_bytes);
    if (!t.ok()) return c.Fail(t.status());
    return c.OutVal(0, Val::Constant(*std::move(t)));
  }
  if (const Attribute* a = c.Find("value_int"))
    return c.OutVal(0, Val::Constant(Tensor::Scalar<int64_t>(a->i)));
  if (const Attribute* a = c.Find("value_float"))
    return c.OutVal(0, Val::Constant(Tensor::Scalar<float>(a->f)));
  if (const Attribute* a = c.Find("value_ints")) {
    const auto n = static_cast<int64_t>(a->ints.size());
    return c.OutVal(0, Val::Constant(Tensor::FromVector<int64_t>({n}, a->ints)));
  }
  if (const Attribute* a = c.Find("value_floats")) {
    const auto n = static_cast<int64_t>(a->floats.size());
    return c.OutVal(0, Val::Constant(Tensor::FromVector<float>({n}, a->floats)));
  }
  c.Unsupported("has no value that is a tensor of numbers (strings aren't supported)");
}

void ShapeOf(NodeContext& c) {
  const Shape shape = c.TypeOf(0).shape;
  if (!c.ok()) return;
  const int64_t rank = static_cast<int64_t>(shape.size());
  const auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = clamp(c.Int("start", 0)), end = clamp(c.Int("end", rank));
  Shape part;
  for (int64_t i = start; i < end; ++i) part.push_back(shape[static_cast<size_t>(i)]);
  c.Out(0, c.FromDims(part));
}

void SizeOfAll(NodeContext& c) {
  const Shape shape = c.TypeOf(0).shape;
  if (!c.ok()) return;
  c.Out(0, c.SizeOf(Product(shape, 0, static_cast<int>(shape.size()))));
}

void Reshape(NodeContext& c) {
  std::vector<Dim> target;
  if (c.HasAttr("shape")) {
    for (int64_t n : c.Ints("shape")) target.push_back(n);
  } else if (const auto dims = c.Dims(1, /*least=*/1)) {
    target = *dims;
  }
  V x = c.In(0);
  if (!c.ok()) return;
  const bool zero_is_zero = c.Int("allowzero") != 0;
  bool has_zero = false, has_rest = false;
  for (size_t i = 0; i < target.size(); ++i) {
    has_rest |= target[i] == Dim(-1);
    if (target[i] != Dim(0)) continue;
    has_zero = true;
    if (zero_is_zero) continue;
    if (static_cast<int>(i) >= x.rank())
      return c.Fail(absl::StrCat("0 stands at axis ", i, " of the target, which ",
                                 x.type().ToString(), " doesn't have"));
    target[i] = x.dim(static_cast<int>(i));
  }
  if (zero_is_zero && has_zero && has_rest)
    return c.Fail("0 and -1 together in a target with allowzero");
  c.Out(0, ReshapeTo(x, target));
}

void Flatten(NodeContext& c) {
  V x = c.In(0);
  if (!c.ok()) return;
  int64_t axis = c.Int("axis", 1);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis > x.rank()) return c.Fail(absl::StrCat("axis ", axis, " is out of range"));
  const int at = static_cast<int>(axis);
  c.Out(0, ReshapeTo(x, {Product(x.shape(), 0, at), Product(x.shape(), at, x.rank())}));
}

void SqueezeAxes(NodeContext& c) {
  const bool all = !c.HasAttr("axes") && !c.Has(1);
  const std::vector<int64_t> given = c.IntsOrInput("axes", 1);
  V x = c.In(0);
  if (!c.ok()) return;
  std::vector<int> axes = c.Axes(given, x.rank());
  if (all) {
    for (int i = 0; i < x.rank(); ++i) {
      if (x.dim(i) == Dim(1) || c.Known(Eq(x.dim(i), 1))) {
        axes.push_back(i);
      } else if (!c.Known(Ne(x.dim(i), 1))) {
        return c.Unsupported(absl::StrCat("whether axis ", i, " of ", x.type().ToString(),
                                          " is squeezed depends on its size; give the axes"));
      }
    }
  }
  c.Out(0, Squeeze(x, axes));
}

void UnsqueezeAxes(NodeContext& c) {
  const std::vector<int64_t> given = c.IntsOrInput("axes", 1);
  V x = c.In(0);
  if (!c.ok()) return;
  c.Out(0, Unsqueeze(x, c.Axes(given, x.rank() + static_cast<int>(given.size()))));
}

void Transpose(NodeContext& c) {
  V x = c.In(0);
  if (!c.ok()) return;
  std::vector<int> axes;
  if (c.HasAttr("perm")) {
    for (int64_t a : c.Ints("perm")) axes.push_back(c.Axis(a, x.rank()));
    if (static_cast<int>(axes.size()) != x.rank())
      return c.Fail(absl::StrCat("perm has ", axes.size(), " axes for ", x.type().ToString()));
  } else {
    for (int i = x.rank(); i-- > 0;) axes.push_back(i);
  }
  c.Out(0, Permute(x, axes));
}

void ConcatAll(NodeContext& c) {
  const std::vector<V> xs = c.InAll();
  if (!c.ok() || xs.empty()) return;
  c.Out(0, Concat(xs, c.Axis(c.Int("axis", 1), xs[0].rank())));
}

void Split(NodeContext& c) {
  std::vector<Dim> sizes;
  if (c.HasAttr("split")) {
    for (int64_t n : c.Ints("split")) sizes.push_back(n);
  } else if (c.Has(1)) {
    if (const auto dims = c.Dims(1)) sizes = *dims;
  }
  V x = c.In(0);
  if (!c.ok()) return;
  const int axis = c.Axis(c.Int("axis", 0), x.rank());
  const Dim extent = x.dim(axis);
  if (sizes.empty()) {
    const int64_t parts = c.Int("num_outputs", c.num_outputs());
    if (parts < 1 || parts != c.num_outputs())
      return c.Fail(absl::StrCat("num_outputs is ", parts, "; the node has ", c.num_outputs()));
    const Dim piece = CeilDiv(extent, parts);
    if (c.opset() < 18) c.Require(Eq(lathe::Mod(extent, parts), 0), "split into equal parts");
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(Max(0, Min(piece, extent - piece * i)));
  } else {
    Dim total = 0;
    for (Dim d : sizes) total += d;
    c.Require(Eq(total, extent), "the parts of the split make up the axis");
  }
  Dim start = 0;
  for (size_t i = 0; i < sizes.size() && c.ok(); ++i) {
    if (c.WantsOutput(static_cast<int>(i)))
      c.Out(static_cast<int>(i), SliceAxis(x, axis, start, start + sizes[i]));
    start += sizes[i];
  }
}

void Slice(NodeContext& c) {
  std::vector<Dim> starts, ends;
  std::vector<int64_t> axes, steps;
  if (c.opset() < 10) {
    for (int64_t n : c.Ints("starts")) starts.push_back(n);
    for (int64_t n : c.Ints("ends")) ends.push_back(n);
    axes = c.Ints("axes");
  } else {
    const auto s = c.Dims(1), e = c.Dims(2);
    if (!s || !e) return;
    starts = *s;
    ends = *e;
    if (c.Has(3)) axes = c.Constants(3).value_or(axes);
    if (c.Has(4)) steps = c.Constants(4).value_or(steps);
  }
  V x = c.In(0);
  if (!c.ok()) return;
  if (starts.size() != ends.size() || (!axes.empty() && axes.size() != starts.size()) ||
      (!steps.empty() && steps.size() != starts.size()))
    return c.Fail(absl::StrCat("has ", starts.size(), " starts, ", ends.size(), " ends, ",
                               axes.size(), " axes and ", steps.size(), " steps"));
  static constexpr int64_t kFar = int64_t{1} << 41;  // beyond every extent
  const auto near = [](Dim d) {
    return d.is_constant() ? Dim(std::clamp(d.constant(), -kFar, kFar)) : d;
  };
  for (size_t i = 0; i < starts.size(); ++i) {
    const int axis = c.Axis(axes.empty() ? static_cast<int64_t>(i) : axes[i], x.rank());
    const int64_t step =
        steps.empty() ? 1 : std::clamp(steps[i], -(int64_t{1} << 40), int64_t{1} << 40);
    if (step == 0) return c.Fail("a step of 0");
    x = SliceAxis(x, axis, near(starts[i]), near(ends[i]), step);
  }
  c.Out(0, x);
}

void GatherAxis(NodeContext& c) {
  V x = c.In(0), indices = c.In(1);
  if (!c.ok()) return;
  c.Out(0, Gather(x, indices, c.Axis(c.Int("axis", 0), x.rank())));
}

// numpy's broadcasting of both sides, with a value that is never chosen.
void Expand(NodeContext& c) {
  const auto target = c.Dims(1);
  V x = c.In(0);
  if (!c.ok()) return;
  c.Out(0, Select(c.Scalar(bool_, 1), x, c.Fill(*target, x.dtype(), 0)));
}

// Before opset 6 one number of repeats, along the axis that input 2 names.
void Tile(NodeContext& c) {
  auto repeats = c.Dims(1);
  const auto axis = c.opset() < 6 ? c.Constants(2) : std::nullopt;
  V x = c.In(0);
  if (!c.ok()) return;
  if (axis) {
    if (repeats->size() != 1 || axis->size() != 1 || x.rank() == 0)
      return c.Fail("wanted one number of repeats, and one axis");
    std::vector<Dim> all(static_cast<size_t>(x.rank()), 1);
    all[static_cast<size_t>(c.Axis((*axis)[0], x.rank()))] = (*repeats)[0];
    repeats = std::move(all);
  }
  if (static_cast<int>(repeats->size()) != x.rank())
    return c.Fail(absl::StrCat("has ", repeats->size(), " repeats for ", x.type().ToString()));
  Shape apart, wide, joined;
  for (int i = 0; i < x.rank(); ++i) {
    const Dim r = (*repeats)[static_cast<size_t>(i)];
    apart.insert(apart.end(), {1, x.dim(i)});
    wide.insert(wide.end(), {r, x.dim(i)});
    joined.push_back(r * x.dim(i));
  }
  c.Out(0, ReshapeTo(Broadcast(ReshapeTo(x, apart), wide), joined));
}

// The positions of an axis of `extent` that padded positions show.
V PadIndices(NodeContext& c, Dim low, Dim extent, Dim high, const std::string& mode) {
  V i = c.Iota({low + extent + high}, 0) - c.SizeOf(low);
  V zero = c.ScalarInt(i64, 0), last = c.SizeOf(extent - 1);
  if (mode == "edge") return Minimum(Maximum(i, zero), last);
  if (mode == "wrap") return Bin(ir::Op::k_mod, i, c.SizeOf(extent));
  V period = Maximum(c.SizeOf(2 * (extent - 1)), c.ScalarInt(i64, 1));  // reflect
  V r = Bin(ir::Op::k_mod, i, period);
  return Minimum(r, period - r);
}

void Pad(NodeContext& c) {
  std::vector<Dim> pads;
  std::vector<int64_t> given_axes;
  if (c.HasAttr("pads") || c.HasAttr("paddings")) {
    for (int64_t n : c.Ints(c.HasAttr("pads") ? "pads" : "paddings")) pads.push_back(n);
  } else {
    const auto dims = c.Dims(1);
    if (!dims) return;
    pads = *dims;
    if (c.Has(3)) given_axes = c.Constants(3).value_or(given_axes);
  }
  const std::string mode = c.Str("mode", "constant");
  V x = c.In(0);
  if (!c.ok()) return;
  std::vector<int> axes;
  if (c.Has(3)) {
    for (int64_t a : given_axes) axes.push_back(c.Axis(a, x.rank()));
  } else {
    axes = AllAxes(x.rank());
  }
  if (!c.ok()) return;
  const size_t n = axes.size();
  if (pads.size() != 2 * n)
    return c.Fail(absl::StrCat("has ", pads.size(), " pads for ", n, " axes; wanted two for each"));
  for (Dim d : pads)
    if (!c.IsSize("pads", d)) return;
  std::vector<Dim> low(static_cast<size_t>(x.rank()), 0), high = low;
  for (size_t i = 0; i < n; ++i) {
    low[static_cast<size_t>(axes[i])] = pads[i];
    high[static_cast<size_t>(axes[i])] = pads[n + i];
  }
  // What is taken away goes first.
  for (int a = 0; a < x.rank(); ++a) {
    Dim& l = low[static_cast<size_t>(a)];
    Dim& h = high[static_cast<size_t>(a)];
    const auto taken = [](Dim d) {
      return d.is_constant() ? Dim(std::max<int64_t>(0, -d.constant())) : Dim(0);
    };
    const Dim from = taken(l), behind = taken(h);
    if (from == Dim(0) && behind == Dim(0)) continue;
    c.Require(from + behind <= x.dim(a),
              absl::StrCat("no more is taken from axis ", a, " by negative pads than there is"));
    x = SliceAxis(x, a, from, x.dim(a) - behind);
    l += from;
    h += behind;
  }
  if (mode == "constant") {
    if (c.opset() < 11 || !c.Has(2))
      return c.Out(0, PadBy(x, low, high, c.opset() < 11 ? c.Float("value") : 0.0));
    V value = ReshapeTo(c.In(2), {});
    // Where a mask of the padding says so: the value is data.
    V inside = PadBy(c.Fill(x.shape(), bool_, 1), low, high);
    return c.Out(0, Select(inside, PadBy(x, low, high), value));
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap")
    return c.Fail(absl::StrCat("mode is '", mode, "'"));
  for (int a = 0; a < x.rank() && c.ok(); ++a) {
    const Dim l = low[static_cast<size_t>(a)], h = high[static_cast<size_t>(a)];
    if (l == Dim(0) && h == Dim(0)) continue;
    c.Require(x.dim(a) >= 1, absl::StrCat("axis ", a, " is padded by its own elements"));
    x = Gather(x, PadIndices(c, l, x.dim(a), h, mode), a);
  }
  c.Out(0, x);
}

void ConstantOfShape(NodeContext& c) {
  const auto target = c.Dims(0);
  if (!c.ok()) return;
  V value = c.Scalar(f32, 0);
  if (const Attribute* a = c.Find("value"); a != nullptr && !a->tensors.empty()) {
    absl::StatusOr<Tensor> t = ToTensor(a->tensors[0]);
    if (!t.ok()) return c.Fail(t.status());
    value = ReshapeTo(c.Constant(*std::move(t)), {});
  }
  c.Out(0, Broadcast(value, *target));
}

void Range(NodeContext& c) {
  const auto number = [&](int input) -> std::optional<Dim> {
    const auto dims = c.importer().SizesOf(c.InVal(input));
    return dims && dims->size() == 1 ? std::optional<Dim>((*dims)[0]) : std::nullopt;
  };
  const std::optional<Dim> start = number(0), limit = number(1), delta = number(2);
  // A step that is beyond every extent has no magnitude that is sure to be an int64: data counts.
  const int64_t d = delta && delta->is_constant() ? delta->constant() : 0;
  std::vector<Dim> count;
  if (start && limit && d != 0 && d >= -ir::kMaxDim && d <= ir::kMaxDim) {
    const Dim span = d > 0 ? *limit - *start : *start - *limit;
    Dim n = CeilDiv(span, d > 0 ? d : -d);
    if (!c.Known(n >= 0)) n = Max(n, 0);
    count = {n};
  } else {
    count = c.SizesFromData("count",
                            [&] {
                              V a = c.In(0), b = c.In(1), step = c.In(2);
                              V n = IsFloat(a.dtype())
                                        ? Un(ir::Op::k_ceil, (b - a) / step)
                                        : Un(ir::Op::k_ceil, Cast(b - a, f64) / Cast(step, f64));
                              return ReshapeTo(Maximum(Cast(n, i64), c.ScalarInt(i64, 0)), {1});
                            },
                            {ir::kMaxDim});
  }
  V first = c.In(0), step = c.In(2);
  if (!c.ok()) return;
  c.Out(0, Cast(c.Iota({count[0]}, 0), first.dtype()) * ReshapeTo(step, {}) + ReshapeTo(first, {}));
}

void OneHot(NodeContext& c) {
  std::vector<Dim> depth;
  if (IsFloat(c.TypeOf(1).dtype)) {  // a number, not a size
    const std::optional<Tensor> t = c.ConstantTensor(1);
    if (!t) return;
    if (t->num_elements() != 1) return c.Fail("wanted one depth");
    double number = 0;
    VisitDType(t->dtype(),
               [&](auto type) { number = static_cast<double>(t->data<decltype(type)>()[0]); });
    if (!(std::abs(number) <= static_cast<double>(ir::kMaxDim)))
      return c.Fail(absl::StrCat("the depth is ", number));
    depth = {static_cast<int64_t>(number)};
  } else if (const auto dims = c.Dims(1)) {
    depth = *dims;
  }
  if (c.ok() && depth.size() != 1) return c.Fail("wanted one depth");
  V indices = c.In(0), values = c.In(2);
  if (!c.ok()) return;
  int64_t axis = c.Int("axis", -1);
  if (axis < 0) axis += indices.rank() + 1;
  if (axis < 0 || axis > indices.rank()) return c.Fail("axis is out of range");
  V i = Cast(indices, i64);
  V n = c.SizeOf(depth[0]);
  if (c.opset() >= 11) i = Select(Bin(ir::Op::k_lt, i, 0.0), i + n, i);
  i = Unsqueeze(i, {static_cast<int>(axis)});
  Shape along(static_cast<size_t>(indices.rank() + 1), 1);
  along[static_cast<size_t>(axis)] = depth[0];
  V hot = Bin(ir::Op::k_eq, i, c.Iota(along, static_cast<int>(axis)));
  V off = ReshapeTo(SliceAxis(values, 0, 0, 1), {}), on = ReshapeTo(SliceAxis(values, 0, 1, 2), {});
  c.Out(0, Select(hot, on, off));
}

void Trilu(NodeContext& c) {
  V x = c.In(0);
  V k = c.InOr(1, [&] { return c.ScalarInt(i64, 0); });
  if (!c.ok()) return;
  if (x.rank() < 2) return c.Fail("wanted a matrix");
  const Dim rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
  V row = c.Iota({rows, 1}, 0), column = c.Iota({1, columns}, 1);
  V edge = row + ReshapeTo(Cast(k, i64), {});
  V keep = Bin(c.Int("upper", 1) != 0 ? ir::Op::k_ge : ir::Op::k_le, column, edge);
  c.Out(0, Select(keep, x, c.Scalar(x.dtype(), 0)));
}

void EyeLike(NodeContext& c) {
  V x = c.In(0);
  if (!c.ok()) return;
  const DType type = c.HasAttr("dtype") ? c.DTypeAttr("dtype") : x.dtype();
  if (!c.ok()) return;
  if (x.rank() != 2) return c.Fail("wanted a matrix");
  V row = c.Iota({x.dim(0), 1}, 0), column = c.Iota({1, x.dim(1)}, 1);
  V eye = Bin(ir::Op::k_eq, column, row + c.ScalarInt(i64, c.Int("k")));
  c.Out(0, Cast(eye, type));
}

void DepthToSpace(NodeContext& c) {
  V x = c.In(0);
  const int64_t b = c.Int("blocksize", 1);
  if (!c.ok()) return;
  if (x.rank() != 4 || b < 1) return c.Fail("wanted [n, c, h, w] and a block of 1 or more");
  const Dim area = Dim(b) * b;
  const Dim n = x.dim(0), ch = FloorDiv(x.dim(1), area), h = x.dim(2), w = x.dim(3);
  c.Require(Eq(lathe::Mod(x.dim(1), area), 0), "the block divides the channels");
  if (c.Str("mode", "DCR") == "DCR") {
    x = Permute(ReshapeTo(x, {n, b, b, ch, h, w}), {0, 3, 4, 1, 5, 2});
  } else {
    x = Permute(ReshapeTo(x, {n, ch, b, b, h, w}), {0, 1, 4, 2, 5, 3});
  }
  c.Out(0, ReshapeTo(x, {n, ch, h * b, w * b}));
}

void SpaceToDepth(NodeContext& c) {
  V x = c.In(0);
  const int64_t b = c.Int("blocksize", 1);
  if (!c.ok()) return;
  if (x.rank() != 4 || b < 1) return c.Fail("wanted [n, c, h, w] and a block of 1 or more");
  const Dim n = x.dim(0), ch = x.dim(1), h = FloorDiv(x.dim(2), b), w = FloorDiv(x.dim(3), b);
  c.Require(Eq(lathe::Mod(x.dim(2), b), 0), "the block divides the height");
  c.Require(Eq(lathe::Mod(x.dim(3), b), 0), "the block divides the width");
  x = Permute(ReshapeTo(x, {n, ch, h, b, w, b}), {0, 3, 5, 1, 2, 4});
  c.Out(0, ReshapeTo(x, {n, ch * b * b, h, w}));
}

// Rows of the time axis in reverse, as far as each sequence goes.
void ReverseSequence(NodeContext& c) {
  V x = c.In(0), lengths = c.In(1);
  if (!c.ok()) return;
  const int batch = c.Axis(c.Int("batch_axis", 1), x.rank());
  const int time = c.Axis(c.Int("time_axis", 0), x.rank());
  if (x.rank() < 2 || batch == time) return c.Fail("wanted a batch axis and a time axis");
  // [batch, time, rest]
  std::vector<int> order = {batch, time}, back(static_cast<size_t>(x.rank()));
  for (int i = 0; i < x.rank(); ++i)
    if (i != batch && i != time) order.push_back(i);
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int>(i);
  V y = Permute(x, order);
  const Dim rows = y.dim(0), steps = y.dim(1);
  V t = c.Iota({1, steps}, 1), n = ReshapeTo(Cast(lengths, i64), {rows, 1});
  V from = Select(Bin(ir::Op::k_lt, t, n), n - 1.0 - t, t);
  V flat = from + c.Iota({rows, 1}, 0) * c.SizeOf(steps);
  Shape joined = {rows * steps}, apart = y.shape();
  for (int i = 2; i < y.rank(); ++i) joined.push_back(y.dim(i));
  V picked = Gather(ReshapeTo(y, joined), ReshapeTo(flat, {rows * steps}), 0);
  c.Out(0, Permute(ReshapeTo(picked, apart), back));
}

void CenterCropPad(NodeContext& c) {
  const auto target = c.Dims(1);
  V x = c.In(0);
  if (!c.ok()) return;
  std::vector<int> axes = AllAxes(x.rank());
  if (c.HasAttr("axes")) {
    axes.clear();
    for (int64_t a : c.Ints("axes")) axes.push_back(c.Axis(a, x.rank()));
  }
  if (axes.size() != target->size()) return c.Fail("wanted a size for each axis");
  for (size_t i = 0; i < axes.size() && c.ok(); ++i) {
    const Dim from = x.dim(axes[i]), to = (*target)[i];
    const Dim cut = Max(from - to, 0), add = Max(to - from, 0);
    const Dim first = FloorDiv(cut, 2), before = FloorDiv(add, 2);
    x = SliceAxis(x, axes[i], first, first + Min(from, to));
    std::vector<Dim> low(static_cast<size_t>(x.rank()), 0), high = low;
    low[static_cast<size_t>(axes[i])] = before;
    high[static_cast<size_t>(axes[i])] = add - before;
    x = PadBy(x, low, high);
  }
  c.Out(0, x);
}

}  // namespace

std::vector<Mapping> ShapeMappings() {
  return {
      {"", "Constant", Constant},
      {"", "Shape", ShapeOf},
      {"", "Size", SizeOfAll},
      {"", "Reshape", Reshape},
      {"", "Flatten", Flatten},
      {"", "Squeeze", SqueezeAxes},
      {"", "Unsqueeze", UnsqueezeAxes},
      {"", "Transpose", Transpose},
      {"", "Concat", ConcatAll},
      {"", "Split", Split},
      {"", "Slice", Slice},
      {"", "Gather", GatherAxis},
      {"", "Expand", Expand},
      {"", "Tile", Tile},
      {"", "Pad", Pad},
      {"", "ConstantOfShape", ConstantOfShape},
      {"", "Range", Range},
      {"", "OneHot", OneHot},
      {"", "Trilu", Trilu},
      {"", "EyeLike", EyeLike},
      {"", "DepthToSpace", DepthToSpace},
      {"", "SpaceToDepth", SpaceToDepth},
      {"", "ReverseSequence", ReverseSequence},
      {"", "CenterCropPad", CenterCropPad},
  };
}

}  // namespace lathe::onnx
