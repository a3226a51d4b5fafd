// LayerNormalization with a scale and a bias of one number for a whole axis, beside those that have
// a number for each element of it.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

// Rows of `width`, normalised, with scale and bias of one number or of `width`.
std::vector<double> Wanted(const std::vector<float>& x, size_t width,
                           const std::vector<float>& scale, const std::vector<float>& bias) {
  std::vector<double> y;
  for (size_t row = 0; row < x.size(); row += width) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < width; ++i) mean += x[row + i] / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i)
      variance += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i)
      y.push_back((x[row + i] - mean) / std::sqrt(variance + 1e-5) *
                      static_cast<double>(scale[i % scale.size()]) +
                  static_cast<double>(bias[i % bias.size()]));
  }
  return y;
}

GraphWriter LayerNorm(const std::vector<DeclaredDim>& x, DeclaredDim scale, DeclaredDim bias) {
  GraphWriter g;
  g.Input("x", kFloat, x);
  g.Input("scale", kFloat, {scale});
  g.Input("bias", kFloat, {bias});
  g.Node("LayerNormalization", {"x", "scale", "bias"}, {"y"});
  g.Output("y");
  return g;
}

void ExpectRows(SmallModel& model, int64_t rows, int64_t width, int64_t scales, int64_t biases) {
  const std::vector<float> x = SomeFloats(static_cast<size_t>(2 * rows * width), 1),
                           scale = SomeFloats(static_cast<size_t>(scales), 2),
                           bias = SomeFloats(static_cast<size_t>(biases), 3);
  ExpectNear(model.Floats({Tensor::FromVector<float>({2, rows, width}, x),
                           Tensor::FromVector<float>({scales}, scale),
                           Tensor::FromVector<float>({biases}, bias)},
                          {2, rows, width}),
             Wanted(x, static_cast<size_t>(width), scale, bias),
             absl::StrCat(rows, " rows of ", width));
}

TEST(LayerNormalization, OneNumberScalesTheWholeAxis) {
  for (const int64_t scales : {1, 4}) {
    for (const int64_t biases : {1, 4}) {
      SmallModel model(LayerNorm({2, "n", 4}, scales, biases), 17);
      for (int64_t rows : {3, 0, 1, 3}) ExpectRows(model, rows, 4, scales, biases);
    }
  }
}

TEST(LayerNormalization, TheWidthMayBeOpen) {
  SmallModel one(LayerNorm({2, "n", "w"}, 1, 1), 17), each(LayerNorm({2, "n", "w"}, "w", "w"), 17);
  for (int64_t width : {5, 1, 5}) {
    ExpectRows(one, 3, width, 1, 1);
    ExpectRows(each, 3, width, width, width);
  }
}

// What isn't one number has to be as long as the axis: no other width is computed by broadcasting.
TEST(LayerNormalization, AScaleOfFourIsOfAWidthOfFour) {
  SmallModel model(LayerNorm({2, "n", "w"}, 4, 4), 17);
  ExpectRows(model, 3, 4, 4, 4);
  EXPECT_FALSE(model.Call({Tensor(f32, {2, 3, 1}), Tensor(f32, {4}), Tensor(f32, {4})}).ok());
}

}  // namespace
}  // namespace lathe::onnx
