// Sub-graphs whose initializers stand among their inputs, as files of IR version 3 have them, and
// whose names are those of values outside.
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

TEST(SubGraphs, InitializersMayStandAmongTheInputs) {
  GraphWriter body;
  body.Input("w", kFloat, {1});
  body.Input("i", kInt64, {});
  body.Input("goes_on", kBool, {});
  body.Input("s", kFloat, {1});
  body.Initializer(TensorMessage<float>("w", {1}, {2}));
  body.Node("Add", {"s", "w"}, {"next"});
  body.Output("goes_on");
  body.Output("next");
  GraphWriter g;
  g.Input("s0", kFloat, {1});
  g.Input("count", kInt64, {});
  g.Node("Loop", {"count", "", "s0"}, {"y"}, {GraphAttr("body", body)});
  g.Output("y");
  SmallModel model(g, 11);
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({1}, {1}), Tensor::Scalar<int64_t>(3)}, {1}),
            std::vector<float>{7});
}

TEST(SubGraphs, ABranchMayListItsInitializers) {
  const auto branch = [](float value) {
    GraphWriter b;
    b.Input("w", kFloat, {1});
    b.Initializer(TensorMessage<float>("w", {1}, {value}));
    b.Node("Add", {"x", "w"}, {"z"});
    b.Output("z");
    return b;
  };
  GraphWriter g;
  g.Input("x", kFloat, {1});
  g.Input("which", kBool, {});
  g.Node("If", {"which"}, {"y"},
         {GraphAttr("then_branch", branch(1)), GraphAttr("else_branch", branch(2))});
  g.Output("y");
  SmallModel model(g, 11);
  const Tensor x = Tensor::FromVector<float>({1}, {5});
  EXPECT_EQ(model.Floats({x, Tensor::Scalar<bool>(true)}, {1}), std::vector<float>{6});
  EXPECT_EQ(model.Floats({x, Tensor::Scalar<bool>(false)}, {1}), std::vector<float>{7});
}

// A node that makes the same name outside, of what the sub-graph gives, comes after it all the
// same.
TEST(SubGraphs, NamesInsideHideThoseOutside) {
  GraphWriter branch;
  branch.Node("Neg", {"x"}, {"t"});
  branch.Node("Add", {"t", "x2"}, {"z"});
  branch.Output("z");
  GraphWriter g;
  g.Input("x", kFloat, {1});
  g.Input("which", kBool, {});
  g.Node("Mul", {"x", "x"}, {"x2"});
  g.Node("If", {"which"}, {"y"},
         {GraphAttr("then_branch", branch), GraphAttr("else_branch", branch)});
  g.Node("Mul", {"y", "y"}, {"t"});
  g.Output("t");
  SmallModel model(g, 11);
  const Tensor x = Tensor::FromVector<float>({1}, {5});
  EXPECT_EQ(model.Floats({x, Tensor::Scalar<bool>(true)}, {1}), std::vector<float>{400});
}

}  // namespace
}  // namespace lathe::onnx
