// Rules of broadcast, reshape, permute, slice, pad, concat and embedding.
#include <bit>
#include <cstring>
#include <optional>

#include "compiler/passes/rules.h"
#include "ir/shape_rules.h"

namespace lathe::compiler {
namespace {

using ir::Attrs;
using ir::Node;
using ir::Op;
using ir::ValueId;

constexpr size_t kMaxSearchedOperands = 64;  // of a concat that a slice is looked up in

bool IsOne(Dim d) { return d == Dim(1); }

bool AllZero(const std::vector<Dim>& dims) {
  for (Dim d : dims) {
    if (d != Dim(0)) return false;
  }
  return true;
}

bool AllSteps(const std::vector<int64_t>& steps, int64_t step) {
  for (int64_t s : steps) {
    if (s != step) return false;
  }
  return true;
}

bool Ascending(const std::vector<int64_t>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool ToBroadcast(Match& m, ValueId x, std::vector<int64_t> axes) {
  Attrs attrs;
  attrs.shape = m.node().type.shape;
  attrs.axes = std::move(axes);
  return m.Become(Op::k_broadcast, {x}, std::move(attrs));
}

bool ToReshape(Match& m, ValueId x) {
  Attrs attrs;
  attrs.shape = m.node().type.shape;
  return m.Become(Op::k_reshape, {x}, std::move(attrs));
}

// A view of a repeated scalar repeats the scalar.
bool ViewOfScalar(Match& m) {
  if (!m.Is(0, Op::k_broadcast) || !m.in(0).attrs.axes.empty()) return false;
  return ToBroadcast(m, m.in(0).operands[0], {});
}

// Result axis i of a broadcast of a broadcast holds the operand's axis, which must fit it.
bool BroadcastOfBroadcast(Match& m) {
  if (!m.Is(0, Op::k_broadcast)) return false;
  const Node& inner = m.in(0);
  const Shape& from = m.at(inner.operands[0]).type.shape;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < inner.attrs.axes.size(); ++i) {
    const size_t middle = static_cast<size_t>(inner.attrs.axes[i]);
    axes.push_back(m.node().attrs.axes[middle]);
    const Dim to = m.node().type.shape[static_cast<size_t>(axes.back())];
    if (from[i] != to && !IsOne(from[i])) return false;
  }
  return ToBroadcast(m, inner.operands[0], std::move(axes));
}

// If `to` is `from` with axes of extent 1 put in: the axis of `to` for each of `from`.
std::optional<std::vector<int64_t>> AxesAmongOnes(const Shape& from, const Shape& to) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < to.size(); ++i) {
    if (axes.size() < from.size() && from[axes.size()] == to[i]) {
      axes.push_back(static_cast<int64_t>(i));
    } else if (!IsOne(to[i])) {
      return std::nullopt;
    }
  }
  if (axes.size() < from.size()) return std::nullopt;
  return axes;
}

bool BroadcastOfReshape(Match& m) {
  if (!m.Is(0, Op::k_reshape)) return false;
  const ValueId x = m.in(0).operands[0];
  std::optional<std::vector<int64_t>> axes = AxesAmongOnes(m.at(x).type.shape, m.in(0).type.shape);
  if (!axes) return false;
  for (int64_t& axis : *axes) axis = m.node().attrs.axes[static_cast<size_t>(axis)];
  return ToBroadcast(m, x, *std::move(axes));
}

// A broadcast that repeats nothing leaves its elements where they are, as a reshape says.
bool BroadcastInsertsOnes(Match& m) {
  const Shape& from = m.in(0).type.shape;
  const Shape& to = m.node().type.shape;
  size_t next = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    const bool mapped = next < from.size() && m.node().attrs.axes[next] == static_cast<int64_t>(i);
    if (to[i] != (mapped ? from[next++] : Dim(1))) return false;
  }
  return ToReshape(m, m.arg(0));
}

bool BroadcastToItself(Match& m) { return Ascending(m.node().attrs.axes) && m.Replace(m.arg(0)); }

