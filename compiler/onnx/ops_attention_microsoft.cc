// Attention of com.microsoft, as exporters and optimizers of ONNX Runtime write it.
#include <optional>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/attention_parts.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

std::optional<double> ScaleOf(NodeContext& c) {
  const double scale = c.Float("scale");
  if (scale == 0) return std::nullopt;
  return scale;
}

// What is added for hidden keys, as the operators of this domain have it: not quite -inf.
V HiddenBias(NodeContext& c, V visible, DType type) {
  const double filter = c.Float("mask_filter_value", -10000);
  return Select(visible, c.Scalar(type, 0), c.Scalar(type, filter));
}

// The bias of a mask of whole numbers: lengths [B], [B, T], [B, S, T] or [B, 1, M, M].
V MaskBias(NodeContext& c, V mask, Dim batch, Dim queries, Dim keys, DType type) {
  if (!mask.ok()) return mask;
  if (mask.rank() == 1) {
    c.Require(Eq(mask.dim(0), batch),
              "a mask of rank 1 has a length for every sample (start positions aren't supported)");
    return HiddenBias(c, Unsqueeze(KeysBelow(c, mask, keys), {1, 2}), type);
  }
  V visible = Bin(ir::Op::k_ne, Cast(mask, i64), c.ScalarInt(i64, 0));
  if (mask.rank() == 2) {
    c.Require(Eq(mask.dim(1), keys), "a mask is as long as the keys");
    visible = Unsqueeze(visible, {1, 2});
  } else if (mask.rank() == 3) {
    visible = Unsqueeze(visible, {1});
  } else if (mask.rank() == 4) {  // of the longest sequence: the last queries up to now
    visible = SliceAxis(SliceAxis(visible, 2, keys - queries, keys), 3, 0, keys);
  } else {
    c.Fail(absl::StrCat("a mask is ", mask.type().ToString(), "; wanted rank 1 to 4"));
  }
  return HiddenBias(c, visible, type);
}

V Sum(V a, V b) {
  if (!a.ok()) return b;
  return b.ok() ? a + b : a;
}

// The part `i` of `parts` equal ones of the last axis.
V Part(V x, int i, int parts) {
  if (!x.ok()) return x;
  const int last = x.rank() - 1;
  const Dim width = FloorDiv(x.dim(last), parts);
  return SliceAxis(x, last, width * i, width * (i + 1));
}

// Position `i` of axis `axis`, which goes away.
V At(V x, int axis, int i) { return Squeeze(SliceAxis(x, axis, i, i + 1), {axis}); }

