// Convolution and pooling, in any number of spatial axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/conv.h"
#include "ir/windows.h"

namespace lathe::onnx {
namespace {

std::vector<int64_t> Numbers(NodeContext& c, const std::string& name, size_t rank, int64_t least) {
  std::vector<int64_t> numbers = c.SizeInts(name);
  if (numbers.empty()) numbers.assign(rank, 1);
  if (numbers.size() != rank)
    c.Fail(absl::StrCat(name, " has ", numbers.size(), " entries; wanted ", rank));
  for (int64_t n : numbers)
    if (n < least) c.Fail(absl::StrCat(name, " has the entry ", n, "; wanted ", least, " or more"));
  return numbers;
}

ir::AutoPad ReadAutoPad(NodeContext& c) {
  const std::string how = c.Str("auto_pad", "NOTSET");
  if (how == "VALID") return ir::AutoPad::kValid;
  if (how == "SAME_UPPER") return ir::AutoPad::kSameUpper;
  if (how == "SAME_LOWER") return ir::AutoPad::kSameLower;
  if (how != "NOTSET") c.Fail(absl::StrCat("auto_pad is '", how, "'"));
  return ir::AutoPad::kExplicit;
}

std::vector<int> LastAxes(int rank, size_t count) {
  std::vector<int> axes;
  for (size_t i = 0; i < count; ++i) axes.push_back(rank - static_cast<int>(count - i));
  return axes;
}

bool CheckSpatial(NodeContext& c, V x) {
  if (c.ok() && x.rank() < 3)
    c.Fail(absl::StrCat("input 0 is ", x.type().ToString(), "; wanted [n, c, ..]"));
  return c.ok();
}

std::vector<Dim> KernelShape(NodeContext& c) {
  std::vector<Dim> sizes;
  for (int64_t n : c.SizeInts("kernel_shape")) sizes.push_back(n);
  return sizes;
}

void Conv(NodeContext& c) {
  V x = c.In(0), weights = c.In(1);
  if (!CheckSpatial(c, x)) return;
  const Shape shape = weights.shape();
  if (static_cast<int>(shape.size()) != x.rank())
    return c.Fail(
        absl::StrCat("weights are ", weights.type().ToString(), " beside ", x.type().ToString()));
  const Windows w = ReadWindows(c, x, Shape(shape.begin() + 2, shape.end()));
  V y = Convolve(c, x, weights, c.Int("group", 1), w);
  c.Out(0, c.Has(2) ? y + PerChannel(c.In(2), y.rank()) : y);
}

// Zeros between the elements of axis `axis`: extent d -> (d - 1) * stride + 1.
V Spread(NodeContext& c, V x, int axis, int64_t stride) {
  if (stride == 1 || !c.ok()) return x;
  const Dim d = x.dim(axis);
  Shape apart = x.shape(), joined = x.shape();
  apart.insert(apart.begin() + axis + 1, Dim(1));
  joined[static_cast<size_t>(axis)] = d * stride;
  std::vector<Dim> low(apart.size(), 0), high(apart.size(), 0);
  high[static_cast<size_t>(axis + 1)] = stride - 1;
  x = ReshapeTo(PadBy(ReshapeTo(x, apart), low, high), joined);
  const Dim last = (d - 1) * stride + 1;
  return SliceAxis(x, axis, 0, c.Known(d >= 1) ? last : Max(last, 0));
}

// Where each element of the input makes a block of the result of its own: a product, whose columns
// are the taps of each output. x [n, c, d..] with weights [c, m, k..] -> [n, m, d * k..].
V SpreadBlocks(V x, V weights) {
  const int rank = x.rank() - 2;
  const Dim c = x.dim(1), m = weights.dim(1);
  Dim rows = x.dim(0), columns = m;
  Shape apart = {x.dim(0)}, joined = apart;
  std::vector<int> order = {0};
  for (int i = 0; i < rank; ++i) {
    rows *= x.dim(i + 2);
    columns *= weights.dim(i + 2);
    apart.push_back(x.dim(i + 2));
    joined.push_back(x.dim(i + 2) * weights.dim(i + 2));
    order.insert(order.end(), {1 + i, 1 + rank + i});
  }
  for (int i = 0; i < rank; ++i) apart.push_back(weights.dim(i + 2));
  apart.push_back(m);
  joined.push_back(m);
  order.push_back(1 + 2 * rank);
  V y =
      MatMul(ReshapeTo(ChannelsLast(x), {rows, c}), ReshapeTo(ChannelsLast(weights), {c, columns}));
  return ChannelsFirst(ReshapeTo(Permute(ReshapeTo(y, apart), order), joined));
}

// A convolution over the input with zeros between its elements, by the kernel turned around.
void ConvTranspose(NodeContext& c) {
  V x = c.In(0), weights = c.In(1);
  if (!CheckSpatial(c, x)) return;
  const size_t rank = static_cast<size_t>(x.rank() - 2);
  const Shape shape = weights.shape();
  if (static_cast<int>(shape.size()) != x.rank())
    return c.Fail(absl::StrCat("weights are ", weights.type().ToString()));
  const int64_t groups = c.Int("group", 1);
  const std::vector<int64_t> strides = Numbers(c, "strides", rank, 1);
  const std::vector<int64_t> dilations = Numbers(c, "dilations", rank, 1);
  std::vector<int64_t> extra = c.SizeInts("output_padding"), pads = c.SizeInts("pads");
  const std::vector<int64_t> output = c.SizeInts("output_shape");
  const ir::AutoPad auto_pad = ReadAutoPad(c);
  if (!output.empty() && output.size() < rank)
    return c.Fail(
        absl::StrCat("output_shape has ", output.size(), " entries; wanted ", rank, " or more"));
  if (groups < 1) return c.Fail(absl::StrCat("group is ", groups));
  extra.resize(rank, 0);
  pads.resize(2 * rank, 0);
  if (!c.ok()) return;
  bool blocks = groups == 1 && output.empty() && auto_pad == ir::AutoPad::kExplicit;
  for (size_t i = 0; i < rank && blocks; ++i)
    blocks = shape[i + 2] == Dim(strides[i]) && dilations[i] == 1 && pads[i] >= 0 &&
             pads[rank + i] >= extra[i];
  if (blocks) {
    c.Require(Eq(shape[0], x.dim(1)), "the weights' channels are the input's");
    V y = SpreadBlocks(x, weights);
    for (size_t i = 0; i < rank && c.ok(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      const int64_t cut = pads[i] + pads[rank + i] - extra[i];
      if (cut <= 0) continue;
      c.Require(Dim(cut) <= y.dim(axis), "the pads take no more away than there is");
      y = SliceAxis(y, axis, pads[i], y.dim(axis) - (pads[rank + i] - extra[i]));
    }
    return c.Out(0, c.Has(2) ? y + PerChannel(c.In(2), y.rank()) : y);
  }
  Windows w;
  w.strides.assign(rank, 1);
  w.dilations = dilations;
  for (size_t i = 0; i < rank; ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Dim reach = dilations[i] * (shape[i + 2] - 1) + 1;
    Dim low = pads[i], high = pads[rank + i];
    if (!output.empty() || auto_pad == ir::AutoPad::kSameUpper ||
        auto_pad == ir::AutoPad::kSameLower) {
      const Dim wanted =
          output.empty() ? x.dim(axis) * strides[i] : Dim(output[output.size() - rank + i]);
      const Dim total = strides[i] * (x.dim(axis) - 1) + extra[i] + reach - wanted;
      const Dim less = FloorDiv(total, 2);
      low = auto_pad == ir::AutoPad::kSameUpper ? less : total - less;
      high = total - low;
    }
    x = Spread(c, x, axis, strides[i]);
    weights = Reversed(weights, axis);
    Dim before = reach - 1 - low, behind = reach - 1 - high + extra[i];
    // What would be padded by less than nothing is cut off.
    const auto cut = [&](Dim d) {
      return c.Known(d >= 0) ? Dim(0) : c.Known(d <= 0) ? -d : Max(-d, 0);
    };
    const Dim cut_before = cut(before), cut_behind = cut(behind);
    if (cut_before != Dim(0) || cut_behind != Dim(0)) {
      c.Require(cut_before + cut_behind <= x.dim(axis), "the pads take no more away than there is");
      x = SliceAxis(x, axis, cut_before, x.dim(axis) - cut_behind);
    }
    before += cut_before;
    behind += cut_behind;
    w.sizes.push_back(shape[i + 2]);
    w.low.push_back(before);
    w.high.push_back(behind);
    w.extents.push_back(x.dim(axis) + before + behind - reach + 1);
    c.Require(Dim(0) <= w.extents.back(), "the output has an extent of 0 or more");
    if (!c.ok()) return;
  }
  // [c, m / groups, k..] -> [m, c / groups, k..]
  const Dim channels = shape[0], part = FloorDiv(channels, groups), out = shape[1];
  Shape apart = {groups, part, out}, joined = {groups * out, part};
  apart.insert(apart.end(), shape.begin() + 2, shape.end());
  joined.insert(joined.end(), shape.begin() + 2, shape.end());
  std::vector<int> order = {0, 2, 1};
  for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int>(i) + 3);
  weights = ReshapeTo(Permute(ReshapeTo(weights, apart), order), joined);
  V y = Convolve(c, x, weights, groups, w);
  c.Out(0, c.Has(2) ? y + PerChannel(c.In(2), y.rank()) : y);
}

bool IsPadded(const Windows& w) {
  for (size_t i = 0; i < w.rank(); ++i)
    if (w.low[i] != Dim(0) || w.high[i] != Dim(0)) return true;
  return false;
}

// Ones with x's extents on the axes of the windows: [1, 1, d..].
V OnesLike(NodeContext& c, V x, const Windows& w, DType type) {
  Shape shape(static_cast<size_t>(x.rank()), 1);
  for (int axis : LastAxes(x.rank(), w.rank())) shape[static_cast<size_t>(axis)] = x.dim(axis);
  return c.Fill(shape, type, 1);
}

// [.., o.., k..] -> [.., o.., k]
V JoinTaps(V windows, const Windows& w) {
  if (!windows.ok()) return windows;
  Shape flat = windows.shape();
  flat.resize(flat.size() - w.rank());
  Dim taps = 1;
  for (Dim d : w.sizes) taps *= d;
  flat.push_back(taps);
  return ReshapeTo(windows, flat);
}

// The position in the input, flattened, of the first greatest element of each window.
V MaxIndices(NodeContext& c, V x, V windows, const Windows& w) {
  if (!c.ok()) return {&c};
  const int rank = x.rank();
  const int spatial = static_cast<int>(w.rank());
  V at = JoinTaps(windows, w);
  if (IsPadded(w)) {
    // The padding isn't meant where the input has nothing greater than it, either.
    V inside = JoinTaps(WindowsOf(OnesLike(c, x, w, bool_), w, 0), w);
    V greatest = Bin(ir::Op::k_eq, at, Reduce(ir::Op::k_max, at, {rank}, true));
    if (IsFloat(x.dtype())) greatest = Bin(ir::Op::k_or, greatest, Bin(ir::Op::k_ne, at, at));
    at = Cast(Bin(ir::Op::k_and, greatest, inside), i32);
  }
  ir::Attrs attrs;
  attrs.axis = rank;
  V tap = c.Create(ir::Op::k_argmax, {at}, std::move(attrs));
  if (!tap.ok()) return tap;
  // Row-major over n, c and the axes; storage_order 1 has the axes the other way around.
  const bool columns = c.Int("storage_order") != 0;
  V index = c.ScalarInt(i64, 0);
  Dim rest = at.dim(rank);
  const Shape out = tap.shape();
  const auto along = [&](int axis) {
    Shape shape(out.size(), 1);
    shape[static_cast<size_t>(axis)] = out[static_cast<size_t>(axis)];
    return c.Iota(shape, axis);
  };
  for (int a = 0; a < rank - spatial; ++a) index = index * c.SizeOf(x.dim(a)) + along(a);
  std::vector<V> places;
  for (int i = 0; i < spatial; ++i) {
    const size_t k = static_cast<size_t>(i);
    rest = FloorDiv(rest, w.sizes[k]);
    V t = Bin(ir::Op::k_rem, Bin(ir::Op::k_div, tap, c.SizeOf(rest)), c.SizeOf(w.sizes[k]));
    places.push_back(along(rank - spatial + i) * c.ScalarInt(i64, w.strides[k]) -
                     c.SizeOf(w.low[k]) + t * c.ScalarInt(i64, w.dilations[k]));
  }
  V place = c.ScalarInt(i64, 0);
  for (int n = 0; n < spatial; ++n) {
    const int i = columns ? spatial - 1 - n : n;
    place = place * c.SizeOf(x.dim(rank - spatial + i)) + places[static_cast<size_t>(i)];
  }
  Dim volume = 1;
  for (int i = rank - spatial; i < rank; ++i) volume *= x.dim(i);
  return index * c.SizeOf(volume) + place;
}

double Least(DType t) {
  if (IsFloat(t)) return -std::numeric_limits<double>::infinity();
  if (t == bool_) return 0;
  const double bits = static_cast<double>(SizeOf(t)) * 8;
  return Name(t)[0] == 'u' ? 0 : -std::exp2(bits - 1);
}

void MaxPool(NodeContext& c) {
  V x = c.In(0);
  if (!CheckSpatial(c, x)) return;
  const Windows w = ReadWindows(c, x, KernelShape(c), /*pooling=*/true);
  V windows = WindowsOf(x, w, Least(x.dtype()));
  c.Out(0, Reduce(ir::Op::k_max, windows, LastAxes(windows.rank(), w.rank()), false));
  if (c.WantsOutput(1)) c.Out(1, MaxIndices(c, x, windows, w));
}

// The number of elements that each window averages, [1, 1, o..].
V Counts(NodeContext& c, V x, const Windows& w, bool with_padding) {
  V ones = OnesLike(c, x, w, x.dtype());
  Windows rest = w;
  if (with_padding) {
    const size_t rank = static_cast<size_t>(x.rank());
    std::vector<Dim> low(rank, 0), high(rank, 0);
    for (size_t i = 0; i < w.rank(); ++i) {
      low[rank - w.rank() + i] = w.low[i];
      high[rank - w.rank() + i] = w.declared_high[i];
      rest.low[i] = 0;
      rest.high[i] = w.high[i] - w.declared_high[i];
    }
    ones = PadBy(ones, low, high, 1);
  }
  V windows = WindowsOf(ones, rest, 0);
  return Reduce(ir::Op::k_sum, windows, LastAxes(windows.rank(), w.rank()), false);
}

void AveragePool(NodeContext& c) {
  V x = c.In(0);
  // A sum may be beyond a short float.
  c.Out(0, Cast(AveragePooled(c, Cast(x, ComputeType(x.dtype()))), x.dtype()));
}

V Norm(NodeContext& c, V x, const std::vector<int>& axes, bool keep) {
  const double p = c.opset() < 2 ? c.Float("p", 2) : static_cast<double>(c.Int("p", 2));
  const DType type = x.dtype(), wide = ComputeType(type);  // powers may be beyond a short float
  x = Cast(x, wide);
  if (p == 1) return Cast(Reduce(ir::Op::k_sum, Abs(x), axes, keep), type);
  if (p == 2) return Cast(Sqrt(Reduce(ir::Op::k_sum, x * x, axes, keep)), type);
  V sum = Reduce(ir::Op::k_sum, Bin(ir::Op::k_pow, Abs(x), c.Scalar(wide, p)), axes, keep);
  return Cast(Bin(ir::Op::k_pow, sum, c.Scalar(wide, 1 / p)), type);
}

void LpPool(NodeContext& c) {
  V x = c.In(0);
  if (!CheckSpatial(c, x)) return;
  const Windows w = ReadWindows(c, x, KernelShape(c), /*pooling=*/true);
  V windows = WindowsOf(x, w, 0);
  c.Out(0, Norm(c, windows, LastAxes(windows.rank(), w.rank()), false));
}

std::vector<int> Spatial(V x) {
  return LastAxes(x.rank(), static_cast<size_t>(std::max(0, x.rank() - 2)));
}

Mapper Global(ir::Op op) {
  return [op](NodeContext& c) {
    V x = c.In(0);
    if (c.ok()) c.Out(0, Reduce(op, x, Spatial(x), true));
  };
}

void GlobalLpPool(NodeContext& c) {
  V x = c.In(0);
  if (c.ok()) c.Out(0, Norm(c, x, Spatial(x), true));
}

}  // namespace

V AveragePooled(NodeContext& c, V x) {
  if (!CheckSpatial(c, x)) return x;
  const Windows w = ReadWindows(c, x, KernelShape(c), /*pooling=*/true);
  V windows = WindowsOf(x, w, 0);
  V sum = Reduce(ir::Op::k_sum, windows, LastAxes(windows.rank(), w.rank()), false);
  double taps = 1;
  for (Dim d : w.sizes) taps *= static_cast<double>(d.constant());
  if (!c.ok()) return sum;
  if (!IsPadded(w)) return sum / taps;
  return sum / Counts(c, x, w, c.Int("count_include_pad") != 0);
}

Windows ReadWindows(NodeContext& c, V x, const std::vector<Dim>& sizes, bool pooling) {
  Windows w;
  w.sizes = sizes;
  const size_t rank = sizes.size();
  w.strides = Numbers(c, "strides", rank, 1);
  w.dilations = Numbers(c, "dilations", rank, 1);
  const ir::AutoPad auto_pad = ReadAutoPad(c);
  std::vector<int64_t> pads = c.SizeInts("pads");
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (pads.size() != 2 * rank || static_cast<int>(rank) > x.rank())
    c.Fail(absl::StrCat("pads has ", pads.size(), " entries; wanted ", 2 * rank));
  if (!c.ok()) return w;
  for (size_t i = 0; i < rank; ++i) {
    ir::Window window{.kernel = sizes[i],
                      .stride = w.strides[i],
                      .dilation = w.dilations[i],
                      .pad_low = pads[i],
                      .pad_high = pads[rank + i],
                      .auto_pad = auto_pad,
                      .ceil_mode = c.Int("ceil_mode") != 0};
    const Dim d = x.dim(x.rank() - static_cast<int>(rank - i));
    const absl::StatusOr<ir::AxisRule> rule = ir::ConvExtent(d, window, &c.graph().facts());
    if (!rule.ok()) {
      c.Fail(rule.status());
      return w;
    }
    for (const ir::Need& need : rule->needs) c.Require(need.claim, need.why);
    w.extents.push_back(rule->extent);
    w.low.push_back(rule->pad_low);
    w.declared_high.push_back(rule->pad_high);
    w.high.push_back(rule->pad_high);
    bool reaches_beyond = window.ceil_mode;
    const Dim slack = d + rule->pad_low + rule->pad_high - window.Reach();
    if (pooling && auto_pad == ir::AutoPad::kExplicit && !window.ceil_mode &&
        !c.Known(slack >= 0)) {
      const Dim stride = w.strides[i];
      w.extents.back() = Max(FloorDiv(slack, stride), Min(CeilDiv(slack, stride), 0)) + 1;
      reaches_beyond = true;
    }
    if (reaches_beyond) {
      const Dim reached = (w.extents.back() - 1) * w.strides[i] + window.Reach();
      w.high.back() = Max(rule->pad_high, reached - d - rule->pad_low);
    }
  }
  return w;
}

V WindowsOf(V x, const Windows& w, double outside) {
  if (x.c == nullptr || !x.c->ok()) return x;
  ir::Attrs attrs;
  attrs.sizes = w.sizes;
  attrs.steps = w.strides;
  attrs.dilations = w.dilations;
  attrs.low = w.low;
  attrs.high = w.high;
  attrs.value = outside;
  return x.c->Create(ir::Op::k_windows, {x}, std::move(attrs));
}

namespace {

// Pads x itself on the axes behind the first and leaves nothing of `low` and `high`, unless they
// could be less than nothing. In a padded copy a product can read windows where they lie.
V TakePadding(NodeContext& c, V x, std::vector<Dim>* low, std::vector<Dim>* high) {
  const auto at_least_0 = [&](Dim d) { return c.Known(d >= 0); };
  if (!std::all_of(low->begin(), low->end(), at_least_0) ||
      !std::all_of(high->begin(), high->end(), at_least_0))
    return x;
  std::vector<Dim> before = *low, behind = *high;
  before.insert(before.begin(), Dim(0));
  behind.insert(behind.begin(), Dim(0));
  low->assign(low->size(), 0);
  high->assign(high->size(), 0);
  return PadBy(x, before, behind);
}

// The windows of each place in a row of its own: [n * o, k * c], channels innermost.
V WindowRows(NodeContext& c, V x, const Windows& w, Shape* places) {
  const size_t rank = w.rank();
  const Dim channels = x.dim(1);
  const auto all = [](const auto& list, const auto& value) {
    return std::all_of(list.begin(), list.end(), [&](const auto& e) { return e == value; });
  };
  Dim rows = 1, depth = channels;
  for (Dim d : w.sizes) depth *= d;
  V windows;
  *places = {x.dim(0)};
  if (all(w.sizes, Dim(1)) && all(w.strides, 1) && all(w.low, Dim(0)) && all(w.high, Dim(0))) {
    windows = ChannelsLast(x);
    for (size_t i = 0; i < rank; ++i) places->push_back(x.dim(static_cast<int>(i) + 2));
  } else if (channels.is_constant() && channels.constant() > 0 && w.dilations.back() == 1 &&
             w.strides.back() <= ir::kMaxDim / channels.constant()) {
    // The last axis and the channels are one axis, and what a window has of them is one piece of
    // it.
    Windows flat = w;
    flat.sizes.back() *= channels;
    flat.strides.back() *= channels.constant();
    flat.low.back() *= channels;
    flat.high.back() *= channels;
    Shape shape = {x.dim(0)};
    for (size_t i = 0; i < rank; ++i) shape.push_back(x.dim(static_cast<int>(i) + 2));
    shape.back() *= channels;
    V padded = TakePadding(c, ReshapeTo(ChannelsLast(x), shape), &flat.low, &flat.high);
    windows = WindowsOf(padded, flat, 0);
    for (size_t i = 0; i < rank; ++i) places->push_back(windows.dim(static_cast<int>(i) + 1));
  } else {
    windows = ChannelsLast(WindowsOf(x, w, 0));
    for (size_t i = 0; i < rank; ++i) places->push_back(windows.dim(static_cast<int>(i) + 1));
  }
  if (!c.ok()) return {&c};
  for (Dim d : *places) rows *= d;
  return ReshapeTo(windows, {rows, depth});
}

// One product: [n * o, k * c] by [k * c, m].
V ConvolveWhole(NodeContext& c, V x, V weights, const Windows& w) {
  Shape places;
  V rows = WindowRows(c, x, w, &places);
  if (!c.ok()) return {&c};
  const Dim m = weights.dim(0);
  V y = MatMul(rows, Transpose2(ReshapeTo(ChannelsLast(weights), {m, rows.dim(1)})));
  places.push_back(m);
  return ChannelsFirst(ReshapeTo(y, places));
}

// Each channel with weights of its own: a sum over each window.
V ConvolveByChannel(V windows, V weights) {
  const int rank = weights.rank() - 2;
  Shape taps(static_cast<size_t>(1 + rank), Dim(1));
  std::vector<int> axes;
  Dim count = 1;
  for (int i = 0; i < rank; ++i) {
    taps.push_back(weights.dim(2 + i));
    count *= weights.dim(2 + i);
    axes.push_back(1 + rank + i);
  }
  taps.push_back(weights.dim(0));
  // [m, 1, k..] -> [k.., m]
  V by_tap = Transpose2(ReshapeTo(weights, {weights.dim(0), count}));
  V products = ChannelsLast(windows) * ReshapeTo(by_tap, taps);
  return ChannelsFirst(Reduce(ir::Op::k_sum, products, axes, false));
}

// One product for each group: [n * o, k * c / g] by [k * c / g, m / g]. Channels are innermost, and
// the groups are the positions of windows along them.
V ConvolveGroups(NodeContext& c, V x, V weights, int64_t groups, const Windows& w) {
  const size_t rank = w.rank();
  const Dim m = weights.dim(0), part = weights.dim(1), out = FloorDiv(m, groups);
  Windows each = w;
  each.low.push_back(0);
  each.high.push_back(0);
  V padded = TakePadding(c, ChannelsLast(x), &each.low, &each.high);
  each.sizes.push_back(part);
  each.strides.push_back(part.constant());
  each.dilations.push_back(1);
  V windows = WindowsOf(padded, each, 0);  // [n, o.., g, k.., c / g]
  if (!c.ok()) return {&c};
  const int last = static_cast<int>(rank) + 1;  // the groups' axis
  std::vector<int> order = {last}, back;
  Shape spread = {groups}, result;
  Dim rows = 1, depth = part;
  for (int i = 0; i < last; ++i) {
    order.push_back(i);
    back.push_back(i + 1);
    spread.push_back(windows.dim(i));
    result.push_back(windows.dim(i));
    rows *= windows.dim(i);
  }
  for (size_t i = 0; i <= rank; ++i) order.push_back(last + 1 + static_cast<int>(i));
  for (Dim d : w.sizes) depth *= d;
  spread.push_back(out);
  result.push_back(m);
  back.insert(back.end(), {0, last + 1});
  V by_group = ReshapeTo(ChannelsLast(weights), {groups, out, depth});
  V y = MatMul(ReshapeTo(Permute(windows, order), {groups, rows, depth}), Transpose2(by_group));
  return ChannelsFirst(ReshapeTo(Permute(ReshapeTo(y, spread), back), result));
}

// The same where channels aren't known: [n * o, c / g * k] by [c / g * k, m / g].
V ConvolveOpenGroups(V windows, V weights, int64_t groups, const Shape& places) {
  const int rank = weights.rank() - 2;
  const Dim m = weights.dim(0), part = weights.dim(1), out = FloorDiv(m, groups);
  Dim rows = 1, depth = part;
  Shape apart = {places[0], groups, part}, spread = {groups}, result = {places[0], m};
  for (Dim d : places) {
    rows *= d;
    spread.push_back(d);
  }
  for (int i = 0; i < rank; ++i) result.push_back(places[static_cast<size_t>(i) + 1]);
  for (int i = 0; i < 2 * rank; ++i) apart.push_back(windows.dim(2 + i));
  for (int i = 0; i < rank; ++i) depth *= weights.dim(2 + i);
  spread.push_back(out);
  std::vector<int> order = {1, 0}, back = {1, 0, rank + 2};
  for (int i = 0; i < rank; ++i) order.push_back(3 + i);
  order.push_back(2);
  for (int i = 0; i < rank; ++i) order.push_back(3 + rank + i);
  for (int i = 0; i < rank; ++i) back.push_back(2 + i);
  V y = MatMul(ReshapeTo(Permute(ReshapeTo(windows, apart), order), {groups, rows, depth}),
               Transpose2(ReshapeTo(weights, {groups, out, depth})));
  return ReshapeTo(Permute(ReshapeTo(y, spread), back), result);
}

}  // namespace

V Convolve(NodeContext& c, V x, V weights, int64_t groups, const Windows& w) {
  if (!c.ok()) return {&c};
  const Dim channels = x.dim(1), m = weights.dim(0), part = weights.dim(1);
  if (groups < 1) {
    c.Fail(absl::StrCat("group is ", groups));
    return {&c};
  }
  c.Require(Eq(part * groups, channels), "the weights' channels times the groups are the input's");
  c.Require(Eq(lathe::Mod(m, groups), 0), "the groups divide the outputs");
  if (groups == 1) return ConvolveWhole(c, x, weights, w);
  const bool by_channel = part == Dim(1) && m == channels;
  if (!by_channel && channels.is_constant() && part.is_constant() && part.constant() > 0)
    return ConvolveGroups(c, x, weights, groups, w);
  V windows = WindowsOf(x, w, 0);  // [n, c, o.., k..]
  if (!c.ok()) return {&c};
  if (by_channel) return ConvolveByChannel(windows, weights);
  Shape places = {x.dim(0)};
  for (int i = 0; i < static_cast<int>(w.rank()); ++i) places.push_back(windows.dim(2 + i));
  return ConvolveOpenGroups(windows, weights, groups, places);
}

std::vector<Mapping> WindowMappings() {
  return {
      {"", "Conv", Conv},
      {"", "ConvTranspose", ConvTranspose},
      {"", "MaxPool", MaxPool},
      {"", "AveragePool", AveragePool},
      {"", "LpPool", LpPool},
      {"", "GlobalMaxPool", Global(ir::Op::k_max)},
      {"", "GlobalAveragePool", Global(ir::Op::k_mean)},
      {"", "GlobalLpPool", GlobalLpPool},
  };
}

}  // namespace lathe::onnx
