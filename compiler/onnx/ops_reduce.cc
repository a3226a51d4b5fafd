// Reductions over axes.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

struct Axes {
  V x;
  std::vector<int> axes;
  bool keep = true;
  bool nothing = false;  // no axes, and that means none
};

Axes ReadAxes(NodeContext& c) {
  const std::vector<int64_t> given = c.IntsOrInput("axes", 1);
  Axes a{c.In(0), {}, c.Int("keepdims", 1) != 0};
  if (!c.ok()) return a;
  a.axes = c.Axes(given, std::max(a.x.rank(), 1));
  if (given.empty()) {
    a.nothing = c.Int("noop_with_empty_axes") != 0;
    for (int i = 0; i < a.x.rank() && !a.nothing; ++i) a.axes.push_back(i);
  }
  if (a.x.rank() == 0) a.axes.clear();  // 0 and -1, which are none
  return a;
}

// The extremum of no elements is the type's own: what -inf and inf become in a type of integers.
V Extremum(NodeContext& c, const Axes& a, bool is_max) {
  if (!c.ok()) return a.x;
  if (a.x.dtype() == bool_)
    return Reduce(is_max ? ir::Op::k_any : ir::Op::k_all, a.x, a.axes, a.keep);
  const double inf = std::numeric_limits<double>::infinity();
  return Reduce(is_max ? ir::Op::k_max : ir::Op::k_min, a.x, a.axes, a.keep, is_max ? -inf : inf);
}

void Max(NodeContext& c) {
  const Axes a = ReadAxes(c);
  c.Out(0, Extremum(c, a, true));
}
void Min(NodeContext& c) {
  const Axes a = ReadAxes(c);
  c.Out(0, Extremum(c, a, false));
}

V SumOf(const Axes& a, V x) { return Reduce(ir::Op::k_sum, x, a.axes, a.keep); }

// What squares, roots and logarithms of elements are computed in.
DType WideType(DType type) { return IsFloat(type) ? ComputeType(type) : f64; }

void Sum(NodeContext& c) {
  const Axes a = ReadAxes(c);
  c.Out(0, SumOf(a, a.x));
}
void Prod(NodeContext& c) {
  const Axes a = ReadAxes(c);
  c.Out(0, Reduce(ir::Op::k_prod, a.x, a.axes, a.keep));
}
void Mean(NodeContext& c) {
  const Axes a = ReadAxes(c);
  if (!c.ok()) return;
  if (IsFloat(a.x.dtype())) return c.Out(0, Reduce(ir::Op::k_mean, a.x, a.axes, a.keep));
  Dim count = 1;
  for (int axis : a.axes) count *= a.x.dim(axis);
  c.Out(0, SumOf(a, a.x) / c.SizeOf(count, a.x.dtype()));
}
void L1(NodeContext& c) {
  const Axes a = ReadAxes(c);
  c.Out(0, SumOf(a, Abs(a.x)));
}
void L2(NodeContext& c) {
  const Axes a = ReadAxes(c);
  if (!c.ok()) return;
  V x = Cast(a.x, WideType(a.x.dtype()));
  c.Out(0, Cast(Sqrt(SumOf(a, x * x)), a.x.dtype()));
}
void SumSquare(NodeContext& c) {
  const Axes a = ReadAxes(c);
  if (!c.ok()) return;
  V x = IsFloat(a.x.dtype()) ? Cast(a.x, ComputeType(a.x.dtype())) : a.x;
  c.Out(0, Cast(SumOf(a, x * x), a.x.dtype()));
}
void LogSum(NodeContext& c) {
  const Axes a = ReadAxes(c);
  if (!c.ok()) return;
  c.Out(0, Cast(Log(SumOf(a, Cast(a.x, WideType(a.x.dtype())))), a.x.dtype()));
}
void LogSumExp(NodeContext& c) {
  Axes a = ReadAxes(c);
  if (!c.ok()) return;
  const DType type = a.x.dtype();
  a.x = Cast(a.x, WideType(type));
  Axes kept = a;
  kept.keep = true;
  // Shifted by the maximum, unless that is no number to subtract.
  V most = Extremum(c, kept, true);
  const double inf = std::numeric_limits<double>::infinity();
  most = Select(Bin(ir::Op::k_lt, Abs(most), inf), most, c.Scalar(a.x.dtype(), 0));
  V sum = Log(SumOf(kept, Exp(a.x - most))) + most;
  if (!a.keep) sum = Squeeze(sum, a.axes);
  c.Out(0, Cast(sum, type));
}

Mapper Arg(ir::Op op) {
  return [op](NodeContext& c) {
    V x = c.In(0);
    if (!c.ok()) return;
    ir::Attrs attrs;
    attrs.axis = c.Axis(c.Int("axis", 0), x.rank());
    attrs.keep_dims = c.Int("keepdims", 1) != 0;
    attrs.last = c.Int("select_last_index") != 0;
    c.Out(0, c.Create(op, {x}, std::move(attrs)));
  };
}

}  // namespace

std::vector<Mapping> ReduceMappings() {
  return {
      {"", "ReduceSum", Sum},
      {"", "ReduceMean", Mean},
      {"", "ReduceMax", Max},
      {"", "ReduceMin", Min},
      {"", "ReduceProd", Prod},
      {"", "ReduceL1", L1},
      {"", "ReduceL2", L2},
      {"", "ReduceSumSquare", SumSquare},
      {"", "ReduceLogSum", LogSum},
      {"", "ReduceLogSumExp", LogSumExp},
      {"", "ArgMax", Arg(ir::Op::k_argmax)},
      {"", "ArgMin", Arg(ir::Op::k_argmin)},
  };
}

}  // namespace lathe::onnx
