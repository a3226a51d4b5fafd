// Functions that a model brings: their attributes, names, operator versions, and calls.
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

using Kind = Attribute::Kind;

const Opsets kStandard = {{"", 18}};

// x: f32[n] -> y, by `nodes`, with local functions.
Bytes Model(const std::vector<Bytes>& nodes, const std::vector<Bytes>& functions,
            const std::vector<DeclaredDim>& dims = {"n"}) {
  GraphWriter g;
  g.Input("x", kFloat, dims);
  for (const Bytes& node : nodes) g.Node(node);
  g.Output("y");
  return ModelMessage(g, {{"", 18}, {"local", 1}}, functions);
}

Bytes Call(const std::string& function, const Names& inputs, const Names& outputs,
           const std::vector<Bytes>& attributes = {}) {
  return NodeMessage(function, inputs, outputs, attributes, "local");
}

// b = a, times alpha where it is below 0.
Bytes Leaky(const Names& attributes, const std::vector<Bytes>& defaults) {
  return FunctionMessage(
      "local", "Leaky", {"a"}, {"b"},
      {NodeMessage("LeakyRelu", {"a"}, {"b"}, {RefAttr("alpha", Kind::kFloat, "slope")})},
      kStandard, attributes, defaults);
}

std::vector<float> Results(const Bytes& model, const std::vector<float>& x, int64_t results) {
  SmallModel m(model);
  if (!m.ok()) return {};
  return m.Floats({Tensor::FromVector<float>({static_cast<int64_t>(x.size())}, x)}, {results});
}

TEST(OnnxFunctions, AnAttributeIsThatOfTheCallOrTheDefault) {
  const Bytes model = Model(
      {Call("Leaky", {"x"}, {"given"}, {Attr("slope", 0.25f)}), Call("Leaky", {"x"}, {"otherwise"}),
       NodeMessage("Concat", {"given", "otherwise"}, {"y"}, {Attr("axis", 0)})},
      {Leaky({}, {Attr("slope", 0.5f)})});
  EXPECT_EQ(Results(model, {-4, 2}, 4), (std::vector<float>{-1, 2, -2, 2}));
}

TEST(OnnxFunctions, AnAttributeThatNobodyGivesIsTheOperatorsOwn) {
  const Bytes model = Model({Call("Leaky", {"x"}, {"y"})}, {Leaky({"slope"}, {})});
  EXPECT_EQ(Results(model, {-100, 2}, 2), (std::vector<float>{-1, 2}));
}

TEST(OnnxFunctions, AFunctionPassesItsAttributeOn) {
  const Bytes outer = FunctionMessage(
      "local", "Outer", {"a"}, {"b"},
      {Call("Leaky", {"a"}, {"b"}, {RefAttr("slope", Kind::kFloat, "outer_slope")})},
      {{"local", 1}}, {"outer_slope"});
  const Bytes leaky = Leaky({}, {Attr("slope", 0.5f)});
  EXPECT_EQ(
      Results(Model({Call("Outer", {"x"}, {"y"}, {Attr("outer_slope", 0.25f)})}, {outer, leaky}),
              {-4}, 1),
      std::vector<float>{-1});
  // Nothing to pass on: the inner function's default.
  EXPECT_EQ(Results(Model({Call("Outer", {"x"}, {"y"})}, {outer, leaky}), {-4}, 1),
            std::vector<float>{-2});
}

TEST(OnnxFunctions, ASubGraphInsideSeesTheAttributesAndValuesOfTheFunction) {
  GraphWriter then_graph, else_graph;
  then_graph.Node("LeakyRelu", {"a"}, {"r"}, {RefAttr("alpha", Kind::kFloat, "slope")});
  then_graph.Output("r");
  else_graph.Node("Neg", {"a"}, {"r"});
  else_graph.Output("r");
  const Bytes function = FunctionMessage(
      "local", "Choose", {"a"}, {"b"},
      {NodeMessage("ReduceMax", {"a"}, {"largest"}, {Attr("keepdims", 0)}),
       NodeMessage("Cast", {"largest"}, {"any"}, {Attr("to", kBool)}),
       NodeMessage("If", {"any"}, {"b"},
                   {GraphAttr("then_branch", then_graph), GraphAttr("else_branch", else_graph)})},
      kStandard, {"slope"});
  SmallModel model(Model({Call("Choose", {"x"}, {"y"}, {Attr("slope", 0.25f)})}, {function}));
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({2}, {-4, 3})}, {2}),
            (std::vector<float>{-1, 3}));
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({2}, {-4, 0})}, {2}),
            (std::vector<float>{4, 0}));
}

TEST(OnnxFunctions, OverloadsAreFunctionsOfTheirOwn) {
  const auto function = [](const std::string& op, const std::string& overload) -> Bytes {
    return MessageWriter(FunctionMessage("local", "F", {"a"}, {"b"},
                                         {NodeMessage(op, {"a"}, {"b"})}, kStandard))
        .Add(proto::Function::overload, overload);
  };
  const auto call = [](const std::string& output, const std::string& overload) -> Bytes {
    return MessageWriter(Call("F", {"x"}, {output})).Add(proto::Node::overload, overload);
  };
  const Bytes model = Model({call("p", "negates"), call("q", "relus"),
                             NodeMessage("Concat", {"p", "q"}, {"y"}, {Attr("axis", 0)})},
                            {function("Relu", "relus"), function("Neg", "negates")});
  EXPECT_EQ(Results(model, {-4}, 2), (std::vector<float>{4, 0}));
  EXPECT_EQ(
      LoadError(Model({call("y", "third")}, {function("Relu", "relus")})),
      "UNIMPLEMENTED: the model uses operators that Lathe doesn't have: local.F (1, first node "
      "'y' (local.F))");
}

