// Written out attention: what becomes the op, what is nearly one and must stay, and that results
// stay within the bound.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compiler/passes_util.h"

namespace lathe::compiler {
namespace {

using ::testing::HasSubstr;

std::string Heads(const std::string& lines) {
  return absl::StrCat(
      "dim n, s, t\nq: f32[n, 2, s, 16]\nk: f32[n, 2, t, 16]\nv: f32[n, 2, t, 8]\n"
      "m: f32[n, 1, s, t]\np: bool[s, t]\n",
      lines);
}

TEST(RecognizeAttentionTest, TheScaleAnywhere) {
  const std::string after =
      Heads("output y = attention(q, k, v, scale=0.25, empty_row_nan=true)\n");
  for (const char* scores : {
           "q @ permute(k, axes=[0, 1, 3, 2]) * 0.25",
           "0.25 * (q @ permute(k, axes=[0, 1, 3, 2]))",
           "q @ permute(k, axes=[0, 1, 3, 2]) / 4",
           "(q * 0.25) @ permute(k, axes=[0, 1, 3, 2])",
           "(q / 4) @ permute(k, axes=[0, 1, 3, 2])",
           "q @ permute(k * 0.25, axes=[0, 1, 3, 2])",
           "q @ (permute(k, axes=[0, 1, 3, 2]) * 0.25)",
           "(q * 0.5) @ permute(k * 0.5, axes=[0, 1, 3, 2])",
           "(q * 0.5) @ (permute(k, axes=[0, 1, 3, 2]) / 2)",
       }) {
    ExpectBecomes(Heads(absl::StrCat("output y = softmax(", scores, ", axis=-1) @ v\n")), after,
                  RecognizeAttention);
    // As files before opset 13 have it.
    ExpectBecomes(Heads(absl::StrCat("output y = reshape(softmax(reshape(", scores,
                                     ", [n*2*s, t]), axis=1), [n, 2, s, t]) @ v\n")),
                  after, RecognizeAttention);
  }
}

TEST(RecognizeAttentionTest, InTwoBytes) {
  for (const char* type : {"f16", "bf16"}) {
    const auto in = [&](const std::string& text) {
      return absl::StrReplaceAll(Heads(text), {{"f32", type}});
    };
    ExpectBecomes(
        in("output y = softmax(q @ permute(k, axes=[0, 1, 3, 2]) * 0.25 + m, axis=-1) @ v\n"),
        in("output y = attention(q, k, v, broadcast(m, shape=[n, 2, s, t]), scale=0.25, "
           "empty_row_nan=true)\n"),
        RecognizeAttention);
    EXPECT_LT(CompiledDifference(in("output y = softmax(select(p, q @ permute(k, axes=[0, 1, 3, "
                                    "2]) / 4, -inf), axis=-1) @ v\n"),
                                 {{2, 3, 5}, {1, 1, 1}, {2, 0, 3}, {2, 70, 130}, {2, 3, 5}}),
              2e-2);
  }
}

TEST(RecognizeAttentionTest, KeysFromAnyLayout) {
  constexpr const char* kHead =
      "dim n, s, t\nq: f32[n, 2, s, 16]\nk: f32[n, t, 2, 16]\nv: f32[n, 2, t, 8]\n";
  ExpectBecomes(
      absl::StrCat(kHead, "output y = softmax(q @ permute(k, axes=[0, 2, 3, 1]), axis=3) @ v\n"),
      absl::StrCat(kHead,
                   "output y = attention(q, permute(k, axes=[0, 2, 1, 3]), v, scale=1, "
                   "empty_row_nan=true)\n"),
      RecognizeAttention);
  // k^T as an input: turned for the op.
  constexpr const char* kTurned = "dim s, t\nq: f32[2, s, 16]\nk: f32[2, 16, t]\nv: f32[2, t, 8]\n";
  ExpectBecomes(absl::StrCat(kTurned, "output y = softmax(q @ k * 0.25, axis=2) @ v\n"),
                absl::StrCat(kTurned,
                             "output y = attention(q, permute(k, axes=[0, 2, 1]), v, scale=0.25, "
                             "empty_row_nan=true)\n"),
                RecognizeAttention);
}

TEST(RecognizeAttentionTest, MasksThatAreAdded) {
  constexpr const char* kT = "q @ permute(k, axes=[0, 1, 3, 2])";
  const std::string after = Heads(
      "output y = attention(q, k, v, broadcast(m, shape=[n, 2, s, t]), scale=0.25, "
      "empty_row_nan=true)\n");
  for (const std::string& scores :
       {absl::StrCat(kT, " * 0.25 + m"), absl::StrCat("m + ", kT, " / 4")}) {
    ExpectBecomes(Heads(absl::StrCat("output y = softmax(", scores, ", axis=-1) @ v\n")), after,
                  RecognizeAttention);
  }
  // T5: no scale, a bias of the positions; here with a mask on top.
  ExpectBecomes(
      Heads(absl::StrCat("w: f32[2, s, t]\noutput y = softmax(", kT, " + w + m, axis=-1) @ v\n")),
      Heads("w: f32[2, s, t]\n"
            "a = broadcast(w, shape=[n, 2, s, t])\nc = broadcast(m, shape=[n, 2, s, t])\n"
            "output y = attention(q, k, v, a + c, scale=1, empty_row_nan=true)\n"),
      RecognizeAttention);
}

TEST(RecognizeAttentionTest, MasksThatChoose) {
  constexpr const char* kT = "q @ permute(k, axes=[0, 1, 3, 2]) * 0.25";
  ExpectBecomes(Heads(absl::StrCat("output y = softmax(select(p, ", kT, ", -inf), axis=-1) @ v\n")),
                Heads("output y = attention(q, k, v, broadcast(p, shape=[n, 2, s, t]), scale=0.25, "
                      "empty_row_nan=true)\n"),
                RecognizeAttention);
  ExpectBecomes(
      Heads(absl::StrCat("output y = softmax(select(p, -inf, ", kT, "), axis=-1) @ v\n")),
      Heads("output y = attention(q, k, v, not(broadcast(p, shape=[n, 2, s, t])), scale=0.25, "
            "empty_row_nan=true)\n"),
      RecognizeAttention);
  ExpectBecomes(
      Heads(absl::StrCat("output y = softmax(select(p, ", kT, ", -3.4028235e+38), axis=-1) @ v\n")),
      Heads("w = broadcast(p, shape=[n, 2, s, t])\n"
            "z = broadcast(constant(f32[]{0}), shape=[n, 2, s, t])\n"
            "output y = attention(q, k, v, select(w, z, broadcast(constant(f32[]{-3.4028235e+38}), "
            "shape=[n, 2, s, t])), scale=0.25, empty_row_nan=true)\n"),
      RecognizeAttention);
}

TEST(RecognizeAttentionTest, WhatIsNearlyOneStays) {
  for (const char* lines : {
           "output y = softmax(q @ permute(k, axes=[0, 1, 3, 2]), axis=2) @ v\n",
           "output y = exp(q @ permute(k, axes=[0, 1, 3, 2])) @ v\n",
           // scaled after the mask
           "output y = softmax((q @ permute(k, axes=[0, 1, 3, 2]) + m) * 0.25, axis=-1) @ v\n",
           // by what is not one number
           "output y = softmax(q @ permute(k, axes=[0, 1, 3, 2]) * m, axis=-1) @ v\n",
           // a row that is masked as a whole shows these scores' differences
           "output y = softmax(select(p, q @ permute(k, axes=[0, 1, 3, 2]), -10000.0), axis=-1) @ "
           "v\n",
           // the probabilities, or the scores, are wanted as well
           "w = softmax(q @ permute(k, axes=[0, 1, 3, 2]), axis=-1)\noutput w\noutput y = w @ v\n",
           "w = q @ permute(k, axes=[0, 1, 3, 2])\noutput w\noutput y = softmax(w, axis=-1) @ v\n",
           // no product
           "output y = softmax(broadcast(m, shape=[n, 2, s, t]) * 0.25, axis=-1) @ v\n",
       }) {
    ExpectStays(Heads(lines), RecognizeAttention);
  }
  // k and v for all batches: the op wants one rank.
  ExpectStays(
      "dim n, s\nq: f32[n, s, 16]\nk: f32[16, 5]\nv: f32[5, 8]\n"
      "output y = softmax(q @ k, axis=-1) @ v\n",
      RecognizeAttention);
}

TEST(RecognizeAttentionTest, ResultsStayWithinTheBoundAndRowsThatSeeNothingAreWhatTheyWere) {
  constexpr const char* kT = "q @ permute(k, axes=[0, 1, 3, 2]) * 0.25";
  for (const std::string& scores :
       {std::string(kT), absl::StrCat(kT, " + m"), absl::StrCat("select(p, ", kT, ", -inf)"),
        absl::StrCat("select(p, ", kT, ", -3.4028235e+38)")}) {
    const std::string text = Heads(absl::StrCat("output y = softmax(", scores, ", axis=-1) @ v\n"));
    const ir::Graph after = Rewritten(text, RecognizeAttention);
    EXPECT_THAT(ir::Print(after), HasSubstr("attention"));
    const std::vector<std::vector<int64_t>> sizes = {{2, 3, 5}, {1, 1, 1}, {0, 3, 2},
                                                     {2, 0, 3}, {2, 3, 0}, {1, 2, 70}};
    for (const std::vector<int64_t>& s : sizes)
      EXPECT_LT(Difference(Parsed(text), after, s), 1e-5) << scores;
    EXPECT_LT(CompiledDifference(text, sizes), 1e-5) << scores;
  }
}

TEST(RecognizeAttentionTest, AnEncodersAttentionIsOneKernelBehindItsProjections) {
  const std::string text = R"(
dim n, s
x: f32[n, s, 32]
m: f32[n, 1, 1, s]
wq = constant(f32[32, 32]{0.01*1024})
wk = constant(f32[32, 32]{0.02*1024})
wv = constant(f32[32, 32]{0.03*1024})
wo = constant(f32[32, 32]{0.04*1024})
bq = constant(f32[32]{0.5*32})
q = permute(reshape(x @ wq + bq, [n, s, 2, 16]), axes=[0, 2, 1, 3])
k = permute(reshape(x @ wk + bq, [n, s, 2, 16]), axes=[0, 2, 3, 1])
v = permute(reshape(x @ wv + bq, [n, s, 2, 16]), axes=[0, 2, 1, 3])
a = softmax(q @ k / 4 + m, axis=-1) @ v
output y = reshape(permute(a, axes=[0, 2, 1, 3]), [n, s, 32]) @ wo + bq
)";
  EXPECT_EQ(Kernels(text), 3) << Plan(text);  // projections, attention, output
  EXPECT_LT(CompiledDifference(text, {{2, 5}}), 1e-5);
}

}  // namespace
}  // namespace lathe::compiler
