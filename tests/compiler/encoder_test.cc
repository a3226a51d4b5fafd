// The encoder example: its graph, and its numbers against a plain computation of one small layer.
#include "examples/encoder.h"

#include <cmath>

#include "compiler/passes/pass.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/compare.h"
#include "ir/interpreter.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kWidth = 8, kHeads = 2, kFfn = 12, kVocab = 11;

examples::EncoderConfig SmallConfig(int64_t layers) {
  examples::EncoderConfig config;
  config.layers = layers;
  config.hidden = kWidth;
  config.heads = kHeads;
  config.ffn = kFfn;
  config.vocab = kVocab;
  config.max_seq = 16;
  config.batch_facts = "";
  config.seq_facts = "<= 16";
  return config;
}

absl::StatusOr<Program> Encoder(int64_t layers) {
  Trace t("encoder");
  absl::StatusOr<Value> hidden =
      examples::BuildEncoder(t, SmallConfig(layers), examples::SeededWeights(3));
  if (!hidden.ok()) return hidden.status();
  return t.finish({*hidden}, {"last_hidden"});
}

std::vector<Tensor> Inputs(int64_t batch, int64_t seq) {
  Tensor ids(i64, {batch, seq}), mask(i64, {batch, seq});
  for (int64_t i = 0; i < batch * seq; ++i) {
    ids.data<int64_t>()[i] = (7 * i + 3) % kVocab;
    mask.data<int64_t>()[i] = i % seq == 0 || i % 5 != 4;
  }
  return {ids, mask};
}

// Straight loops in float64 over one layer, from the published definition.
class PlainEncoder {
 public:
  std::vector<double> Run(const Tensor& ids, const Tensor& mask) {
    seq_ = ids.shape()[1];
    std::vector<double> all;
    for (int64_t b = 0; b < ids.shape()[0]; ++b) {
      const std::vector<double> x =
          Layer(Embed(ids.data<int64_t>() + b * seq_), mask.data<int64_t>() + b * seq_);
      all.insert(all.end(), x.begin(), x.end());
    }
    return all;
  }

 private:
  using Rows = std::vector<double>;

  Tensor W(const std::string& name, std::vector<int64_t> shape) {
    return *examples::SeededWeights(3)(name, shape);
  }
  Rows Embed(const int64_t* ids) {
    const Tensor words = W("word_table", {kVocab, kWidth}), places = W("pos_table", {16, kWidth});
    Rows x;
    for (int64_t s = 0; s < seq_; ++s) {
      for (int64_t c = 0; c < kWidth; ++c)
        x.push_back(double{words.data<float>()[ids[s] * kWidth + c]} +
                    double{places.data<float>()[s * kWidth + c]});
    }
    return Norm(x, "emb");
  }
  Rows Norm(Rows x, const std::string& name) {
    const Tensor g = W(name + "_g", {kWidth}), b = W(name + "_b", {kWidth});
    for (size_t row = 0; row < x.size(); row += kWidth) {
      double mean = 0, variance = 0;
      for (size_t c = 0; c < kWidth; ++c) mean += x[row + c] / kWidth;
      for (size_t c = 0; c < kWidth; ++c)
        variance += (x[row + c] - mean) * (x[row + c] - mean) / kWidth;
      for (size_t c = 0; c < kWidth; ++c)
        x[row + c] = (x[row + c] - mean) / std::sqrt(variance + 1e-5) * double{g.data<float>()[c]} +
                     double{b.data<float>()[c]};
    }
    return x;
  }
  Rows Linear(const Rows& x, const std::string& name, int64_t in, int64_t out) {
    const Tensor w = W(name + "_w", {in, out}), b = W(name + "_b", {out});
    Rows y;
    for (size_t row = 0; row < x.size(); row += static_cast<size_t>(in)) {
      for (int64_t o = 0; o < out; ++o) {
        double total = double{b.data<float>()[o]};
        for (int64_t i = 0; i < in; ++i)
          total += x[row + static_cast<size_t>(i)] * double{w.data<float>()[i * out + o]};
        y.push_back(total);
      }
    }
    return y;
  }
  Rows Attend(const Rows& q, const Rows& k, const Rows& v, const int64_t* mask) {
    const int64_t depth = kWidth / kHeads;
    const auto at = [&](const Rows& r, int64_t s, int64_t h, int64_t d) {
      return r[static_cast<size_t>(s * kWidth + h * depth + d)];
    };
    Rows y(q.size());
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t s = 0; s < seq_; ++s) {
        Rows p;
        double total = 0;
        for (int64_t j = 0; j < seq_; ++j) {
          double score = 0;
          for (int64_t d = 0; d < depth; ++d) score += at(q, s, h, d) * at(k, j, h, d);
          p.push_back(std::exp(score / std::sqrt(static_cast<double>(depth)) +
                               (1 - static_cast<double>(mask[j])) * -10000));
          total += p.back();
        }
        for (int64_t d = 0; d < depth; ++d) {
          double sum = 0;
          for (int64_t j = 0; j < seq_; ++j)
            sum += p[static_cast<size_t>(j)] / total * at(v, j, h, d);
          y[static_cast<size_t>(s * kWidth + h * depth + d)] = sum;
        }
      }
    }
    return y;
  }
  static Rows Add(Rows a, const Rows& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  Rows Layer(const Rows& x, const int64_t* mask) {
    const auto project = [&](const char* part) {
      return Linear(x, std::string("l0_") + part, kWidth, kWidth);
    };
    const Rows context = Attend(project("q"), project("k"), project("v"), mask);
    const Rows y = Norm(Add(Linear(context, "l0_o", kWidth, kWidth), x), "l0_ln1");
    Rows wide = Linear(y, "l0_up", kWidth, kFfn);
    for (double& v : wide) v = v * (1 + std::erf(v / std::sqrt(2.0))) / 2;
    return Norm(Add(Linear(wide, "l0_down", kFfn, kWidth), y), "l0_ln2");
  }

  int64_t seq_ = 0;
};

