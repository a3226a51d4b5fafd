// Sequences and optionals: known while loading, items are inputs and outputs of their own.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

absl::StatusOr<OnnxModel> Load(const GraphWriter& g, const OnnxOptions& options = {}) {
  const std::string path = absl::StrCat(testing::TempDir(), "sequence_", getpid(), ".onnx");
  std::ofstream(path, std::ios::binary) << Bytes(ModelMessage(g, {{"", 18}}));
  absl::StatusOr<OnnxModel> model = load_onnx(path, options);
  std::remove(path.c_str());
  return model;
}

std::string ErrorOf(const GraphWriter& g, const OnnxOptions& options = {}) {
  const absl::StatusOr<OnnxModel> model = Load(g, options);
  return model.ok() ? "no error" : std::string(model.status().message());
}

Tensor Line(int64_t n) { return Tensor(f32, {n}); }

Bytes SequenceOfLines() { return SequenceTypeMessage(TensorTypeMessage(kFloat, {"n"})); }

TEST(OnnxSequences, ItemsAreInputsAndOutputsOfTheirOwn) {
  GraphWriter g;
  g.Input("s", SequenceOfLines());
  g.Input("x", kFloat, {"m"});
  g.Initializer(TensorMessage<int64_t>("first", {}, {0}));
  g.Node("SequenceInsert", {"s", "x", "first"}, {"t"});
  g.Output("t");
  OnnxOptions options;
  options.sequence_contents["s"] = {Line(2), Line(5)};
  const absl::StatusOr<OnnxModel> model = Load(g, options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->inputs, (Names{"s.0", "s.1", "x"}));
  EXPECT_EQ(model->outputs, (Names{"t.0", "t.1", "t.2"}));
  // Items differ in length although the file gives them one name.
  EXPECT_EQ(model->dims.count("n.0"), 1u);
  EXPECT_EQ(model->dims.count("n.1"), 1u);
}

TEST(OnnxSequences, ASequenceInputNeedsItsLength) {
  GraphWriter g;
  g.Input("s", SequenceOfLines());
  g.Node("SequenceLength", {"s"}, {"n"});
  g.Output("n");
  EXPECT_TRUE(absl::StrContains(ErrorOf(g), "say how many items it has")) << ErrorOf(g);
  OnnxOptions options;
  options.sequence_contents["s"] = {};
  EXPECT_EQ(ErrorOf(g, options), "no error");
}

TEST(OnnxSequences, PositionsOutOfRangeAreNamed) {
  for (int64_t at : {-3, 2, 100}) {
    GraphWriter g;
    g.Input("x", kFloat, {"n"});
    g.Initializer(TensorMessage<int64_t>("at", {}, {at}));
    g.Node("SequenceConstruct", {"x", "x"}, {"s"});
    g.Node("SequenceAt", {"s", "at"}, {"y"});
    g.Output("y");
    EXPECT_TRUE(absl::StrContains(ErrorOf(g), absl::StrCat("position ", at, " of a sequence")))
        << ErrorOf(g);
  }
}

TEST(OnnxSequences, PartsOfAnOpenSizeAreSizesOfTheirOwn) {
  GraphWriter g;
  g.Input("x", kFloat, {"n"});
  g.Input("k", kFloat, {"k"});
  g.Node("Shape", {"k"}, {"first"});
  g.Node("Shape", {"x"}, {"all"});
  g.Node("Sub", {"all", "first"}, {"rest"});
  g.Node("Concat", {"first", "rest"}, {"sizes"}, {Attr("axis", 0)});
  g.Node("SplitToSequence", {"x", "sizes"}, {"s"});
  g.Initializer(TensorMessage<int64_t>("last", {}, {-1}));
  g.Node("SequenceAt", {"s", "last"}, {"y"});
  g.Output("y");
  SmallModel model(g, 18);
  ASSERT_TRUE(model.ok());
  for (int64_t n : {4, 7, 4, 1}) {
    const std::vector<float> x = SomeFloats(static_cast<size_t>(n), 1);
    EXPECT_EQ(model.Floats({Tensor::FromVector<float>({n}, x), Line(1)}, {n - 1}),
              std::vector<float>(x.begin() + 1, x.end()));
  }
}

TEST(OnnxSequences, ALoopThatNeverEndsIsRefused) {
  GraphWriter body("body");
  body.Input("i", kInt64, {});
  body.Input("go", kBool, {});
  body.Input("s", SequenceOfLines());
  body.Node("Identity", {"go"}, {"go_on"});
  body.Node("SequenceInsert", {"s", "x"}, {"t"});
  body.Output("go_on", kBool, {});
  body.Output("t", SequenceOfLines());
  GraphWriter g;
  g.Input("x", kFloat, {"n"});
  g.Initializer(TensorMessage<bool>("yes", {}, {true}));
  g.Node("SequenceEmpty", {}, {"none"});
  g.Node("Loop", {"", "yes", "none"}, {"s"}, {GraphAttr("body", body)});
  g.Output("s");
  EXPECT_TRUE(absl::StrContains(ErrorOf(g), "the limit of 1024")) << ErrorOf(g);
}

TEST(OnnxOptionals, WithoutContentAnInputHasNoValue) {
  GraphWriter g;
  g.Input("x", OptionalTypeMessage(TensorTypeMessage(kFloat, {"n"})));
  g.Node("OptionalHasElement", {"x"}, {"has"});
  g.Output("has");
  absl::StatusOr<OnnxModel> model = Load(g);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->inputs.empty());
  OnnxOptions options;
  options.contents["x"] = Line(3);
  model = Load(g, options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->inputs, Names{"x"});
}

TEST(OnnxLosses, ALabelOutOfRangeIsAnError) {
  GraphWriter g;
  g.Input("x", kFloat, {"n", 3, "d"});
  g.Input("t", kInt64, {"n", "d"});
  g.Node("NegativeLogLikelihoodLoss", {"x", "t"}, {"y"},
         {Attr("reduction", "none"), Attr("ignore_index", -1)});
  g.Output("y");
  SmallModel model(g, 18);
  ASSERT_TRUE(model.ok());
  const auto call = [&](const std::vector<int64_t>& labels) {
    const int64_t n = static_cast<int64_t>(labels.size());
    std::vector<float> x;
    for (int64_t i = 0; i < 3 * n; ++i) x.push_back(static_cast<float>(i));
    return std::vector<Tensor>{Tensor::FromVector<float>({1, 3, n}, x),
                               Tensor::FromVector<int64_t>({1, n}, labels)};
  };
  EXPECT_EQ(model.Floats(call({0, 2, -1}), {1, 3}), (std::vector<float>{0, -7, 0}));
  EXPECT_EQ(model.Call(call({0, 3})).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(model.Floats(call({}), {1, 0}), (std::vector<float>{}));
  EXPECT_EQ(model.Floats(call({1}), {1, 1}), (std::vector<float>{-1}));
}

}  // namespace
}  // namespace lathe::onnx
