// Attention, FlexAttention, LinearAttention, rotary positions and what goes with caches.
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/attention_parts.h"
#include "compiler/onnx/importer.h"
#include "compiler/onnx/index.h"
#include "compiler/onnx/loops.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

std::optional<double> ScaleOf(NodeContext& c) {
  if (!c.HasAttr("scale")) return std::nullopt;
  return c.Float("scale");
}

DType SoftmaxType(NodeContext& c, DType otherwise) {
  return c.Int("softmax_precision") == 0 ? otherwise : c.DTypeAttr("softmax_precision");
}

// -- Attention of opset 23 and later

// The mask for all keys. Since opset 24 those behind its end are hidden; before, it broadcasts.
V MaskOfAll(NodeContext& c, V mask, Dim keys) {
  if (!mask.ok() || mask.rank() == 0) return mask;
  const size_t last = static_cast<size_t>(mask.rank()) - 1;
  const Dim given = mask.dim(mask.rank() - 1);
  if (c.Known(Eq(given, keys))) return mask;
  Shape shape = mask.shape();
  shape[last] = keys;
  if (c.opset() < 24) return Broadcast(mask, shape);
  c.Require(given <= keys, "a mask is no longer than the keys");
  std::vector<Dim> low(last + 1, 0), high = low;
  high[last] = keys - given;
  const double hidden = mask.dtype() == bool_ ? 0 : -std::numeric_limits<double>::infinity();
  V padded = PadBy(mask, low, high, hidden);
  return ReshapeTo(padded, shape);
}

// What the numbers of valid keys [B] leave visible. The last causal query then sees the last of
// them: [B, 1, S, T]; otherwise [B, 1, 1, T].
V ValidKeys(NodeContext& c, V lengths, Dim queries, Dim keys, bool causal) {
  if (!c.ok()) return {&c};
  if (lengths.rank() != 1) {
    c.Fail(absl::StrCat("nonpad_kv_seqlen is ", lengths.type().ToString(), "; wanted rank 1"));
    return {&c};
  }
  if (!causal) return Unsqueeze(KeysBelow(c, lengths, keys), {1, 2});
  V first = Unsqueeze(Cast(lengths, i64) + c.SizeOf(1 - queries), {1});
  return Unsqueeze(KeysBelow(c, first + c.Iota({1, queries}, 1), keys), {1});
}

void Attention(NodeContext& c) {
  AttentionRequest r;
  r.q = c.In(0);
  r.k = c.In(1);
  r.v = c.In(2);
  if (!c.ok()) return;
  const bool flat = r.q.rank() == 3;
  if (flat) {
    const Dim kv_heads = Heads(c, "kv_num_heads");
    r.q = SplitHeads(r.q, Heads(c, "q_num_heads"));
    r.k = SplitHeads(r.k, kv_heads);
    r.v = SplitHeads(r.v, kv_heads);
  }
  if (!c.ok()) return;
  for (V v : {r.q, r.k, r.v})
    if (v.rank() != 4)
      return c.Fail(absl::StrCat("an input is ", v.type().ToString(), "; wanted rank 3 or 4"));
  if (c.Has(4) != c.Has(5)) return c.Fail("past_key and past_value go together");
  if (c.Has(4)) {
    V past_key = c.In(4), past_value = c.In(5);
    if (!c.ok() || past_key.rank() != 4) return c.Fail("past_key isn't of rank 4");
    r.past = past_key.dim(2);
    r.k = Concat({past_key, r.k}, 2);
    r.v = Concat({past_value, r.v}, 2);
  }
  c.Out(1, r.k);
  c.Out(2, r.v);
  if (!c.ok()) return;
  const Dim keys = r.k.dim(2);
  r.causal = c.Int("is_causal") != 0;
  r.scale = ScaleOf(c);
  r.softcap = c.Float("softcap");
  r.softmax_type = SoftmaxType(c, r.q.dtype());
  if (c.Has(3)) {
    V mask = MaskOfAll(c, c.In(3), keys);
    if (!c.ok()) return;
    (mask.dtype() == bool_ ? r.visible : r.bias) = mask;
  }
  if (c.Has(6)) {
    const bool from_end = r.causal && !c.Has(4);
    V valid = ValidKeys(c, c.In(6), r.q.dim(2), keys, from_end);
    if (from_end) r.causal = false;
    r.visible = r.visible.ok() ? Bin(ir::Op::k_and, r.visible, valid) : valid;
  }
  V y;
  if (c.WantsOutput(3)) {
    const AttentionSteps steps = AttendStepwise(c, r);
    const int64_t mode = c.Int("qk_matmul_output_mode");
    if (mode < 0 || mode > 3)
      return c.Fail(absl::StrCat("qk_matmul_output_mode is ", mode, "; wanted 0 to 3"));
    const V step[] = {steps.scores, steps.capped, steps.biased, steps.probabilities};
    c.Out(3, Cast(step[mode], r.q.dtype()));
    y = steps.y;
  } else {
    y = Attend(c, r);
  }
  c.Out(0, flat ? JoinHeads(y) : y);
}

