// Forms that exporters write without an operator of their own, and the kernels that they become.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compiler/passes_util.h"

namespace lathe::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Halves turned by a table of angles: x * cos + (-second half, first half) * sin.
TEST(ExportedFormsTest, RotaryEmbeddingIsOneKernelThatReadsItsInputInPlace) {
  const std::string head =
      "dim b, s\nx: f32[b, s, 4, 16]\ncos: f32[s, 16]\nsin: f32[s, 16]\n"
      "q = permute(x, axes=[0, 2, 1, 3])\n";
  const char* kForms[] = {
      "r = concat(neg(q[:, :, :, 8:16]), q[:, :, :, 0:8], axis=3)\noutput y = q * cos + r * sin\n",
      // pairs of neighbours
      "p = reshape(q, [b, 4, s, 8, 2])\n"
      "r = reshape(concat(neg(p[:, :, :, :, 1:2]), p[:, :, :, :, 0:1], axis=4), [b, 4, s, 16])\n"
      "output y = q * cos + r * sin\n",
      // halves of the result
      "a = q[:, :, :, 0:8]\nc = q[:, :, :, 8:16]\n"
      "output y = concat(a * cos[:, 0:8] - c * sin[:, 0:8], c * cos[:, 8:16] + a * sin[:, 8:16], "
      "axis=3)\n"};
  for (const char* form : kForms) {
    const std::string text = absl::StrCat(head, form);
    EXPECT_EQ(Kernels(text), 1) << text;
    EXPECT_LT(CompiledDifference(text, {{2, 3}, {1, 1}, {0, 5}, {2, 3}}), 1e-6) << form;
  }
}

TEST(ExportedFormsTest, ATransposedWeightIsPackedAsItLies) {
  const std::string text =
      "dim m\nx: f32[m, 24]\nw = randn([40, 24], seed=3)\nb = randn([40], seed=4)\n"
      "output y = x @ permute(w, axes=[1, 0]) + b\n";
  EXPECT_EQ(Kernels(text), 1);
  EXPECT_THAT(Plan(text), HasSubstr("gemm (matmul add)"));
  EXPECT_LT(CompiledDifference(text, {{5}, {1}, {0}, {5}}), 1e-6);
}

TEST(ExportedFormsTest, NormalisationBehindAConvolutionIsItsWeights) {
  const std::string text =
      "dim n, t\nx: f32[n, t, 8]\nw = randn([24, 16], seed=3)\n"
      "mean = randn([16], seed=5)\nscale = randn([16], seed=6)\nshift = randn([16], seed=7)\n"
      "rows = reshape(windows(reshape(x, [n, 8*t]), sizes=[24], steps=[8], dilations=[1], low=[8], "
      "high=[8], value=0), [n*t, 24])\n"
      "output y = relu((rows @ w - mean) * scale + shift)\n";
  EXPECT_THAT(Plan(text), HasSubstr("gemm (matmul sub relu)"));
  EXPECT_THAT(Plan(text), Not(HasSubstr("= mul(")));
  EXPECT_LT(CompiledDifference(text, {{2, 5}, {1, 1}, {2, 5}}), 1e-5);
}

}  // namespace
}  // namespace lathe::compiler
