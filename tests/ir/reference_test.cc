// The reference evaluators, op by op: what docs/semantics.md says of special values, limits and
// empty axes. Names of cases (R1, P4, ...) are those of the list of small cases that broke other
// systems.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/compare.h"
#include "tests/ir/interpret_util.h"

namespace lathe::ir {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int32_t kMin32 = std::numeric_limits<int32_t>::min();
constexpr int32_t kMax32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

Tensor B(std::vector<bool> v) {
  return Tensor::FromVector<bool>({static_cast<int64_t>(v.size())}, v);
}
Tensor Ones(std::vector<int64_t> shape) {
  Tensor t(f32, std::move(shape));
  std::fill_n(t.data<float>(), t.num_elements(), 1.0f);
  return t;
}

void ExpectBits(const absl::StatusOr<Tensor>& found, const Tensor& wanted) {
  ASSERT_TRUE(found.ok()) << found.status();
  const absl::Status same = SameBits(*found, wanted);
  EXPECT_TRUE(same.ok()) << same;
}

// -- floats

TEST(Reference, P1MaximumAndMinimumPropagateNanAndOrderZeros) {
  const Tensor a = F({kNan, 1, -0.0f, 0, kInf}), b = F({1, kNan, 0, -0.0f, 2});
  ExpectBits(RunOp(Op::k_maximum, {a, b}), F({kNan, kNan, 0, 0, kInf}));
  ExpectBits(RunOp(Op::k_minimum, {a, b}), F({kNan, kNan, -0.0f, -0.0f, 2}));
  ExpectBits(RunOp(Op::k_relu, {F({kNan, -0.0f, -3, 3})}), F({kNan, 0, 0, 3}));
  ExpectBits(RunOp(Op::k_max, {F({1, kNan, 3})}, {.axes = {0}}), Tensor::Scalar(kNan));
  ExpectBits(RunOp(Op::k_max, {F({-0.0f, 0})}, {.axes = {0}}), Tensor::Scalar(0.0f));
  ExpectBits(RunOp(Op::k_min, {F({0, -0.0f})}, {.axes = {0}}), Tensor::Scalar(-0.0f));
}

TEST(Reference, P2SqrtOfNegativeZero) {
  ExpectBits(RunOp(Op::k_sqrt, {F({-0.0f, 4, -1})}), F({-0.0f, 2, kNan}));
  ExpectBits(RunOp(Op::k_rsqrt, {F({4, 0, -0.0f, kInf})}), F({0.5f, kInf, -kInf, 0}));
}

TEST(Reference, P3DenormalsAreKept) {
  ExpectBits(RunOp(Op::k_mul, {F({0.1875f}), F({0x1p-124f})}), F({0x1.8p-127f}));
  EXPECT_EQ(0x1.8p-127f, 8.8162076e-39f);
}

TEST(Reference, P4ArgmaxGivesTheFirstNan) {
  ExpectBits(RunOp(Op::k_argmax, {F({kInf, kNan})}, {.axis = 0}), Tensor::Scalar<int64_t>(1));
  ExpectBits(RunOp(Op::k_argmax, {F({kNan, kInf})}, {.axis = 0}), Tensor::Scalar<int64_t>(0));
  ExpectBits(RunOp(Op::k_argmax, {F({kNan, 6, 8})}, {.axis = 0}), Tensor::Scalar<int64_t>(0));
  ExpectBits(RunOp(Op::k_argmax, {F({1, 8, 8, 6})}, {.axis = 0}), Tensor::Scalar<int64_t>(1));
  ExpectBits(RunOp(Op::k_argmax, {F({5, kNan, 9, kNan})}, {.axis = 0}), Tensor::Scalar<int64_t>(1));
}

TEST(Reference, ArgminAndTheLastOfEquals) {
  const Tensor x = F({2, 1, 1, 2}), y = F({5, kNan, 9, kNan, 1});
  const auto at = [](int64_t i) { return Tensor::Scalar<int64_t>(i); };
  ExpectBits(RunOp(Op::k_argmin, {x}, {.axis = 0}), at(1));
  ExpectBits(RunOp(Op::k_argmin, {x}, {.axis = 0, .last = true}), at(2));
  ExpectBits(RunOp(Op::k_argmax, {x}, {.axis = 0, .last = true}), at(3));
  ExpectBits(RunOp(Op::k_argmin, {y}, {.axis = 0}), at(1));
  ExpectBits(RunOp(Op::k_argmin, {y}, {.axis = 0, .last = true}), at(3));
  ExpectBits(RunOp(Op::k_argmax, {y}, {.axis = 0, .last = true}), at(3));
  ExpectBits(RunOp(Op::k_argmin, {F({0, -0.0f})}, {.axis = 0}), at(0));
}

TEST(Reference, AllAndAnyOfNothingAreTrueAndFalse) {
  const Tensor none(bool_, {2, 0});
  ExpectBits(RunOp(Op::k_all, {none}, {.axes = {1}}), B({true, true}));
  ExpectBits(RunOp(Op::k_any, {none}, {.axes = {1}}), B({false, false}));
  const Tensor p = Tensor::FromVector<bool>({2, 2}, {true, false, true, true});
  ExpectBits(RunOp(Op::k_all, {p}, {.axes = {1}}), B({false, true}));
  ExpectBits(RunOp(Op::k_any, {p}, {.axes = {0}}), B({true, true}));
}

TEST(Reference, P5RowsWithNothingToSee) {
  ExpectBits(RunOp(Op::k_softmax, {F({-kInf, -kInf})}, {.axis = 0}), F({kNan, kNan}));
  const Tensor q = Ones({1, 2}), k = Ones({3, 2}), v = Ones({3, 1});
  const Tensor hidden(bool_, {1, 3});
  ExpectBits(RunOp(Op::k_attention, {q, k, v, hidden}), Tensor(f32, {1, 1}));
  ExpectBits(RunOp(Op::k_attention, {q, k, v, hidden}, {.empty_row_nan = true}),
             Tensor::FromVector<float>({1, 1}, {kNan}));
  const Tensor minus = Tensor::FromVector<float>({1, 3}, {-kInf, -kInf, -kInf});
  ExpectBits(RunOp(Op::k_attention, {q, k, v, minus}), Tensor(f32, {1, 1}));
}

TEST(Reference, FunctionsAreRoundedOnceFromFloat64) {
  const std::vector<float> xs = {-3.7f, -0.3f, 1e-20f, 0.5f, 2.25f, 9.0f};
  const Tensor x = F(xs);
  const struct {
    Op op;
    double (*fn)(double);
  } rows[] = {{Op::k_exp, [](double v) { return std::exp(v); }},
              {Op::k_tanh, [](double v) { return std::tanh(v); }},
              {Op::k_erf, [](double v) { return std::erf(v); }},
              {Op::k_sin, [](double v) { return std::sin(v); }},
              {Op::k_cos, [](double v) { return std::cos(v); }},
              {Op::k_floor, [](double v) { return std::floor(v); }},
              {Op::k_ceil, [](double v) { return std::ceil(v); }},
              {Op::k_round, [](double v) { return std::nearbyint(v); }},
              {Op::k_trunc, [](double v) { return std::trunc(v); }},
              {Op::k_exp2, [](double v) { return std::exp2(v); }},
              {Op::k_expm1, [](double v) { return std::expm1(v); }},
              {Op::k_log2, [](double v) { return std::log2(v); }},
              {Op::k_log1p, [](double v) { return std::log1p(v); }},
              {Op::k_tan, [](double v) { return std::tan(v); }},
              {Op::k_asin, [](double v) { return std::asin(v); }},
              {Op::k_acos, [](double v) { return std::acos(v); }},
              {Op::k_atan, [](double v) { return std::atan(v); }},
              {Op::k_sinh, [](double v) { return std::sinh(v); }},
              {Op::k_cosh, [](double v) { return std::cosh(v); }},
              {Op::k_asinh, [](double v) { return std::asinh(v); }},
              {Op::k_acosh, [](double v) { return std::acosh(v); }},
              {Op::k_atanh, [](double v) { return std::atanh(v); }},
              {Op::k_abs, [](double v) { return std::fabs(v); }},
              {Op::k_neg, [](double v) { return -v; }},
              {Op::k_sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }},
              {Op::k_silu, [](double v) { return v / (1 + std::exp(-v)); }},
              {Op::k_gelu, [](double v) { return 0.5 * v * std::erfc(-v / std::sqrt(2.0)); }}};
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(Name(row.op)));
    std::vector<float> wanted;
    for (float v : xs) wanted.push_back(static_cast<float>(row.fn(v)));
    ExpectBits(RunOp(row.op, {x}), F(wanted));
  }
}