// Small constants only: the copy is another constant.
bool BroadcastOfConstantWithOnes(Match& m) {
  constexpr int64_t kMostBytes = 64 << 10;
  const Node& constant = m.in(0);
  if (constant.op != Op::k_constant || constant.attrs.tensor.num_bytes() > kMostBytes) return false;
  const Tensor& from = constant.attrs.tensor;
  std::vector<int64_t> shape, axes;
  for (size_t i = 0; i < from.shape().size(); ++i) {
    if (from.shape()[i] == 1) continue;
    shape.push_back(from.shape()[i]);
    axes.push_back(m.node().attrs.axes[i]);
  }
  if (shape.size() == from.shape().size() || !from.is_contiguous()) return false;
  Attrs attrs;
  attrs.tensor = Tensor(from.dtype(), shape);
  if (from.num_bytes() > 0)
    std::memcpy(attrs.tensor.raw(), from.raw(), static_cast<size_t>(from.num_bytes()));
  const ir::ValueType type{from.dtype(), Shape(shape.begin(), shape.end())};
  return ToBroadcast(m, m.Insert(Op::k_constant, {}, std::move(attrs), type), std::move(axes));
}

bool ReshapeOfReshape(Match& m) {
  if (!m.Is(0, Op::k_reshape)) return false;
  const ValueId x = m.in(0).operands[0];
  const Dim from = ir::Volume(m.at(x).type.shape), to = ir::Volume(m.node().type.shape);
  if (from != to && !m.Known(Eq(from, to))) return false;
  return ToReshape(m, x);
}

// Rows stay rows: ONNX files before opset 13 join the other axes.
bool SoftmaxOfReshape(Match& m) {
  if (!m.Is(0, Op::k_reshape)) return false;
  const ValueId x = m.in(0).operands[0];
  const ir::ValueType type = m.at(x).type;
  const Shape& shape = m.node().type.shape;
  if (type.rank() == 0 || *m.node().attrs.axis + 1 != m.node().type.rank() ||
      type.shape.back() != shape.back())
    return false;
  Attrs attrs;
  attrs.axis = type.rank() - 1;
  return ToReshape(m, m.Insert(Op::k_softmax, {x}, std::move(attrs), type));
}

bool PermuteOfPermute(Match& m) {
  if (!m.Is(0, Op::k_permute)) return false;
  Attrs attrs;
  for (int64_t axis : m.node().attrs.axes)
    attrs.axes.push_back(m.in(0).attrs.axes[static_cast<size_t>(axis)]);
  return m.Become(Op::k_permute, {m.in(0).operands[0]}, std::move(attrs));
}

// Moving axes of extent 1 past others moves no element.
bool PermuteMovesOnes(Match& m) {
  const Shape& from = m.in(0).type.shape;
  int64_t last = -1;
  for (int64_t axis : m.node().attrs.axes) {
    if (IsOne(from[static_cast<size_t>(axis)])) continue;
    if (axis < last) return false;
    last = axis;
  }
  return !Ascending(m.node().attrs.axes) && ToReshape(m, m.arg(0));
}

bool SliceOfAll(Match& m) {
  const Attrs& a = m.node().attrs;
  return AllSteps(a.steps, 1) && AllZero(a.starts) && a.limits == m.in(0).type.shape &&
         m.Replace(m.arg(0));
}

// The outer slice counts from the inner one's start. Its end stays inside: that was known of the
// outer slice, since the inner one's extent is its limit less its start.
bool SliceOfSlice(Match& m) {
  if (!m.Is(0, Op::k_slice) || !AllSteps(m.in(0).attrs.steps, 1)) return false;
  const Attrs& inner = m.in(0).attrs;
  const ValueId x = m.in(0).operands[0];
  const Shape& extents = m.at(x).type.shape;
  Attrs attrs = m.node().attrs;
  for (size_t i = 0; i < attrs.steps.size(); ++i) {
    if (attrs.steps[i] < 0) return false;
    attrs.starts[i] += inner.starts[i];
    attrs.limits[i] += inner.starts[i];
    const Dim start = attrs.starts[i], limit = attrs.limits[i];
    if (!m.Known(Dim(0) <= start) || !m.Known(start <= limit) || !m.Known(limit <= extents[i]))
      return false;
  }
  return m.Become(Op::k_slice, {x}, std::move(attrs));
}

// The axis on which a slice cuts, if it is the only one and its step is 1.
std::optional<size_t> OnlyCutAxis(const Node& slice, const Shape& from) {
  const Attrs& a = slice.attrs;
  std::optional<size_t> cut;
  if (!AllSteps(a.steps, 1)) return std::nullopt;
  for (size_t i = 0; i < from.size(); ++i) {
    if (a.starts[i] == Dim(0) && a.limits[i] == from[i]) continue;
    if (cut) return std::nullopt;
    cut = i;
  }
  return cut;
}

