#pragma once
// A transformer encoder of BERT's shape, traced with `batch` and `seq` left open: word and position
// embeddings, then layers of attention and feed-forward with the norms after the residuals, exact
// GELU, an additive mask. Used by the serving example, lathe-bench and tests.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lathe/lathe.h"

namespace lathe::examples {

// The default is MiniLM's size.
struct EncoderConfig {
  int64_t layers = 6;
  int64_t hidden = 384;  // a multiple of heads
  int64_t heads = 12;
  int64_t ffn = 1536;
  int64_t vocab = 30522;
  int64_t max_seq = 512;
  std::string batch_facts = "1..64";
  std::string seq_facts;  // empty: 1..max_seq
};

// The f32 weight of that name and shape. Names: word_table [vocab, hidden], pos_table [max_seq,
// hidden], emb_{g,b}; for layer i: l{i}_{q,k,v,o,up,down}_{w,b}, l{i}_ln1_{g,b}, l{i}_ln2_{g,b}.
// Matrices are [in, out].
using Weights = std::function<absl::StatusOr<Tensor>(const std::string& name,
                                                     const std::vector<int64_t>& shape)>;

// Declares dims `batch` and `seq` and the inputs `input_ids` and `attention_mask`, both i64 [batch,
// seq] (mask: 1 for a token, 0 for padding), and gives the last hidden state, f32 [batch, seq,
// hidden]; or the error of the weight that can't be had.
absl::StatusOr<Value> BuildEncoder(Trace& t, const EncoderConfig& config, const Weights& weights);

// Random normal weights that depend on seed and name alone: tables scaled by 0.5 (words) and 0.1
// (positions), biases by 0.02, gains 1 + 0.1 x, matrices by 1 / sqrt(in).
Weights SeededWeights(uint64_t seed);

// A program of its own: BuildEncoder with SeededWeights(1), its result named last_hidden.
absl::StatusOr<Program> TraceEncoder(const EncoderConfig& config = {});

}  // namespace lathe::examples
