// pow and atan2 in the evaluator against MPFR, rem and mod against C's fmod, special values and
// integers.
#include <mpfr.h>

#include <limits>
#include <random>

#include "codegen/kernel/math.h"
#include "lathe/tensor.h"
#include "tests/kernel/run_kernel.h"

namespace lathe::kernel {
namespace {

template <typename T>
std::vector<T> RunBinary(ir::Op op, const std::vector<T>& x, const std::vector<T>& y) {
  const DType t = DTypeOf<T>();
  auto k = MapKernel({t, t}, t, 32, [op](KernelBuilder& b, const std::vector<Reg>& v) {
    return EmitElementwise(b, op, v);
  });
  EXPECT_TRUE(Verify(*k).ok()) << Verify(*k);
  std::vector<T> a = x, b = y, out(x.size());
  const int64_t n = static_cast<int64_t>(x.size());
  absl::Status s = Evaluate(*k, {{a.data(), n}, {b.data(), n}, {out.data(), n}}, {n}, 0,
                            (n + 31) / 32, 0, nullptr);
  EXPECT_TRUE(s.ok()) << s;
  return out;
}

using MpfrFn = int (*)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

// The largest error in ULP, infinity where a special value or a sign is wrong.
template <typename T>
double WorstUlps(MpfrFn fn, const std::vector<T>& x, const std::vector<T>& y,
                 const std::vector<T>& found) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  constexpr int kLeast = std::numeric_limits<T>::min_exponent - kDigits;
  mpfr_t a, b, want, error;
  mpfr_inits2(200, a, b, want, error, static_cast<mpfr_ptr>(nullptr));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    mpfr_set_d(a, static_cast<double>(x[i]), MPFR_RNDN);
    mpfr_set_d(b, static_cast<double>(y[i]), MPFR_RNDN);
    fn(want, a, b, MPFR_RNDN);
    const double wide = mpfr_get_d(want, MPFR_RNDN);
    const T rounded = static_cast<T>(wide);
    double ulps = 0;
    if (std::isnan(rounded) || std::isnan(found[i]) || std::isinf(rounded) ||
        std::isinf(found[i])) {
      const bool same = std::isnan(rounded) ? std::isnan(found[i]) : rounded == found[i];
      // Overflow may come one unit of the largest number early.
      const bool near = std::isinf(found[i]) &&
                        std::fabs(rounded) >= std::nextafter(std::numeric_limits<T>::max(), T{0});
      ulps = same || near ? 0 : INFINITY;
    } else {
      mpfr_set_d(error, static_cast<double>(found[i]), MPFR_RNDN);
      mpfr_sub(error, error, want, MPFR_RNDN);
      int exponent = 0;
      std::frexp(wide, &exponent);
      ulps = std::fabs(mpfr_get_d(error, MPFR_RNDN)) /
             std::ldexp(1.0, std::max(exponent - kDigits, kLeast));
      if (std::signbit(rounded) != std::signbit(found[i])) ulps = INFINITY;
    }
    EXPECT_LE(ulps, 4) << "of (" << x[i] << ", " << y[i] << ") is " << found[i] << ", wanted "
                       << wide;
    if (ulps > 4) break;
    worst = std::max(worst, ulps);
  }
  mpfr_clears(a, b, want, error, static_cast<mpfr_ptr>(nullptr));
  return worst;
}

template <typename T>
std::vector<T> Specials() {
  using L = std::numeric_limits<T>;
  std::vector<T> v;
  for (T x : {T{0}, L::denorm_min(), L::min(), T{0.5}, T{0.75}, T{1}, T{1.5}, T{2}, T{3}, T{4},
              T{1} / 3, T{8388607}, T{16777215}, T{1e9}, L::max(), L::infinity(), L::quiet_NaN()}) {
    v.push_back(x);
    v.push_back(-x);
  }
  return v;
}