void MultiHeadAttention(NodeContext& c) {
  const Dim heads = Heads(c, "num_heads");
  V query = c.In(0), key = InOrNone(c, 1), value = InOrNone(c, 2), bias = InOrNone(c, 3);
  if (!c.ok()) return;
  AttentionRequest r;
  r.scale = ScaleOf(c);
  if (query.rank() == 5) {  // [B, S, N, 3, H]
    r.q = Permute(At(query, 3, 0), {0, 2, 1, 3});
    r.k = Permute(At(query, 3, 1), {0, 2, 1, 3});
    r.v = Permute(At(query, 3, 2), {0, 2, 1, 3});
    if (bias.ok()) return c.Unsupported("a bias beside packed query, key and value");
  } else {
    if (query.rank() != 3 || !key.ok())
      return c.Fail("wanted a query of rank 3 with its key, or of rank 5");
    if (key.rank() < 3 || key.rank() > 5)
      return c.Fail(absl::StrCat("key is ", key.type().ToString(), "; wanted rank 3 to 5"));
    if (key.rank() != 5 && value.rank() != key.rank())  // 0 if there is none
      return c.Fail("value is missing, or not of key's rank");
    if (bias.ok() && bias.rank() != 1) return c.Fail("bias isn't of rank 1");
    const Dim width = query.dim(2);
    if (bias.ok() && value.ok() && value.rank() == 3)
      c.Require(Eq(bias.dim(0), width + key.dim(2) + value.dim(2)),
                "the bias is that of query, key and value");
    const auto with_bias = [&](V x, Dim start) {
      if (!bias.ok() || !x.ok()) return x;
      return x + ReshapeTo(SliceAxis(bias, 0, start, start + x.dim(2)), {x.dim(2)});
    };
    r.q = SplitHeads(with_bias(query, 0), heads);
    if (key.rank() == 5) {  // [B, T, N, 2, H]
      if (bias.ok()) return c.Unsupported("a bias beside packed key and value");
      r.k = Permute(At(key, 3, 0), {0, 2, 1, 3});
      r.v = Permute(At(key, 3, 1), {0, 2, 1, 3});
    } else if (key.rank() == 4) {  // [B, N, T, H]: a cache of cross attention
      r.k = key;
      r.v = value;
    } else {
      r.k = SplitHeads(with_bias(key, width), heads);
      r.v = SplitHeads(with_bias(value, width + key.dim(2)), heads);
    }
  }
  if (c.Has(8) || c.Has(9)) return c.Unsupported("a cache shared between past and present");
  if (c.Has(6)) {
    V past_key = c.In(6), past_value = c.In(7);
    if (!c.ok() || past_key.rank() != 4 || past_value.rank() != 4)
      return c.Fail("past_key and past_value aren't of rank 4");
    r.k = Concat({past_key, r.k}, 2);
    r.v = Concat({past_value, r.v}, 2);
  }
  if (!c.ok() || !r.k.ok() || !r.v.ok()) return c.Fail("key or value is missing");
  c.Out(1, r.k);
  c.Out(2, r.v);
  const Dim queries = r.q.dim(2), keys = r.k.dim(2);
  r.causal = c.Int("unidirectional") != 0;
  r.past = keys - queries;
  r.bias = Sum(MaskBias(c, InOrNone(c, 4), r.q.dim(0), queries, keys, r.q.dtype()), InOrNone(c, 5));
  if (c.WantsOutput(3)) {
    const AttentionSteps steps = AttendStepwise(c, r);
    c.Out(3, Cast(steps.biased, r.q.dtype()));
    return c.Out(0, JoinHeads(steps.y));
  }
  c.Out(0, JoinHeads(Attend(c, r)));
}

void Attention(NodeContext& c) {
  const Dim heads = Heads(c, "num_heads");
  V x = c.In(0), weights = c.In(1), bias = InOrNone(c, 2);
  if (!c.ok()) return;
  if (x.rank() != 3 || weights.rank() != 2)
    return c.Fail("wanted an input of rank 3, weights of 2");
  if (c.Int("do_rotary") != 0) return c.Unsupported("do_rotary isn't supported");
  if (c.Int("past_present_share_buffer") != 0)
    return c.Unsupported("a cache shared between past and present");
  V all = MatMul(x, weights);
  if (bias.ok()) all = all + bias;
  const std::vector<int64_t> sizes = c.SizeInts("qkv_hidden_sizes");
  AttentionRequest r;
  r.scale = ScaleOf(c);
  if (sizes.size() == 3) {
    const int64_t v_at = sizes[0] + sizes[1];
    r.q = SplitHeads(SliceAxis(all, 2, 0, sizes[0]), heads);
    r.k = SplitHeads(SliceAxis(all, 2, sizes[0], v_at), heads);
    r.v = SplitHeads(SliceAxis(all, 2, v_at, v_at + sizes[2]), heads);
  } else {
    r.q = SplitHeads(Part(all, 0, 3), heads);
    r.k = SplitHeads(Part(all, 1, 3), heads);
    r.v = SplitHeads(Part(all, 2, 3), heads);
  }
  if (c.Has(4)) {
    V past = c.In(4);
    if (!c.ok() || past.rank() != 5) return c.Fail("past isn't of rank 5");
    r.k = Concat({At(past, 0, 0), r.k}, 2);
    r.v = Concat({At(past, 0, 1), r.v}, 2);
  }
  if (!c.ok()) return;
  c.Out(1, Concat({Unsqueeze(r.k, {0}), Unsqueeze(r.v, {0})}, 0));
  const Dim queries = r.q.dim(2), keys = r.k.dim(2);
  r.causal = c.Int("unidirectional") != 0;
  r.past = keys - queries;
  r.bias = Sum(MaskBias(c, InOrNone(c, 3), r.q.dim(0), queries, keys, r.q.dtype()), InOrNone(c, 5));
  c.Out(0, JoinHeads(Attend(c, r)));
}

// -- GroupQueryAttention

