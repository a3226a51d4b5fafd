// Pooling where the padding and the type's range show: positions of maxima, sums of f16.
#include <limits>

#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

// The positions that MaxPool gives for one plane of `element_type`.
template <typename T>
std::vector<int64_t> Positions(int32_t element_type, int64_t h, int64_t w,
                               const std::vector<T>& values, const std::vector<int64_t>& pads) {
  GraphWriter g;
  g.Input("x", element_type, {1, 1, "h", "w"});
  g.Node("MaxPool", {"x"}, {"y", "at"},
         {Attr("kernel_shape", std::vector<int64_t>{2, 2}), Attr("pads", pads)});
  g.Output("y");
  g.Output("at");
  SmallModel model(g, 12);
  const absl::StatusOr<std::vector<Tensor>> results =
      model.Call({Tensor::FromVector<T>({1, 1, h, w}, values)});
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  const Tensor at = (*results)[1].Contiguous();
  return std::vector<int64_t>(at.data<int64_t>(), at.data<int64_t>() + at.num_elements());
}

TEST(MaxPool, PositionsAreNeverInThePadding) {
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  using Places = std::vector<int64_t>;
  const std::vector<int64_t> before = {1, 1, 0, 0}, around = {1, 1, 1, 1};
  EXPECT_EQ(Positions<uint8_t>(kUint8, 1, 1, {0}, before), (Places{0}));
  EXPECT_EQ(Positions<int8_t>(kInt8, 1, 1, {-128}, before), (Places{0}));
  EXPECT_EQ(Positions<float>(kFloat, 1, 1, {kLeast}, before), (Places{0}));
  EXPECT_EQ(Positions<uint8_t>(kUint8, 1, 2, {0, 0}, around), (Places{0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(Positions<float>(kFloat, 1, 2, {kLeast, 3}, around), (Places{0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(Positions<float>(kFloat, 1, 2, {5, kNan}, around), (Places{0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(Positions<uint8_t>(kUint8, 2, 2, {0, 0, 0, 0}, {0, 0, 0, 0}), (Places{0}));
}

std::vector<float> PooledInHalves(const std::string& op, const std::vector<Bytes>& attributes,
                                  const std::vector<float>& x) {
  GraphWriter g;
  g.Input("x", kFloat16, {1, 1, "w"});
  g.Node(op, {"x"}, {"y"}, attributes);
  g.Output("y");
  SmallModel model(g, 18);
  return HalfResults(model, {Halves({1, 1, static_cast<int64_t>(x.size())}, x)});
}

TEST(AveragePool, SumsBeyondTheRangeOfF16) {
  const Bytes kernel = Attr("kernel_shape", std::vector<int64_t>{2});
  const Bytes pads = Attr("pads", std::vector<int64_t>{0, 1}),
              strides = Attr("strides", std::vector<int64_t>{2});
  using Floats = std::vector<float>;
  EXPECT_EQ(PooledInHalves("AveragePool", {kernel}, {60000, 60000}), Floats{60000});
  EXPECT_EQ(PooledInHalves("AveragePool", {kernel, strides, pads}, {60000, 60000, 40000}),
            (Floats{60000, 40000}));
  EXPECT_EQ(PooledInHalves("GlobalAveragePool", {}, {60000, 60000}), Floats{60000});
  EXPECT_EQ(PooledInHalves("LpPool", {kernel}, {3000, 4000}), Floats{5000});
  EXPECT_EQ(PooledInHalves("GlobalLpPool", {}, {3000, 4000}), Floats{5000});
}

}  // namespace
}  // namespace lathe::onnx
