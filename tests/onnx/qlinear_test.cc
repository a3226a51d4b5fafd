// QLinear forms of com.microsoft at their edges; their numbers are in cases/.
#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

const Opsets kOpsets = {{"", 13}, {"com.microsoft", 1}};

// 9 million elements of 255: their sum is no i32.
TEST(QLinear, TheMeanOfALargeImageIsNoI32) {
  GraphWriter g;
  g.Input("x", kUint8, {1, 1, "h", "w"});
  g.Initializer(TensorMessage<float>("scale", {}, {1}));
  g.Initializer(TensorMessage<uint8_t>("zero", {}, {0}));
  g.Node("QLinearGlobalAveragePool", {"x", "scale", "zero", "scale", "zero"}, {"y"}, {},
         "com.microsoft");
  g.Output("y");
  SmallModel model(ModelMessage(g, kOpsets));
  ASSERT_TRUE(model.ok()) << model.status();
  for (const int64_t side : {3, 3000, 1}) {
    Tensor x(u8, {1, 1, side, side});
    std::fill_n(x.data<uint8_t>(), x.num_elements(), uint8_t{255});
    const auto y = model.Call({x});
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ((*y)[0].data<uint8_t>()[0], 255) << side;
  }
}

TEST(QLinear, AMissingScaleIsNamed) {
  GraphWriter g;
  g.Input("x", kUint8, {"n"});
  g.Initializer(TensorMessage<float>("scale", {}, {1}));
  g.Initializer(TensorMessage<uint8_t>("zero", {}, {0}));
  g.Node("QLinearAdd", {"x", "scale", "zero", "x", "scale", "zero", "", "zero"}, {"y"}, {},
         "com.microsoft");
  g.Output("y");
  const std::string error = LoadError(ModelMessage(g, kOpsets));
  EXPECT_THAT(error, testing::StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(error, testing::HasSubstr("input 6"));
}

}  // namespace
}  // namespace lathe::onnx