bool SliceOfConcat(Match& m) {
  if (!m.Is(0, Op::k_concat) || m.in(0).operands.size() > kMaxSearchedOperands) return false;
  const Node& concat = m.in(0);
  const size_t axis = static_cast<size_t>(*concat.attrs.axis);
  if (OnlyCutAxis(m.node(), concat.type.shape) != axis) return false;
  Dim start = 0;
  for (ValueId x : concat.operands) {
    const Dim limit = start + m.at(x).type.shape[axis];
    if (start == m.node().attrs.starts[axis] && limit == m.node().attrs.limits[axis])
      return m.Replace(x);
    start = limit;
  }
  return false;
}

bool PadByNothing(Match& m) {
  return AllZero(m.node().attrs.low) && AllZero(m.node().attrs.high) && m.Replace(m.arg(0));
}

bool PadOfPad(Match& m) {
  if (!m.Is(0, Op::k_pad)) return false;
  const Attrs& inner = m.in(0).attrs;
  Attrs attrs = m.node().attrs;
  const double a = attrs.value.value_or(0), b = inner.value.value_or(0);
  if (std::bit_cast<uint64_t>(a) != std::bit_cast<uint64_t>(b)) return false;
  for (size_t i = 0; i < attrs.low.size(); ++i) {
    attrs.low[i] += inner.low[i];
    attrs.high[i] += inner.high[i];
  }
  return m.Become(Op::k_pad, {m.in(0).operands[0]}, std::move(attrs));
}

bool ConcatOfOne(Match& m) { return m.node().operands.size() == 1 && m.Replace(m.arg(0)); }

bool ConcatWithNothing(Match& m) {
  const size_t axis = static_cast<size_t>(*m.node().attrs.axis);
  std::vector<ValueId> kept;
  for (ValueId x : m.node().operands) {
    if (m.at(x).type.shape[axis] != Dim(0)) kept.push_back(x);
  }
  if (kept.empty() || kept.size() == m.node().operands.size()) return false;
  return m.Become(Op::k_concat, std::move(kept), m.node().attrs);
}

bool EmbeddingIsGather(Match& m) {
  Attrs attrs;
  attrs.axis = 0;
  return m.Become(Op::k_gather, m.node().operands, std::move(attrs));
}

}  // namespace

std::vector<Rule> ViewRules() {
  return {
      {"view(broadcast(scalar)) = broadcast(scalar)",
       {Op::k_reshape, Op::k_permute, Op::k_slice, Op::k_broadcast},
       ViewOfScalar},
      {"broadcast(x) = x", {Op::k_broadcast}, BroadcastToItself},
      {"broadcast(broadcast(x)) = broadcast(x)", {Op::k_broadcast}, BroadcastOfBroadcast},
      {"broadcast(reshape(x)) = broadcast(x)", {Op::k_broadcast}, BroadcastOfReshape},
      {"broadcast(constant[1, n]) = broadcast(constant[n])",
       {Op::k_broadcast},
       BroadcastOfConstantWithOnes},
      {"broadcast(x) = reshape(x)", {Op::k_broadcast}, BroadcastInsertsOnes},
      {"reshape(x) = x", {Op::k_reshape}, [](Match& m) { return m.Replace(m.arg(0)); }},
      {"reshape(reshape(x)) = reshape(x)", {Op::k_reshape}, ReshapeOfReshape},
      {"softmax(reshape(x)) = reshape(softmax(x))", {Op::k_softmax}, SoftmaxOfReshape},
      {"permute(permute(x)) = permute(x)", {Op::k_permute}, PermuteOfPermute},
      {"permute(x) = x",
       {Op::k_permute},
       [](Match& m) { return Ascending(m.node().attrs.axes) && m.Replace(m.arg(0)); }},
      {"permute(x) = reshape(x)", {Op::k_permute}, PermuteMovesOnes},
      {"slice(x) = x", {Op::k_slice}, SliceOfAll},
      {"slice(slice(x)) = slice(x)", {Op::k_slice}, SliceOfSlice},
      {"slice(concat(x, y)) = x", {Op::k_slice}, SliceOfConcat},
      {"pad(x) = x", {Op::k_pad}, PadByNothing},
      {"pad(pad(x)) = pad(x)", {Op::k_pad}, PadOfPad},
      {"concat(x) = x", {Op::k_concat}, ConcatOfOne},
      {"concat(x, empty) = concat(x)", {Op::k_concat}, ConcatWithNothing},
      {"embedding(t, i) = gather(t, i)", {Op::k_embedding}, EmbeddingIsGather},
  };
}

}  // namespace lathe::compiler
