// Small cases about sizes that broke other systems: zero-size dims, reductions of nothing, size 1;
// what is right stands in docs/semantics.md. Overflow: cases_overflow_test.cc. Values and views:
// cases_values_test.cc. Lifetimes: cases_lifetime_test.cc. Integer algebra (D) is in
// tests/dim/cases_test.cc; D3 is here as well, because code computes it. What is no op of its own:
// zeros that copy a dim (Z4), here as the reshape that they come to, and resize (Z9) are tested
// with the ONNX import in tests/onnx.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// --- Z: zero-size dims and reshape

TEST(Cases, Z1_ReshapeToLiteralZeros) {
  CheckCase({"n"}, R"(
x: f32[$n, 8, 2]
y = reshape(x, [4, 2, -1])
output z = reshape(y, [0, 0, 4])
)",
            {{{0}, {F32({0, 8, 2}, {})}, {F32({0, 0, 4}, {})}, ""},
             {{2}, {Counted({2, 8, 2})}, {}, "n"}});
}

TEST(Cases, Z2_MinusOneBesideALiteralZero) {
  for (const char* dim : {"0", "n"}) {
    const auto p = Program::parse(
        absl::StrCat("dim n\nx: f32[", dim, ", 4]\noutput y = reshape(x, [0, -1])\n"));
    ASSERT_FALSE(p.ok());
    EXPECT_NE(p.status().message().find("-1"), std::string::npos) << p.status();
  }
}

TEST(Cases, Z3_MinusOneInFront) {
  CheckCase({"n"}, R"(
x: f32[$n, 32, 5, 5]
output y = reshape(x, [-1, 2, 4, 4, 5, 5])
)",
            {{{1}, {Counted({1, 32, 5, 5})}, {Counted({1, 2, 4, 4, 5, 5})}, ""},
             {{0}, {Counted({0, 32, 5, 5})}, {Counted({0, 2, 4, 4, 5, 5})}, ""}});
}

TEST(Cases, Z4_MinusOneBesideCopiedDims) {
  CheckCase({"a", "b", "c", "d"}, R"(
x: f32[$a, $b, $c, $d]
output y = reshape(x, [-1, $b, $c])
)",
            {{{2, 2, 3, 2}, {Counted({2, 2, 3, 2})}, {Counted({4, 2, 3})}, ""},
             {{2, 1, 1, 5}, {Counted({2, 1, 1, 5})}, {Counted({10, 1, 1})}, ""}});
  CheckCase({"a", "b", "c", "d"}, R"(
x: f32[$a, $b, $c, $d, 4]
output y = reshape(x, [$a, -1, $c, $d])
)",
            {{{2, 2, 3, 2}, {Counted({2, 2, 3, 2, 4})}, {Counted({2, 8, 3, 2})}, ""},
             {{1, 3, 1, 1}, {Counted({1, 3, 1, 1, 4})}, {Counted({1, 12, 1, 1})}, ""}});
}

TEST(Cases, Z5_NothingReshapedToSomething) {
  CheckCase({"n"}, R"(
x: f32[$n]
output y = reshape(x, [2, 2])
)",
            {{{0}, {F32({0}, {})}, {}, "n"}, {{4}, {Counted({4})}, {Counted({2, 2})}, ""}});
  CheckCase({"n"}, R"(
x: f32[$n, 4]
output y = reshape(x, [$n, -1])
)",
            {{{3}, {Counted({3, 4})}, {Counted({3, 4})}, ""},
             {{1}, {Counted({1, 4})}, {Counted({1, 4})}, ""}});
  // With n = 0 as a constant it is Z2's error; as a symbol it cancels.
  Engine engine({.background_compiles = false});
  const Function f = CompileText(engine, "dim n\nx: f32[n, 4]\noutput y = reshape(x, [n, -1])\n");
  const auto out = f.call({F32({0, 4}, {})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].shape(), (std::vector<int64_t>{0, 4}));
}

