#pragma once
// The attention that all operators of that name share (ops_attention.cc,
// ops_attention_microsoft.cc): heads, masks, rotary positions, and the choice between the fused op
// and its composed form. Every function takes symbolic sizes; grouped heads cost no copies of keys
// and values.
#include <optional>
#include <string>

#include "compiler/onnx/node.h"

namespace lathe::onnx {

struct AttentionRequest {
  V q, k, v;                    // [B, Hq, S, D], [B, Hkv, T, D], [B, Hkv, T, E]
  V bias;                       // added to the scores; broadcasts to [B, Hq, S, T]; not ok: none
  V visible;                    // bool, likewise: what may be seen
  bool causal = false;          // query i sees key j if j <= i + past
  Dim past = 0;                 // of a causal one
  std::optional<double> scale;  // 1 / sqrt(D)
  double softcap = 0;           // 0: none
  V sink;                       // [Hq]: a logit that takes a share and gives nothing
  DType softmax_type = f32;     // at least this precise
};

// y of q's type, [B, Hq, S, E]. A row that sees nothing is 0.
V Attend(NodeContext& c, const AttentionRequest& r);

// The same step by step, each [B, Hq, S, T] of the type that is computed in.
struct AttentionSteps {
  V y, scores, capped, biased, probabilities;
};
AttentionSteps AttendStepwise(NodeContext& c, const AttentionRequest& r,
                              const std::function<V(V)>& change_scores = nullptr,
                              const std::function<V(V)>& change_probabilities = nullptr);

// A number of heads: positive, as an attribute that must be there.
Dim Heads(NodeContext& c, const std::string& name);

V SplitHeads(V x, Dim heads);  // [B, S, H * D] -> [B, H, S, D]
V JoinHeads(V x);              // [B, H, S, D] -> [B, S, H * D]

// x [B, H, S, D], the first 2 * R elements of each head turned by cos, sin [B or 1, S, R]; pairs
// are neighbours if `interleaved`, else halves.
V Rotate(NodeContext& c, V x, V cos, V sin, bool interleaved);

// bool [rows.., T]: j < limits[rows..], for lengths of any integer type.
V KeysBelow(NodeContext& c, V limits, Dim keys);

// Of x [B, .., n (at axis), ..] the rows `rows` [B, m], of type i64 and in range: [B, .., m, ..].
V GatherPerBatch(NodeContext& c, V x, int axis, V rows);

// The tensor of an input that may be left out.
V InOrNone(NodeContext& c, int input);

}  // namespace lathe::onnx
