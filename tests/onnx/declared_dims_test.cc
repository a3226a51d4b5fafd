// What files declare of sizes, however oddly: which dims become one, what they are called, and how
// facts name them.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// One input for each list of dims, "a", "b", ..; the outputs are their negatives.
GraphWriter Inputs(const std::vector<std::vector<DeclaredDim>>& dims) {
  GraphWriter g;
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    g.Input(name, kFloat, dims[i]);
    g.Node("Neg", {name}, {name + "_out"});
    g.Output(name + "_out");
  }
  return g;
}

std::map<std::string, std::string> DimsOf(const GraphWriter& g, const OnnxOptions& options = {}) {
  const absl::StatusOr<OnnxModel> model = LoadBytes(ModelMessage(g), options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? model->dims : std::map<std::string, std::string>();
}

// Whether vectors of these lengths are admitted.
bool Admits(SmallModel& model, const std::vector<int64_t>& lengths) {
  std::vector<Tensor> inputs;
  for (int64_t n : lengths) inputs.emplace_back(f32, std::vector<int64_t>{n});
  return model.Call(inputs).ok();
}

TEST(DeclaredDims, WhatIsNoNameIsNamedByInputAndAxis) {
  const GraphWriter g = Inputs({{"?", -1, "", "None", "-1"}});
  EXPECT_THAT(DimsOf(g),
              ElementsAre(Pair("a_d0", "a_d0"), Pair("a_d1", "a_d1"), Pair("a_d2", "a_d2"),
                          Pair("a_d3", "a_d3"), Pair("a_d4", "a_d4")));
  SmallModel pair(Inputs({{"?"}, {"?"}}), 21);
  EXPECT_TRUE(Admits(pair, {2, 3}));
}

TEST(DeclaredDims, EqualNamesAreEqualDims) {
  SmallModel model(Inputs({{"n"}, {"n"}}), 21);
  EXPECT_TRUE(Admits(model, {3, 3}));
  EXPECT_FALSE(Admits(model, {3, 4}));
}

TEST(DeclaredDims, AnExpressionIsAName) {
  const GraphWriter g = Inputs({{"seq"}, {"seq + 1"}});
  EXPECT_THAT(DimsOf(g), ElementsAre(Pair("seq", "seq"), Pair("seq + 1", "seq___1")));
  SmallModel model(g, 21);
  EXPECT_TRUE(Admits(model, {3, 9}));
}

TEST(DeclaredDims, AMadeNameIsNeverThatOfADimOfTheFile) {
  const auto dims = ElementsAre(Pair("a_d0", "a_d0"), Pair("a_d0_1", "a_d0_1"));
  const GraphWriter made_first = Inputs({{""}, {"a_d0"}});
  EXPECT_THAT(DimsOf(made_first), dims);
  SmallModel model(made_first, 21, {.dims = {"a_d0 <= 4"}});
  EXPECT_TRUE(Admits(model, {5, 4}));
  EXPECT_FALSE(Admits(model, {4, 5}));
}

TEST(DeclaredDims, PlainWordsKeepTheirNames) {
  const GraphWriter g = Inputs({{"batch size"}, {"batch_size"}, {"batch+size"}});
  EXPECT_THAT(DimsOf(g),
              ElementsAre(Pair("batch size", "batch_size_1"), Pair("batch+size", "batch_size_2"),
                          Pair("batch_size", "batch_size")));
}

TEST(DeclaredDims, FactsMayNameADimAsTheFileDoesOrAsItBecame) {
  const GraphWriter g = Inputs({{"batch size"}, {"past+seq"}});
  for (const std::vector<std::string>& facts :
       {std::vector<std::string>{"batch size <= 4, past+seq in 2..8"},
        std::vector<std::string>{"batch_size <= 4", "past_seq in 2..8"}}) {
    SmallModel model(g, 21, {.dims = facts});
    EXPECT_TRUE(Admits(model, {4, 8}));
    EXPECT_FALSE(Admits(model, {5, 8}));
    EXPECT_FALSE(Admits(model, {4, 9}));
    EXPECT_FALSE(Admits(model, {4, 1}));
  }
  SmallModel range(g, 21, {.dims = {"past+seq in 2..batch size"}});
  EXPECT_TRUE(Admits(range, {4, 4}));
  EXPECT_FALSE(Admits(range, {4, 5}));
}

TEST(DeclaredDims, ANameThatReadsAsAnExpressionOfOthersIsOneInFacts) {
  const GraphWriter g = Inputs({{"seq"}, {"seq + 1"}});
  SmallModel both(g, 21, {.dims = {"seq + 1 <= 8"}});
  EXPECT_TRUE(Admits(both, {7, 100}));
  EXPECT_FALSE(Admits(both, {8, 1}));
  SmallModel as_it_became(g, 21, {.dims = {"seq___1 <= 8"}});
  EXPECT_TRUE(Admits(as_it_became, {100, 8}));
  EXPECT_FALSE(Admits(as_it_became, {1, 9}));
  SmallModel alone(Inputs({{"seq + 1"}}), 21, {.dims = {"seq + 1 <= 8"}});
  EXPECT_TRUE(Admits(alone, {8}));
  EXPECT_FALSE(Admits(alone, {9}));
}

TEST(DeclaredDims, FactsOfNamesThatAreNotThereAreErrors) {
  const std::string error =
      LoadError(ModelMessage(Inputs({{"batch size"}})), {.dims = {"batch sizes <= 4"}});
  EXPECT_THAT(error, HasSubstr("dims 'batch sizes <= 4'"));
  EXPECT_THAT(error, HasSubstr("no size is named \"batch\""));
}

TEST(DeclaredDims, WordsOfTheTextFormAndNumbersAreNames) {
  const GraphWriter g = Inputs({{"in"}, {"if"}, {"f32"}, {"max"}, {"8"}});
  EXPECT_THAT(DimsOf(g), ElementsAre(Pair("8", "_8"), Pair("f32", "f32_"), Pair("if", "if_"),
                                     Pair("in", "in_"), Pair("max", "max")));
  SmallModel model(g, 21, {.dims = {"if in 1..8", "in_ <= 4", "f32 <= max(if, 2)", "max <= 8"}});
  EXPECT_TRUE(Admits(model, {4, 3, 3, 8, 9}));
  EXPECT_FALSE(Admits(model, {5, 3, 3, 8, 9}));
  EXPECT_FALSE(Admits(model, {4, 9, 3, 8, 9}));
  EXPECT_FALSE(Admits(model, {4, 3, 4, 8, 9}));
  EXPECT_FALSE(Admits(model, {4, 3, 3, 9, 9}));
}

// Protobuf's rule for a choice of two: the last one counts.
TEST(DeclaredDims, ANumberBehindANameIsWhatCounts) {
  const auto both = [](int64_t value) -> Bytes {
    const Bytes dim = MessageWriter()
                          .Add(proto::Dimension::dim_param, Bytes("n"))
                          .Add(proto::Dimension::dim_value, value);
    return MessageWriter().Add(
        proto::Type::tensor_type,
        MessageWriter()
            .Add(proto::TensorType::elem_type, int{kFloat})
            .Add(proto::TensorType::shape, MessageWriter().Add(proto::TensorShape::dim, dim)));
  };
  GraphWriter g;
  g.Input("a", both(3));
  g.Input("b", both(4));
  g.Node("Concat", {"a", "b"}, {"c"}, {Attr("axis", 0)});
  g.Output("c");
  EXPECT_THAT(DimsOf(g), ElementsAre());
  SmallModel model(g, 21);
  EXPECT_TRUE(Admits(model, {3, 4}));
  EXPECT_FALSE(Admits(model, {3, 3}));
}

TEST(DeclaredDims, WhatOutputsDeclareIsNotBelieved) {
  GraphWriter g;
  g.Input("a", kFloat, {"n"});
  g.Node("Concat", {"a", "a"}, {"c"}, {Attr("axis", 0)});
  g.Output("c", kFloat, {"n"});
  SmallModel model(g, 21);
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({1}, {5})}, {2}), (std::vector<float>{5, 5}));
}

