// Reductions: extrema of nothing, and f16 whose squares or sums are outside of what f16 holds.
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

// ReduceMax and ReduceMin of [n, 3] over axis 0, the size declared and open.
template <typename T>
void CheckNothing(T least, T greatest) {
  for (const bool max : {true, false}) {
    for (const bool open : {true, false}) {
      SCOPED_TRACE(absl::StrCat(Name(DTypeOf<T>()), max ? " max" : " min", open ? " open" : ""));
      GraphWriter g;
      g.Input("x", ElementTypeOf<T>(), {open ? DeclaredDim("n") : DeclaredDim(0), 3});
      g.Initializer(TensorMessage<int64_t>("axes", {1}, {0}));
      g.Node(max ? "ReduceMax" : "ReduceMin", {"x", "axes"}, {"y"}, {Attr("keepdims", 0)});
      g.Output("y");
      SmallModel model(g, 20);
      for (const int rows : {0, 2, 0}) {
        if (rows != 0 && !open) continue;
        Tensor x(DTypeOf<T>(), {rows, 3});
        for (int i = 0; i < 3 * rows; ++i) x.data<T>()[i] = static_cast<T>(i % 2);
        const T nothing = max ? least : greatest, some = max ? T(1) : T(0);
        EXPECT_EQ(Elements<T>(model, {x}), std::vector<T>(3, rows == 0 ? nothing : some));
      }
    }
  }
}

template <typename T>
void CheckInteger() {
  CheckNothing<T>(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

TEST(Extremum, OfNothingIsTheTypesOwn) {
  CheckInteger<int8_t>();
  CheckInteger<int32_t>();
  CheckInteger<int64_t>();
  CheckInteger<uint8_t>();
  CheckInteger<uint64_t>();
  const float infinity = std::numeric_limits<float>::infinity();
  CheckNothing<float>(-infinity, infinity);
}

TEST(Extremum, OfBools) {
  for (const bool max : {true, false}) {
    GraphWriter g;
    g.Input("x", kBool, {"n", 2});
    g.Initializer(TensorMessage<int64_t>("axes", {1}, {0}));
    g.Node(max ? "ReduceMax" : "ReduceMin", {"x", "axes"}, {"y"}, {Attr("keepdims", 0)});
    g.Output("y");
    SmallModel model(g, 20);
    Tensor two(bool_, {2, 2});
    two.data<bool>()[0] = two.data<bool>()[2] = two.data<bool>()[3] = true;  // [1 0] [1 1]
    EXPECT_EQ(Elements<bool>(model, {two}), (std::vector<bool>{true, max}));
    EXPECT_EQ(Elements<bool>(model, {Tensor(bool_, {0, 2})}), (std::vector<bool>{!max, !max}));
  }
}

TEST(Reductions, OfAScalarIsTheScalar) {
  for (const char* op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2", "ReduceLogSumExp"}) {
    for (const int64_t axis : {-1, 0}) {
      GraphWriter g;
      g.Input("x", kInt32, {});
      g.Initializer(TensorMessage<int64_t>("axes", {1}, {axis}));
      g.Node(op, {"x", "axes"}, {"y"});
      g.Output("y");
      SmallModel model(g, 18);
      EXPECT_EQ(Elements<int32_t>(model, {Tensor::Scalar<int32_t>(7)}), std::vector<int32_t>{7})
          << op;
    }
  }
}

float HalfReduction(const std::string& op, const Tensor& x) {
  GraphWriter g;
  g.Input("x", kFloat16, {"n"});
  g.Node(op, {"x"}, {"y"}, {Attr("keepdims", 0)});
  g.Output("y");
  SmallModel model(g, 18);
  const std::vector<float> y = HalfResults(model, {x});
  return y.size() == 1 ? y[0] : std::nanf("");
}

TEST(HalfReductions, SquaresAndSumsMayBeBeyondF16) {
  EXPECT_EQ(HalfReduction("ReduceL2", Halves({2}, {300, 400})), 500);
  EXPECT_NEAR(HalfReduction("ReduceLogSum", Halves({2}, {60000, 60000})), std::log(120000.0), 0.01);
  constexpr int64_t kMany = 1000;
  EXPECT_NEAR(HalfReduction("ReduceSumSquare", Halves({kMany}, std::vector<float>(kMany, 1e-4F))),
              1e-5, 1e-7);
  constexpr int64_t kLong = 100000;
  EXPECT_NEAR(HalfReduction("ReduceLogSumExp", Tensor(f16, {kLong})),
              std::log(static_cast<double>(kLong)), 0.01);
}

}  // namespace
}  // namespace lathe::onnx
