// OnnxOptions: what names nothing of the model is an error, and every limit can be set.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Bytes Scaled() {
  GraphWriter g("scaled");
  g.Input("x", kFloat, {"n", 3});
  g.Input("s", kFloat, {});
  g.Input("w", kFloat, {3});
  g.Initializer(TensorMessage<float>("w", {3}, {1, 2, 3}));
  g.Node("Mul", {"x", "w"}, {"p"});
  g.Node("Mul", {"p", "s"}, {"y"});
  g.Output("y");
  return ModelMessage(g);
}

TEST(OnnxOptions, OpenNamesAnAxisOfAnInput) {
  const absl::StatusOr<OnnxModel> model = LoadBytes(Scaled(), {.open = {{{"x", 1}, "width"}}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->dims.count("width"), 1u);
  const absl::StatusOr<OnnxModel> unnamed = LoadBytes(Scaled(), {.open = {{{"x", 1}, ""}}});
  ASSERT_TRUE(unnamed.ok()) << unnamed.status();
  EXPECT_EQ(unnamed->program.graph().dims()->num_symbols(), 2);
  EXPECT_EQ(LoadError(Scaled(), {.open = {{{"x", 2}, "a"}, {{"x", -1}, "b"}, {{"z", 0}, "c"}}}),
            "INVALID_ARGUMENT: open 'x':-1 is no axis of an input, open 'x':2 is no axis of an "
            "input, open 'z':0 is no axis of an input; the model's inputs are 's' of rank 0, 'x' "
            "of rank 2");
}

TEST(OnnxOptions, ContentsAreThoseOfInputs) {
  const Tensor one = Tensor::Scalar<float>(1);
  EXPECT_EQ(LoadError(Scaled(), {.contents = {{"s", one}}}), "no error");
  // w is given by the file.
  EXPECT_EQ(LoadError(Scaled(), {.contents = {{"scale", one}, {"w", Tensor(f32, {3})}},
                                 .sequence_contents = {{"items", {one}}}}),
            "INVALID_ARGUMENT: contents 'scale' is no input, contents 'w' is no input, "
            "sequence_contents 'items' is no input; the model's inputs are 's' of rank 0, 'x' of "
            "rank 2");
}

// x's negative, `depth` branches down.
Bytes Nested(int depth) {
  GraphWriter innermost;
  innermost.Node("Neg", {"x"}, {"y"});
  innermost.Output("y");
  Bytes graph = innermost;
  for (int i = 1; i <= depth; ++i) {
    GraphWriter other, outer;
    other.Node("Identity", {"x"}, {"y"});
    other.Output("y");
    if (i == depth) outer.Input("x", kFloat, {"n"});
    outer.Node("Constant", {}, {"c"}, {TensorAttr("value", TensorMessage<bool>("", {}, {true}))});
    outer.Node("If", {"c"}, {"y"},
               {GraphAttr("then_branch", graph), GraphAttr("else_branch", other)});
    outer.Output("y");
    graph = outer;
  }
  return ModelMessage(graph);
}

TEST(OnnxOptions, LimitsMayBeRaised) {
  EXPECT_EQ(LoadError(Nested(32)), "no error");
  EXPECT_THAT(LoadError(Nested(33)), HasSubstr("the limit of sub-graph depth is 32"));
  OnnxOptions options;
  options.limits.depth = 40;
  SmallModel model(Nested(40), options);
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({1}, {5})}, {1}), std::vector<float>{-5});
  EXPECT_THAT(LoadError(Nested(41), options), HasSubstr("the limit of sub-graph depth is 40"));
}

TEST(OnnxOptions, LimitsMayBeLowered) {
  const Bytes model = Scaled();
  const auto error = [&](const OnnxLimits& limits) {
    OnnxOptions options;
    options.limits = limits;
    return LoadError(model, options);
  };
  EXPECT_EQ(error({.nodes = 2, .rank = 2, .name_bytes = 6}), "no error");
  EXPECT_THAT(error({.nodes = 1}), HasSubstr("the limit of nodes is 1"));
  EXPECT_THAT(error({.rank = 1}), HasSubstr("the rank limit is 1"));
  EXPECT_THAT(error({.name_bytes = 5}), HasSubstr("graph.name: has 6 bytes, the limit is 5"));
  EXPECT_THAT(error({.memory = 100}), HasSubstr("more than the limit of 100 bytes"));
  EXPECT_THAT(error({.file_bytes = 100}), StartsWith("RESOURCE_EXHAUSTED: "));
}

TEST(OnnxOptions, ContentsHaveMemory) {
  OnnxOptions options;
  options.contents["x"] = Tensor::View(nullptr, f32, {2});
  EXPECT_THAT(LoadError(Scaled(), options), HasSubstr("contents 'x' have no memory"));
}

}  // namespace
}  // namespace lathe::onnx
