// Reshape with open sizes: zeros that copy a dim of the input beside -1.
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

struct Call {
  std::vector<int64_t> from, to;
};

// One program for all calls; the elements stay as they are.
void CheckReshape(const std::vector<DeclaredDim>& from, const std::vector<int64_t>& target,
                  const std::vector<Call>& calls) {
  GraphWriter g;
  g.Input("x", kFloat, from);
  g.Initializer(TensorMessage<int64_t>("target", {static_cast<int64_t>(target.size())}, target));
  g.Node("Reshape", {"x", "target"}, {"y"});
  g.Output("y");
  SmallModel model(g, 14);
  for (const Call& call : calls) {
    Tensor x(f32, call.from);
    for (int64_t i = 0; i < x.num_elements(); ++i) x.data<float>()[i] = static_cast<float>(i);
    const std::vector<float> y = model.Floats({x}, call.to);
    EXPECT_EQ(y, std::vector<float>(x.data<float>(), x.data<float>() + x.num_elements()));
  }
}

TEST(Reshape, Z4_ZerosBesideMinusOneCopyTheDimAtTheirPlace) {
  CheckReshape({"a", "b", "c", "d"}, {-1, 0, 0},
               {{{2, 2, 3, 2}, {4, 2, 3}}, {{2, 1, 1, 5}, {10, 1, 1}}, {{2, 2, 3, 2}, {4, 2, 3}}});
  CheckReshape({"a", "b", "c", "d", 4}, {0, -1, 0, 0},
               {{{2, 2, 3, 2, 4}, {2, 8, 3, 2}}, {{1, 3, 1, 1, 4}, {1, 12, 1, 1}}});
}

TEST(Reshape, Z5_AZeroThatCopiesNothingCancels) {
  CheckReshape({"n", 4}, {0, -1}, {{{3, 4}, {3, 4}}, {{0, 4}, {0, 4}}, {{3, 4}, {3, 4}}});
}

// Elements of the target beside one that only data gives: what is known of them stays.
TEST(Reshape, ConstantsAndSizesBesideANumberFromData) {
  GraphWriter g;
  g.Input("x", kFloat, {"n", 6});
  g.Input("d", kFloat, {"m"});
  g.Initializer(TensorMessage<int64_t>("first", {1}, {0}));
  g.Initializer(TensorMessage<int64_t>("rest", {1}, {-1}));
  g.Node("ReduceMax", {"d"}, {"most"});
  g.Node("Cast", {"most"}, {"rows"}, {Attr("to", int64_t{kInt64})});
  g.Node("Shape", {"x"}, {"shape"});
  g.Node("Gather", {"shape", "first"}, {"n_of_x"});
  g.Node("Concat", {"n_of_x", "rows", "rest"}, {"target"}, {Attr("axis", 0)});
  g.Node("Reshape", {"x", "target"}, {"y"});
  g.Output("y");
  SmallModel model(g, 14);
  ASSERT_TRUE(model.ok());
  const auto call = [&](int64_t n, const std::vector<float>& d) {
    return std::vector<Tensor>{
        Tensor::FromVector<float>({n, 6}, SomeFloats(static_cast<size_t>(6 * n), 1)),
        Tensor::FromVector<float>({static_cast<int64_t>(d.size())}, d)};
  };
  EXPECT_EQ(model.Floats(call(2, {1, 3, 2}), {2, 3, 2}), SomeFloats(12, 1));
  EXPECT_EQ(model.Floats(call(1, {2}), {1, 2, 3}), SomeFloats(6, 1));
  EXPECT_EQ(model.Floats(call(2, {1, 3, 2}), {2, 3, 2}), SomeFloats(12, 1));
  EXPECT_FALSE(model.Call(call(1, {4})).ok());  // doesn't divide 6
}

}  // namespace
}  // namespace lathe::onnx
