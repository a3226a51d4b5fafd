// Einsum: axes of one label are equal, each by itself and not only all together.
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

TEST(Einsum, SummedAxesOfOneLabelAreEqual) {
  GraphWriter g;
  g.Input("x", kFloat, {"a", "b"});
  g.Input("y", kFloat, {"c", "d"});
  g.Node("Einsum", {"x", "y"}, {"z"}, {Attr("equation", std::string("ij,ij->"))});
  g.Output("z");
  SmallModel model(g, 13);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto counted = [](int64_t rows, int64_t columns) {
    Tensor t(f32, {rows, columns});
    for (int64_t i = 0; i < rows * columns; ++i) t.data<float>()[i] = static_cast<float>(i);
    return t;
  };
  EXPECT_EQ(model.Floats({counted(2, 3), counted(2, 3)}, {}), std::vector<float>{55});
  EXPECT_FALSE(model.Call({counted(2, 3), counted(3, 2)}).ok());  // as many elements, other axes
  EXPECT_EQ(model.Floats({counted(0, 3), counted(0, 3)}, {}), std::vector<float>{0});
}

}  // namespace
}  // namespace lathe::onnx