TEST(Reference, RoundingKeepsTheSignOfZeroAndSignDoesNot) {
  const Tensor x = F({-2.5f, -0.5f, -0.0f, 0.5f, 1.5f, 2.5f, kInf, kNan});
  ExpectBits(RunOp(Op::k_ceil, {x}), F({-2, -0.0f, -0.0f, 1, 2, 3, kInf, kNan}));
  ExpectBits(RunOp(Op::k_round, {x}), F({-2, -0.0f, -0.0f, 0, 2, 2, kInf, kNan}));
  ExpectBits(RunOp(Op::k_trunc, {x}), F({-2, -0.0f, -0.0f, 0, 1, 2, kInf, kNan}));
  ExpectBits(RunOp(Op::k_sign, {x}), F({-1, -1, 0, 1, 1, 1, 1, kNan}));
  EXPECT_EQ(RunText(Op::k_sign, {I({kMin32, -3, 0, 7})}), "i32[4]{-1, -1, 0, 1}");
  ExpectBits(RunOp(Op::k_is_nan, {x}), B({false, false, false, false, false, false, false, true}));
  ExpectBits(RunOp(Op::k_is_inf, {F({kInf, -kInf, kNan, 3})}), B({true, true, false, false}));
}

TEST(Reference, PowHasTheSpecialValuesOfC) {
  ExpectBits(RunOp(Op::k_pow, {F({-0.0f, -0.0f, -0.0f, 0, kNan, 1, -1, -1, -8, -2, -kInf, -kInf}),
                               F({0.5f, 3, -3, -2, 0, kNan, kInf, 3, 1.0f / 3, 5, 3, -2})}),
             F({0, -0.0f, -kInf, kInf, 1, 1, 1, -1, kNan, -32, -kInf, 0}));
}