TEST(Cases, Z6_MatmulBatchDimsOfZeroAndOne) {
  CheckCase({"a", "b"}, R"(
x: f32[$a, 2, 3]
y: f32[$b, 3, 2]
output z = x @ y
)",
            {{{0, 1}, {Counted({0, 2, 3}), Counted({1, 3, 2})}, {Counted({0, 2, 2})}, ""},
             {{1, 0}, {Counted({1, 2, 3}), Counted({0, 3, 2})}, {Counted({0, 2, 2})}, ""},
             {{0, 3}, {Counted({0, 2, 3}), Counted({3, 3, 2})}, {}, "a"},
             {{1, 2},
              {Counted({1, 2, 3}), Counted({2, 3, 2})},
              {F32({2, 2, 2}, {10, 13, 28, 40, 28, 31, 100, 112})},
              ""}});
}

TEST(Cases, Z7_ConcatOfNothingAndSomething) {
  CheckCase({"n", "m"}, R"(
x: f32[$n]
y: f32[$m]
output z = relu(concat(x, y, axis=0)) * 2
output w = concat(x[:$n // 2], y, x[$n // 2:], axis=0) + 1
)",
            {{{0, 2}, {F32({0}, {}), F32({2}, {-1, 3})}, {F32({2}, {0, 6}), F32({2}, {0, 4})}, ""},
             {{2, 0}, {F32({2}, {5, -1}), F32({0}, {})}, {F32({2}, {10, 0}), F32({2}, {6, 0})}, ""},
             {{0, 0}, {F32({0}, {}), F32({0}, {})}, {F32({0}, {}), F32({0}, {})}, ""},
             {{1, 1}, {F32({1}, {1}), F32({1}, {2})}, {F32({2}, {2, 4}), F32({2}, {3, 2})}, ""}});
}

TEST(Cases, Z8_DivisorsThatMayBeZero) {
  for (const char* size : {"n // m", "n % m", "ceildiv(n, m)"}) {
    Engine engine({.background_compiles = false});
    const absl::StatusOr<Function> f = engine.compile(Program::parse(
        absl::StrCat("dim n, m\nx: f32[n]\ny: f32[m]\noutput z = size(dim=", size, ") + 1\n")));
    ASSERT_TRUE(f.ok()) << f.status();
    ASSERT_TRUE(f->prepare().ok());
    const absl::Status s = f->call({Counted({7}), Counted({0})}).status();
    ASSERT_FALSE(s.ok()) << size;
    EXPECT_NE(s.message().find("m"), std::string::npos) << s;
    const auto out = f->call({Counted({7}), Counted({2})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<int64_t>()[0], (std::string(size) == "n // m"  ? 3
                                             : std::string(size) == "n % m" ? 1
                                                                            : 4) +
                                                1);
  }
  CheckCase({"n", "m"}, R"(
x: f32[$n]
y: f32[$m]
output z = sum(reshape(x, [$m, -1]), axes=[1]) + y
)",
            {{{6, 2}, {Counted({6}), Counted({2})}, {F32({2}, {3, 13})}, ""},
             {{6, 0}, {Counted({6}), Counted({0})}, {}, "m"},
             {{5, 2}, {Counted({5}), Counted({2})}, {}, "n"}});
}

TEST(Cases, Z8_DivisorsOfASideThatIsNotTaken) {
  Engine engine({.background_compiles = false});
  const Function f = CompileText(engine, R"(
dim n, m
x: f32[n]
w: f32[m]
y = if m > 0 { yield size(dim=n // m) } else { yield size(dim=n) }
output y
)");
  for (const auto& [m, wanted] : {std::pair<int64_t, int64_t>{2, 3}, {0, 7}, {8, 0}}) {
    const auto out = f.call({Counted({7}), Counted({m})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<int64_t>()[0], wanted);
  }
}

// (length - 5) // 2 + 1 positions: 0 for 3 and 4, below 0 for less, which is never clamped away.
TEST(Cases, Z9_WindowsWithoutPositions) {
  CheckCase(
      {"length"}, R"(
x: f32[2, $length]
v = windows(x, sizes=[5], steps=[2], dilations=[1], low=[0], high=[0], value=0)
output all = v + 1
output sums = sum(v, axes=[2])
output most = max(v, axes=[2])
output product = v @ constant(f32[5, 1]{1, 0, 2, 0, 0})
output total = sum(v, axes=[0, 1, 2])
)",
      {{{5},
        {Counted({2, 5})},
        {F32({2, 1, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), F32({2, 1}, {10, 35}),
         F32({2, 1}, {4, 9}), F32({2, 1, 1}, {4, 19}), F32({}, {45})},
        ""},
       {{4},
        {Counted({2, 4})},
        {F32({2, 0, 5}, {}), F32({2, 0}, {}), F32({2, 0}, {}), F32({2, 0, 1}, {}), F32({}, {0})},
        ""},
       {{3},
        {Counted({2, 3})},
        {F32({2, 0, 5}, {}), F32({2, 0}, {}), F32({2, 0}, {}), F32({2, 0, 1}, {}), F32({}, {0})},
        ""},
       {{2}, {Counted({2, 2})}, {}, "length"},
       {{0}, {Counted({2, 0})}, {}, "length"}});
}

TEST(Cases, Z9_WindowsOfAnOpenSize) {
  CheckCase({"length", "taps"}, R"(
x: f32[$length]
w: f32[$taps]
v = windows(x, sizes=[$taps], steps=[1], dilations=[2], low=[1], high=[0], value=0)
output y = sum(v * w, axes=[1])
)",
            {{{4, 2}, {Counted({4}, 1), Counted({2}, 1)}, {F32({3}, {4, 7, 10})}, ""},
             {{2, 2}, {Counted({2}, 1), Counted({2}, 1)}, {F32({1}, {4})}, ""},
             {{1, 2}, {Counted({1}, 1), Counted({2}, 1)}, {F32({0}, {})}, ""},
             {{3, 3}, {Counted({3}, 1), Counted({3}, 1)}, {F32({0}, {})}, ""},
             {{0, 2}, {Counted({0}), Counted({2})}, {}, "length"},
             {{3, 5}, {Counted({3}), Counted({5})}, {}, "length"},
             {{3, 0}, {Counted({3}), Counted({0})}, {}, "taps"}});
}

// One axis with positions and one without; padding alone makes none of nothing.
TEST(Cases, Z9_WindowsOverTwoAxes) {
  CheckCase({"height", "width"}, R"(
x: f32[$height, $width]
v = windows(x, sizes=[3, 2], steps=[1, 1], dilations=[1, 1], low=[1, 0], high=[1, 0], value=0)
output y = sum(v, axes=[2, 3])
)",
            {{{1, 3}, {Counted({1, 3})}, {F32({1, 2}, {1, 3})}, ""},
             {{0, 3}, {Counted({0, 3})}, {F32({0, 2}, {})}, ""},
             {{2, 1}, {Counted({2, 1})}, {F32({2, 0}, {})}, ""},
             {{0, 1}, {Counted({0, 1})}, {F32({0, 0}, {})}, ""},
             {{2, 0}, {Counted({2, 0})}, {}, "width"}});
}

TEST(Cases, Z10_TheTablesUnionIsTheDeclaredDomain) {
  Engine engine({.threads = 1});
  Trace t("product");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n, 16});
  Tensor w(f32, {16, 160});  // wide enough for few rows to have code of their own
  for (int64_t i = 0; i < w.num_elements(); ++i) w.data<float>()[i] = static_cast<float>(i % 3);
  const absl::StatusOr<Program> p = t.finish({matmul(x, t.constant(w))}, {"y"});
  ASSERT_TRUE(p.ok()) << p.status();
  const absl::StatusOr<Function> f = CompileGraph(engine, p->graph());
  ASSERT_TRUE(f.ok()) << f.status();
  f->wait_for_versions();
  EXPECT_GE(f->versions().size(), 2u);
  for (int64_t rows : {0, 1, 2, 3, 4, 5, 1024, 1025, 0}) {
    const absl::Status s = CheckCall(*f, p->graph(), {{Counted({rows, 16})}}, true, false);
    EXPECT_TRUE(s.ok()) << rows << ": " << s;
  }
}

