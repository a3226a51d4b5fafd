// Written out gelu: what becomes the op, what is nearly it and must stay, and that results stay
// within its bound.
#include <cmath>
#include <limits>
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
using ::testing::Not;

std::string Pointwise(const std::string& formula) {
  return absl::StrCat("dim n\nx: f32[n, 4]\noutput y = ", formula, "\n");
}

TEST(RecognizeGeluTest, EveryOrderOfFactorsAndTerms) {
  for (const char* form : {
           "x * 0.5 * (1 + erf(x / 1.4142135623730951))",
           "x * 0.5 * (erf(x * 0.7071067811865476) + 1)",
           "0.5 * x * (1 + erf(0.70710677 * x))",
           "0.5 * (x * (1 + erf(x / 1.4142135)))",
           "x * (1 + erf(x / 1.4142135)) * 0.5",
           "(1 + erf(x / 1.4142135)) * (x * 0.5)",
           "x * ((erf(x / 1.4142135) + 1) * 0.5)",
           "x / 2 * (1 + erf(x / 1.4142135))",
       }) {
    ExpectBecomes(Pointwise(form), Pointwise("gelu(x)"), RecognizeGelu);
  }
}

TEST(RecognizeGeluTest, InTwoBytes) {
  for (const char* type : {"f16", "bf16"}) {
    const auto in = [&](const std::string& text) {
      return absl::StrReplaceAll(Pointwise(text), {{"f32", type}});
    };
    ExpectBecomes(in("x * 0.5 * (1 + erf(x / 1.4142135))"), in("gelu(x)"), RecognizeGelu);
    ExpectBecomes(in("0.5 * x * (1 + erf(0.70710677 * x))"), in("gelu(x)"), RecognizeGelu);
    ExpectStays(in("x * 0.5 * (1 + erf(x / 1.4))"), RecognizeGelu);
    ExpectStays(in("x * 0.5 * (1 + erf(x * 0.7))"), RecognizeGelu);
    ExpectStays(in("pow(x, 3)"), RecognizeGelu);  // the square would round
  }
}

TEST(RecognizeGeluTest, WhatIsNearlyOneStays) {
  for (const char* form : {
           "x * 0.5 * (1 + erf(x / 1.5))",
           "x * 0.5 * (1 + erf(x * 0.7))",
           "x * (1 + erf(x / 1.4142135))",
           "x * 0.5 * (1 - erf(x / 1.4142135))",
           "x * 0.5 * (2 + erf(x / 1.4142135))",
           "x * 0.5 * (1 + erf(abs(x) / 1.4142135))",
           "x * 0.5 * (1 + erf(1.4142135 / x))",
           "x * 0.5 * (1 + tanh(x / 1.4142135))",
       }) {
    ExpectStays(Pointwise(form), RecognizeGelu);
  }
}

TEST(RecognizeGeluTest, AFactorThatIsUsedElsewhereStays) {
  ExpectStays(R"(
dim n
x: f32[n, 4]
cdf = 1 + erf(x / 1.4142135)
output y = x * 0.5 * cdf
output cdf
)",
              RecognizeGelu);
}

TEST(RecognizeGeluTest, ValuesStayWithinTheBoundOfGelu) {
  const std::string text = Pointwise("x * 0.5 * (1 + erf(x / 1.4142135623730951))");
  ir::Graph before = Parsed(text);
  const ir::Graph after = Rewritten(text, RecognizeGelu);
  ASSERT_THAT(Text(after.Clone()), HasSubstr("gelu("));
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0f,  -0.0f, 1.0f, -1.0f, 3.5f,   -3.5f,
                                     -6.0f, 9.0f,  inf,  -inf,  1e-30f, std::nanf("")};
  const Tensor x = Tensor::FromVector<float>({3, 4}, values);
  const auto a = ir::Interpret(before, {x}), b = ir::Interpret(after, {x});
  ASSERT_TRUE(a.ok() && b.ok());
  for (size_t i = 0; i < values.size(); ++i) {
    const float wanted = (*a)[0].data<float>()[i], found = (*b)[0].data<float>()[i];
    if (std::isfinite(values[i])) {
      EXPECT_NEAR(found, wanted, std::fabs(values[i]) * std::exp2(-22.0)) << values[i];
    } else {
      EXPECT_TRUE(std::isnan(wanted) ? std::isnan(found) : found == wanted) << values[i];
    }
  }
}

TEST(RecognizeGeluTest, TheTanhFormIsOneKernel) {
  const std::string text =
      Pointwise("0.5 * x * (1 + tanh(0.7978846 * (x + 0.044715 * pow(x, 3))))");
  EXPECT_EQ(Kernels(text), 1);
  EXPECT_THAT(Text(Rewritten(text, RecognizeGelu)), Not(HasSubstr("pow")));
}

TEST(RecognizeGeluTest, CubesStayWithinTheBoundOfPow) {
  const std::string text = Pointwise("pow(x, 3)");
  const ir::Graph before = Parsed(text), after = Rewritten(text, RecognizeGelu);
  ASSERT_THAT(Text(after.Clone()), Not(HasSubstr("pow")));
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0f, -0.0f, 1.1f,   -1.3f,  1e13f, -1e13f,
                                     inf,  -inf,  1e-13f, 3e-14f, -7.7f, 123.4f};
  const Tensor x = Tensor::FromVector<float>({3, 4}, values);
  const auto a = ir::Interpret(before, {x}), b = ir::Interpret(after, {x});
  ASSERT_TRUE(a.ok() && b.ok());
  for (size_t i = 0; i < values.size(); ++i) {
    const float wanted = (*a)[0].data<float>()[i], found = (*b)[0].data<float>()[i];
    EXPECT_EQ(std::signbit(found), std::signbit(wanted)) << values[i];
    if (std::isfinite(wanted)) {
      EXPECT_NEAR(found, wanted, std::fabs(wanted) * 4 * std::exp2(-24.0) + 1.5e-45) << values[i];
    } else {
      EXPECT_EQ(found, wanted) << values[i];
    }
  }
}

}  // namespace
}  // namespace lathe::compiler