TEST(Reference, Atan2KnowsTheQuadrantByTheSigns) {
  constexpr float kPi = 3.14159274f;
  ExpectBits(RunOp(Op::k_atan2, {F({0, -0.0f, 0, -0.0f, 1, -1, kInf, kNan}),
                                 F({0, 0, -0.0f, -0.0f, 0, -0.0f, -kInf, 1})}),
             F({0, -0.0f, kPi, -kPi, kPi / 2, -kPi / 2, 2.3561945f, kNan}));
}

TEST(Reference, RemaindersOfFloatsHaveTheirSigns) {
  const Tensor a = F({5.5f, -5.5f, 5.5f, -5.5f, 6, 6, 1, kInf, -1});
  const Tensor b = F({2, 2, -2, -2, 3, -3, kInf, 2, kInf});
  ExpectBits(RunOp(Op::k_rem, {a, b}), F({1.5f, -1.5f, 1.5f, -1.5f, 0, 0, 1, kNan, -1}));
  ExpectBits(RunOp(Op::k_mod, {a, b}), F({1.5f, 0.5f, -0.5f, -1.5f, 0, -0.0f, 1, kNan, kInf}));
  ExpectBits(RunOp(Op::k_floordiv, {a, b}), F({2, -3, -3, 2, 2, -2, 0, kInf, -0.0f}));
}

TEST(Reference, GeluAndSiluDoNotCancelInTheTail) {
  absl::StatusOr<Tensor> y = RunOp(Op::k_gelu, {F({-10})});
  ASSERT_TRUE(y.ok());
  EXPECT_NEAR(y->data<float>()[0] / -7.6198530241605260e-23, 1, 1e-6);
  ExpectBits(RunOp(Op::k_silu, {F({-200})}), F({-0.0f}));
}

// -- integers

TEST(Reference, IntegersWrap) {
  EXPECT_EQ(RunText(Op::k_add, {I({kMax32}), I({1})}), "i32[1]{-2147483648}");
  EXPECT_EQ(RunText(Op::k_sub, {L({kMin64}), L({1})}), "i64[1]{9223372036854775807}");
  EXPECT_EQ(RunText(Op::k_mul, {I({65536, kMin32}), I({65536, -1})}), "i32[2]{0, -2147483648}");
  EXPECT_EQ(RunText(Op::k_neg, {I({kMin32, 3})}), "i32[2]{-2147483648, -3}");
  EXPECT_EQ(RunText(Op::k_abs, {I({kMin32, -3})}), "i32[2]{-2147483648, 3}");
  EXPECT_EQ(RunText(Op::k_sum, {I({kMax32, 1})}, {.axes = {0}}), "i32[]{-2147483648}");
  EXPECT_EQ(RunText(Op::k_prod, {I({kMax32, 2})}, {.axes = {0}}), "i32[]{-2}");
}

