// Elementary functions in the evaluator: f32 against float64 libm over a dense sample of all bit
// patterns, f64 against MPFR. The worst errors are printed; docs/numerics.md lists them.
#include "codegen/kernel/math.h"

#include <mpfr.h>

#include <limits>
#include <random>

#include "lathe/tensor.h"
#include "tests/kernel/run_kernel.h"

namespace lathe::kernel {
namespace {

Emit Function(ir::Op op) {
  return [op](KernelBuilder& b, const std::vector<Reg>& x) { return EmitElementwise(b, op, x); };
}

// y = f(x) elementwise, 32 lanes at a time.
template <typename T>
std::vector<T> RunFunction(const Emit& emit, const std::vector<T>& x) {
  auto k = MapKernel({DTypeOf<T>()}, DTypeOf<T>(), 32, emit);
  EXPECT_TRUE(Verify(*k).ok()) << Verify(*k);
  std::vector<T> in = x, y(x.size());
  const int64_t n = static_cast<int64_t>(x.size());
  absl::Status s = Evaluate(*k, {{in.data(), n}, {y.data(), n}}, {n}, 0, (n + 31) / 32, 0, nullptr);
  EXPECT_TRUE(s.ok()) << s;
  return y;
}

std::vector<float> Sample32() {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  using L = std::numeric_limits<float>;
  for (float v :
       {0.0f,      L::denorm_min(), L::min(),   L::max(),   L::infinity(), L::quiet_NaN(),  1.0f,
        88.72283f, 88.72284f,       103.97208f, 104.0f,     87.33655f,     3.9192059f,      9.01f,
        5.25f,     65536.0f,        65536.01f,  1.5707964f, 3.1415927f,    0x1.6ac5b2p+115f}) {
    x.push_back(v);
    x.push_back(-v);
  }
  for (uint32_t nan : {0x7f800001u, 0x7fc00155u, 0xffffffffu})
    x.push_back(std::bit_cast<float>(nan));
  return x;
}

double Ulp32(double reference) {
  int exponent = 0;
  std::frexp(reference, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

struct Case32 {
  const char* name;
  ir::Op op;
  double (*reference)(double);
  double bound;     // ULP
  double of_x = 0;  // or this times |x|, whichever is larger
};

double Silu(double x) {
  return static_cast<double>(x / (1 + std::exp(-static_cast<long double>(x))));
}
double Sigmoid(double x) {
  return static_cast<double>(1 / (1 + std::exp(-static_cast<long double>(x))));
}

const Case32 kCases32[] = {
    {"exp", ir::Op::k_exp, [](double x) { return std::exp(x); }, 2.5},
    {"log", ir::Op::k_log, [](double x) { return std::log(x); }, 1.5},
    {"sqrt", ir::Op::k_sqrt, [](double x) { return std::sqrt(x); }, 0.5},
    {"rsqrt", ir::Op::k_rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1.5},
    {"tanh", ir::Op::k_tanh, [](double x) { return std::tanh(x); }, 3},
    {"erf", ir::Op::k_erf, [](double x) { return std::erf(x); }, 3},
    {"sin", ir::Op::k_sin, [](double x) { return std::sin(x); }, 3},
    {"cos", ir::Op::k_cos, [](double x) { return std::cos(x); }, 3},
    {"sigmoid", ir::Op::k_sigmoid, Sigmoid, 3},
    {"silu", ir::Op::k_silu, Silu, 3.5},
    {"gelu", ir::Op::k_gelu, [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }, 4,
     0x1p-22},
    {"relu", ir::Op::k_relu, [](double x) { return x <= 0 ? 0.0 : x; }, 0},
    {"abs", ir::Op::k_abs, [](double x) { return std::fabs(x); }, 0},
    {"neg", ir::Op::k_neg, [](double x) { return -x; }, 0},
    {"floor", ir::Op::k_floor, [](double x) { return std::floor(x); }, 0},
    {"ceil", ir::Op::k_ceil, [](double x) { return std::ceil(x); }, 0},
    {"round", ir::Op::k_round, [](double x) { return std::nearbyint(x); }, 0},
    {"trunc", ir::Op::k_trunc, [](double x) { return std::trunc(x); }, 0},
    {"sign", ir::Op::k_sign,
     [](double x) { return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)); }, 0},
    {"exp2", ir::Op::k_exp2, [](double x) { return std::exp2(x); }, 3},
    {"expm1", ir::Op::k_expm1, [](double x) { return std::expm1(x); }, 3},
    {"log2", ir::Op::k_log2, [](double x) { return std::log2(x); }, 3},
    {"log1p", ir::Op::k_log1p, [](double x) { return std::log1p(x); }, 2},
    {"tan", ir::Op::k_tan, [](double x) { return std::tan(x); }, 0.51},
    {"asin", ir::Op::k_asin, [](double x) { return std::asin(x); }, 0.51},
    {"acos", ir::Op::k_acos, [](double x) { return std::acos(x); }, 0.51},
    {"atan", ir::Op::k_atan, [](double x) { return std::atan(x); }, 0.51},
    {"sinh", ir::Op::k_sinh, [](double x) { return std::sinh(x); }, 0.51},
    {"cosh", ir::Op::k_cosh, [](double x) { return std::cosh(x); }, 0.51},
    {"asinh", ir::Op::k_asinh, [](double x) { return std::asinh(x); }, 0.51},
    {"acosh", ir::Op::k_acosh, [](double x) { return std::acosh(x); }, 0.51},
    {"atanh", ir::Op::k_atanh, [](double x) { return std::atanh(x); }, 0.51},
};

class Math32 : public testing::TestWithParam<Case32> {};

TEST_P(Math32, StaysWithinItsBound) {
  const Case32& c = GetParam();
  static const std::vector<float> x = Sample32();
  const std::vector<float> y = RunFunction(Function(c.op), x);
  double worst = 0;
  float at = 0;
  int faults = 0;
  for (size_t i = 0; i < x.size() && faults < 5; ++i) {
    const double want = c.reference(x[i]);
    const float rounded = static_cast<float>(want);
    if (std::isnan(want) || std::isinf(rounded) || std::isinf(y[i]) || std::isnan(y[i])) {
      // Overflow may come within the bound of the largest number.
      const bool near = std::fabs(want) > 0x1.fffff8p127 && std::fabs(y[i]) > 0x1.fffff0p127f;
      const bool same = std::isnan(want) ? std::isnan(y[i]) : y[i] == rounded || near;
      EXPECT_TRUE(same) << c.name << "(" << x[i] << ") is " << y[i] << ", wanted " << want;
      faults += !same;
      continue;
    }
    const double error = std::fabs(y[i] - want);
    double ulps = error / Ulp32(want);
    // Where a bound relative to x holds as well, the error counts in shares of the larger one.
    if (c.of_x != 0 && ulps > 0) {
      ulps = std::min(ulps, c.bound * error / (c.of_x * std::fabs(static_cast<double>(x[i]))));
    }
    EXPECT_LE(ulps, c.bound) << c.name << "(" << x[i] << ") is " << y[i] << ", wanted " << want;
    faults += ulps > c.bound;
    if (ulps > worst) worst = ulps, at = x[i];
  }
  std::printf("f32 %-8s worst %.3f of %.1f ULP at %a\n", c.name, worst, c.bound, at);
}

INSTANTIATE_TEST_SUITE_P(All, Math32, testing::ValuesIn(kCases32),
                         [](const auto& test) { return test.param.name; });

TEST(Math, SignsOfZeroAndSpecialValues) {
  auto one = [](ir::Op op, float x) { return RunFunction<float>(Function(op), {x})[0]; };
  const float inf = std::numeric_limits<float>::infinity();
  for (ir::Op op :
       {ir::Op::k_sin, ir::Op::k_tanh, ir::Op::k_erf, ir::Op::k_sqrt, ir::Op::k_tan, ir::Op::k_asin,
        ir::Op::k_atan, ir::Op::k_sinh, ir::Op::k_asinh, ir::Op::k_atanh, ir::Op::k_expm1,
        ir::Op::k_log1p, ir::Op::k_ceil, ir::Op::k_round, ir::Op::k_trunc}) {
    EXPECT_TRUE(std::signbit(one(op, -0.0f))) << ir::Name(op);
    EXPECT_FALSE(std::signbit(one(op, 0.0f))) << ir::Name(op);
  }
  EXPECT_FALSE(std::signbit(one(ir::Op::k_relu, -0.0f)));
  EXPECT_EQ(one(ir::Op::k_exp, 0.0f), 1);
  EXPECT_EQ(one(ir::Op::k_exp, -inf), 0);
  EXPECT_EQ(one(ir::Op::k_log, 1.0f), 0);
  EXPECT_EQ(one(ir::Op::k_log, -0.0f), -inf);
  EXPECT_EQ(one(ir::Op::k_rsqrt, -0.0f), -inf);
  EXPECT_EQ(one(ir::Op::k_tanh, inf), 1);
  EXPECT_EQ(one(ir::Op::k_tanh, -50.0f), -1);
  EXPECT_EQ(one(ir::Op::k_erf, 4.0f), 1);
  EXPECT_EQ(one(ir::Op::k_gelu, 1000.0f), 1000);
  EXPECT_EQ(one(ir::Op::k_gelu, -1000.0f), 0);
  EXPECT_TRUE(std::isnan(one(ir::Op::k_silu, -inf)));
  EXPECT_TRUE(std::isnan(one(ir::Op::k_gelu, -inf)));
  EXPECT_TRUE(std::isnan(one(ir::Op::k_sin, inf)));
  EXPECT_TRUE(std::isnan(one(ir::Op::k_cos, -inf)));
  EXPECT_FALSE(std::signbit(one(ir::Op::k_sign, -0.0f)));
  for (ir::Op op : {ir::Op::k_ceil, ir::Op::k_round, ir::Op::k_trunc})
    EXPECT_TRUE(std::signbit(one(op, -0.25f))) << ir::Name(op);
  EXPECT_EQ(one(ir::Op::k_round, 2.5f), 2);
  EXPECT_EQ(one(ir::Op::k_round, -3.5f), -4);
  for (int n = -149; n < 128; ++n) {
    EXPECT_EQ(one(ir::Op::k_exp2, static_cast<float>(n)), std::ldexp(1.0f, n));
    EXPECT_EQ(one(ir::Op::k_log2, std::ldexp(1.0f, n)), n);
  }
  EXPECT_EQ(one(ir::Op::k_exp2, 128.0f), inf);
  EXPECT_EQ(one(ir::Op::k_expm1, -inf), -1);
  EXPECT_EQ(one(ir::Op::k_expm1, inf), inf);
  EXPECT_EQ(one(ir::Op::k_log1p, -1.0f), -inf);
  EXPECT_EQ(one(ir::Op::k_log1p, inf), inf);
  EXPECT_TRUE(std::isnan(one(ir::Op::k_log1p, -1.5f)));
  EXPECT_EQ(one(ir::Op::k_acos, 1.0f), 0);
  EXPECT_EQ(one(ir::Op::k_acos, -1.0f), 3.14159274f);
  EXPECT_EQ(one(ir::Op::k_asin, -1.0f), -1.57079637f);
  EXPECT_EQ(one(ir::Op::k_atan, inf), 1.57079637f);
  EXPECT_TRUE(std::isnan(one(ir::Op::k_acos, 1.25f)));
  EXPECT_TRUE(std::isnan(one(ir::Op::k_asin, inf)));
  EXPECT_EQ(one(ir::Op::k_sinh, -inf), -inf);
  EXPECT_EQ(one(ir::Op::k_cosh, -inf), inf);
  EXPECT_EQ(one(ir::Op::k_asinh, -inf), -inf);
  EXPECT_EQ(one(ir::Op::k_acosh, inf), inf);
  EXPECT_TRUE(std::isnan(one(ir::Op::k_acosh, 0.5f)));
  EXPECT_TRUE(std::isnan(one(ir::Op::k_acosh, -inf)));
  EXPECT_EQ(one(ir::Op::k_atanh, -1.0f), -inf);
  EXPECT_TRUE(std::isnan(one(ir::Op::k_atanh, 2.0f)));
  EXPECT_TRUE(std::isnan(one(ir::Op::k_tan, inf)));
}

// A lane's bits don't depend on its neighbours: a huge one takes the slow path, but only itself.
TEST(Math, SlowPathLeavesOtherLanesAlone) {
  std::vector<float> x(32), y(32);
  for (int i = 0; i < 32; ++i) x[i] = y[i] = 0.37f * static_cast<float>(i) - 5;
  y[7] = 1e30f;
  for (ir::Op op : {ir::Op::k_sin, ir::Op::k_cos, ir::Op::k_tan}) {
    const std::vector<float> a = RunFunction(Function(op), x), b = RunFunction(Function(op), y);
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(i == 7 ? 0 : a[i], i == 7 ? 0 : b[i]);
    }
  }
}

template <typename T>
void CheckExpNonPositive(const std::vector<T>& x) {
  const std::vector<T> a = RunFunction(Function(ir::Op::k_exp), x);
  const std::vector<T> b = RunFunction<T>(
      [](KernelBuilder& kb, const std::vector<Reg>& v) { return EmitExpNonPositive(kb, v[0]); }, x);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(SameBits(DTypeOf<T>(), scalar::ToBits(a[i]), scalar::ToBits(b[i]))) << x[i];
  }
}

