// Written out layer and rms norms: what becomes the ops, what is nearly one and must stay, and that
// results stay within the bounds.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compiler/passes_util.h"

namespace lathe::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Norm(const std::string& lines) {
  return absl::StrCat("dim n, m\nx: f32[n, m, 8]\ng: f32[8]\nb: f32[8]\n", lines);
}

constexpr const char* kCentred =
    "d = x - mean(x, axes=[2], keep_dims=true)\n"
    "v = mean(d * d, axes=[2], keep_dims=true)\n";

TEST(RecognizeNormTest, LayerNormInEveryForm) {
  const std::string after = Norm("output y = layer_norm(x, g, b, epsilon=0.0625)\n");
  for (const char* last : {
           "output y = d / sqrt(v + 0.0625) * g + b\n",
           "output y = b + g * (d / sqrt(0.0625 + v))\n",
           "output y = d * rsqrt(v + 0.0625) * g + b\n",
           "output y = d * (1 / sqrt(v + 0.0625)) * g + b\n",
           "output y = (1 / sqrt(v + 0.0625)) * d * g + b\n",
           "output y = d / pow(v + 0.0625, 0.5) * g + b\n",
           "output y = d * pow(v + 0.0625, -0.5) * g + b\n",
       }) {
    ExpectBecomes(Norm(absl::StrCat(kCentred, last)), after, RecognizeNorm);
  }
}

TEST(RecognizeNormTest, InTwoBytes) {
  for (const char* type : {"f16", "bf16"}) {
    const auto in = [&](const std::string& text) {
      return absl::StrReplaceAll(Norm(text), {{"f32", type}});
    };
    ExpectBecomes(in(absl::StrCat(kCentred, "output y = d / sqrt(v + 0.0625) * g + b\n")),
                  in("output y = layer_norm(x, g, b, epsilon=0.0625)\n"), RecognizeNorm);
    ExpectBecomes(in("v = mean(pow(x, 2), axes=[2], keep_dims=true)\n"
                     "output y = g * (x * (1 / sqrt(v + 0.0625)))\n"),
                  in("output y = rms_norm(x, g, epsilon=0.0625)\n"), RecognizeNorm);
  }
}

// Once it is one op, it computes in f32 throughout: the squares of 300 are beyond f16.
TEST(RecognizeNormTest, SquaresBeyondF16) {
  ir::Graph graph = Parsed(R"(
dim n
x: f16[n, 8]
v = mean(pow(x, 2), axes=[1], keep_dims=true)
output y = constant(f16[8]{0.5*8}) * (x * (1 / sqrt(v + 1e-06)))
)");
  graph.fast_math = true;
  Engine engine;
  absl::StatusOr<Function> f =
      engine.compile(Program(std::make_unique<ir::Graph>(std::move(graph))));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  Tensor x(f16, {3, 8});
  std::fill_n(x.data<Half>(), 24, Half(300.0f));
  const absl::StatusOr<std::vector<Tensor>> y = f->call({x});
  ASSERT_TRUE(y.ok()) << y.status();
  for (int i = 0; i < 24; ++i) EXPECT_EQ((*y)[0].data<Half>()[i], 0.5f);
}

TEST(RecognizeNormTest, MeansBySumAndCountOrWithoutTheAxis) {
  const std::string after = Norm("output y = layer_norm(x, g, b, epsilon=0.0625)\n");
  ExpectBecomes(Norm("d = x - sum(x, axes=[2], keep_dims=true) / 8\n"
                     "v = sum(d * d, axes=[2], keep_dims=true) / 8\n"
                     "output y = d / sqrt(v + 0.0625) * g + b\n"),
                after, RecognizeNorm);
  ExpectBecomes(Norm("d = x - reshape(mean(x, axes=[2]), [n, m, 1])\n"
                     "v = reshape(mean(d * d, axes=[2]), [n, m, 1])\n"
                     "output y = d / sqrt(v + 0.0625) * g + b\n"),
                after, RecognizeNorm);
  ExpectBecomes(
      "dim n\nx: f32[3, n]\ng: f32[n]\nb: f32[n]\n"
      "count = cast(size(dim=n), f32)\n"
      "d = x - sum(x, axes=[1], keep_dims=true) / count\n"
      "v = sum(d * d, axes=[1], keep_dims=true) / count\n"
      "output y = d / sqrt(v + 0.0625) * g + b\n",
      "dim n\nx: f32[3, n]\ng: f32[n]\nb: f32[n]\n"
      "output y = layer_norm(x, g, b, epsilon=0.0625)\n",
      RecognizeNorm);
}