// --- R: empty and odd reductions

TEST(Cases, R1_ExtremaWithAnEmptyResult) {
  CheckCase({"n", "m"}, R"(
x: f32[$n, $m]
output y = max(x, axes=[1])
)",
            {{{0, 2}, {F32({0, 2}, {})}, {F32({0}, {})}, ""},
             {{0, 0}, {F32({0, 0}, {})}, {F32({0}, {})}, ""},
             {{2, 2}, {Counted({2, 2})}, {F32({2}, {1, 3})}, ""}});
  CheckCase({"n", "m"}, R"(
x: f32[$n, $m, 2]
output y = max(x, axes=[2])
output z = max(x, axes=[1, 2])
)",
            {{{0, 3}, {F32({0, 3, 2}, {})}, {F32({0, 3}, {}), F32({0}, {})}, ""},
             {{1, 2}, {Counted({1, 2, 2})}, {F32({1, 2}, {1, 3}), F32({1}, {3})}, ""}});
  CheckCase({"n"}, R"(
x: f32[3, $n, 2]
output y = min(x, axes=[2])
)",
            {{{0}, {F32({3, 0, 2}, {})}, {F32({3, 0}, {})}, ""},
             {{1}, {Counted({3, 1, 2})}, {F32({3, 1}, {0, 2, 4})}, ""}});
}