TEST(Math, ExpOfNonPositiveHasTheBitsOfExp) {
  std::vector<float> x;
  for (uint64_t bits = 0x80000000; bits < uint64_t{1} << 32; bits += 3001) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  x.push_back(0.0f);
  CheckExpNonPositive(x);
  std::vector<double> d{0.0, -std::numeric_limits<double>::infinity(), -800, -745.2, -708.5};
  for (int i = 0; i < 100000; ++i) d.push_back(-0.0075 * i);
  CheckExpNonPositive(d);
}

// f64 against MPFR with 300 bits.
class Mpfr {
 public:
  Mpfr() { mpfr_init2(v, 300); }
  explicit Mpfr(double x) : Mpfr() { mpfr_set_d(v, x, MPFR_RNDN); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  ~Mpfr() { mpfr_clear(v); }
  mpfr_t v;
};

void SigmoidTo(mpfr_t y, const mpfr_t x) {
  mpfr_neg(y, x, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

using MpfrFn = void (*)(mpfr_t, const mpfr_t);

struct Case64 {
  const char* name;
  ir::Op op;
  MpfrFn reference;
  double low, high;  // where most of the sample lies
  double of_x = 0;
};

const Case64 kCases64[] = {
    {"exp", ir::Op::k_exp, [](mpfr_t y, const mpfr_t x) { mpfr_exp(y, x, MPFR_RNDN); }, -750, 715},
    {"log", ir::Op::k_log, [](mpfr_t y, const mpfr_t x) { mpfr_log(y, x, MPFR_RNDN); }, 0, 4},
    {"rsqrt", ir::Op::k_rsqrt,
     [](mpfr_t y, const mpfr_t x) {
       mpfr_sqrt(y, x, MPFR_RNDN);
       mpfr_ui_div(y, 1, y, MPFR_RNDN);
     },
     0, 9},
    {"tanh", ir::Op::k_tanh, [](mpfr_t y, const mpfr_t x) { mpfr_tanh(y, x, MPFR_RNDN); }, -25, 25},
    {"erf", ir::Op::k_erf, [](mpfr_t y, const mpfr_t x) { mpfr_erf(y, x, MPFR_RNDN); }, -7, 7},
    {"sin", ir::Op::k_sin, [](mpfr_t y, const mpfr_t x) { mpfr_sin(y, x, MPFR_RNDN); }, -50, 50},
    {"cos", ir::Op::k_cos, [](mpfr_t y, const mpfr_t x) { mpfr_cos(y, x, MPFR_RNDN); }, -50, 50},
    {"exp2", ir::Op::k_exp2, [](mpfr_t y, const mpfr_t x) { mpfr_exp2(y, x, MPFR_RNDN); }, -1080,
     1030},
    {"expm1", ir::Op::k_expm1, [](mpfr_t y, const mpfr_t x) { mpfr_expm1(y, x, MPFR_RNDN); }, -3,
     5},
    {"log2", ir::Op::k_log2, [](mpfr_t y, const mpfr_t x) { mpfr_log2(y, x, MPFR_RNDN); }, 0, 4},
    {"log1p", ir::Op::k_log1p, [](mpfr_t y, const mpfr_t x) { mpfr_log1p(y, x, MPFR_RNDN); }, -1,
     3},
    {"tan", ir::Op::k_tan, [](mpfr_t y, const mpfr_t x) { mpfr_tan(y, x, MPFR_RNDN); }, -50, 50},
    {"asin", ir::Op::k_asin, [](mpfr_t y, const mpfr_t x) { mpfr_asin(y, x, MPFR_RNDN); }, -1, 1},
    {"acos", ir::Op::k_acos, [](mpfr_t y, const mpfr_t x) { mpfr_acos(y, x, MPFR_RNDN); }, -1, 1},
    {"atan", ir::Op::k_atan, [](mpfr_t y, const mpfr_t x) { mpfr_atan(y, x, MPFR_RNDN); }, -4, 4},
    {"sinh", ir::Op::k_sinh, [](mpfr_t y, const mpfr_t x) { mpfr_sinh(y, x, MPFR_RNDN); }, -8, 8},
    {"cosh", ir::Op::k_cosh, [](mpfr_t y, const mpfr_t x) { mpfr_cosh(y, x, MPFR_RNDN); }, -712,
     712},
    {"asinh", ir::Op::k_asinh, [](mpfr_t y, const mpfr_t x) { mpfr_asinh(y, x, MPFR_RNDN); }, -4,
     4},
    {"acosh", ir::Op::k_acosh, [](mpfr_t y, const mpfr_t x) { mpfr_acosh(y, x, MPFR_RNDN); }, 1, 5},
    {"atanh", ir::Op::k_atanh, [](mpfr_t y, const mpfr_t x) { mpfr_atanh(y, x, MPFR_RNDN); }, -1,
     1},
    {"sigmoid", ir::Op::k_sigmoid, SigmoidTo, -760, 50},
    {"silu", ir::Op::k_silu,
     [](mpfr_t y, const mpfr_t x) {
       SigmoidTo(y, x);
       mpfr_mul(y, y, x, MPFR_RNDN);
     },
     -760, 50},
    {"gelu", ir::Op::k_gelu,
     [](mpfr_t y, const mpfr_t x) {
       mpfr_sqrt_ui(y, 2, MPFR_RNDN);
       mpfr_div(y, x, y, MPFR_RNDN);
       mpfr_neg(y, y, MPFR_RNDN);
       mpfr_erfc(y, y, MPFR_RNDN);
       mpfr_mul(y, y, x, MPFR_RNDN);
       mpfr_div_2ui(y, y, 1, MPFR_RNDN);
     },
     -9, 9, 0x1p-51},
};

std::vector<double> Sample64(double low, double high) {
  std::mt19937_64 random(20240607);
  std::vector<double> x;
  std::uniform_real_distribution<double> in_range(low, high);
  for (int i = 0; i < 6000; ++i) x.push_back(in_range(random));
  for (int i = 0; i < 4000; ++i) x.push_back(std::bit_cast<double>(random()));
  using L = std::numeric_limits<double>;
  for (double v : {0.0, L::denorm_min(), L::min(), L::max(), L::infinity(), L::quiet_NaN(), 1.0,
                   0x1p30, 0x1.0001p30, 0x1.921fb54442d18p+0, 6381956970095103.0 * 0x1p797}) {
    x.push_back(v);
    x.push_back(-v);
  }
  return x;
}

class Math64 : public testing::TestWithParam<Case64> {};

TEST_P(Math64, StaysWithinItsBound) {
  const Case64& c = GetParam();
  const std::vector<double> x = Sample64(c.low, c.high);
  const std::vector<double> y = RunFunction(Function(c.op), x);
  double worst = 0, at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    Mpfr want, error(y[i]);
    c.reference(want.v, Mpfr(x[i]).v);
    const double rounded = mpfr_get_d(want.v, MPFR_RNDN);
    if (std::isnan(rounded) || std::isinf(rounded) || std::isinf(y[i]) || std::isnan(y[i])) {
      EXPECT_TRUE(SameBits(f64, scalar::ToBits(y[i]), scalar::ToBits(rounded)))
          << c.name << "(" << x[i] << ") is " << y[i] << ", wanted " << rounded;
      continue;
    }
    mpfr_sub(error.v, error.v, want.v, MPFR_RNDN);
    int exponent = 0;
    std::frexp(rounded, &exponent);
    const double off = std::fabs(mpfr_get_d(error.v, MPFR_RNDN));
    double ulps = off / std::ldexp(1.0, std::max(exponent - 53, -1074));
    if (c.of_x != 0 && ulps > 0) ulps = std::min(ulps, 4 * off / (c.of_x * std::fabs(x[i])));
    EXPECT_LE(ulps, 4) << c.name << "(" << x[i] << ") is " << y[i] << ", wanted " << rounded;
    if (ulps > worst) worst = ulps, at = x[i];
  }
  std::printf("f64 %-8s worst %.3f of 4 ULP at %a\n", c.name, worst, at);
}

INSTANTIATE_TEST_SUITE_P(All, Math64, testing::ValuesIn(kCases64),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lathe::kernel
