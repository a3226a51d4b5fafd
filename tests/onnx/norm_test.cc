// Norms: f16 whose squares, and epsilons, are outside of what f16 holds, f64, and few axes.
#include <cmath>

#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

constexpr char kMicrosoft[] = "com.microsoft";

// A node of `op` over inputs of f16 without declared numbers: x first.
std::vector<float> HalfNode(const std::string& op, const std::vector<Tensor>& inputs,
                            const std::vector<Bytes>& attributes = {},
                            const std::string& domain = "") {
  GraphWriter g;
  Names names;
  for (const Tensor& t : inputs) {
    names.push_back(absl::StrCat("in", names.size()));
    g.Input(names.back(), kFloat16, std::vector<DeclaredDim>(t.shape().begin(), t.shape().end()));
  }
  g.Node(op, names, {"y"}, attributes, domain);
  g.Output("y");
  SmallModel model(g, 17);
  return HalfResults(model, inputs);
}

const std::vector<float> kUnit = {-1, 1};

TEST(HalfNorms, SquaresMayBeBeyondF16) {
  EXPECT_EQ(HalfNode("InstanceNormalization",
                     {Halves({1, 1, 2}, {-300, 300}), Halves({1}, {1}), Halves({1}, {0})}),
            kUnit);
  EXPECT_EQ(HalfNode("LpNormalization", {Halves({2}, {300, 400})}),
            (std::vector<float>{Half(0.6F), Half(0.8F)}));
  EXPECT_EQ(HalfNode("MeanVarianceNormalization", {Halves({1, 1, 1, 2}, {-300, 300})}), kUnit);
  EXPECT_EQ(HalfNode("LRN", {Halves({1, 1, 1}, {300})},
                     {Attr("size", 1), Attr("alpha", 1.0F), Attr("beta", 0.5F)}),
            std::vector<float>{1});
  EXPECT_EQ(HalfNode("SkipLayerNormalization",
                     {Halves({1, 1, 2}, {-300, 300}), Halves({1, 1, 2}, {0, 0}),
                      Halves({2}, {1, 1}), Halves({2}, {0, 0})},
                     {}, kMicrosoft),
            kUnit);
}

TEST(HalfNorms, AnEpsilonIsNot0) {
  EXPECT_EQ(HalfNode("SkipLayerNormalization",
                     {Halves({1, 1, 2}, {5, 5}), Halves({1, 1, 2}, {1, 1}), Halves({2}, {1, 1}),
                      Halves({2}, {2, 3})},
                     {}, kMicrosoft),
            (std::vector<float>{2, 3}));
  EXPECT_EQ(HalfNode("SkipSimplifiedLayerNormalization",
                     {Halves({1, 1, 2}, {0, 0}), Halves({1, 1, 2}, {0, 0}), Halves({2}, {1, 1})},
                     {Attr("epsilon", 1e-12F)}, kMicrosoft),
            (std::vector<float>{0, 0}));
  EXPECT_EQ(HalfNode("MeanVarianceNormalization", {Halves({1, 1, 1, 2}, {5, 5})}),
            (std::vector<float>{0, 0}));
}

TEST(HalfNorms, BatchNormDoesNotCancel) {
  const std::vector<float> y =
      HalfNode("BatchNormalization", {Halves({1, 1, 1}, {2001}), Halves({1}, {1}), Halves({1}, {0}),
                                      Halves({1}, {2000}), Halves({1}, {0.04F})});
  ASSERT_EQ(y.size(), 1u);
  EXPECT_NEAR(y[0], 5, 0.01);
}

TEST(HalfNorms, LogSoftmaxOfALongRow) {
  constexpr int64_t kLong = 100000;
  const std::vector<float> y = HalfNode("LogSoftmax", {Tensor(f16, {1, kLong})});
  ASSERT_EQ(y.size(), static_cast<size_t>(kLong));
  EXPECT_NEAR(y[0], -std::log(static_cast<double>(kLong)), 0.01);
}

