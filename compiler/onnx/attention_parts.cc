#include "compiler/onnx/attention_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace lathe::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How many query heads share a head of keys.
Dim GroupSize(NodeContext& c, Dim q_heads, Dim kv_heads) {
  if (q_heads == kv_heads || c.Known(Eq(q_heads, kv_heads))) return 1;
  if (q_heads.is_constant() && kv_heads.is_constant()) {
    const int64_t q = q_heads.constant(), kv = kv_heads.constant();
    if (kv >= 1 && q % kv == 0) return q / kv;
    c.Fail(absl::StrCat(q, " heads of queries don't share ", kv, " heads of keys evenly"));
    return 1;
  }
  const Dim group = FloorDiv(q_heads, kv_heads);
  c.Require(Eq(group * kv_heads, q_heads), "the heads of keys divide those of queries");
  return group;
}

// x [b, Hq or 1, s, t] as [b, Hkv or 1, G or 1, s, t]; lower ranks get leading ones first.
V Regroup(V x, Dim q_heads, Dim kv_heads, Dim group) {
  if (!x.ok()) return x;
  while (x.ok() && x.rank() < 4) x = Unsqueeze(x, {0});
  if (!x.ok()) return x;
  Shape shape = x.shape();
  if (shape[1] == Dim(1)) return Unsqueeze(x, {1});
  if (shape[1] != q_heads) {
    shape[1] = q_heads;
    x = Broadcast(x, shape);
  }
  shape.erase(shape.begin() + 1);
  shape.insert(shape.begin() + 1, {kv_heads, group});
  return ReshapeTo(x, shape);
}

// What a causal query may see, [S, T].
V CausalVisible(NodeContext& c, Dim queries, Dim keys, Dim past) {
  const Shape shape = {queries, keys};
  return Bin(ir::Op::k_le, c.Iota(shape, 1), c.Iota(shape, 0) + c.SizeOf(past));
}

V Both(V a, V b) {
  if (!a.ok()) return b;
  return b.ok() ? Bin(ir::Op::k_and, a, b) : a;
}

double ScaleOrDefault(V* q, const AttentionRequest& r) {
  if (r.scale) return *r.scale;
  const Dim depth = q->dim(q->rank() - 1);
  if (depth.is_constant()) return 1 / std::sqrt(static_cast<double>(depth.constant()));
  *q = *q / Sqrt(q->c->SizeOf(depth, q->dtype()));
  return 1;
}

}  // namespace

Dim Heads(NodeContext& c, const std::string& name) {
  const int64_t heads = c.Int(name);
  if (heads < 1) c.Fail(absl::StrCat("attribute ", name, " is ", heads, "; wanted 1 or more"));
  return heads < 1 ? 1 : heads;
}

V SplitHeads(V x, Dim heads) {
  if (!x.ok()) return x;
  if (x.rank() != 3) {
    x.c->Fail(absl::StrCat("an input is ", x.type().ToString(), "; wanted rank 3"));
    return {x.c};
  }
  return Permute(ReshapeTo(x, {x.dim(0), x.dim(1), heads, -1}), {0, 2, 1, 3});
}

V JoinHeads(V x) {
  if (!x.ok()) return x;
  const Shape shape = {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)};
  return ReshapeTo(Permute(x, {0, 2, 1, 3}), shape);
}

V KeysBelow(NodeContext& c, V limits, Dim keys) {
  if (!limits.ok()) return {&c};
  Shape shape = limits.shape();
  shape.push_back(keys);
  const int last = limits.rank();
  V limit = Unsqueeze(Cast(limits, i64), {last});
  return Bin(ir::Op::k_lt, c.Iota(shape, last), Broadcast(limit, shape));
}

V Rotate(NodeContext& c, V x, V cos, V sin, bool interleaved) {
  if (!x.ok() || !cos.ok() || !sin.ok()) return {&c};
  const Dim half = cos.dim(cos.rank() - 1), depth = x.dim(3), turned = half * 2;
  c.Require(turned <= depth, "a head is at least as wide as what is rotated");
  const DType type = ComputeType(x.dtype());
  cos = Cast(Unsqueeze(cos, {1}), type);
  sin = Cast(Unsqueeze(sin, {1}), type);
  const bool whole = c.Known(Eq(turned, depth));
  V part = Cast(whole ? x : SliceAxis(x, 3, 0, turned), type), a, b;
  if (!part.ok()) return {&c};
  const Shape shape = {x.dim(0), x.dim(1), x.dim(2), turned};
  if (interleaved) {
    a = SliceAxis(part, 3, 0, turned, 2);
    b = SliceAxis(part, 3, 1, turned, 2);
    if (!a.ok() || !b.ok()) return {&c};
    // One name for both widths.
    const Shape halves = {x.dim(0), x.dim(1), x.dim(2), half};
    a = ReshapeTo(a, halves);
    b = ReshapeTo(b, halves);
  } else {
    a = SliceAxis(part, 3, 0, half);
    b = SliceAxis(part, 3, half, turned);
  }
  V real = cos * a - sin * b, imaginary = sin * a + cos * b;
  V y = interleaved ? ReshapeTo(Concat({Unsqueeze(real, {4}), Unsqueeze(imaginary, {4})}, 4), shape)
                    : Concat({real, imaginary}, 3);
  y = Cast(y, x.dtype());
  return whole ? y : Concat({y, SliceAxis(x, 3, turned, depth)}, 3);
}

