// Views behind elementwise ops, and what products then compute in their epilogues.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compiler/passes_util.h"

namespace lathe::compiler {
namespace {

using ::testing::HasSubstr;

TEST(SinkViewsTest, ViewsMoveBehindWhatIsComputedElementByElement) {
  const std::string head = "dim n\nx: f32[n, 4, 2]\nz: f32[n, 4, 2]\n";
  const struct {
    const char* before;
    const char* after;
  } kCases[] = {
      {"relu(reshape(x, [n, 8]))", "reshape(relu(x), [n, 8])"},
      {"exp(permute(x, axes=[2, 0, 1])) * 2", "permute(exp(x) * 2, axes=[2, 0, 1])"},
      {"permute(x, axes=[1, 0, 2]) + permute(z, axes=[1, 0, 2])", "permute(x + z, axes=[1, 0, 2])"},
      {"permute(relu(permute(x, axes=[2, 1, 0])), axes=[2, 1, 0])", "relu(x)"},
      {"reshape(relu(reshape(x, [4*n, 2])) + reshape(z, [4*n, 2]), [n, 4, 2])", "relu(x) + z"},
      // a constant a column, where the axis stays whole
      {"permute(x, axes=[0, 2, 1]) * constant(f32[4]{1, 2, 3, 4})",
       "permute(x * broadcast(constant(f32[4]{1, 2, 3, 4}), shape=[n, 4, 2], axes=[1]), "
       "axes=[0, 2, 1])"},
      {"reshape(x, [4*n, 2]) * constant(f32[2]{1, 2})",
       "reshape(x * constant(f32[2]{1, 2}), [4*n, 2])"},
      // what leaves the last axis reads it in order
      {"sum(permute(x, axes=[0, 2, 1]), axes=[2])", "sum(x, axes=[1])"},
      {"max(permute(x, axes=[2, 0, 1]), axes=[2], keep_dims=true)",
       "permute(max(x, axes=[1], keep_dims=true), axes=[2, 0, 1])"},
      {"mean(permute(x, axes=[1, 2, 0]), axes=[0, 2])", "mean(x, axes=[0, 1])"},
      {"sum(permute(x, axes=[2, 0, 1]), axes=[0])", "sum(permute(x, axes=[2, 0, 1]), axes=[0])"},
      {"concat(permute(x, axes=[0, 2, 1]), permute(z, axes=[0, 2, 1]), axis=1)",
       "permute(concat(x, z, axis=2), axes=[0, 2, 1])"},
      {"concat(permute(x, axes=[2, 1, 0]), permute(z, axes=[2, 1, 0]), axis=2)",
       "permute(concat(x, z, axis=0), axes=[2, 1, 0])"},
      // and where not
      {"reshape(x, [n, 8]) * constant(f32[8]{1, 2, 3, 4, 5, 6, 7, 8})",
       "reshape(x, [n, 8]) * constant(f32[8]{1, 2, 3, 4, 5, 6, 7, 8})"},
      // another view of another value
      {"reshape(x, [n, 8]) + reshape(permute(z, axes=[0, 2, 1]), [n, 8])",
       "reshape(x, [n, 8]) + reshape(permute(z, axes=[0, 2, 1]), [n, 8])"},
      {"permute(x, axes=[1, 0, 2]) + reshape(z, [4, n, 2])",
       "permute(x, axes=[1, 0, 2]) + reshape(z, [4, n, 2])"},
  };
  for (const auto& c : kCases) {
    ExpectBecomes(absl::StrCat(head, "output y = ", c.before, "\n"),
                  absl::StrCat(head, "output y = ", c.after, "\n"), SinkViews);
    const std::string text = absl::StrCat(head, "output y = ", c.before, "\n");
    for (int64_t n : {0, 1, 3})
      EXPECT_EQ(Difference(Parsed(text), Rewritten(text, SinkViews), {n}), 0) << c.before;
  }
}

TEST(SinkViewsTest, BiasActivationAndResidualOfAConvolutionAreItsProductsEpilogue) {
  const std::string text = Convolutions(R"(
r: f32[n, 4, o]
y = relu(c + b + r)
output z = permute(y, axes=[0, 2, 1])
)");
  EXPECT_THAT(Plan(text), HasSubstr("gemm (matmul add add relu)"));
  EXPECT_LT(CompiledDifference(text, {{2, 3}}), 1e-6);
}

TEST(SinkViewsTest, WhatIsRepeatedComesBeforeThePermute) {
  const std::string text = Convolutions("output y = c + relu(max(c, axes=[2], keep_dims=true))\n");
  ExpectBecomes(text, R"(
dim n, o
x: f32[n, o, 8]
w = constant(f32[8, 4]{0.5*32})
c = reshape(reshape(x, [n*o, 8]) @ w, [n, o, 4])
output y = permute(c + relu(max(c, axes=[1], keep_dims=true)), axes=[0, 2, 1])
)",
                SinkViews);
  EXPECT_LT(CompiledDifference(text, {{2, 3}}), 1e-6);
}

TEST(SinkViewsTest, AValueThatWaitsForTheProductKeepsItsPlace) {
  ExpectStays(Convolutions("output y = c + relu(cumsum(c, axis=2))\n"), SinkViews);
}

// An extent of 0 tells no axis from another.
TEST(SinkViewsTest, NothingIsPulledThroughAViewOfNothing) {
  const std::string text =
      "x: f32[0, 4, 4]\nc = constant(f32[4, 4]{1*16})\noutput y = reshape(x, [1, 0, 4, 4]) + c\n";
  ExpectStays(text, SinkViews);
  EXPECT_EQ(CompiledDifference(text, {{}}), 0);
}

// Passes run once more where narrow floats were widened, on the primitives of composites.
TEST(SinkViewsTest, SumsOfACompositeKeepTheirOrderBesideNarrowFloats) {
  const std::string alone =
      "dim n\nx: f32[n, 4]\noutput y = softmax(permute(x, axes=[1, 0]), axis=1)\n";
  const std::string beside = absl::StrCat(
      "dim n\nx: f32[n, 4]\nz: f16[1]\noutput y = softmax(permute(x, axes=[1, 0]), axis=1)\n",
      "output w = z + z\n");
  Tensor x(f32, {1000, 4}), z(f16, {1});
  for (int i = 0; i < 4000; ++i) x.data<float>()[i] = static_cast<float>(i * 37 % 101) / 50;
  *z.data<Half>() = Half(1.0f);
  std::vector<Tensor> found;
  for (const std::string& text : {alone, beside}) {
    Engine engine;
    absl::StatusOr<Function> f = engine.compile(Program(std::make_unique<ir::Graph>(Parsed(text))));
    ASSERT_TRUE(f.ok()) << f.status();
    ASSERT_TRUE(f->prepare().ok());
    const absl::StatusOr<std::vector<Tensor>> y =
        f->call(text == alone ? std::vector<Tensor>{x} : std::vector<Tensor>{x, z});
    ASSERT_TRUE(y.ok()) << y.status();
    found.push_back((*y)[0]);
  }
  EXPECT_EQ(std::memcmp(found[0].raw(), found[1].raw(), 16000), 0);
}

}  // namespace
}  // namespace lathe::compiler
