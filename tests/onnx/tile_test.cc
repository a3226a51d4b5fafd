// Tile of old opsets, which repeats along one axis.
#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

GraphWriter Tiled(int64_t axis) {
  GraphWriter g;
  g.Input("x", kFloat, {"n", 2});
  g.Input("tiles", kInt64, {1});
  g.Initializer(TensorMessage<int64_t>("axis", {1}, {axis}));
  g.Node("Tile", {"x", "tiles", "axis"}, {"y"});
  g.Output("y");
  return g;
}

TEST(Tile, OldOpsetsRepeatAlongOneAxis) {
  SmallModel across(Tiled(1), 5), down(Tiled(0), 5);
  const auto call = [](int64_t n, int64_t tiles) {
    return std::vector<Tensor>{Tensor::FromVector<float>({n, 2}, {1, 2, 3, 4}),
                               Tensor::FromVector<int64_t>({1}, {tiles})};
  };
  EXPECT_EQ(across.Floats(call(2, 2), {2, 4}), (std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(down.Floats(call(1, 3), {3, 2}), (std::vector<float>{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(down.Floats(call(2, 0), {0, 2}), std::vector<float>());
  EXPECT_FALSE(LoadStatus(Tiled(2), 5).ok());
}

}  // namespace
}  // namespace lathe::onnx