// The sub-graph of an attribute as a function of one tensor.
std::function<V(V)> Modifier(NodeContext& c, const std::string& name) {
  const Attribute* a = c.Find(name);
  if (a == nullptr || a->graphs.size() != 1) return nullptr;
  return [&c, a, name](V x) -> V {
    if (!x.ok()) return x;
    const int stage = c.scope().stage();
    absl::StatusOr<std::vector<Val>> result =
        c.importer().ImportGraph(*a->graphs[0], c.scope(), {c.scope().Here(x.id)});
    if (!result.ok()) {
      c.Fail(result.status());
    } else if (result->size() != 1 || (*result)[0].kind != Val::Kind::kTensor) {
      c.Fail(absl::StrCat(name, " doesn't give one tensor"));
    } else if (c.scope().stage() != stage) {
      c.Unsupported(absl::StrCat(name, " needs a size that only data gives"));
    } else {
      return c.Use((*result)[0]);
    }
    return {&c};
  };
}

void FlexAttention(NodeContext& c) {
  AttentionRequest r;
  r.q = c.In(0);
  r.k = c.In(1);
  r.v = c.In(2);
  if (!c.ok()) return;
  for (V v : {r.q, r.k, r.v})
    if (v.rank() != 4)
      return c.Fail(absl::StrCat("an input is ", v.type().ToString(), "; wanted rank 4"));
  r.scale = ScaleOf(c);
  r.softmax_type = SoftmaxType(c, r.q.dtype());
  const auto scores = Modifier(c, "score_mod"), probabilities = Modifier(c, "prob_mod");
  c.Out(0, scores || probabilities ? AttendStepwise(c, r, scores, probabilities).y : Attend(c, r));
}

// -- rotary positions

void RotaryEmbedding(NodeContext& c) {
  V x = c.In(0), cos = c.In(1), sin = c.In(2);
  if (!c.ok()) return;
  const bool flat = x.rank() == 3;
  if (flat) x = SplitHeads(x, Heads(c, "num_heads"));
  if (c.Has(3)) {
    V ids = c.In(3);
    cos = Gather(cos, ids, 0);
    sin = Gather(sin, ids, 0);
  }
  if (!c.ok()) return;
  if (x.rank() != 4 || cos.rank() != 3 || sin.rank() != 3)
    return c.Fail("wanted an input of rank 3 or 4, and cos and sin by batch and position");
  const int64_t turned = c.Int("rotary_embedding_dim");
  c.Require(Eq(cos.dim(2) * 2, turned == 0 ? x.dim(3) : Dim(turned)),
            "the caches are half as wide as what is rotated");
  V y = Rotate(c, x, cos, sin, c.Int("interleaved") != 0);
  c.Out(0, flat ? JoinHeads(y) : y);
}

// -- linear attention

struct LinearStep {
  V state, output;  // [B, Hkv, dk, dv], [B, Hq, dv]
};

// One token: q [B, Hq, dk], k [B, Hkv, dk], v [B, Hkv, dv], and decay [B, Hkv, dk or 1], beta
// [B, Hkv or 1, 1] if the rule has them.
LinearStep LinearToken(V state, V q, V k, V v, V decay, V beta, int64_t group) {
  LinearStep step;
  if (decay.ok()) state = state * Unsqueeze(Exp(decay), {3});
  if (beta.ok()) {
    V seen = MatMul(Unsqueeze(k, {2}), state);  // [B, Hkv, 1, dv]
    v = beta * (v - Squeeze(seen, {2}));
  }
  step.state = state + Unsqueeze(k, {3}) * Unsqueeze(v, {2});
  if (!step.state.ok() || !q.ok() || !v.ok()) return step;
  const Dim batch = q.dim(0), heads = q.dim(1), kv_heads = k.dim(1);
  V grouped = ReshapeTo(q, {batch, kv_heads, group, q.dim(2)});
  V y = MatMul(grouped, step.state);  // [B, Hkv, G, dv]
  step.output = ReshapeTo(y, {batch, heads, v.dim(2)});
  return step;
}