// cos or sin of rows `positions` [B, S]: [B, S, R].
V Rows(V cache, V positions) { return Gather(cache, positions, 0); }

// `fresh` [B, N, S, H] written behind the first before[b] rows of `past` [B, N, P, H]: [B, N, T,
// H]. Rows behind both are those of the cache, if it is that long.
V WithCache(NodeContext& c, V past, V fresh, V before, Dim keys) {
  const Dim batch = fresh.dim(0), old = past.ok() ? past.dim(2) : Dim(0), added = fresh.dim(2);
  V all = past.ok() ? Concat({past, fresh}, 2) : fresh;
  if (!all.ok()) return all;
  const Shape places = {batch, keys};
  V at = c.Iota(places, 1), start = Broadcast(Unsqueeze(before, {1}), places);
  V is_fresh = Bin(ir::Op::k_and, Bin(ir::Op::k_ge, at, start),
                   Bin(ir::Op::k_lt, at, start + c.SizeOf(added)));
  V from = Select(is_fresh, at - start + c.SizeOf(old), Minimum(at, c.SizeOf(old + added - 1)));
  return GatherPerBatch(c, all, 2, from);
}

// The positions given for `tokens` [B, S]; of the first prompt only the very first one counts.
V PositionIds(NodeContext& c, V ids, const Shape& tokens, Dim total) {
  if (!c.ok() || ids.rank() != 2 || c.Known(tokens[1] < total)) return ids;
  V flat = ReshapeTo(ids, {Product(ids.shape(), 0, 2)});
  V consecutive = Rows(flat, Broadcast(c.ScalarInt(i64, 0), tokens)) + c.Iota(tokens, 1);
  V first = Bin(ir::Op::k_eq, c.SizeOf(total), c.SizeOf(tokens[1]));
  return Select(first, consecutive, ids);
}