TEST(Cases, R2_ReductionsOfNothing) {
  CheckCase({"n"}, R"(
x: f32[2, $n]
output s = sum(x, axes=[1])
output p = prod(x, axes=[1])
output m = mean(x, axes=[1])
output c = sum(x, axes=[0, 1])
)",
            {{{0},
              {F32({2, 0}, {})},
              {F32({2}, {0, 0}), F32({2}, {1, 1}), F32({2}, {kNaN, kNaN}), F32({}, {0})},
              ""},
             {{1},
              {F32({2, 1}, {3, 4})},
              {F32({2}, {3, 4}), F32({2}, {3, 4}), F32({2}, {3, 4}), F32({}, {7})},
              ""}});
  for (const char* op : {"max", "min"}) {
    CheckCase(
        {"n"}, absl::StrCat("x: f32[2, $n]\noutput y = ", op, "(x, axes=[1])\n"),
        {{{0}, {F32({2, 0}, {})}, {}, "n"}, {{1}, {F32({2, 1}, {3, 4})}, {F32({2}, {3, 4})}, ""}});
  }
  CheckCase({"n"}, "x: f32[2, $n]\noutput y = argmax(x, axis=1)\n",
            {{{0}, {F32({2, 0}, {})}, {}, "n"},
             {{2}, {F32({2, 2}, {3, 4, 6, 5})}, {I64({2}, {1, 0})}, ""}});
}

TEST(Cases, R2_AnyAndAllOfNothing) {
  CheckCase(
      {"n", "m"}, R"(
x: bool[$n, $m]
output some = any(x, axes=[1])
output every = all(x, axes=[1])
output one = any(x, axes=[0, 1])
output both = all(x, axes=[0, 1])
)",
      {{{2, 0},
        {Bool({2, 0}, {})},
        {Bool({2}, {false, false}), Bool({2}, {true, true}), Bool({}, {false}), Bool({}, {true})},
        ""},
       {{0, 3},
        {Bool({0, 3}, {})},
        {Bool({0}, {}), Bool({0}, {}), Bool({}, {false}), Bool({}, {true})},
        ""},
       {{2, 1},
        {Bool({2, 1}, {false, true})},
        {Bool({2}, {false, true}), Bool({2}, {false, true}), Bool({}, {true}), Bool({}, {false})},
        ""}});
}

