// Attention with open batch, lengths and cache: one program for all sizes, served by the fused op,
// against the formula row by row.
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

struct Sizes {
  int64_t batch, queries, keys, past;
};

constexpr int64_t kHeads = 4, kKvHeads = 2, kDepth = 8, kWidth = 6;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Keys and values are the cache's, then the new ones: [B, Hkv, past + keys, ..].
std::vector<double> Formula(const Sizes& n, const std::vector<float>& q,
                            const std::vector<float>& k, const std::vector<float>& v, bool causal) {
  const int64_t total = n.past + n.keys;
  std::vector<double> y;
  for (int64_t b = 0; b < n.batch; ++b) {
    for (int64_t h = 0; h < kHeads; ++h) {
      const int64_t kv = b * kKvHeads + h / (kHeads / kKvHeads);
      for (int64_t i = 0; i < n.queries; ++i) {
        std::vector<double> p;
        double most = -kInfinity, sum = 0;
        for (int64_t j = 0; j < total && !(causal && j > i + n.past); ++j) {
          double s = 0;
          for (int64_t d = 0; d < kDepth; ++d)
            s += double{q[static_cast<size_t>(((b * kHeads + h) * n.queries + i) * kDepth + d)]} *
                 double{k[static_cast<size_t>((kv * total + j) * kDepth + d)]};
          p.push_back(s / std::sqrt(static_cast<double>(kDepth)));
          most = std::max(most, p.back());
        }
        for (double& s : p) sum += s = std::exp(s - most);
        for (int64_t e = 0; e < kWidth; ++e) {
          double out = 0;
          for (size_t j = 0; j < p.size(); ++j)
            out +=
                p[j] / sum *
                double{v[static_cast<size_t>((kv * total + static_cast<int64_t>(j)) * kWidth + e)]};
          y.push_back(out);
        }
      }
    }
  }
  return y;
}

// Rows first..first+count of the third axis of [B, Hkv, rows, width].
Tensor Rows(const std::vector<float>& x, int64_t batch, int64_t rows, int64_t width, int64_t first,
            int64_t count) {
  std::vector<float> part;
  for (int64_t h = 0; h < batch * kKvHeads; ++h)
    for (int64_t r = first; r < first + count; ++r)
      for (int64_t e = 0; e < width; ++e)
        part.push_back(x[static_cast<size_t>((h * rows + r) * width + e)]);
  return Tensor::FromVector<float>({batch, kKvHeads, count, width}, part);
}

void Check(bool causal, bool cached) {
  GraphWriter g;
  g.Input("q", kFloat, {"batch", kHeads, "queries", kDepth});
  g.Input("k", kFloat, {"batch", kKvHeads, "keys", kDepth});
  g.Input("v", kFloat, {"batch", kKvHeads, "keys", kWidth});
  Names inputs = {"q", "k", "v"}, outputs = {"y"};
  if (cached) {
    g.Input("past_k", kFloat, {"batch", kKvHeads, "past", kDepth});
    g.Input("past_v", kFloat, {"batch", kKvHeads, "past", kWidth});
    inputs = {"q", "k", "v", "", "past_k", "past_v"};
    outputs = {"y", "present_k", "present_v"};
  }
  g.Node("Attention", inputs, outputs, {Attr("is_causal", causal ? 1 : 0)});
  for (const std::string& name : outputs) g.Output(name);
  SmallModel model(g, 23);
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE(absl::StrContains(model.text(), "attention(")) << model.text();
  const std::vector<Sizes> all = {{1, 3, 3, 0}, {2, 1, 1, 7}, {2, 5, 3, 2}, {0, 3, 2, 1},
                                  {1, 0, 4, 0}, {1, 2, 0, 0}, {3, 7, 8, 1}, {1, 3, 3, 0}};
  for (Sizes n : all) {
    if (!cached) n.past = 0;
    const int64_t total = n.past + n.keys;
    const auto q = SomeFloats(static_cast<size_t>(n.batch * kHeads * n.queries * kDepth), 1);
    const auto k = SomeFloats(static_cast<size_t>(n.batch * kKvHeads * total * kDepth), 2);
    const auto v = SomeFloats(static_cast<size_t>(n.batch * kKvHeads * total * kWidth), 3);
    std::vector<Tensor> arguments = {
        Tensor::FromVector<float>({n.batch, kHeads, n.queries, kDepth}, q),
        Rows(k, n.batch, total, kDepth, n.past, n.keys),
        Rows(v, n.batch, total, kWidth, n.past, n.keys)};
    if (cached) {
      arguments.push_back(Rows(k, n.batch, total, kDepth, 0, n.past));
      arguments.push_back(Rows(v, n.batch, total, kWidth, 0, n.past));
    }
    ExpectNear(model.Floats(arguments, {n.batch, kHeads, n.queries, kWidth}),
               Formula(n, q, k, v, causal),
               absl::StrCat("batch ", n.batch, ", queries ", n.queries, ", keys ", n.keys,
                            ", past ", n.past),
               2e-5);
  }
}