V GatherPerBatch(NodeContext& c, V x, int axis, V rows) {
  if (!x.ok() || !rows.ok()) return {&c};
  std::vector<int> order = {0, axis}, back;
  for (int a = 1; a < x.rank(); ++a)
    if (a != axis) order.push_back(a);
  V flat = Permute(x, order);
  if (!flat.ok()) return {&c};
  Shape shape = flat.shape();
  const Dim count = shape[1];
  shape.erase(shape.begin());
  shape[0] = x.dim(0) * count;
  flat = ReshapeTo(flat, shape);
  V at = c.Iota(rows.shape(), 0) * c.SizeOf(count) + rows;
  for (int a = 0; a < x.rank(); ++a)
    back.push_back(static_cast<int>(std::find(order.begin(), order.end(), a) - order.begin()));
  return Permute(Gather(flat, at, 0), back);
}

V InOrNone(NodeContext& c, int input) { return c.Has(input) ? c.In(input) : V(); }

AttentionSteps AttendStepwise(NodeContext& c, const AttentionRequest& r,
                              const std::function<V(V)>& change_scores,
                              const std::function<V(V)>& change_probabilities) {
  AttentionSteps steps;
  if (!c.ok() || !r.q.ok() || !r.k.ok() || !r.v.ok()) return steps;
  DType type = ComputeType(r.q.dtype());
  V q = Cast(r.q, type), k = Cast(r.k, type), v = Cast(r.v, type);
  const Dim batch = q.dim(0), heads = q.dim(1), queries = q.dim(2), keys = k.dim(2);
  const Dim kv_heads = k.dim(1), group = GroupSize(c, heads, kv_heads);
  const Shape full = {batch, heads, queries, keys};
  if (group != Dim(1)) {
    q = ReshapeTo(q, {batch, kv_heads, group, queries, q.dim(3)});
    k = Unsqueeze(k, {2});
    v = Unsqueeze(v, {2});
  }
  const double scale = ScaleOrDefault(&q, r), root = std::sqrt(std::abs(scale));
  steps.scores = ReshapeTo(MatMul(q * std::copysign(root, scale), Transpose2(k * root)), full);
  V s = steps.capped = r.softcap == 0 ? steps.scores : r.softcap * Tanh(steps.scores / r.softcap);
  V visible = r.visible;
  if (r.causal) visible = Both(visible, CausalVisible(c, queries, keys, r.past));
  if (r.bias.ok()) s = s + Cast(r.bias, type);
  if (visible.ok()) s = Select(visible, s, c.Scalar(type, -kInfinity));
  steps.biased = s;
  if (r.softmax_type == f64) s = Cast(s, type = f64);
  if (change_scores) s = Cast(change_scores(s), type);
  if (!s.ok()) return steps;
  if (r.sink.ok()) {
    V sink = Broadcast(Cast(Unsqueeze(r.sink, {1, 2}), type), {batch, heads, queries, 1});
    s = SliceAxis(Softmax(Concat({s, sink}, 3), 3), 3, 0, keys);
  } else if (visible.ok() || r.bias.ok()) {
    // A row of -inf sees nothing.
    const bool some = c.Known(keys >= 1);
    V most = Reduce(ir::Op::k_max, some ? s : PadBy(s, {0, 0, 0, 0}, {0, 0, 0, 1}, -kInfinity), {3},
                    true);
    s = Select(Bin(ir::Op::k_eq, most, -kInfinity), c.Scalar(type, 0), Softmax(s, 3));
  } else {
    s = Softmax(s, 3);
  }
  steps.probabilities = s;
  if (change_probabilities) s = Cast(change_probabilities(s), type);
  if (!s.ok()) return steps;
  if (group != Dim(1)) s = ReshapeTo(s, {batch, kv_heads, group, queries, keys});
  V y = MatMul(s, Cast(v, type));
  steps.y = Cast(ReshapeTo(y, {batch, heads, queries, r.v.dim(3)}), r.q.dtype());
  return steps;
}

V Attend(NodeContext& c, const AttentionRequest& r) {
  if (r.softcap != 0 || r.sink.ok() || (r.softmax_type == f64 && r.q.dtype() != f64))
    return AttendStepwise(c, r).y;
  if (!c.ok() || !r.q.ok() || !r.k.ok() || !r.v.ok()) return {&c};
  V q = r.q, k = r.k, v = Cast(r.v, r.q.dtype()), bias = r.bias, visible = r.visible;
  const Dim batch = q.dim(0), heads = q.dim(1), queries = q.dim(2), keys = k.dim(2);
  const Dim kv_heads = k.dim(1), group = GroupSize(c, heads, kv_heads);
  ir::Attrs attrs;
  attrs.scale = ScaleOrDefault(&q, r);
  if (r.causal) {
    if (c.Known(Eq(r.past + queries, keys))) {
      attrs.causal = true;
    } else {
      visible = Both(visible, CausalVisible(c, queries, keys, r.past));
    }
  }
  if (group != Dim(1)) {
    q = ReshapeTo(q, {batch, kv_heads, group, queries, q.dim(3)});
    k = Unsqueeze(k, {2});
    v = Unsqueeze(v, {2});
    bias = Regroup(bias, heads, kv_heads, group);
    visible = Regroup(visible, heads, kv_heads, group);
  }
  V mask = bias.ok() ? Cast(bias, q.dtype()) : visible;
  if (bias.ok() && visible.ok()) mask = Select(visible, mask, c.Scalar(q.dtype(), -kInfinity));
  if (!c.ok()) return {&c};
  V y = c.Wrap(c.builder().Attention(q.id, k.id, v.id, mask.id, std::move(attrs)));
  return ReshapeTo(y, {batch, heads, queries, r.v.dim(3)});
}

}  // namespace lathe::onnx
