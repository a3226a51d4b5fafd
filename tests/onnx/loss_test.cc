// Losses: labels below 0, and f16 over more samples than f16 counts.
#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

TEST(OnnxLosses, ALabelBelow0IsAnError) {
  for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    for (const bool ignores : {false, true}) {
      SCOPED_TRACE(absl::StrCat(op, ignores));
      GraphWriter g;
      g.Input("x", kFloat, {"n", 3});
      g.Input("t", kInt64, {"n"});
      std::vector<Bytes> attributes = {Attr("reduction", "sum")};
      if (ignores) attributes.push_back(Attr("ignore_index", -2));
      g.Node(op, {"x", "t"}, {"y"}, attributes);
      g.Output("y");
      SmallModel model(g, 13);
      const auto call = [&](int64_t label) {
        return model.Call({Tensor(f32, {2, 3}), Tensor::FromVector<int64_t>({2}, {1, label})})
            .status();
      };
      EXPECT_TRUE(call(2).ok());
      EXPECT_EQ(call(-2).ok(), ignores);
      for (const int64_t label : {int64_t{-1}, int64_t{-3}, int64_t{3}, INT64_MIN, INT64_MAX})
        EXPECT_EQ(call(label).code(), absl::StatusCode::kOutOfRange) << label;
    }
  }
}

TEST(OnnxLosses, MoreSamplesThanF16Counts) {
  constexpr int64_t kMany = 70000;
  GraphWriter g;
  g.Input("x", kFloat16, {"n", 2});
  g.Input("t", kInt64, {"n"});
  g.Node("NegativeLogLikelihoodLoss", {"x", "t"}, {"y"});
  g.Output("y");
  SmallModel model(g, 13);
  EXPECT_EQ(HalfResults(model, {Halves({kMany, 2}, std::vector<float>(2 * kMany, -1)),
                                Tensor(i64, {kMany})}),
            std::vector<float>{1});
}

}  // namespace
}  // namespace lathe::onnx