TEST(OnnxAttention, GroupsShareKeysAtAnySize) { Check(false, false); }
TEST(OnnxAttention, CausalAlignsAtTheUpperLeft) { Check(true, false); }
TEST(OnnxAttention, CacheStandsBeforeTheNewKeys) { Check(false, true); }
TEST(OnnxAttention, CausalQueriesSeeTheWholeCache) { Check(true, true); }

// Queries and keys of zeros: each query gives the mean of the values that it sees.
Tensor Zeros(const std::vector<int64_t>& shape) {
  Tensor t(f32, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = 0;
  return t;
}

TEST(OnnxAttention, TheLastCausalQuerySeesTheLastValidKeyOfACacheGivenWhole) {
  GraphWriter g;
  g.Input("q", kFloat, {"batch", 1, "queries", 1});
  g.Input("k", kFloat, {"batch", 1, "keys", 1});
  g.Input("v", kFloat, {"batch", 1, "keys", 1});
  g.Input("valid", kInt64, {"batch"});
  g.Node("Attention", {"q", "k", "v", "", "", "", "valid"}, {"y"}, {Attr("is_causal", 1)});
  g.Output("y");
  SmallModel model(g, 24);
  ASSERT_TRUE(model.ok());
  ExpectNear(model.Floats({Zeros({1, 1, 1, 1}), Zeros({1, 1, 3, 1}),
                           Tensor::FromVector<float>({1, 1, 3, 1}, {1, 2, 6}),
                           Tensor::FromVector<int64_t>({1}, {3})},
                          {1, 1, 1, 1}),
             {3}, "one query");
  const Tensor v =
      Tensor::FromVector<float>({3, 1, 4, 1}, {1, 2, 6, 11, 10, 20, 60, 900, 7, 800, 800, 800});
  ExpectNear(model.Floats({Zeros({3, 1, 2, 1}), Zeros({3, 1, 4, 1}), v,
                           Tensor::FromVector<int64_t>({3}, {4, 3, 1})},
                          {3, 1, 2, 1}),
             {3, 5, 15, 30, 0, 7}, "the first query of one valid key sees nothing");
}

TEST(OnnxAttention, AMaskOfOneColumnIsForAllKeysUntilOpset24HidesThem) {
  for (const int64_t opset : {23, 24}) {
    GraphWriter g;
    g.Input("q", kFloat, {1, 1, "queries", 1});
    g.Input("k", kFloat, {1, 1, "keys", 1});
    g.Input("v", kFloat, {1, 1, "keys", 1});
    g.Input("mask", kBool, {"queries", 1});
    g.Node("Attention", {"q", "k", "v", "mask"}, {"y"});
    g.Output("y");
    SmallModel model(g, opset);
    ASSERT_TRUE(model.ok());
    Tensor mask(bool_, {2, 1});
    mask.data<bool>()[0] = mask.data<bool>()[1] = true;
    const double wanted = opset == 23 ? 3 : 1;
    ExpectNear(model.Floats({Zeros({1, 1, 2, 1}), Zeros({1, 1, 3, 1}),
                             Tensor::FromVector<float>({1, 1, 3, 1}, {1, 2, 6}), mask},
                            {1, 1, 2, 1}),
               {wanted, wanted}, absl::StrCat("opset ", opset));
  }
}

TEST(OnnxTensorScatter, WritesWhereItIsToldAndNowhereElse) {
  GraphWriter g;
  g.Input("cache", kFloat, {"batch", "rows", 1});
  g.Input("update", kFloat, {"batch", "added", 1});
  g.Input("at", kInt64, {"batch"});
  g.Node("TensorScatter", {"cache", "update", "at"}, {"y"});
  g.Output("y");
  SmallModel model(g, 24);
  ASSERT_TRUE(model.ok());
  const auto call = [&](int64_t rows, int64_t added, int64_t at) {
    std::vector<float> cache(static_cast<size_t>(rows), 0), update(static_cast<size_t>(added), 1);
    return std::vector<Tensor>{Tensor::FromVector<float>({1, rows, 1}, cache),
                               Tensor::FromVector<float>({1, added, 1}, update),
                               Tensor::FromVector<int64_t>({1}, {at})};
  };
  EXPECT_EQ(model.Floats(call(4, 2, 1), {1, 4, 1}), (std::vector<float>{0, 1, 1, 0}));
  EXPECT_EQ(model.Floats(call(3, 3, 0), {1, 3, 1}), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(model.Floats(call(3, 0, 3), {1, 3, 1}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(model.Call(call(4, 2, 3)).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(model.Floats(call(4, 2, 2), {1, 4, 1}), (std::vector<float>{0, 0, 1, 1}));
}

}  // namespace
}  // namespace lathe::onnx