TEST(DeclaredDims, WeightsMayBeInputsOrConstantNodes) {
  GraphWriter g;
  g.Input("w", kFloat, {"rows"});
  g.Input("a", kFloat, {"n"});
  g.Initializer(TensorMessage<float>("w", {2}, {2, 3}));
  g.Node("Constant", {}, {"target"},
         {TensorAttr("value", TensorMessage<int64_t>("", {2}, {-1, 2}))});
  g.Node("Reshape", {"a", "target"}, {"pairs"});
  g.Node("Mul", {"pairs", "w"}, {"y"});
  g.Output("y");
  const absl::StatusOr<OnnxModel> loaded = LoadBytes(ModelMessage(g));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->inputs, ElementsAre("a"));
  EXPECT_THAT(loaded->dims, ElementsAre(Pair("n", "n")));
  SmallModel model(g, 21);
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({4}, {1, 1, 2, 2})}, {2, 2}),
            (std::vector<float>{2, 3, 4, 6}));
}

// y = x where `condition`, computed from x's shape, holds; x seen as of rank 3 elsewhere.
GraphWriter Deciding(const std::vector<Bytes>& condition) {
  GraphWriter same, other, g;
  same.Node("Identity", {"x"}, {"r"});
  same.Output("r");
  other.Node("Transpose", {"x"}, {"r"}, {Attr("perm", std::vector<int64_t>{2, 1, 0})});
  other.Output("r");
  g.Input("x", kFloat, {"batch", 2});
  for (const Bytes& node : condition) g.Node(node);
  g.Node("If", {"c"}, {"y"}, {GraphAttr("then_branch", same), GraphAttr("else_branch", other)});
  g.Output("y");
  return g;
}

