// Models that are refused as a whole: the error names all of what Lathe doesn't have.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

using testing::EndsWith;
using testing::StartsWith;

GraphWriter Negated() {
  GraphWriter g;
  g.Input("x", kFloat, {"n"});
  g.Node("Neg", {"x"}, {"y"});
  g.Output("y");
  return g;
}

GraphWriter Binarized() {
  GraphWriter g;
  g.Input("x", kFloat, {"n"});
  g.Node("Binarizer", {"x"}, {"y"}, {}, "ai.onnx.ml");
  g.Output("y");
  return g;
}

TEST(OnnxRefused, AllMissingOperatorsAreListedWithTheirNodes) {
  GraphWriter branch, g;
  branch.Node("Frobnicate", {"x"}, {"r"}, {}, "com.example");
  branch.Output("r");
  g.Input("x", kFloat, {"n"});
  g.Input("c", kBool, {});
  g.Node("Zap", {"x"}, {"p"}, {}, "", "first_zap");
  g.Node("Relu", {"p"}, {"q"});
  g.Node("Zap", {"q"}, {"r"});
  g.Node("If", {"c"}, {"s"}, {GraphAttr("then_branch", branch), GraphAttr("else_branch", branch)});
  g.Node("Outer", {"s"}, {"y"}, {}, "local");
  g.Output("y");
  const Bytes function = FunctionMessage("local", "Outer", {"a"}, {"b"},
                                         {NodeMessage("Inner", {"a"}, {"b"})}, {{"", 18}});
  EXPECT_EQ(LoadError(ModelMessage(g, {{"", 18}, {"com.example", 1}, {"local", 1}}, {function})),
            "UNIMPLEMENTED: the model uses operators that Lathe doesn't have: Inner (1, first node "
            "'b' (Inner)), Zap (2, first node 'first_zap' (Zap)), com.example.Frobnicate (2, first "
            "node 'r' (com.example.Frobnicate))");
}

TEST(OnnxRefused, OperatorVersionsThatAreNewerThanTheNewestKnown) {
  EXPECT_EQ(LoadError(ModelMessage(Negated(), {{"", 27}})), "no error");
  EXPECT_EQ(LoadError(ModelMessage(Negated(), {{"", 28}})),
            "UNIMPLEMENTED: the model is written for version 28 of the operators of ai.onnx; the "
            "newest that Lathe knows is 27: export it for that one, or convert it");
  EXPECT_EQ(LoadError(ModelMessage(Binarized(), {{"", 21}, {"ai.onnx.ml", 5}})), "no error");
  EXPECT_EQ(LoadError(ModelMessage(Binarized(), {{"ai.onnx", 21}, {"ai.onnx.ml", 6}})),
            "UNIMPLEMENTED: the model is written for version 6 of the operators of ai.onnx.ml; the "
            "newest that Lathe knows is 5: export it for that one, or convert it");
  const Bytes function =
      FunctionMessage("local", "F", {"a"}, {"b"}, {NodeMessage("Neg", {"a"}, {"b"})}, {{"", 1000}});
  EXPECT_EQ(LoadError(ModelMessage(Negated(), {{"", 21}}, {function})), "no error");
  GraphWriter calls;
  calls.Input("x", kFloat, {"n"});
  calls.Node("F", {"x"}, {"y"}, {}, "local");
  calls.Output("y");
  EXPECT_THAT(LoadError(ModelMessage(calls, {{"", 21}}, {function})),
              StartsWith("UNIMPLEMENTED: the function 'F' is written for version 1000"));
}

TEST(OnnxRefused, DomainsThatNoNodeUsesMayBeOfAnyVersion) {
  EXPECT_EQ(LoadError(ModelMessage(Negated(), {{"", 21}, {"ai.onnx.ml", 99}, {"org.other", 7}})),
            "no error");
}

TEST(OnnxRefused, TrainingIsNamed) {
  const Bytes model =
      MessageWriter(ModelMessage(Negated())).Add(proto::Model::training_info, Bytes());
  EXPECT_THAT(LoadError(model), StartsWith("UNIMPLEMENTED: "));
  EXPECT_THAT(LoadError(model), EndsWith("ModelProto.training_info[0]: training isn't supported; "
                                         "export the model for inference"));
}

}  // namespace
}  // namespace lathe::onnx