TEST(Reference, PowersOfIntegersWrapAndInvertToZero) {
  EXPECT_EQ(RunText(Op::k_pow, {I({2, 2, -3, 0, 7, 2, 0, 1, -1, -1}),
                                I({10, 31, 3, 0, 0, -1, -1, -5, -5, -4})}),
            "i32[10]{1024, -2147483648, -27, 1, 1, 0, 0, 1, -1, 1}");
  EXPECT_EQ(RunText(Op::k_pow, {L({3}), L({41})}), "i64[1]{-420491770248316829}");
}

TEST(Reference, BitsOfIntegers) {
  const Tensor a = I({6, -1, kMin32}), b = I({3, 12, 1});
  EXPECT_EQ(RunText(Op::k_bit_and, {a, b}), "i32[3]{2, 12, 0}");
  EXPECT_EQ(RunText(Op::k_bit_or, {a, b}), "i32[3]{7, -1, -2147483647}");
  EXPECT_EQ(RunText(Op::k_bit_xor, {a, b}), "i32[3]{5, -13, -2147483647}");
  EXPECT_EQ(RunText(Op::k_bit_not, {a}), "i32[3]{-7, 0, 2147483647}");
}

TEST(Reference, ShiftsBeyondTheWidthGiveZeroOrTheSign) {
  const Tensor x = I({1, -5, kMax32, -5, 5, -8}), by = I({31, 1, 1, 32, -1, 2});
  EXPECT_EQ(RunText(Op::k_shift_left, {x, by}), "i32[6]{-2147483648, -10, -2, 0, 0, -32}");
  EXPECT_EQ(RunText(Op::k_shift_right, {x, by}), "i32[6]{0, -3, 1073741823, -1, 0, -2}");
  EXPECT_EQ(RunText(Op::k_shift_right, {L({kMin64, kMin64}), L({63, 64})}), "i64[2]{-1, -1}");
}

TEST(Reference, D7MaximumIsNotMonotoneOverWrappingAdds) {
  const Tensor c = I({kMax32 - 1}), d = I({5});
  absl::StatusOr<Tensor> top = RunOp(Op::k_maximum, {c, d});
  absl::StatusOr<Tensor> sum = RunOp(Op::k_add, {*top, I({87})});
  EXPECT_EQ(RunText(Op::k_maximum, {d, *sum}), "i32[1]{5}");
}

TEST(Reference, DivisionOfIntegersNeverTraps) {
  const Tensor a = I({7, -7, 7, -7, 5, kMin32, kMin32}), b = I({2, 2, -2, -2, 0, -1, 0});
  EXPECT_EQ(RunText(Op::k_div, {a, b}), "i32[7]{3, -3, -3, 3, 0, -2147483648, 0}");
  EXPECT_EQ(RunText(Op::k_rem, {a, b}), "i32[7]{1, -1, 1, -1, 0, 0, 0}");
  EXPECT_EQ(RunText(Op::k_floordiv, {a, b}), "i32[7]{3, -4, -4, 3, 0, -2147483648, 0}");
  EXPECT_EQ(RunText(Op::k_mod, {a, b}), "i32[7]{1, 1, -1, -1, 0, 0, 0}");
  EXPECT_EQ(RunText(Op::k_div, {L({kMin64}), L({-1})}), "i64[1]{-9223372036854775808}");
  ExpectBits(RunOp(Op::k_div, {F({1, -1, 0}), F({0, 0, 0})}), F({kInf, -kInf, kNan}));
}

TEST(Reference, FloorDivisionAndModuloAreExhaustivelyConsistent) {
  for (int32_t b = -4; b <= 4; ++b) {
    for (int32_t a = -9; a <= 9; ++a) {
      if (b == 0) continue;
      const double quotient = std::floor(static_cast<double>(a) / b);
      ExpectBits(RunOp(Op::k_floordiv, {I({a}), I({b})}), I({static_cast<int32_t>(quotient)}));
      ExpectBits(RunOp(Op::k_mod, {I({a}), I({b})}), I({a - static_cast<int32_t>(quotient) * b}));
    }
  }
}

// -- logic, selection, conversion

