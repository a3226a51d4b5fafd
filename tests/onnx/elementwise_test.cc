// Elementwise operators: forms of old opsets, and integers where the numbers are fractions.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

using ::testing::HasSubstr;

TEST(Pow, OldOpsetsAlignAtAnAxis) {
  GraphWriter g;
  g.Input("x", kFloat, {2, 2});
  g.Input("y", kFloat, {2});
  g.Node("Pow", {"x", "y"}, {"z"}, {Attr("broadcast", 1), Attr("axis", 0)});
  g.Output("z");
  SmallModel model(g, 6);
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({2, 2}, {2, 2, 3, 3}),
                          Tensor::FromVector<float>({2}, {1, 2})},
                         {2, 2}),
            (std::vector<float>{2, 2, 9, 9}));
}

// 257, 4097 and 2^24 + 1 are odd; rounded to the type of the base they wouldn't be.
TEST(Pow, AnExponentOfIntegersIsExact) {
  const auto signs = [](int32_t type, const Tensor& minus_one, int64_t odd) {
    GraphWriter g;
    g.Input("x", type, {1});
    g.Input("e", kInt64, {2});
    g.Node("Pow", {"x", "e"}, {"y"});
    g.Node("Cast", {"y"}, {"z"}, {Attr("to", int64_t{kFloat})});
    g.Output("z");
    SmallModel model(g, 15);
    return model.Floats({minus_one, Tensor::FromVector<int64_t>({2}, {odd, odd - 1})}, {2});
  };
  const std::vector<float> wanted = {-1, 1};
  EXPECT_EQ(signs(kFloat16, Halves({1}, {-1}), 4097), wanted);
  EXPECT_EQ(signs(kFloat, Tensor::FromVector<float>({1}, {-1}), 16777217), wanted);
}

TEST(Pow, AWiderExponentKeepsItsDigits) {
  GraphWriter g;
  g.Input("x", kFloat16, {1});
  g.Input("e", kFloat, {1});
  g.Node("Pow", {"x", "e"}, {"y"});
  g.Output("y");
  SmallModel model(g, 15);
  EXPECT_EQ(HalfResults(model, {Halves({1}, {2}), Tensor::FromVector<float>({1}, {10.01F})}),
            std::vector<float>{1031});
}

TEST(OneHot, OldOpsetsHaveNoNegativeIndices) {
  for (const int64_t opset : {9, 11}) {
    GraphWriter g;
    g.Input("i", kInt64, {2});
    g.Initializer(TensorMessage<int64_t>("depth", {1}, {3}));
    g.Initializer(TensorMessage<float>("values", {2}, {0, 1}));
    g.Node("OneHot", {"i", "depth", "values"}, {"y"});
    g.Output("y");
    SmallModel model(g, opset);
    const float last = opset == 9 ? 0 : 1;
    EXPECT_EQ(model.Floats({Tensor::FromVector<int64_t>({2}, {-1, 1})}, {2, 3}),
              (std::vector<float>{0, 0, last, 0, 1, 0}));
  }
}

TEST(Selu, OldOpsetsHaveRoundedDefaults) {
  GraphWriter g;
  g.Input("x", kFloat, {2});
  g.Node("Selu", {"x"}, {"y"});
  g.Output("y");
  const Tensor x = Tensor::FromVector<float>({2}, {1, -1});
  const auto wanted = [](double alpha, double gamma) {
    return std::vector<double>{gamma, gamma * alpha * std::expm1(-1)};
  };
  SmallModel old(g, 5), young(g, 6);
  ExpectNear(old.Floats({x}, {2}), wanted(1.6732, 1.0507), "opset 5", 2e-7);
  ExpectNear(young.Floats({x}, {2}), wanted(1.6732632423543772, 1.0507009873554805), "opset 6",
             2e-7);
}

TEST(Cast, OldOpsetsNameTheType) {
  const auto graph = [](const std::string& to) {
    GraphWriter g;
    g.Input("x", kFloat, {2});
    g.Node("Cast", {"x"}, {"y"}, {Attr("to", to)});
    g.Output("y");
    return g;
  };
  SmallModel model(graph("INT32"), 5);
  EXPECT_EQ(Elements<int32_t>(model, {Tensor::FromVector<float>({2}, {1.5, -2.5})}),
            (std::vector<int32_t>{1, -2}));
  EXPECT_THAT(LoadStatus(graph("INT33"), 5).ToString(), HasSubstr("INT33"));
}

template <typename T>
std::vector<T> Shrunk(const std::vector<T>& x, const std::vector<Bytes>& attributes) {
  GraphWriter g;
  g.Input("x", ElementTypeOf<T>(), {"n"});
  g.Node("Shrink", {"x"}, {"y"}, attributes);
  g.Output("y");
  SmallModel model(g, 9);
  return Elements<T>(model, {Tensor::FromVector<T>({static_cast<int64_t>(x.size())}, x)});
}

TEST(Shrink, IntegersBesideFractions) {
  EXPECT_EQ(Shrunk<int32_t>({-2, -1, 0, 1, 2}, {}), (std::vector<int32_t>{-2, -1, 0, 1, 2}));
  const std::vector<Bytes> attributes = {Attr("lambd", 1.5F), Attr("bias", 1.0F)};
  EXPECT_EQ(Shrunk<int32_t>({-3, -1, 0, 1, 3}, attributes), (std::vector<int32_t>{-2, 0, 0, 0, 2}));
  EXPECT_EQ(Shrunk<int64_t>({-3, -1, 0, 1, 3}, attributes), (std::vector<int64_t>{-2, 0, 0, 0, 2}));
  EXPECT_EQ(Shrunk<uint8_t>({0, 1, 2, 255}, attributes), (std::vector<uint8_t>{0, 0, 1, 254}));
}

TEST(Mean, TheSumMayBeBeyondF16) {
  GraphWriter g;
  g.Input("a", kFloat16, {1});
  g.Input("b", kFloat16, {1});
  g.Node("Mean", {"a", "b"}, {"y"});
  g.Output("y");
  SmallModel model(g, 13);
  EXPECT_EQ(HalfResults(model, {Halves({1}, {60000}), Halves({1}, {60000})}),
            std::vector<float>{60000});
}

}  // namespace
}  // namespace lathe::onnx
