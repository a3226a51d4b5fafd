// Pads that take elements away: at most as many as there are, or the call is refused.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

Tensor Counting(const std::vector<int64_t>& shape) {
  Tensor t(f32, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

TEST(Pad, TakesNoMoreAwayThanThereIs) {
  for (const char* mode : {"constant", "edge", "reflect"}) {
    GraphWriter g;
    g.Input("x", kFloat, {"n"});
    g.Initializer(TensorMessage<int64_t>("pads", {2}, {-1, -3}));
    g.Node("Pad", {"x", "pads"}, {"y"}, {Attr("mode", mode)});
    g.Output("y");
    SmallModel model(g, 18);
    EXPECT_EQ(model.Floats({Counting({6})}, {2}), (std::vector<float>{1, 2}));
    EXPECT_EQ(model.Floats({Counting({4})}, {0}), std::vector<float>());
    for (int64_t n : {0, 1, 2, 3}) EXPECT_FALSE(model.Call({Counting({n})}).ok()) << mode << n;
    EXPECT_EQ(model.Floats({Counting({6})}, {2}), (std::vector<float>{1, 2}));
  }
}

// x [1, 1, w] by weights [1, 1, 1] of 1.
void CheckCut(const std::vector<Bytes>& attributes, int64_t low, int64_t high) {
  GraphWriter g;
  g.Input("x", kFloat, {1, 1, "w"});
  g.Initializer(TensorMessage<float>("k", {1, 1, 1}, {1}));
  std::vector<Bytes> all = attributes;
  all.push_back(Attr("pads", std::vector<int64_t>{low, high}));
  g.Node("ConvTranspose", {"x", "k"}, {"y"}, all);
  g.Output("y");
  SmallModel model(g, 11);
  for (int64_t w : {6, 5, 4, 3, 2, 1, 6}) {
    const int64_t left = w - low - high;
    if (left < 0) {
      EXPECT_FALSE(model.Call({Counting({1, 1, w})}).ok()) << w;
      continue;
    }
    std::vector<float> wanted;
    for (int64_t i = 0; i < left; ++i) wanted.push_back(static_cast<float>(low + i));
    EXPECT_EQ(model.Floats({Counting({1, 1, w})}, {1, 1, left}), wanted) << w;
  }
}

TEST(ConvTranspose, PadsTakeNoMoreAwayThanThereIs) {
  const Bytes dilated =
      Attr("dilations", std::vector<int64_t>{2});  // one tap: nothing else changes
  for (const auto& [low, high] : {std::pair<int64_t, int64_t>(2, 2), {0, 3}, {3, 0}}) {
    SCOPED_TRACE(absl::StrCat(low, ", ", high));
    CheckCut({}, low, high);
    CheckCut({dilated}, low, high);
  }
}

}  // namespace
}  // namespace lathe::onnx
