// Factors and terms of columns behind products: what goes into the constants, and what stays.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compiler/passes_util.h"

namespace lathe::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ir::Graph Folded(const std::string& text) {
  ir::Graph graph = Rewritten(text, SinkViews);
  PassContext context;
  EXPECT_TRUE(FoldScale(graph, context).ok());
  EXPECT_TRUE(ir::Verify(graph).ok()) << ir::Verify(graph) << ir::Print(graph);
  return graph;
}

void ExpectFolds(const std::string& before, const std::string& after) {
  EXPECT_EQ(Text(Folded(before)), Text(Rewritten(after, SinkViews))) << before;
}

constexpr const char* kProduct = "dim n\nx: f32[n, 2]\nw = constant(f32[2, 2]{1, 2, 3, 4})\n";

TEST(FoldScaleTest, FactorsAndTermsOfColumnsGoIntoTheConstants) {
  const struct {
    const char* before;
    const char* after;
  } kCases[] = {
      {"x @ w * constant(f32[2]{2, 4})", "x @ constant(f32[2, 2]{2, 8, 6, 16})"},
      {"x @ w * 3", "x @ constant(f32[2, 2]{3, 6, 9, 12})"},
      {"x @ w / constant(f32[2]{2, 4})", "x @ constant(f32[2, 2]{0.5, 0.5, 1.5, 1})"},
      {"(x @ w + constant(f32[2]{1, 2})) * constant(f32[2]{2, 4}) + constant(f32[2]{5, 6})",
       "x @ constant(f32[2, 2]{2, 8, 6, 16}) + constant(f32[2]{7, 14})"},
      {"(x @ w - constant(f32[2]{1, 2})) * constant(f32[2]{2, 4}) + constant(f32[2]{5, 6})",
       "x @ constant(f32[2, 2]{2, 8, 6, 16}) - constant(f32[2]{-3, 2})"},
      {"(x @ w * 2 + constant(f32[2]{1, 2})) * 3 - 1",
       "x @ constant(f32[2, 2]{6, 12, 18, 24}) + constant(f32[2]{2, 5})"},
  };
  for (const auto& c : kCases) {
    ExpectFolds(absl::StrCat(kProduct, "output y = ", c.before, "\n"),
                absl::StrCat(kProduct, "output y = ", c.after, "\n"));
  }
}

TEST(FoldScaleTest, AlsoThroughTheViewsBehindAConvolution) {
  const std::string text = Convolutions(
      "y = relu(c * constant(f32[4, 1]{1, 2, 3, 4}) + b)\noutput z = permute(y, axes=[0, 2, 1])\n");
  const std::string folded = Text(Folded(text));
  EXPECT_THAT(folded, Not(HasSubstr(" mul(")));
  EXPECT_THAT(folded, HasSubstr("{0.5, 1, 1.5, 2,"));
  EXPECT_LT(Difference(Parsed(text), Folded(text), {2, 3}), 1e-6);
  EXPECT_THAT(Plan(text), HasSubstr("gemm (matmul add relu)"));
}

// A product that overflows is infinite whatever it is multiplied by, unless the program doesn't
// mind.
TEST(FoldScaleTest, RunsForProgramsWithFastMathAlone) {
  Engine engine({.threads = 1});
  for (bool fast_math : {false, true}) {
    absl::StatusOr<Program> program = Program::parse(
        "dim n\nx: f32[n, 2]\noutput y = x @ constant(f32[2, 1]{3e38, 3e38}) * 0.001\n");
    ASSERT_TRUE(program.ok()) << program.status();
    absl::StatusOr<Function> f = engine.compile(*std::move(program), {.fast_math = fast_math});
    ASSERT_TRUE(f.ok()) << f.status();
    ASSERT_TRUE(f->prepare().ok());
    const auto y = f->call({Tensor::FromVector<float>({1, 2}, {1, 1})});
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(std::isinf((*y)[0].data<float>()[0]), !fast_math);
  }
}

TEST(FoldScaleTest, WhatHasOtherUsersOrIsNotFiniteOrNotAColumnStays) {
  for (const char* lines : {
           "p = x @ w\noutput p\noutput y = p * 2\n",         // the product
           "output a = x @ w\noutput y = relu(x) @ w * 2\n",  // the matrix
           "p = x @ w + 1\noutput p\noutput y = p * 2\n",     // the sum
           "output y = x @ w * 3e+38\n",                      // overflows
           "output y = x @ w * constant(f32[2]{1, inf})\n",   // is no number
           "output y = x @ w / 0\n",                          //
           "output y = x @ w * constant(f32[2]{1, 0})\n",     // a zero may change its sign
           "output y = x @ w * constant(f32[2]{1, -2})\n",    // likewise
           "output y = (x @ w + constant(f32[2]{0, 1})) * constant(f32[2]{-2, -2})\n",
           "f: f32[2]\noutput y = x @ w * f\n",  // not constant
           "output y = relu(x @ w) * 2\n",       // something between
           "output y = 2 / (x @ w)\n",           // below the line
       }) {
    const std::string text = absl::StrCat(kProduct, lines);
    EXPECT_EQ(Text(Folded(text)), Text(Rewritten(text, SinkViews))) << lines;
  }
  // A factor a row.
  const std::string rows =
      "x: f32[2, 2]\noutput y = x @ constant(f32[2, 2]{1, 2, 3, 4}) * constant(f32[2, 1]{5, 6})\n";
  EXPECT_EQ(Text(Folded(rows)), Text(Rewritten(rows, SinkViews)));
}

// A term other than 0 hides the sign of a zero.
TEST(FoldScaleTest, WhatWouldUnderflowStays) {
  const std::string text = absl::StrCat(kProduct, "output y = x @ w * 1e-44\n");
  EXPECT_THAT(Text(Folded(text)), HasSubstr(" mul("));
}

TEST(FoldScaleTest, NegativeFactorsFoldBehindATerm) {
  const std::string text = absl::StrCat(
      kProduct, "output y = (x @ w + constant(f32[2]{1, 3})) * constant(f32[2]{2, -2})\n");
  EXPECT_THAT(Text(Folded(text)), Not(HasSubstr(" mul(")));
}

}  // namespace
}  // namespace lathe::compiler