struct LinearInputs {
  V q, k, v, decay, beta;  // [B, H, T, ..]
};

// Tokens one after another in a loop: the last state, and [T, B, Hq, dv].
std::vector<Val> LinearLoop(NodeContext& c, V state, const LinearInputs& in, int64_t group) {
  const Dim count = in.q.dim(2);
  const auto here = [&](V v) { return v.ok() ? c.scope().Here(v.id) : Val(); };
  const Val outer[] = {here(in.q), here(in.k), here(in.v), here(in.decay), here(in.beta)};
  LoopSpec spec;
  spec.carried = {here(state)};
  spec.trips = here(c.SizeOf(count));
  spec.count = count;
  spec.body = [&](Scope& body, std::vector<Val> inputs) -> absl::StatusOr<std::vector<Val>> {
    NodeContext inner(c.importer(), body, c.node(), c.opset());
    const V step = inner.Use(inputs[0]);
    const auto token = [&](const Val& v) {
      return v.present() ? Gather(inner.Use(v), step, 2) : V();
    };
    const LinearStep next = LinearToken(inner.Use(inputs[1]), token(outer[0]), token(outer[1]),
                                        token(outer[2]), token(outer[3]), token(outer[4]), group);
    if (!inner.ok()) return inner.status();
    return std::vector<Val>{body.Here(next.state.id), body.Here(next.output.id)};
  };
  return RunLoop(c, std::move(spec));
}

// The recurrence of a rule, token by token; a few of them stand in the program one by one.
void LinearAttention(NodeContext& c) {
  constexpr int64_t kMostUnrolled = 8;
  const int64_t q_heads = c.Int("q_num_heads"), kv_heads = c.Int("kv_num_heads");
  const std::string rule = c.Str("update_rule", "gated_delta");
  if (!c.ok()) return;
  if (q_heads < 1 || kv_heads < 1 || q_heads % kv_heads != 0)
    return c.Fail("q_num_heads isn't a positive multiple of kv_num_heads");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    return c.Fail(absl::StrCat("there is no update_rule '", rule, "'"));
  if (gated != c.Has(4) || delta != c.Has(5))
    return c.Fail(absl::StrCat("inputs decay and beta don't fit the update_rule ", rule));
  const DType type = c.In(0).dtype();  // values of this graph are gone behind a loop
  const auto heads = [&](int input, int64_t n) { return Cast(SplitHeads(c.In(input), n), f32); };
  LinearInputs in{heads(0, q_heads), heads(1, kv_heads), heads(2, kv_heads), {}, {}};
  if (gated) in.decay = heads(4, kv_heads);
  if (delta) {
    V beta = c.In(5);
    if (!c.ok() || beta.rank() != 3) return c.Fail("beta isn't of rank 3");
    in.beta = Cast(SplitHeads(beta, beta.dim(2)), f32);
  }
  if (!c.ok()) return;
  const Dim batch = in.q.dim(0), count = in.q.dim(2), depth = in.q.dim(3), width = in.v.dim(3);
  double scale = c.Float("scale");
  if (scale != 0) {
    in.q = in.q * scale;
  } else {
    in.q = in.q / Sqrt(c.SizeOf(depth, f32));
  }
  const Shape state_shape = {batch, kv_heads, depth, width};
  const DType state_type = c.Has(3) ? c.In(3).dtype() : type;
  V state = c.Has(3) ? Cast(c.In(3), f32) : c.Fill(state_shape, f32, 0);
  if (c.Has(3)) state = Broadcast(state, state_shape);
  V y;
  if (!c.ok()) return;
  if (count.is_constant() && count.constant() >= 1 && count.constant() <= kMostUnrolled) {
    std::vector<V> outputs;
    for (int64_t t = 0; t < count.constant() && c.ok(); ++t) {
      const auto token = [&](V v) {
        return v.ok() ? Squeeze(SliceAxis(v, 2, t, t + 1), {2}) : V();
      };
      LinearStep step = LinearToken(state, token(in.q), token(in.k), token(in.v), token(in.decay),
                                    token(in.beta), q_heads / kv_heads);
      state = step.state;
      outputs.push_back(Unsqueeze(step.output, {2}));
    }
    if (!c.ok()) return;
    y = Concat(outputs, 2);
  } else {
    const std::vector<Val> results = LinearLoop(c, state, in, q_heads / kv_heads);
    if (!c.ok()) return;
    state = c.Use(results[0]);
    y = Permute(c.Use(results[1]), {1, 2, 0, 3});
  }
  c.Out(0, Cast(JoinHeads(y), type));
  c.Out(1, Cast(state, state_type));
}

