#include "examples/encoder.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lathe::examples {
namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr double kMaskedScore = -10000;

class EncoderBuilder {
 public:
  EncoderBuilder(Trace& t, const EncoderConfig& config, const Weights& weights)
      : t_(t), config_(config), weights_(weights) {}

  absl::StatusOr<Value> Build() {
    const int64_t hidden = config_.hidden;
    batch_ = t_.dim("batch", config_.batch_facts);
    seq_ = t_.dim("seq", config_.seq_facts.empty() ? "1.." + std::to_string(config_.max_seq)
                                                   : config_.seq_facts);
    const Value ids = t_.input("input_ids", i64, {batch_, seq_});
    const Value mask = t_.input("attention_mask", i64, {batch_, seq_});

    const Value words = embedding(Weight("word_table", {config_.vocab, hidden}), ids);
    const Value positions = slice(Weight("pos_table", {config_.max_seq, hidden}), 0, 0, seq_);
    Value x = Norm(words + positions, "emb");
    mask_ = reshape((1.0 - cast(mask, f32)) * kMaskedScore, {batch_, 1, 1, seq_});
    for (int64_t i = 0; i < config_.layers; ++i) x = Layer(x, absl::StrCat("l", i));
    if (!status_.ok()) return status_;
    return x;
  }

 private:
  Value Layer(const Value& x, const std::string& name) {
    const Value q = Heads(Linear(x, name + "_q", config_.hidden, config_.hidden));
    const Value k = Heads(Linear(x, name + "_k", config_.hidden, config_.hidden));
    const Value v = Heads(Linear(x, name + "_v", config_.hidden, config_.hidden));
    AttentionOptions options;
    options.mask = mask_;
    const Value context = permute(attention(q, k, v, options), {0, 2, 1, 3});
    const Value merged = reshape(context, {batch_, seq_, config_.hidden});
    const Value y =
        Norm(Linear(merged, name + "_o", config_.hidden, config_.hidden) + x, name + "_ln1");
    const Value wide = gelu(Linear(y, name + "_up", config_.hidden, config_.ffn));
    return Norm(Linear(wide, name + "_down", config_.ffn, config_.hidden) + y, name + "_ln2");
  }

  // [batch, seq, hidden] -> [batch, heads, seq, head dim]
  Value Heads(const Value& x) {
    const int64_t depth = config_.hidden / config_.heads;
    return permute(reshape(x, {batch_, seq_, config_.heads, depth}), {0, 2, 1, 3});
  }

  Value Linear(const Value& x, const std::string& name, int64_t in, int64_t out) {
    return matmul(x, Weight(name + "_w", {in, out})) + Weight(name + "_b", {out});
  }

  Value Norm(const Value& x, const std::string& name) {
    return layer_norm(x, Weight(name + "_g", {config_.hidden}),
                      Weight(name + "_b", {config_.hidden}), kNormEpsilon);
  }

  Value Weight(const std::string& name, const std::vector<int64_t>& shape) {
    absl::StatusOr<Tensor> tensor = weights_(name, shape);
    if (!tensor.ok()) {
      if (status_.ok()) status_ = tensor.status();
      return Value();
    }
    Value v = t_.constant(*tensor);
    return v.named(name);
  }

  Trace& t_;
  const EncoderConfig& config_;
  const Weights& weights_;
  Dim batch_, seq_;
  Value mask_;
  absl::Status status_;  // the first weight that can't be had
};

// A stream of its own for each seed and name (FNV-1a), stepped by splitmix64.
class NormalStream {
 public:
  NormalStream(uint64_t seed, const std::string& name) : state_(14695981039346656037u ^ seed) {
    for (char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }

  // Box-Muller gives two numbers at a time.
  void Fill(float* to, int64_t count, double scale, double offset) {
    constexpr double kTwoPi = 6.283185307179586;
    for (int64_t i = 0; i < count; i += 2) {
      const double radius = scale * std::sqrt(-2 * std::log(1 - Uniform()));
      const double angle = kTwoPi * Uniform();
      to[i] = static_cast<float>(offset + radius * std::cos(angle));
      if (i + 1 < count) to[i + 1] = static_cast<float>(offset + radius * std::sin(angle));
    }
  }

 private:
  double Uniform() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-53;
  }

  uint64_t state_;
};

bool EndsWith(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

absl::StatusOr<Value> BuildEncoder(Trace& t, const EncoderConfig& config, const Weights& weights) {
  return EncoderBuilder(t, config, weights).Build();
}

Weights SeededWeights(uint64_t seed) {
  return
      [seed](const std::string& name, const std::vector<int64_t>& shape) -> absl::StatusOr<Tensor> {
        absl::StatusOr<Tensor> tensor = Tensor::Make(f32, shape);
        if (!tensor.ok()) return tensor;
        double scale = 0.02, offset = 0;
        if (EndsWith(name, "_w")) scale = 1 / std::sqrt(static_cast<double>(shape[0]));
        if (EndsWith(name, "_g")) scale = 0.1, offset = 1;
        if (name == "word_table") scale = 0.5;
        if (name == "pos_table") scale = 0.1;
        NormalStream(seed, name).Fill(tensor->data<float>(), tensor->num_elements(), scale, offset);
        return tensor;
      };
}

absl::StatusOr<Program> TraceEncoder(const EncoderConfig& config) {
  Trace t("encoder");
  absl::StatusOr<Value> hidden = BuildEncoder(t, config, SeededWeights(1));
  if (!hidden.ok()) return hidden.status();
  return t.finish({*hidden}, {"last_hidden"});
}

}  // namespace lathe::examples