TEST(Reference, ComparisonsWithNan) {
  const Tensor a = F({1, kNan, 2, -0.0f}), b = F({2, 1, 2, 0});
  ExpectBits(RunOp(Op::k_lt, {a, b}), B({true, false, false, false}));
  ExpectBits(RunOp(Op::k_le, {a, b}), B({true, false, true, true}));
  ExpectBits(RunOp(Op::k_gt, {a, b}), B({false, false, false, false}));
  ExpectBits(RunOp(Op::k_ge, {a, b}), B({false, false, true, true}));
  ExpectBits(RunOp(Op::k_eq, {a, b}), B({false, false, true, true}));
  ExpectBits(RunOp(Op::k_ne, {a, b}), B({true, true, false, false}));
}

TEST(Reference, LogicAndSelect) {
  const Tensor p = B({true, true, false, false}), q = B({true, false, true, false});
  ExpectBits(RunOp(Op::k_and, {p, q}), B({true, false, false, false}));
  ExpectBits(RunOp(Op::k_or, {p, q}), B({true, true, true, false}));
  ExpectBits(RunOp(Op::k_xor, {p, q}), B({false, true, true, false}));
  ExpectBits(RunOp(Op::k_not, {p}), B({false, false, true, true}));
  ExpectBits(RunOp(Op::k_select, {p, I({1, 2, 3, 4}), I({5, 6, 7, 8})}), I({1, 2, 7, 8}));
}

TEST(Reference, C2ClampWithMinAboveMaxGivesMax) {
  absl::StatusOr<Tensor> raised = RunOp(Op::k_maximum, {F({1, 5, 9}), F({8, 8, 8})});
  ExpectBits(RunOp(Op::k_minimum, {*raised, F({3, 3, 3})}), F({3, 3, 3}));
}

TEST(Reference, C3FloatToBool) {
  ExpectBits(RunOp(Op::k_cast, {F({0.5f, -0.0f, kNan})}, {.dtype = bool_}), B({true, false, true}));
}

TEST(Reference, BitsAsAnotherTypeOfTheSize) {
  const Tensor bits = Tensor::FromVector<int32_t>({3}, {0x3f800000, INT32_MIN, 0x7f800000});
  ExpectBits(RunOp(Op::k_bitcast, {F({1, -0.0f, kInf})}, {.dtype = i32}), bits);
  ExpectBits(RunOp(Op::k_bitcast, {bits}, {.dtype = f32}), F({1, -0.0f, kInf}));
  EXPECT_FALSE(RunOp(Op::k_bitcast, {bits}, {.dtype = f64}).ok());
  EXPECT_FALSE(RunOp(Op::k_bitcast, {bits}, {.dtype = bool_}).ok());
}

TEST(Reference, FloatToIntegerSaturates) {
  const Tensor x = F({2.9f, -2.9f, kNan, kInf, -kInf, 3e9f, -3e9f, 2147483648.0f});
  EXPECT_EQ(RunText(Op::k_cast, {x}, {.dtype = i32}),
            "i32[8]{2, -2, 0, 2147483647, -2147483648, 2147483647, -2147483648, 2147483647}");
  EXPECT_EQ(RunText(Op::k_cast, {F({1e30f, -1e30f})}, {.dtype = i64}),
            "i64[2]{9223372036854775807, -9223372036854775808}");
}

TEST(Reference, OtherConversions) {
  EXPECT_EQ(RunText(Op::k_cast, {L({kMax64, int64_t{1} << 32, -1})}, {.dtype = i32}),
            "i32[3]{-1, 0, -1}");
  ExpectBits(RunOp(Op::k_cast, {L({16777217, 16777219})}, {.dtype = f32}), F({16777216, 16777220}));
  ExpectBits(RunOp(Op::k_cast, {B({true, false})}, {.dtype = f32}), F({1, 0}));
  const Tensor wide = Tensor::FromVector<double>({2}, {0.1, 1e300});
  ExpectBits(RunOp(Op::k_cast, {wide}, {.dtype = f32}), F({0.1f, kInf}));
}

// -- views

TEST(Reference, C5SlicesClampAsInNumpy) {
  Graph g;
  Builder b(&g);
  const ValueId x = *b.Input("x", {i32, {2}});
  ASSERT_TRUE(b.Output("tail", *b.Slice(x, 0, -3, kMax64)).ok());
  ASSERT_TRUE(b.Output("reversed", *b.Slice(x, 0, -1, kMin64, -1)).ok());
  absl::StatusOr<std::vector<Tensor>> out = Interpret(g, {I({4, 5})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].ToString(), "i32[2]{4, 5}");
  EXPECT_EQ((*out)[1].ToString(), "i32[2]{5, 4}");
}