// All pairs of special values; moderate pairs; powers near the ends of the range; any bits.
template <typename T>
void Pairs(std::vector<T>* x, std::vector<T>* y) {
  std::mt19937_64 random(7);
  const auto add = [&](T a, T b) {
    x->push_back(a);
    y->push_back(b);
  };
  const auto in = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (T a : Specials<T>())
    for (T b : Specials<T>()) add(a, b);
  const double top = std::numeric_limits<T>::max_exponent;
  for (int i = 0; i < 6000; ++i) {
    add(static_cast<T>(in(0, 4)), static_cast<T>(in(-20, 20)));
    add(static_cast<T>(in(-9, 9)), static_cast<T>(std::floor(in(-30, 30))));
    const double base = std::exp2(in(-3, 3));
    add(static_cast<T>(base), static_cast<T>(in(-1.1, 1.01) * top / std::log2(base)));
    const uint64_t p = random(), q = random();
    add(scalar::FromBits<T>(p), scalar::FromBits<T>(q));
  }
}

template <typename T>
void Sample(const char* name, ir::Op op, MpfrFn fn) {
  std::vector<T> x, y;
  Pairs(&x, &y);
  const double worst = WorstUlps(fn, x, y, RunBinary(op, x, y));
  std::printf("%s %s worst %.3f of 4 ULP\n", Name(DTypeOf<T>()), name, worst);
}

TEST(MathBinary, PowStaysWithinItsBound) {
  Sample<float>("pow", ir::Op::k_pow, mpfr_pow);
  Sample<double>("pow", ir::Op::k_pow, mpfr_pow);
}

TEST(MathBinary, Atan2StaysWithinItsBound) {
  Sample<float>("atan2", ir::Op::k_atan2, mpfr_atan2);
  Sample<double>("atan2", ir::Op::k_atan2, mpfr_atan2);
}

// Of numbers whose square has more bits than the type, too.
TEST(MathBinary, SquaresAreRoundedOnce) {
  std::vector<float> x, y, square;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 99991) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    y.push_back(2);
    square.push_back(x.back() * x.back());
  }
  const std::vector<float> found = RunBinary(ir::Op::k_pow, x, y);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(SameBits(f32, scalar::ToBits(found[i]), scalar::ToBits(square[i]))) << x[i];
}

template <typename T>
void CheckRem() {
  std::vector<T> x, y;
  Pairs(&x, &y);
  const std::vector<T> rem = RunBinary(ir::Op::k_rem, x, y), mod = RunBinary(ir::Op::k_mod, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const T r = std::fmod(x[i], y[i]);
    T m = std::signbit(r) != std::signbit(y[i]) ? r + y[i] : r;
    if (r == 0) m = std::copysign(T{0}, y[i]);
    ASSERT_TRUE(SameBits(DTypeOf<T>(), scalar::ToBits(rem[i]), scalar::ToBits(r)))
        << x[i] << " rem " << y[i] << " is " << rem[i] << ", wanted " << r;
    ASSERT_TRUE(SameBits(DTypeOf<T>(), scalar::ToBits(mod[i]), scalar::ToBits(m)))
        << x[i] << " mod " << y[i] << " is " << mod[i] << ", wanted " << m;
  }
}

TEST(MathBinary, RemAndModOfFloatsAreExact) {
  CheckRem<float>();
  CheckRem<double>();
}

TEST(MathBinary, PowOfNegativeZeroAndHalfIsZero) {
  const std::vector<float> y =
      RunBinary<float>(ir::Op::k_pow, {-0.0f, -0.0f, -0.0f}, {0.5f, 3, -3});
  EXPECT_FALSE(std::signbit(y[0]));
  EXPECT_TRUE(y[1] == 0 && std::signbit(y[1]));
  EXPECT_EQ(y[2], -std::numeric_limits<float>::infinity());
}

TEST(MathBinary, PowersOfIntegersWrap) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(RunBinary<int32_t>(ir::Op::k_pow, {2, 2, 2, -3, 7, 0, 0, kMin, 3},
                               {10, 31, 32, 3, 0, 0, 5, 1, 40}),
            (std::vector<int32_t>{1024, kMin, 0, -27, 1, 1, 0, kMin, 689956897}));
}

}  // namespace
}  // namespace lathe::kernel