TEST(Cases, R3_RowsOfOddLengths) {
  std::vector<CaseCall> calls;
  for (int64_t n : {1, 7, 31, 33, 255, 257}) {
    Tensor x(f32, {2, n});
    std::vector<float> sums(2), most(2, -kInf), products(2, 1);
    for (int64_t i = 0; i < 2 * n; ++i) {
      const float v = static_cast<float>(i % 5 == 0 ? -(i % 3) - 1 : -1);
      x.data<float>()[i] = v;
      const size_t row = static_cast<size_t>(i / n);
      sums[row] += v;
      most[row] = std::max(most[row], v);
      if (i % n < 20) products[row] *= v;
    }
    const float whole = sums[0] + sums[1];
    calls.push_back(
        {{n}, {x}, {F32({2}, sums), F32({2}, most), F32({2}, products), F32({}, {whole})}, ""});
  }
  CheckCase({"n"}, R"(
x: f32[2, $n]
output s = sum(x, axes=[1])
output m = max(x, axes=[1])
output p = prod(x[:, :20], axes=[1])
output all = sum(x, axes=[0, 1])
)",
            calls);
}

TEST(Cases, R3_AnyAndAllOfOddLengths) {
  std::vector<CaseCall> calls;
  for (int64_t n : {1, 7, 31, 33, 255, 257}) {
    Tensor x(bool_, {4, n});  // none, every one, the last, every one but the last
    for (int64_t i = 0; i < n; ++i) {
      x.data<bool>()[n + i] = true;
      x.data<bool>()[2 * n + i] = i == n - 1;
      x.data<bool>()[3 * n + i] = i != n - 1;
    }
    const bool more = n > 1;
    calls.push_back({{n},
                     {x},
                     {Bool({4}, {false, true, true, more}), Bool({4}, {false, true, !more, false})},
                     ""});
  }
  CheckCase({"n"}, R"(
x: bool[4, $n]
output some = any(x, axes=[1])
output every = all(x, axes=[1])
)",
            calls);
}

// Written out: there is no such op.
TEST(Cases, R3_LogSumExpOfOddLengths) {
  Engine engine({.threads = 1, .background_compiles = false});
  const std::string text = R"(
dim n
x: f32[2, n]
m = max(x, axes=[1], keep_dims=true)
output y = log(sum(exp(x - m), axes=[1], keep_dims=true)) + m
)";
  const Function f = CompileText(engine, text);
  const absl::StatusOr<ir::Graph> graph = ir::Parse(text);
  for (int64_t n : {1, 7, 31, 33, 255, 257, 1}) {
    Tensor x = Counted({2, n}, -40);
    const absl::Status s = CheckCall(f, *graph, {{x}}, false, true);
    EXPECT_TRUE(s.ok()) << n << ": " << s;
  }
}

// --- S: size 1, broadcasting, silent specialisation

TEST(Cases, S1_ExpressionsThatAreOne) {
  CheckCase({"n"}, R"(
x: f32[$n]
y: f32[8]
output z = reshape(x, [-1, 4]) * reshape(y, [-1, 4])
)",
            {{{4},
              {F32({4}, {1, 2, 3, 4}), Counted({8})},
              {F32({2, 4}, {0, 2, 6, 12, 4, 10, 18, 28})},
              ""},
             {{8}, {Counted({8}), Counted({8})}, {F32({2, 4}, {0, 1, 4, 9, 16, 25, 36, 49})}, ""},
             {{12}, {Counted({12}), Counted({8})}, {}, "n"}});
}

TEST(Cases, S2_OneCompileForSizesOneTwoThree) {
  std::vector<CaseCall> calls;
  for (int64_t n : {1, 2, 3, 1, 0}) {
    Tensor y = Counted({n, 3}, 1);
    for (int64_t i = 0; i < y.num_elements(); ++i) y.data<float>()[i] *= 2;
    calls.push_back({{n}, {Counted({n, 3})}, {y}, ""});
  }
  CheckCase({"n"}, "x: f32[$n, 3]\noutput y = (x + 1) * 2\n", calls);
}

