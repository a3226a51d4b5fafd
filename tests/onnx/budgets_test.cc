// Small files that ask for much, by calling, repeating or naming what they hold again and again:
// each ends soon, with an error that names the limit or with the right answer.
#include <chrono>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

using testing::HasSubstr;

// What an import may take that would take minutes, or many times the memory, without its budget.
constexpr double kSeconds = 10;

std::string ErrorSoon(const Bytes& model, const OnnxOptions& options = {}) {
  const auto start = std::chrono::steady_clock::now();
  std::string error = LoadError(model, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), kSeconds);
  return error;
}

std::string Numbered(const std::string& word, int i) { return absl::StrCat(word, i); }

// Names of one length that aren't words.
std::string Foreign(int i) {
  std::string name;
  for (int k = 0; k < 3; ++k, i /= 32) {
    name.push_back('\xc3');
    name.push_back(static_cast<char>(0x80 + i % 32));
  }
  return name;
}

// -- what is evaluated while importing

// x reduced along the axis that `axes` names.
void ReduceAlong(GraphWriter& g, const std::string& axes, const std::string& y) {
  g.Node("ReduceSum", {"x", axes}, {y});
}

TEST(OnnxBudgets, AProductOfLargeConstantsIsntEvaluated) {
  GraphWriter g;
  g.Input("x", kFloat, {2, 3});
  g.Initializer(TensorMessage<int64_t>("shape", {2}, {2896, 2896}));
  g.Node("ConstantOfShape", {"shape"}, {"a"},
         {TensorAttr("value", TensorMessage<int64_t>("", {1}, {1}))});
  g.Node("MatMul", {"a", "a"}, {"p"});
  g.Node("ReduceMin", {"p"}, {"least"}, {Attr("keepdims", 0)});
  ReduceAlong(g, "least", "y");
  g.Output("y");
  EXPECT_THAT(ErrorSoon(ModelMessage(g, {{"", 18}})), HasSubstr("its content must be known"));
}

TEST(OnnxBudgets, SmallConstantsAreEvaluatedHoweverOftenOneIsAskedFor) {
  GraphWriter g;
  g.Input("x", kFloat, {2, 3});
  g.Initializer(TensorMessage<int64_t>("c0", {1}, {1}));
  g.Initializer(TensorMessage<int64_t>("one", {1}, {1}));
  constexpr int kCount = 3000;
  for (int i = 0; i < kCount; ++i) {
    g.Node("Mul", {Numbered("c", i), "one"}, {Numbered("c", i + 1)});
    ReduceAlong(g, Numbered("c", i + 1), Numbered("y", i));
  }
  g.Output(Numbered("y", kCount - 1));
  EXPECT_EQ(ErrorSoon(ModelMessage(g, {{"", 18}})), "no error");
}

// -- sequences