Bytes Constant(const std::string& name, int64_t value) {
  return NodeMessage("Constant", {}, {name}, {Attr("value_int", value)});
}

TEST(DeclaredDims, AnIfOnTheRankIsDecidedBeforeItsBranchesHaveTypes) {
  const GraphWriter g =
      Deciding({NodeMessage("Shape", {"x"}, {"shape"}), NodeMessage("Size", {"shape"}, {"rank"}),
                Constant("two", 2), NodeMessage("Equal", {"rank", "two"}, {"c"})});
  SmallModel model(g, 21);
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({1, 2}, {5, 6})}, {1, 2}),
            (std::vector<float>{5, 6}));
  EXPECT_THAT(model.text(), Not(HasSubstr("if")));
}

TEST(DeclaredDims, AFactMayFixADim) {
  const GraphWriter g =
      Deciding({NodeMessage("Shape", {"x"}, {"shape"}), Constant("first", 0),
                NodeMessage("Gather", {"shape", "first"}, {"batch"}), Constant("four", 4),
                NodeMessage("Equal", {"batch", "four"}, {"c"})});
  SmallModel model(g, 21, {.dims = {"batch == 4"}});
  EXPECT_TRUE(model.Call({Tensor(f32, {4, 2})}).ok());
  EXPECT_FALSE(model.Call({Tensor(f32, {3, 2})}).ok());
  EXPECT_THAT(LoadError(ModelMessage(g)), HasSubstr("Transpose"));
}

// Each step appends an element: the length changes, whatever the file calls it.
TEST(DeclaredDims, ADimMayBeNamedAsThoseOfLoopsAre) {
  GraphWriter body, g;
  body.Input("i", kInt64, {});
  body.Input("goes_on", kBool, {});
  body.Input("s", kFloat, {"Loop.n"});
  body.Initializer(TensorMessage<float>("one", {1}, {1}));
  body.Node("Concat", {"s", "one"}, {"next"}, {Attr("axis", 0)});
  body.Output("goes_on");
  body.Output("next");
  g.Input("x", kFloat, {"Loop.n"});
  g.Input("count", kInt64, {});
  g.Node("Loop", {"count", "", "x"}, {"y"}, {GraphAttr("body", body)});
  g.Output("y");
  SmallModel model(g, 21);
  for (int64_t steps : {2, 0, 1}) {
    std::vector<float> wanted = {7, 8};
    for (int64_t i = 0; i < steps; ++i) wanted.push_back(1);
    EXPECT_EQ(model.Floats({Tensor::FromVector<float>({2}, {7, 8}), Tensor::Scalar<int64_t>(steps)},
                           {2 + steps}),
              wanted);
  }
}

}  // namespace
}  // namespace lathe::onnx