TEST(Cases, S3_ChunksOfEveryLength) {
  Trace t("chunks");
  const Dim n = t.dim("n", "% 4 == 0");
  const std::vector<Value> parts = split(t.input("x", f32, {n}), 4, 0);
  absl::StatusOr<Program> p = t.finish({parts[3] - parts[0], parts[1] + parts[2]}, {"a", "b"});
  ASSERT_TRUE(p.ok()) << p.status();
  Engine engine({.background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, p->graph());
  ASSERT_TRUE(f.ok()) << f.status();
  const int64_t compiles = engine.counters().compiles;
  for (int64_t n_now : {8, 12, 16, 0, 4, 8}) {
    const absl::Status s = CheckCall(*f, p->graph(), {{Counted({n_now})}}, true, true);
    EXPECT_TRUE(s.ok()) << n_now << ": " << s;
  }
  EXPECT_EQ(engine.counters().compiles, compiles);
  EXPECT_EQ(f->versions().size(), 1u);
}

TEST(Cases, S4_ASizeUsedAsData) {
  std::vector<CaseCall> calls;
  for (int64_t n : {3, 1, 0, 7})
    calls.push_back({{n}, {Counted({n})}, {Counted({n}, static_cast<float>(n))}, ""});
  CheckCase({"n"}, R"(
x: f32[$n]
output y = broadcast(cast(size(dim=$n), f32), shape=[1], axes=[]) + x
)",
            calls);
}

TEST(Cases, S5_ADimThatNoTensorUses) {
  Engine engine({.background_compiles = false});
  const Function f = CompileText(engine, "dim b <= 0\ndim n\nx: f32[n]\noutput y = x + 1\n");
  const auto out = f.call({Counted({3})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(ir::SameBits((*out)[0], Counted({3}, 1)).ok());
  const Function g = CompileText(
      engine, "dim b <= 0\ndim n\nx: f32[n]\noutput y = x + cast(size(dim=b + n), f32)\n");
  const auto sum = g.call({Counted({3})});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_TRUE(ir::SameBits((*sum)[0], Counted({3}, 3)).ok());
}

TEST(Cases, S6_EqualDimsBehindFactors) {
  CheckCase({"a", "b"}, R"(
assume a == b
x: f32[2*$a]
y: f32[2*$b]
output z = x + y
)",
            {{{2, 2}, {Counted({4}), Counted({4})}, {F32({4}, {0, 2, 4, 6})}, ""},
             {{0, 0}, {Counted({0}), Counted({0})}, {Counted({0})}, ""}});
  Engine engine({.background_compiles = false});
  const Function f =
      CompileText(engine, "dim a, b\nassume a == b\nx: f32[2*a]\ny: f32[2*b]\noutput z = x + y\n");
  EXPECT_FALSE(f.call({Counted({4}), Counted({2})}).ok());
  EXPECT_FALSE(f.call({Counted({3}), Counted({3})}).ok());
}

TEST(Cases, S7_ABranchOnSizeOne) {
  std::vector<CaseCall> calls;
  for (int64_t n : {1, 2, 0})
    calls.push_back({{n}, {Counted({n, 2})}, {Counted({n, 2}, n == 1 ? 10 : 20)}, ""});
  CheckCase({"n"}, R"(
x: f32[$n, 2]
y = if $n == 1 { yield x + 10 } else { yield x + 20 }
output y
)",
            calls);
}

TEST(Cases, D3_FloorsOfNegativeSizesInCode) {
  std::vector<CaseCall> calls;
  for (const auto& [n, div, mod] :
       std::vector<std::array<int64_t, 3>>{{9, -5, 4}, {27, -1, 2}, {30, 0, 0}, {36, 1, 1}}) {
    calls.push_back({{n}, {Counted({n})}, {I64({}, {div}), I64({}, {mod})}, ""});
  }
  CheckCase({"n"}, R"(
x: f32[$n]
output q = size(dim=($n - 30) // 5) + 0
output r = size(dim=($n - 30) % 5) + 0
)",
            calls);
}

}  // namespace
}  // namespace lathe::whole