TEST(Reference, ViewsMoveElements) {
  const Tensor x = Tensor::FromVector<int32_t>({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(RunText(Op::k_permute, {x}, {.axes = {1, 0}}), "i32[3, 2]{0, 3, 1, 4, 2, 5}");
  EXPECT_EQ(RunText(Op::k_reshape, {x}, {.shape = Shape{3, 2}}), "i32[3, 2]{0, 1, 2, 3, 4, 5}");
  EXPECT_EQ(RunText(Op::k_slice, {x}, {.starts = {1, 2}, .limits = {2, -1}, .steps = {1, -2}}),
            "i32[1, 2]{5, 3}");
  EXPECT_EQ(RunText(Op::k_pad, {x}, {.low = {0, 1}, .high = {1, 0}, .value = 9}),
            "i32[3, 4]{9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9}");
  EXPECT_EQ(RunText(Op::k_concat, {x, x}, {.axis = 1}),
            "i32[2, 6]{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}");
  EXPECT_EQ(RunText(Op::k_broadcast, {I({7, 8})}, {.axes = {0}, .shape = Shape{2, 3}}),
            "i32[2, 3]{7, 7, 7, 8, 8, 8}");
}

TEST(Reference, BroadcastOfOneAndZero) {
  const RunOptions symbolic{.symbolic = true, .interpret = {}};
  const Tensor none(f32, {0}), one(f32, {1}), three(f32, {3}), two(f32, {2});
  EXPECT_EQ(RunText(Op::k_add, {none, one}, {}, symbolic), "f32[0]{}");
  EXPECT_EQ(RunText(Op::k_add, {one, none}, {}, symbolic), "f32[0]{}");
  EXPECT_EQ(RunText(Op::k_add, {one, three}, {}, symbolic), "f32[3]{0, 0, 0}");
  EXPECT_THAT(RunText(Op::k_add, {none, three}, {}, symbolic), HasSubstr("doesn't hold"));
  EXPECT_THAT(RunText(Op::k_add, {two, three}, {}, symbolic),
              HasSubstr("n2 = 2 (input 'x0' axis 0)"));
  EXPECT_FALSE(RunOp(Op::k_add, {none, three}).ok());
}

TEST(Reference, Z7ConcatWithAnEmptyPart) {
  const RunOptions symbolic{.symbolic = true, .interpret = {}};
  const Tensor none(i32, {0}), some = I({1, 2});
  EXPECT_EQ(RunText(Op::k_concat, {none, some}, {.axis = 0}, symbolic), "i32[2]{1, 2}");
  EXPECT_EQ(RunText(Op::k_concat, {some, none}, {.axis = 0}, symbolic), "i32[2]{1, 2}");
}

TEST(Reference, GatherCountsNegativeIndicesFromTheEndAndRefusesOthers) {
  const Tensor x = Tensor::FromVector<int32_t>({3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(RunText(Op::k_gather, {x, L({2, -3})}, {.axis = 0}), "i32[2, 2]{4, 5, 0, 1}");
  EXPECT_EQ(RunText(Op::k_gather, {x, I({-1})}, {.axis = 1}), "i32[3, 1]{1, 3, 5}");
  const Tensor bad = Tensor::FromVector<int64_t>({2, 2}, {0, 1, 3, 0});
  absl::StatusOr<Tensor> y = RunOp(Op::k_gather, {x, bad}, {.axis = 0});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(y.status().message()),
              HasSubstr("gather: index 3 at position [1, 0] is outside of axis 0 of extent 3"));
  EXPECT_EQ(RunOp(Op::k_gather, {x, L({-4})}, {.axis = 0}).status().code(),
            absl::StatusCode::kOutOfRange);
  // An empty result hides no bad index.
  EXPECT_EQ(RunOp(Op::k_gather, {Tensor(f32, {3, 0}), L({5})}, {.axis = 0}).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(RunText(Op::k_gather, {Tensor(f32, {0, 2}), L({})}, {.axis = 0}), "f32[0, 2]{}");
}

// -- reductions

TEST(Reference, R1MaximaOfNothingIntoNothing) {
  for (bool symbolic : {false, true}) {
    const RunOptions o{.symbolic = symbolic, .interpret = {}};
    EXPECT_EQ(RunText(Op::k_max, {Tensor(f32, {0, 2})}, {.axes = {-1}}, o), "f32[0]{}");
    EXPECT_EQ(RunText(Op::k_max, {Tensor(f32, {3, 0, 2})}, {.axes = {-1}}, o), "f32[3, 0]{}");
    EXPECT_EQ(RunText(Op::k_max, {Tensor(f32, {0, 3, 2})}, {.axes = {1, 2}}, o), "f32[0]{}");
    EXPECT_EQ(RunText(Op::k_max, {Tensor(f32, {0, 0})}, {.axes = {1}}, o), "f32[0]{}");
  }
}

TEST(Reference, R2ReductionsOfNothing) {
  for (bool symbolic : {false, true}) {
    for (bool check : {false, true}) {
      const RunOptions o{.symbolic = symbolic, .interpret = {.check_facts = check}};
      const Tensor x(f32, {2, 0});
      ExpectBits(RunOp(Op::k_sum, {x}, {.axes = {1}}, o), F({0, 0}));
      ExpectBits(RunOp(Op::k_prod, {x}, {.axes = {1}}, o), F({1, 1}));
      ExpectBits(RunOp(Op::k_mean, {x}, {.axes = {1}}, o), F({kNan, kNan}));
      EXPECT_FALSE(RunOp(Op::k_max, {x}, {.axes = {1}}, o).ok());
      EXPECT_FALSE(RunOp(Op::k_min, {x}, {.axes = {1}}, o).ok());
      EXPECT_FALSE(RunOp(Op::k_argmax, {x}, {.axis = 1}, o).ok());
      ExpectBits(RunOp(Op::k_max, {x}, {.axes = {1}, .value = -kInf}, o), F({-kInf, -kInf}));
    }
  }
  const RunOptions unchecked{.symbolic = true, .interpret = {.check_facts = false}};
  EXPECT_THAT(RunText(Op::k_max, {Tensor(f32, {2, 0})}, {.axes = {1}}, unchecked),
              HasSubstr("max: the reduced extent is 0 in [2, 0] over axes [1]"));
}

TEST(Reference, R3RowsOfOddLengths) {
  for (int64_t n : {1, 7, 31, 33, 255, 257}) {
    SCOPED_TRACE(n);
    Tensor x(f32, {2, n});
    float largest = -kInf;
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float v = static_cast<float>((i * 37) % 61 - 70);
      x.data<float>()[i] = v;
      x.data<float>()[n + i] = -1;
      largest = std::max(largest, v);
      sum += v;
    }
    ExpectBits(RunOp(Op::k_max, {x}, {.axes = {1}}), F({largest, -1}));
    ExpectBits(RunOp(Op::k_sum, {x}, {.axes = {1}}),
               F({static_cast<float>(sum), static_cast<float>(-n)}));
    ExpectBits(RunOp(Op::k_prod, {Ones({2, n})}, {.axes = {1}}), F({1, 1}));
  }
}

TEST(Reference, SumsOfNegativeZerosAndOverAnyAxes) {
  ExpectBits(RunOp(Op::k_sum, {F({-0.0f, -0.0f})}, {.axes = {0}}), Tensor::Scalar(-0.0f));
  const Tensor x = Tensor::FromVector<int32_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(RunText(Op::k_sum, {x}, {.axes = {1}}), "i32[2, 2]{2, 4, 10, 12}");
  EXPECT_EQ(RunText(Op::k_sum, {x}, {.axes = {0, 2}}), "i32[2]{10, 18}");
  EXPECT_EQ(RunText(Op::k_sum, {x}, {.axes = {0, 1, 2}, .keep_dims = true}), "i32[1, 1, 1]{28}");
  EXPECT_EQ(RunText(Op::k_argmax, {x}, {.axis = 1}), "i64[2, 2]{1, 1, 1, 1}");
}

TEST(Reference, C4SumsKeepTheTypeAndTheMeanOfIntegersIsRefused) {
  Tensor x(i32, {3});
  std::fill_n(x.data<int32_t>(), 3, int32_t{1} << 30);
  EXPECT_EQ(RunText(Op::k_sum, {x}, {.axes = {0}}), "i32[]{-1073741824}");
  EXPECT_THAT(RunText(Op::k_mean, {Tensor(i32, {0})}, {.axes = {0}}), HasSubstr("cast"));
}

// -- contractions

TEST(Reference, MatmulOfRanks) {
  const Tensor a = Tensor::FromVector<int32_t>({2, 2}, {1, 2, 3, 4});
  const Tensor b = Tensor::FromVector<int32_t>({2, 1}, {5, 6});
  EXPECT_EQ(RunText(Op::k_matmul, {a, b}), "i32[2, 1]{17, 39}");
  const Tensor batch = Tensor::FromVector<int32_t>({2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(RunText(Op::k_matmul, {batch, a}), "i32[2, 1, 2]{7, 10, 15, 22}");
  const Tensor each = Tensor::FromVector<int32_t>({2, 2, 1}, {1, 1, 2, 2});
  EXPECT_EQ(RunText(Op::k_matmul, {batch, each}), "i32[2, 1, 1]{3, 14}");
}

TEST(Reference, C1NothingToSumGivesZero) {
  ExpectBits(RunOp(Op::k_matmul, {Tensor(f32, {2, 0}), Tensor(f32, {0, 3})}), Tensor(f32, {2, 3}));
  ExpectBits(
      RunOp(Op::k_attention, {Ones({1, 2, 4}), Tensor(f32, {1, 0, 4}), Tensor(f32, {1, 0, 3})}),
      Tensor(f32, {1, 2, 3}));
}

TEST(Reference, Z6BatchDimsOfZeroAndOne) {
  const RunOptions o{.symbolic = true, .interpret = {}};
  EXPECT_EQ(RunText(Op::k_matmul, {Tensor(f32, {0, 4, 2}), Tensor(f32, {1, 2, 4})}, {}, o),
            "f32[0, 4, 4]{}");
  EXPECT_EQ(RunText(Op::k_matmul, {Tensor(f32, {1, 4, 2}), Tensor(f32, {0, 2, 4})}, {}, o),
            "f32[0, 4, 4]{}");
  EXPECT_FALSE(RunOp(Op::k_matmul, {Tensor(f32, {0, 4, 2}), Tensor(f32, {3, 2, 4})}, {}, o).ok());
}

TEST(Reference, MatmulSumsInFloat64) {
  Tensor a(f32, {1, 3}), b = Ones({3, 1});
  a.data<float>()[0] = 1e8f;
  a.data<float>()[1] = 1;
  a.data<float>()[2] = -1e8f;
  EXPECT_EQ(RunText(Op::k_matmul, {a, b}), "f32[1, 1]{1}");
}

TEST(Reference, CausalMasksAlignBottomRight) {
  // Keys 0..2 hold the values 1, 2, 4; two queries: the last sees all, the first all but the last.
  const Tensor q(f32, {2, 1}), k(f32, {3, 1});
  const Tensor v = Tensor::FromVector<float>({3, 1}, {1, 2, 4});
  absl::StatusOr<Tensor> y = RunOp(Op::k_attention, {q, k, v}, {.causal = true});
  ExpectBits(y, Tensor::FromVector<float>({2, 1}, {1.5f, static_cast<float>(7.0 / 3)}));
  // More queries than keys: the first ones see nothing.
  const Tensor long_q(f32, {4, 1});
  y = RunOp(Op::k_attention, {long_q, k, v}, {.causal = true});
  ExpectBits(y, Tensor::FromVector<float>({4, 1}, {0, 1, 1.5f, static_cast<float>(7.0 / 3)}));
}

TEST(Reference, AttentionHonoursMasksAndScale) {
  const Tensor q = Tensor::FromVector<float>({1, 1}, {1});
  const Tensor k = Tensor::FromVector<float>({2, 1}, {0, 3}),
               v = Tensor::FromVector<float>({2, 1}, {0, 1});
  absl::StatusOr<Tensor> y = RunOp(Op::k_attention, {q, k, v}, {.scale = 0.5});
  ExpectBits(y, Tensor::FromVector<float>({1, 1}, {static_cast<float>(1 / (1 + std::exp(-1.5)))}));
  const Tensor only_first = Tensor::FromVector<bool>({1, 2}, {true, false});
  ExpectBits(RunOp(Op::k_attention, {q, k, v, only_first}), Tensor(f32, {1, 1}));
  const Tensor added = Tensor::FromVector<float>({1, 2}, {3, 0});
  ExpectBits(RunOp(Op::k_attention, {q, k, v, added}, {.scale = 1.0}),
             Tensor::FromVector<float>({1, 1}, {0.5f}));
}

}  // namespace
}  // namespace lathe::ir