void GroupQueryAttention(NodeContext& c) {
  const Dim heads = Heads(c, "num_heads"), kv_heads = Heads(c, "kv_num_heads");
  const std::optional<std::vector<Dim>> total = c.Dims(6);
  if (!total) return;
  if (total->size() != 1) return c.Fail("total_sequence_length is no scalar");
  for (const char* name : {"k_quant_type", "v_quant_type"})
    if (c.Str(name, "NONE") != "NONE") return c.Unsupported("a quantized cache");
  if (c.Int("causal", 1) == 0) return c.Unsupported("causal is 0");
  if (c.Int("sliding_window_cache") != 0) return c.Unsupported("sliding_window_cache is 1");
  if (c.Has(14) || c.Has(15)) return c.Unsupported("norms of queries and keys");
  if (c.Has(16)) return c.Unsupported("query_seqlens isn't supported");
  V query = c.In(0), key = InOrNone(c, 1), value = InOrNone(c, 2);
  V past_key = InOrNone(c, 3), past_value = InOrNone(c, 4), lengths = c.In(5);
  if (!c.ok()) return;
  if (query.rank() != 3) return c.Fail("query isn't of rank 3");
  if (key.ok() != value.ok()) return c.Fail("key and value go together");
  if (past_key.ok() != past_value.ok()) return c.Fail("past_key and past_value go together");
  if (past_key.ok() && (past_key.rank() != 4 || past_value.rank() != 4))
    return c.Fail("past_key and past_value aren't of rank 4");
  AttentionRequest r;
  r.scale = ScaleOf(c);
  r.softcap = c.Float("softcap");
  if (key.ok()) {
    r.q = SplitHeads(query, heads);
    r.k = SplitHeads(key, kv_heads);
    r.v = SplitHeads(value, kv_heads);
  } else {  // packed: heads of queries, keys and values behind each other
    V packed = SplitHeads(query, heads + kv_heads * 2);
    r.q = SliceAxis(packed, 1, 0, heads);
    r.k = SliceAxis(packed, 1, heads, heads + kv_heads);
    r.v = SliceAxis(packed, 1, heads + kv_heads, heads + kv_heads * 2);
  }
  if (!c.ok()) return;
  const Dim batch = r.q.dim(0), queries = r.q.dim(2);
  const Dim old = past_key.ok() ? past_key.dim(2) : Dim(0);
  const Dim keys = c.Known(old <= (*total)[0])   ? (*total)[0]
                   : c.Known((*total)[0] <= old) ? old
                                                 : Max(old, (*total)[0]);
  const Shape tokens = {batch, queries};
  // Rows of the cache that count; what is right of a short prompt doesn't.
  V last = Cast(ReshapeTo(lengths, {batch}), i64);
  V before = Maximum(last + c.SizeOf(1 - queries), c.ScalarInt(i64, 0));
  V position = Broadcast(Unsqueeze(before, {1}), tokens) + c.Iota(tokens, 1);
  if (c.Int("do_rotary") != 0) {
    V cos = c.In(7), sin = c.In(8);
    if (!c.ok() || cos.rank() != 2 || sin.rank() != 2) return c.Fail("the caches aren't of rank 2");
    V ids = c.Has(9) ? PositionIds(c, Cast(c.In(9), i64), tokens, (*total)[0]) : position;
    const bool interleaved = c.Int("rotary_interleaved") != 0;
    cos = Rows(cos, ids);
    sin = Rows(sin, ids);
    r.q = Rotate(c, r.q, cos, sin, interleaved);
    r.k = Rotate(c, r.k, cos, sin, interleaved);
  }
  r.k = WithCache(c, past_key, r.k, before, keys);
  r.v = WithCache(c, past_value, r.v, before, keys);
  c.Out(1, r.k);
  c.Out(2, r.v);
  if (!c.ok()) return;
  const Shape pairs = {batch, queries, keys};
  V at = c.Iota(pairs, 2), own = Broadcast(Unsqueeze(position, {2}), pairs);
  V visible = Bin(ir::Op::k_le, at, Minimum(own, Unsqueeze(last, {1, 2})));
  const int64_t window = c.Int("local_window_size", -1);
  if (window > 0)
    visible = Bin(ir::Op::k_and, visible, Bin(ir::Op::k_gt, at, own - c.ScalarInt(i64, window)));
  r.visible = Unsqueeze(visible, {1});
  r.bias = InOrNone(c, 10);
  if (r.bias.ok() && r.bias.rank() != 4) return c.Fail("attention_bias isn't of rank 4");
  if (r.bias.ok() && !c.Known(Eq(r.bias.dim(3), keys)))
    r.bias = SliceAxis(PadBy(r.bias, {0, 0, 0, 0}, {0, 0, 0, keys}), 3, 0, keys);
  r.sink = InOrNone(c, 11);
  if (!r.sink.ok() && c.Int("smooth_softmax") > 0) r.sink = c.Fill({heads}, r.q.dtype(), 0);
  c.Out(0, JoinHeads(Attend(c, r)));
}

void RotaryEmbedding(NodeContext& c) {
  V x = c.In(0), ids = c.In(1), cos = c.In(2), sin = c.In(3);
  if (!c.ok()) return;
  if (c.Int("is_packed_batching") != 0) return c.Unsupported("is_packed_batching isn't supported");
  if (cos.rank() != 2 || sin.rank() != 2) return c.Fail("the caches aren't of rank 2");
  const bool flat = x.rank() == 3;
  if (flat) {
    const int64_t heads = c.Int("num_heads");
    x = SplitHeads(x, heads > 0 ? Dim(heads) : FloorDiv(x.dim(2), cos.dim(1) * 2));
  }
  if (!c.ok()) return;
  if (x.rank() != 4) return c.Fail("wanted an input of rank 3 or 4");
  V position = Cast(ids, i64);
  if (ids.rank() <= 1) {  // where the sequence begins
    V start = ids.rank() == 1 ? Squeeze(position, {0}) : position;
    position = Unsqueeze(c.Iota({x.dim(2)}, 0) + start, {0});
  }
  V y = Rotate(c, x, Rows(cos, position), Rows(sin, position), c.Int("interleaved") != 0);
  const double scale = c.Float("scale", 1);
  if (scale != 1) y = y * scale;
  c.Out(0, flat ? JoinHeads(y) : y);
}

}  // namespace

std::vector<Mapping> MicrosoftAttentionMappings() {
  return {
      {"com.microsoft", "MultiHeadAttention", MultiHeadAttention},
      {"com.microsoft", "Attention", Attention},
      {"com.microsoft", "GroupQueryAttention", GroupQueryAttention},
      {"com.microsoft", "RotaryEmbedding", RotaryEmbedding},
  };
}

}  // namespace lathe::onnx