// Softmax of version 12 is one over all axes from 1 on, that of version 13 is over the last one.
TEST(OnnxFunctions, OperatorsAreOfTheVersionThatTheFunctionImports) {
  const Bytes old = FunctionMessage("local", "Old", {"a"}, {"b"},
                                    {NodeMessage("Softmax", {"a"}, {"b"})}, {{"", 12}});
  SmallModel model(Model({Call("Old", {"x"}, {"p"}), NodeMessage("Softmax", {"x"}, {"q"}),
                          NodeMessage("Concat", {"p", "q"}, {"y"}, {Attr("axis", 0)})},
                         {old}, {"n", 2, 2}));
  EXPECT_EQ(model.Floats({Tensor::FromVector<float>({1, 2, 2}, {0, 0, 0, 0})}, {2, 2, 2}),
            (std::vector<float>{.25f, .25f, .25f, .25f, .5f, .5f, .5f, .5f}));
}

TEST(OnnxFunctions, AnInputMayBeLeftOut) {
  const Bytes clip = FunctionMessage("local", "Bound", {"a", "low", "high"}, {"b"},
                                     {NodeMessage("Clip", {"a", "low", "high"}, {"b"})}, kStandard);
  const Bytes one = NodeMessage("Constant", {}, {"one"}, {Attr("value_float", 1.0f)});
  EXPECT_EQ(Results(Model({one, Call("Bound", {"x", "", "one"}, {"y"})}, {clip}), {-5, 5}, 2),
            (std::vector<float>{-5, 1}));
  EXPECT_EQ(Results(Model({one, Call("Bound", {"x", "one"}, {"y"})}, {clip}), {-5, 5}, 2),
            (std::vector<float>{1, 5}));
  EXPECT_EQ(Results(Model({Call("Bound", {"x"}, {"y"})}, {clip}), {-5, 5}, 2),
            (std::vector<float>{-5, 5}));
  EXPECT_EQ(LoadError(Model({Call("Bound", {"x", "x", "x", "x"}, {"y"})}, {clip})),
            "INVALID_ARGUMENT: node 'y' (local.Bound): the function takes 3 inputs; found 4");
}

TEST(OnnxFunctions, FunctionsThatCallThemselvesAreRefused) {
  const auto calls = [](const std::string& name, const std::string& other) {
    return FunctionMessage("local", name, {"a"}, {"b"}, {Call(other, {"a"}, {"b"})},
                           {{"local", 1}});
  };
  const Bytes call = Call("A", {"x"}, {"y"});
  EXPECT_EQ(LoadError(Model({call}, {calls("A", "A")})),
            "INVALID_ARGUMENT: node 'y' (local.A): node 'b' (local.A): the function calls itself "
            "(local.A > local.A); recursion is refused");
  EXPECT_EQ(LoadError(Model({call}, {calls("A", "B"), calls("B", "A")})),
            "INVALID_ARGUMENT: node 'y' (local.A): node 'b' (local.B): node 'b' (local.A): the "
            "function calls itself (local.A > local.B > local.A); recursion is refused");
}

TEST(OnnxFunctions, NamesInsideAreNotThoseOutside) {
  const Bytes function = FunctionMessage(
      "local", "F", {"x"}, {"y"},
      {NodeMessage("Mul", {"x", "x"}, {"t"}), NodeMessage("Add", {"t", "x"}, {"y"})}, kStandard);
  const Bytes model = Model({NodeMessage("Add", {"x", "x"}, {"t"}), Call("F", {"t"}, {"z"}),
                             NodeMessage("Add", {"t", "z"}, {"y"})},
                            {function});
  EXPECT_EQ(Results(model, {3}, 1), std::vector<float>{6 + (36 + 6)});
  const Bytes curious = FunctionMessage("local", "F", {"a"}, {"b"},
                                        {NodeMessage("Add", {"a", "x"}, {"b"})}, kStandard);
  EXPECT_EQ(LoadError(Model({Call("F", {"x"}, {"y"})}, {curious})),
            "INVALID_ARGUMENT: node 'y' (local.F): node 'b' (Add): nothing before it computes its "
            "input 'x'");
}

TEST(OnnxFunctions, AnOutputThatIsntComputedIsNamed) {
  const Bytes function =
      FunctionMessage("local", "F", {"a"}, {"b"}, {NodeMessage("Neg", {"a"}, {"c"})}, kStandard);
  EXPECT_EQ(LoadError(Model({Call("F", {"x"}, {"y"})}, {function})),
            "INVALID_ARGUMENT: node 'y' (local.F): the function doesn't compute its output 'b'");
}

TEST(OnnxFunctions, WhatIsntCalledIsntAsked) {
  const Bytes unknown = FunctionMessage("local", "Unused", {"a"}, {"b"},
                                        {NodeMessage("Frobnicate", {"a"}, {"b"})}, kStandard);
  EXPECT_EQ(Results(Model({NodeMessage("Neg", {"x"}, {"y"})}, {unknown}), {3}, 1),
            std::vector<float>{-3});
}

}  // namespace
}  // namespace lathe::onnx
