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