TEST(RecognizeNormTest, ConstantRowsOfAnyRank) {
  ExpectBecomes(Norm(absl::StrCat(kCentred,
                                  "output y = d / sqrt(v + 0.0625) * constant(f32[1, 1, 8]{2*8}) "
                                  "+ constant(f32[8]{3*8})\n")),
                Norm("output y = layer_norm(x, constant(f32[8]{2*8}), constant(f32[8]{3*8}), "
                     "epsilon=0.0625)\n"),
                RecognizeNorm);
}

TEST(RecognizeNormTest, RmsNormInEveryForm) {
  const std::string after = Norm("output y = rms_norm(x, g, epsilon=0.0625)\n");
  for (const char* last : {
           "output y = g * (x * rsqrt(v + 0.0625))\n",
           "output y = x / sqrt(v + 0.0625) * g\n",
           "output y = g * (x * (1 / sqrt(v + 0.0625)))\n",
       }) {
    ExpectBecomes(Norm(absl::StrCat("v = mean(x * x, axes=[2], keep_dims=true)\n", last)), after,
                  RecognizeNorm);
  }
}

TEST(RecognizeNormTest, ACountThatWasRoundedIsNone) {
  ExpectStays(
      "dim n\nx: f64[1, n]\ng: f64[n]\n"
      "v = sum(x * x, axes=[1], keep_dims=true) / cast(cast(size(dim=n), f32), f64)\n"
      "output y = x / sqrt(v + 0.0625) * g\n",
      RecognizeNorm);
}

TEST(RecognizeNormTest, WhatIsNearlyOneStays) {
  for (const char* lines : {
           // another axis
           "v = mean(x * x, axes=[1], keep_dims=true)\noutput y = x / sqrt(v + 0.0625) * g\n",
           // two axes
           "v = mean(x * x, axes=[1, 2], keep_dims=true)\noutput y = x / sqrt(v + 0.0625) * g\n",
           // no mean
           "v = sum(x * x, axes=[2], keep_dims=true)\noutput y = x / sqrt(v + 0.0625) * g\n",
           // by another count
           "v = sum(x * x, axes=[2], keep_dims=true) / 7\noutput y = x / sqrt(v + 0.0625) * g\n",
           // of something else
           "v = mean(abs(x) * x, axes=[2], keep_dims=true)\noutput y = x / sqrt(v + 0.0625) * g\n",
           // the other way around
           "v = mean(x * x, axes=[2], keep_dims=true)\noutput y = sqrt(v + 0.0625) / x * g\n",
           // beside the root
           "v = mean(x * x, axes=[2], keep_dims=true)\noutput y = x / (sqrt(v) + 0.0625) * g\n",
           // a negative epsilon
           "v = mean(x * x, axes=[2], keep_dims=true)\noutput y = x / sqrt(v + -0.0625) * g\n",
           // another power
           "v = mean(x * x, axes=[2], keep_dims=true)\noutput y = x / pow(v + 0.0625, 0.25) * g\n",
       }) {
    ExpectStays(Norm(lines), RecognizeNorm);
  }
  // A factor a row instead of a column, and a square matrix where the two have one extent.
  ExpectStays(
      "x: f32[8, 8]\ng: f32[8, 1]\nv = mean(x * x, axes=[1], keep_dims=true)\n"
      "output y = x / sqrt(v + 0.0625) * g\n",
      RecognizeNorm);
  // The variance of one value beside the mean of another.
  const std::string text = Norm(
      "d = x - mean(relu(x), axes=[2], keep_dims=true)\n"
      "v = mean(d * d, axes=[2], keep_dims=true)\noutput y = d / sqrt(v + 0.0625) * g + b\n");
  EXPECT_THAT(Text(Rewritten(text, RecognizeNorm)), Not(HasSubstr("layer_norm")));
}

TEST(RecognizeNormTest, ResultsStayWithinTheBound) {
  const std::string text = Norm(absl::StrCat(kCentred, "output y = d / sqrt(v + 1e-05) * g + b\n"));
  const ir::Graph after = Rewritten(text, RecognizeNorm);
  ASSERT_THAT(Text(after.Clone()), HasSubstr("layer_norm("));
  for (int64_t n : {0, 1, 5}) EXPECT_LT(Difference(Parsed(text), after, {n, 3}), 1e-6) << n;
  EXPECT_LT(CompiledDifference(text, {{3, 2}}), 1e-6);
}

}  // namespace
}  // namespace lathe::compiler