TEST(EncoderTest, OneLayerAgreesWithPlainLoops) {
  absl::StatusOr<Program> p = Encoder(1);
  ASSERT_TRUE(p.ok()) << p.status();
  const std::vector<Tensor> inputs = Inputs(2, 7);
  absl::StatusOr<std::vector<Tensor>> out = ir::Interpret(p->graph(), inputs);
  ASSERT_TRUE(out.ok()) << out.status();
  const std::vector<double> wanted = PlainEncoder().Run(inputs[0], inputs[1]);
  ASSERT_EQ((*out)[0].num_elements(), static_cast<int64_t>(wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(double{(*out)[0].data<float>()[i]}, wanted[i], 2e-5) << "element " << i;
}

TEST(EncoderTest, PassesMergeTheProjectionsAndKeepEveryBit) {
  absl::StatusOr<Program> p = Encoder(2);
  ASSERT_TRUE(p.ok()) << p.status();
  ASSERT_TRUE(ir::Verify(p->graph()).ok()) << ir::Verify(p->graph());
  ir::Graph better = p->graph().Clone();
  compiler::PassContext context;
  context.verify = true;
  ASSERT_TRUE(compiler::RunPasses(better, context).ok()) << ir::Print(better);
  EXPECT_EQ(context.rewrites["merged products"], 6) << ir::Print(better);

  int matmuls = 0, slices = 0;
  for (ir::ValueId v : better.body.nodes) {
    matmuls += better.node(v).op == ir::Op::k_matmul;
    slices += better.node(v).op == ir::Op::k_slice;
  }
  EXPECT_EQ(matmuls, 2 * 4);     // qkv, o, up, down
  EXPECT_EQ(slices, 2 * 3 + 1);  // q, k, v; the positions
  for (int64_t seq : {0, 1, 2, 16}) {
    const std::vector<Tensor> inputs = Inputs(3, seq);
    absl::StatusOr<std::vector<Tensor>> before = ir::Interpret(p->graph(), inputs);
    absl::StatusOr<std::vector<Tensor>> after = ir::Interpret(better, inputs);
    ASSERT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
    EXPECT_TRUE(ir::SameBits((*after)[0], (*before)[0]).ok()) << "seq " << seq;
  }
}

TEST(EncoderTest, SequencesBeyondThePositionsAreRefused) {
  absl::StatusOr<Program> p = Encoder(1);
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_FALSE(ir::Interpret(p->graph(), Inputs(1, 17)).ok());
}

TEST(EncoderTest, AMissingWeightIsReported) {
  Trace t("encoder");
  const absl::StatusOr<Value> hidden = examples::BuildEncoder(
      t, SmallConfig(1),
      [](const std::string& name, const std::vector<int64_t>& shape) -> absl::StatusOr<Tensor> {
        if (name == "l0_k_w") return absl::NotFoundError("no array l0_k_w in the file");
        return Tensor(f32, shape);
      });
  ASSERT_FALSE(hidden.ok());
  EXPECT_THAT(std::string(hidden.status().message()), HasSubstr("l0_k_w"));
}

TEST(EncoderTest, MiniLmSizeTraces) {
  Trace t("encoder");
  const absl::StatusOr<Value> hidden = examples::BuildEncoder(
      t, {}, [](const std::string&, const std::vector<int64_t>& shape) -> absl::StatusOr<Tensor> {
        return Tensor::Make(f32, shape);
      });
  ASSERT_TRUE(hidden.ok()) << hidden.status();
  EXPECT_EQ(ToString(hidden->shape()), "[batch, seq, 384]");
  EXPECT_TRUE(t.finish({*hidden}).ok()) << t.status();
}

}  // namespace
}  // namespace lathe
