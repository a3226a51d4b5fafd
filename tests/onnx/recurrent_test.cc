// Activations of RNN with numbers of their own.
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

// Y of one step of zeros, [1, directions, 1, 1]: the activations of 0.
std::vector<float> AtZero(const Names& activations, const std::vector<float>& alpha,
                          const std::vector<float>& beta) {
  const auto directions = static_cast<int64_t>(activations.size());
  GraphWriter g;
  g.Input("x", kFloat, {1, 1, 1});
  g.Input("w", kFloat, {directions, 1, 1});
  g.Input("r", kFloat, {directions, 1, 1});
  g.Node("RNN", {"x", "w", "r"}, {"y"},
         {Attr("hidden_size", 1), Attr("direction", directions == 2 ? "bidirectional" : "forward"),
          Attr("activations", activations), Attr("activation_alpha", alpha),
          Attr("activation_beta", beta)});
  g.Output("y");
  SmallModel model(g, 14);
  const Tensor weights(f32, {directions, 1, 1});
  return model.Floats({Tensor(f32, {1, 1, 1}), weights, weights}, {1, directions, 1, 1});
}

TEST(Recurrent, AffineTakesItsBeta) {
  EXPECT_EQ(AtZero({"Affine"}, {1}, {0.5}), std::vector<float>{0.5});
  EXPECT_EQ(AtZero({"Affine"}, {}, {}), std::vector<float>{0});
}

TEST(Recurrent, EachActivationTakesTheNextNumbers) {
  EXPECT_EQ(AtZero({"Affine", "HardSigmoid"}, {1, 1}, {0.5, 0.25}),
            (std::vector<float>{0.5, 0.25}));
  EXPECT_EQ(AtZero({"Tanh", "Affine"}, {3}, {0.75}), (std::vector<float>{0, 0.75}));
  EXPECT_EQ(AtZero({"LeakyRelu", "Affine"}, {0.5, 3}, {0.75}), (std::vector<float>{0, 0.75}));
}

}  // namespace
}  // namespace lathe::onnx