TEST(GroupNormalization, F64StaysF64) {
  for (const int64_t opset : {18, 21}) {
    GraphWriter g;
    const int64_t per = opset == 18 ? 1 : 2;
    g.Input("x", kDouble, {1, 2, 1});
    g.Input("scale", kDouble, {per});
    g.Input("bias", kDouble, {per});
    g.Node("GroupNormalization", {"x", "scale", "bias"}, {"y"}, {Attr("num_groups", 1)});
    g.Output("y");
    SmallModel model(g, opset);
    const std::vector<double> y = Elements<double>(
        model, {Tensor::FromVector<double>({1, 2, 1}, {1e8, 1e8 + 1}),
                Tensor::FromVector<double>({per}, std::vector<double>(2, 1)), Tensor(f64, {per})});
    ASSERT_EQ(y.size(), 2u);
    EXPECT_NEAR(y[0], -1, 1e-4);
    EXPECT_NEAR(y[1], 1, 1e-4);
  }
}

GraphWriter BatchNorm(const std::vector<DeclaredDim>& x, int64_t channels) {
  GraphWriter g;
  g.Input("x", kFloat, x);
  for (const char* name : {"scale", "bias", "mean", "var"}) g.Input(name, kFloat, {channels});
  g.Node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"},
         {Attr("epsilon", 0.0F)});
  g.Output("y");
  return g;
}

TEST(BatchNormalization, OfOneAxisHasOneChannel) {
  SmallModel model(BatchNorm({"n"}, 1), 15);
  const auto one = [](float v) { return Tensor::FromVector<float>({1}, {v}); };
  for (int64_t n : {2, 0, 1}) {
    const std::vector<float> x = {1, 3}, y = {5, 7};
    EXPECT_EQ(
        model.Floats({Tensor::FromVector<float>({n}, x), one(2), one(5), one(1), one(4)}, {n}),
        std::vector<float>(y.begin(), y.begin() + n));
  }
  EXPECT_FALSE(LoadStatus(BatchNorm({"n"}, 2), 15).ok());
  EXPECT_FALSE(LoadStatus(BatchNorm({}, 1), 15).ok());
}

TEST(Softmax, OfAScalarIsAnError) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    for (const int64_t axis : {-1, 0}) {
      GraphWriter g;
      g.Input("x", kFloat, {});
      g.Node(op, {"x"}, {"y"}, {Attr("axis", axis)});
      g.Output("y");
      EXPECT_FALSE(LoadStatus(g, 13).ok()) << op << axis;
    }
  }
}

TEST(InstanceNormalization, NeedsChannels) {
  GraphWriter g;
  g.Input("x", kFloat, {2});
  g.Input("scale", kFloat, {1});
  g.Input("bias", kFloat, {1});
  g.Node("InstanceNormalization", {"x", "scale", "bias"}, {"y"});
  g.Output("y");
  EXPECT_FALSE(LoadStatus(g, 15).ok());
}

TEST(BatchNorm, OldOpsetsMayHaveStatisticsOfEachElement) {
  GraphWriter g;
  g.Input("x", kFloat, {"n", 1, "h", 2});
  for (const char* name : {"scale", "bias", "mean"}) g.Input(name, kFloat, {1, "h", 2});
  g.Initializer(TensorMessage<float>("var", {1, 2, 2}, {1, 1, 1, 4}));
  g.Node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"},
         {Attr("spatial", 0), Attr("epsilon", 0.0F)});
  g.Output("y");
  SmallModel model(g, 7);
  const auto of = [](const std::vector<float>& v) {
    return Tensor::FromVector<float>({1, 2, 2}, v);
  };
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({1, 1, 2, 2}, {1, 2, 3, 4}), of({1, 2, 3, 4}),
                          of({0, 0, 0, 1}), of({1, 0, 1, 0})},
                         {1, 1, 2, 2}),
            (std::vector<float>{0, 4, 6, 9}));
}

TEST(LayerNorm, StatisticsOfF64HaveTheTypeOfTheStash) {
  GraphWriter g;
  g.Input("x", kDouble, {"n", 2});
  g.Input("scale", kDouble, {2});
  g.Node("LayerNormalization", {"x", "scale"}, {"y", "mean", "inverse"});
  g.Node("Add", {"mean", "inverse"}, {"z"});
  g.Output("z");
  SmallModel model(g, 17);
  ExpectNear(model.Floats({Tensor::FromVector<double>({1, 2}, {1, 3}),
                           Tensor::FromVector<double>({2}, {1, 1})},
                          {1, 1}),
             {3}, "mean + 1 / deviation", 1e-5);
}

}  // namespace
}  // namespace lathe::onnx
