// Linear classifiers without intercepts: how many rows the coefficients are.
#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

GraphWriter Classifier(const std::vector<float>& coefficients, const std::vector<int64_t>& labels,
                       bool scores) {
  GraphWriter g;
  g.Input("x", kFloat, {"n", 2});
  g.Node("LinearClassifier", {"x"}, {"label", "scores"},
         {Attr("coefficients", coefficients), Attr("classlabels_ints", labels)}, "ai.onnx.ml");
  g.Output(scores ? "scores" : "label");
  return g;
}

TEST(LinearClassifier, WithoutInterceptsARowForEachLabel) {
  const Tensor x = Tensor::FromVector<float>({3, 2}, {2, 1, 1, 2, -3, -3});
  const std::vector<float> three = {1, 0, 0, 1, -1, -1};
  SmallModel labels(Classifier(three, {10, 20, 30}, false), 13);
  EXPECT_EQ(Elements<int64_t>(labels, {x}), (std::vector<int64_t>{10, 20, 30}));
  SmallModel scores(Classifier(three, {10, 20, 30}, true), 13);
  EXPECT_EQ(scores.Floats({x}, {3, 3}), (std::vector<float>{2, 1, -3, 1, 2, -3, -3, -3, 6}));
}

TEST(LinearClassifier, TwoLabelsHaveOneRowOrTwo) {
  const Tensor x = Tensor::FromVector<float>({2, 2}, {2, 1, 1, 2});
  SmallModel one(Classifier({-1, 1}, {10, 20}, true), 13);
  EXPECT_EQ(one.Floats({x}, {2, 2}), (std::vector<float>{1, -1, -1, 1}));
  SmallModel two(Classifier({1, 0, 0, 1}, {10, 20}, true), 13);
  EXPECT_EQ(two.Floats({x}, {2, 2}), (std::vector<float>{2, 1, 1, 2}));
  SmallModel labels(Classifier({1, 0, 0, 1}, {10, 20}, false), 13);
  EXPECT_EQ(Elements<int64_t>(labels, {x}), (std::vector<int64_t>{10, 20}));
}

}  // namespace
}  // namespace lathe::onnx