// -- state beside the sequence

void CausalConvWithState(NodeContext& c) {
  V x = c.In(0), w = c.In(1);
  const std::string activation = c.Str("activation", "none");
  if (!c.ok()) return;
  if (x.rank() != 3 || w.rank() != 3) return c.Fail("wanted an input and weights of rank 3");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none")
    return c.Fail(absl::StrCat("there is no activation '", activation, "'"));
  const Dim taps = w.dim(2), batch = x.dim(0), channels = x.dim(1), length = x.dim(2);
  constexpr int64_t kMostTaps = 256;
  if (!taps.is_constant() || taps.constant() < 1 || taps.constant() > kMostTaps)
    return c.Unsupported(
        absl::StrCat("the kernel has ", taps.ToString(), " elements; wanted 1 to ", kMostTaps));
  const int64_t before = taps.constant() - 1;
  V past = InOrNone(c, 3);
  if (!c.ok()) return;
  if (past.ok() && past.rank() != 3) return c.Fail("past_state isn't of rank 3");
  if (past.ok()) c.Require(Eq(past.dim(2), before), "past_state is what the kernel reaches back");
  V all = past.ok() ? Concat({past, x}, 2) : PadBy(x, {0, 0, before}, {0, 0, 0});
  const DType type = ComputeType(x.dtype());
  V y;
  for (int64_t i = 0; i <= before && c.ok(); ++i) {
    V tap = ReshapeTo(SliceAxis(w, 2, i, i + 1), {channels, 1});
    V part = Cast(SliceAxis(all, 2, i, length + i), type) * Cast(tap, type);
    y = i == 0 ? part : y + part;
  }
  if (c.Has(2)) y = y + Unsqueeze(Cast(c.In(2), type), {1});
  if (silu) y = y * Sigmoid(y);
  c.Out(0, Broadcast(Cast(y, x.dtype()), {batch, channels, length}));
  c.Out(1, SliceAxis(all, 2, length, length + before));
}

void TensorScatter(NodeContext& c) {
  V cache = c.In(0), update = c.In(1);
  if (!c.ok()) return;
  const int axis = c.Axis(c.Int("axis", -2), cache.rank());
  const std::string mode = c.Str("mode", "linear");
  if (!c.ok()) return;
  if (axis == 0 || update.rank() != cache.rank())
    return c.Fail("wanted an axis behind the batch, and two inputs of one rank");
  const bool circular = mode == "circular";
  if (!circular && mode != "linear") return c.Fail(absl::StrCat("there is no mode '", mode, "'"));
  const Dim batch = cache.dim(0), rows = cache.dim(axis), added = update.dim(axis);
  c.Require(added <= rows, "an update isn't longer than the cache");
  V first = c.Has(2) ? Cast(c.In(2), i64) : c.Fill({batch}, i64, 0);
  // Which row of the update comes to stand at each row of the cache.
  if (circular) {
    first = Bin(ir::Op::k_mod, first, c.SizeOf(rows));
  } else {
    first = CheckIndex(first, rows - added + 1);
  }
  const Shape places = {batch, rows};
  V from = c.Iota(places, 1) - Broadcast(Unsqueeze(first, {1}), places);
  if (circular) from = Bin(ir::Op::k_mod, from, c.SizeOf(rows));
  V written = Bin(ir::Op::k_and, Bin(ir::Op::k_ge, from, c.ScalarInt(i64, 0)),
                  Bin(ir::Op::k_lt, from, c.SizeOf(added)));
  // Unwritten rows take the one behind the update.
  std::vector<Dim> none(static_cast<size_t>(update.rank()), 0), one = none;
  one[static_cast<size_t>(axis)] = 1;
  V taken = GatherPerBatch(c, PadBy(update, none, one), axis,
                           Select(written, from, Broadcast(c.SizeOf(added), places)));
  std::vector<int> others;
  for (int a = 1; a < cache.rank(); ++a)
    if (a != axis) others.push_back(a);
  c.Out(0, Select(Unsqueeze(written, others), taken, cache));
}

}  // namespace

std::vector<Mapping> AttentionMappings() {
  return {
      {"", "Attention", Attention},
      {"ai.onnx.preview", "FlexAttention", FlexAttention},
      {"", "RotaryEmbedding", RotaryEmbedding},
      {"", "LinearAttention", LinearAttention},
      {"", "CausalConvWithState", CausalConvWithState},
      {"", "TensorScatter", TensorScatter},
  };
}

}  // namespace lathe::onnx