TEST(OnnxBudgets, ASequenceOfManyNamesIsOneList) {
  GraphWriter g;
  g.Input("x", kFloat, {2});
  g.Node("SequenceConstruct", Names(60'000, "x"), {"s0"});
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) g.Node("Identity", {Numbered("s", i)}, {Numbered("s", i + 1)});
  g.Node("SequenceLength", {Numbered("s", kCount)}, {"n"});
  g.Output("n");
  EXPECT_EQ(ErrorSoon(ModelMessage(g)), "no error");
}

TEST(OnnxBudgets, WhatSequencesCopyIsBounded) {
  GraphWriter g;
  g.Input("x", kFloat, {2});
  g.Node("SequenceConstruct", Names(60'000, "x"), {"s0"});
  for (int i = 0; i < 100; ++i)
    g.Node("SequenceInsert", {Numbered("s", i), "x"}, {Numbered("s", i + 1)});
  g.Node("SequenceLength", {"s100"}, {"n"});
  g.Output("n");
  EXPECT_THAT(ErrorSoon(ModelMessage(g)), HasSubstr("more items together than the limit of"));
}

TEST(OnnxBudgets, ASequenceIsNoLongerThanTheLimit) {
  GraphWriter g;
  g.Input("x", kFloat, {2});
  g.Node("SequenceConstruct", Names(65'537, "x"), {"s"});
  g.Node("SequenceLength", {"s"}, {"n"});
  g.Output("n");
  EXPECT_THAT(ErrorSoon(ModelMessage(g)), HasSubstr("longer than the limit of 65536"));
  GraphWriter split;
  split.Input("x", kFloat, {70'000});
  split.Initializer(TensorMessage<int64_t>("sizes", {70'000}, std::vector<int64_t>(70'000, 1)));
  split.Node("SplitToSequence", {"x", "sizes"}, {"s"});
  split.Node("SequenceLength", {"s"}, {"n"});
  split.Output("n");
  EXPECT_THAT(ErrorSoon(ModelMessage(split)), HasSubstr("longer than the limit of 65536"));
}

TEST(OnnxBudgets, WhatIsNoTensorOrHasNoAxisIsAnError) {
  const auto error = [](const std::string& op, const Names& inputs) {
    GraphWriter g;
    g.Input("x", kFloat, {4});
    g.Input("scalar", kFloat, {});
    g.Node("SequenceEmpty", {}, {"none"});
    g.Node(op, inputs, {"y"});
    g.Output("y");
    return LoadError(ModelMessage(g));
  };
  EXPECT_THAT(error("SplitToSequence", {"x", "none"}), HasSubstr("input 1 is a sequence"));
  EXPECT_THAT(error("SplitToSequence", {"scalar"}), HasSubstr("axis 0"));
  EXPECT_THAT(error("SequenceAt", {"none"}), HasSubstr("input 1 is missing"));
}

// -- stages

// A stage each: the elements that aren't 0 of those found before.
Bytes Found(int count) {
  GraphWriter g;
  g.Input("x", kInt64, {"n"});
  g.Initializer(TensorMessage<int64_t>("flat", {1}, {-1}));
  g.Node("Identity", {"x"}, {"v0"});
  for (int i = 0; i < count; ++i) {
    g.Node("NonZero", {Numbered("v", i)}, {Numbered("w", i)});
    g.Node("Reshape", {Numbered("w", i), "flat"}, {Numbered("v", i + 1)});
  }
  g.Output(Numbered("v", count));
  return ModelMessage(g);
}

TEST(OnnxBudgets, StagesAndTheirFactsAreBounded) {
  EXPECT_EQ(ErrorSoon(Found(20)), "no error");
  EXPECT_THAT(ErrorSoon(Found(5000)), HasSubstr("than the limit of"));
}

TEST(OnnxBudgets, NodesOfAllStagesCountTogether) {
  OnnxOptions options;
  options.max_nodes = 1000;
  EXPECT_EQ(LoadError(Found(10), options), "no error");
  EXPECT_THAT(
      LoadError(Found(100), options),
      HasSubstr("the graphs of the program have more than max_nodes = 1000 nodes together"));
}

// -- bytes of the file

TEST(OnnxBudgets, WeightsThatHaveToBeCopiedAreCharged) {
  GraphWriter g;
  constexpr int64_t kCount = 100'000;
  Names all;
  for (int i = 1; i <= 4; ++i) {  // at least two don't lie at a multiple of four
    all.push_back(std::string(static_cast<size_t>(i), 'w'));
    g.Initializer(TensorMessage<float>(all.back(), {kCount}, std::vector<float>(kCount, 1)));
  }
  g.Node("Sum", all, {"y"});
  g.Output("y");
  OnnxOptions options;
  EXPECT_EQ(LoadError(ModelMessage(g), options), "no error");
  options.limits.memory = 500'000;
  EXPECT_THAT(LoadError(ModelMessage(g), options),
              HasSubstr("more is copied of the file than the limit of 500000 bytes"));
}

Bytes Calls(int count, const Bytes& function, const std::vector<Bytes>& attributes = {}) {
  GraphWriter g;
  g.Input("x", kFloat, {2});
  for (int i = 0; i < count; ++i) g.Node("F", {"x"}, {Numbered("y", i)}, attributes, "local");
  g.Output(Numbered("y", count - 1));
  return ModelMessage(g, {{"", 21}, {"local", 1}}, {function});
}

TEST(OnnxBudgets, ConstantsThatAreCopiedAreChargedAtEachCall) {
  const Bytes constant =
      NodeMessage("Constant", {}, {"c"}, {Attr("value_ints", std::vector<int64_t>(10'000, 1))});
  const Bytes function = FunctionMessage(
      "local", "F", {"a"}, {"b"}, {constant, NodeMessage("Identity", {"a"}, {"b"})}, {{"", 21}});
  OnnxOptions options;
  options.limits.memory = 16'000'000;
  EXPECT_EQ(LoadError(Calls(100, function), options), "no error");
  EXPECT_THAT(LoadError(Calls(300, function), options), HasSubstr("(limits.memory)"));
}

TEST(OnnxBudgets, AttributesThatCallsPassOnAreChargedWhereTheyAreUsed) {
  const std::vector<Bytes> constants(
      100, NodeMessage("Constant", {}, {""},
                       {RefAttr("value_ints", Attribute::Kind::kInts, "numbers")}));
  std::vector<Bytes> nodes = constants;
  nodes.push_back(NodeMessage("Identity", {"a"}, {"b"}));
  const Bytes function =
      FunctionMessage("local", "F", {"a"}, {"b"}, nodes, {{"", 21}}, {"numbers"});
  OnnxOptions options;
  options.limits.memory = 4'000'000;
  const std::vector<Bytes> numbers = {Attr("numbers", std::vector<int64_t>(10'000, 1))};
  EXPECT_THAT(LoadError(Calls(1, function, numbers), options), HasSubstr("(limits.memory)"));
}

// -- names

TEST(OnnxBudgets, ManyInputsAndOutputsWhoseNamesAreNoWords) {
  constexpr int kCount = 30'000;
  GraphWriter g;
  for (int i = 0; i < kCount; ++i) {
    const std::string name = Foreign(i);
    g.Input(name, kFloat, {DeclaredDim(name.c_str())});
    g.Output(name);
  }
  EXPECT_EQ(ErrorSoon(ModelMessage(g)), "no error");
}

TEST(OnnxBudgets, ManyVersionsOfDomains) {
  constexpr int kCount = 20'000;
  Opsets opsets;
  for (int i = 0; i < kCount; ++i) opsets.emplace_back(Numbered("domain", i), 1);
  opsets.emplace_back("", 21);
  GraphWriter g;
  g.Input("v0", kFloat, {2});
  for (int i = 0; i < kCount; ++i) g.Node("Neg", {Numbered("v", i)}, {Numbered("v", i + 1)});
  g.Output(Numbered("v", kCount));
  EXPECT_EQ(ErrorSoon(ModelMessage(g, opsets)), "no error");
}

TEST(OnnxBudgets, AFunctionWithManyDefaults) {
  constexpr int kCount = 40'000;
  std::vector<Bytes> nodes = {NodeMessage("Identity", {"a"}, {"b"})}, defaults;
  for (int i = 0; i < kCount; ++i) {
    defaults.push_back(Attr(Numbered("d", i), 0.5f));
    nodes.push_back(
        NodeMessage("Constant", {}, {Numbered("v", i)},
                    {RefAttr("value_float", Attribute::Kind::kFloat, Numbered("d", i))}));
  }
  const Bytes function =
      FunctionMessage("local", "F", {"a"}, {"b"}, nodes, {{"", 21}}, {}, defaults);
  EXPECT_EQ(ErrorSoon(Calls(1, function)), "no error");
}

TEST(OnnxBudgets, ABranchThatReadsManyValuesFromOutside) {
  constexpr int kCount = 10'000;
  GraphWriter branch, g;
  g.Input("c", kBool, {});
  branch.Node("Identity", {"x0"}, {"s0"});
  for (int i = 0; i < kCount; ++i) {
    g.Input(Numbered("x", i), kFloat, {2});
    branch.Node("Add", {Numbered("s", i), Numbered("x", i)}, {Numbered("s", i + 1)});
  }
  branch.Output(Numbered("s", kCount));
  g.Node("If", {"c"}, {"y"}, {GraphAttr("then_branch", branch), GraphAttr("else_branch", branch)});
  g.Output("y");
  EXPECT_EQ(ErrorSoon(ModelMessage(g)), "no error");
}

TEST(OnnxBudgets, ALaterStageThatReadsManySizes) {
  constexpr int kCount = 10'000;
  GraphWriter g;
  Names sizes;
  g.Input("q", kInt64, {"n"});
  g.Node("NonZero", {"q"}, {"found"});
  g.Output("found");
  for (int i = 0; i < kCount; ++i) {
    g.Input(Numbered("x", i), kFloat, {DeclaredDim(Numbered("d", i).c_str())});
    sizes.push_back(Numbered("s", i));
    g.Node("Shape", {Numbered("x", i)}, {sizes.back()});
  }
  g.Node("Sum", sizes, {"t"});
  g.Output("t");
  EXPECT_EQ(ErrorSoon(ModelMessage(g)), "no error");
}

// -- what calls and steps cost

TEST(OnnxBudgets, InputsOfFunctionsCountAtEachCall) {
  Names inputs = {"a"};
  for (int i = 1; i < 2000; ++i) inputs.push_back(Numbered("a", i));
  const Bytes function = FunctionMessage("local", "F", inputs, {"b"},
                                         {NodeMessage("Identity", {"a"}, {"b"})}, {{"", 21}});
  OnnxOptions options;
  options.max_nodes = 10'000;
  EXPECT_EQ(LoadError(Calls(50, function), options), "no error");
  EXPECT_THAT(ErrorSoon(Calls(3000, function), options),
              HasSubstr("more than 16 times max_nodes = 10000 inputs, outputs and attributes"));
}

TEST(OnnxBudgets, InitializersOfBodiesCountAtEachStep) {
  GraphWriter body("body");
  body.Input("item", kFloat, {2});
  for (int i = 0; i < 1000; ++i) body.Initializer(TensorMessage<float>(Numbered("w", i), {1}, {1}));
  body.Node("Neg", {"item"}, {"r"});
  body.Output("r");
  GraphWriter g;
  g.Input("x", kFloat, {2});
  g.Node("SequenceConstruct", Names(1000, "x"), {"s"});
  g.Node("SequenceMap", {"s"}, {"t"}, {GraphAttr("body", body)});
  g.Node("SequenceLength", {"t"}, {"n"});
  g.Output("n");
  OnnxOptions options;
  options.max_nodes = 10'000;
  EXPECT_THAT(ErrorSoon(ModelMessage(g), options), HasSubstr("16 times max_nodes = 10000"));
}

TEST(OnnxBudgets, ABranchThatIsntTakenIsLookedThroughOnce) {
  GraphWriter other, taken;
  taken.Node("Neg", {"a"}, {"r"});
  taken.Output("r");
  other.Node("Neg", {"a"}, {"r0"});
  constexpr int kCount = 5000;
  for (int i = 0; i < kCount; ++i) other.Node("Neg", {Numbered("r", i)}, {Numbered("r", i + 1)});
  other.Output(Numbered("r", kCount));
  const Bytes yes = NodeMessage("Constant", {}, {"yes"},
                                {TensorAttr("value", TensorMessage<bool>("", {}, {true}))});
  const Bytes branch = NodeMessage(
      "If", {"yes"}, {"b"}, {GraphAttr("then_branch", taken), GraphAttr("else_branch", other)});
  const Bytes function = FunctionMessage("local", "F", {"a"}, {"b"}, {yes, branch}, {{"", 21}});
  EXPECT_EQ(ErrorSoon(Calls(10'000, function)), "no error");
}

}  // namespace
}  // namespace lathe::onnx
