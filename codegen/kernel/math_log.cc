// log, log2, log1p: x = 2^e * m with m in [2/3, 4/3), log(x) = e * ln(2) + log(m); and the inverse
// hyperbolic functions, which are logarithms.
#include <limits>

#include "codegen/kernel/math_internal.h"

namespace lathe::kernel::math {
namespace {

struct Parts {
  Val e, f;      // exponent as a float; m - 1, which is exact
  Val exponent;  // as an integer; of a subnormal number too large by its scale
};

Parts Split(const Format& f, Val x) {
  // Subnormal numbers are scaled up to be normal first.
  const Val subnormal = x < f.F(0x1p-126, 0x1p-1022);
  const Val bits = f.ToBits(Select(subnormal, x * f.F(0x1p23, 0x1p52), x));
  const Val e =
      Sar(bits - f.ToBits(f.F(0x1.555556p-1, 0x1.5555555555555p-1)), f.I(f.mantissa_bits()));
  const Val m = f.FromBits(bits - (e << f.I(f.mantissa_bits())));
  // A small integer as a float without a conversion, which AVX2 lacks for 64 bits.
  const Val as_float = f.FromBits(f.ToBits(f.F(f.magic())) + e) - f.F(f.magic());
  const Val shift = Select(subnormal, f.F(-23, -52), f.F(0));
  return {as_float + shift, m - f.F(1), e};
}

// f32: f - f^2 / 2 + f^3 * P(f), minimax in the relative error.
Val Log1pOfSmall(const Format& f, Val x) {
  const Val p = f.Poly(x, {0x1.555506p-2, -0x1.fffefp-3, 0x1.99d064p-3, -0x1.559de8p-3,
                           0x1.1ed37ep-3, -0x1.f30d5ep-4, 0x1.1e77d6p-3, -0x1.080f4ep-3});
  return Fma(x * x, Fma(x, p, f.F(-0.5)), x);
}

// e * ln(2) + log(1 + x) for x from -1/3 to 1/3 and a whole number e.
Val LogOfParts(const Format& f, Val e, Val x) {
  if (!f.is_f64()) return Fma(e, f.F(0x1.62e43p-1), Log1pOfSmall(f, x));
  // log(1 + f) = log((1 + s) / (1 - s)), s = f / (2 + f), as in fdlibm: 2s + s * R(s^2) written
  // as f - (f^2 / 2 - s * (f^2 / 2 + R)), where only small terms are rounded.
  const Val s = x / (f.F(2) + x);
  const Val z = s * s;
  const Val r = z * f.Poly(z, {0x1.5555555555773p-1, 0x1.99999998f1696p-2, 0x1.249249b1ba8e6p-2,
                               0x1.c71c01a00321ap-3, 0x1.7474da0942fe5p-3, 0x1.385376e88dae0p-3,
                               0x1.3ab9a899bf600p-3});
  const Val half_square = f.F(0.5) * x * x;
  const Val low = Fma(e, f.F(0x1.abc9e3b39803fp-56), s * (half_square + r));
  return Fma(e, f.F(0x1.62e42fefa39efp-1), x - (half_square - low));
}

// The logarithm y of x where x is positive and finite; of zero, negative numbers, and (kept as they
// are) infinity and NaN what they have.
Val WithSpecialValues(const Format& f, Val x, Val y) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Val zero = f.F(0);
  const Val special = Select(x < zero, f.F(nan), Select(x == zero, f.F(-infinity), x));
  return Select((zero < x) & (x < f.F(infinity)), y, special);
}

// From here on squares are lost beside 1, and don't overflow before.
double Huge() { return 0x1p60; }

}  // namespace

Val Log(Val x) {
  const Format f(x);
  const Parts parts = Split(f, x);
  return WithSpecialValues(f, x, LogOfParts(f, parts.e, parts.f));
}

// e is exact, so that log2 of a power of two is.
Val Log2(Val x) {
  const Format f(x);
  const Parts parts = Split(f, x);
  const Val log = LogOfParts(f, f.F(0), parts.f);
  return WithSpecialValues(f, x, Fma(log, f.F(0x1.715476p+0, 0x1.71547652b82fep+0), parts.e));
}

// u = 1 + x is rounded; what it lost, scaled like its mantissa, is added to that.
Val Log1p(Val x) {
  const Format f(x);
  const Val one = f.F(1);
  const Val u = one + x;
  const Parts parts = Split(f, u);
  const Val lost = Select(one < x, one - (u - x), x - (u - one));
  const Val inverse_scale =
      f.FromBits((f.I(f.exponent_bias()) - parts.exponent) << f.I(f.mantissa_bits()));
  const Val scaled = lost * Select(u < f.F(Huge()), inverse_scale, f.F(0));
  const Val y = WithSpecialValues(f, u, LogOfParts(f, parts.e, parts.f + scaled));
  return Select(Abs(x) < f.F(0x1p-25, 0x1p-54), x, y);
}

// log(a + sqrt(a^2 + 1)) with a = |x|, as log1p of a + a^2 / (1 + sqrt(1 + a^2)).
Val Asinh(Val x) {
  return InF64(x, [](Val v) {
    const Format f(v);
    const Val a = Abs(v), one = f.F(1);
    const Val huge = f.F(Huge()) < a;
    const Val square = a * a;
    const Val t = Select(huge, a, a + square / (one + Sqrt(one + square)));
    return f.CopySign(Log1p(t) + Select(huge, f.F(0x1.62e42fefa39efp-1), f.F(0)), v);
  });
}

// log(x + sqrt(x^2 - 1)), as log1p of t + sqrt(2t + t^2) with t = x - 1.
Val Acosh(Val x) {
  return InF64(x, [](Val v) {
    const Format f(v);
    const Val t = v - f.F(1);
    const Val huge = f.F(Huge()) < v;
    const Val y = Log1p(Select(huge, v, t + Sqrt(Fma(t, t, f.F(2) * t)))) +
                  Select(huge, f.F(0x1.62e42fefa39efp-1), f.F(0));
    return Select(v < f.F(1), f.F(std::numeric_limits<double>::quiet_NaN()), y);
  });
}

// log((1 + a) / (1 - a)) / 2 with a = |x|, as log1p of 2a / (1 - a).
Val Atanh(Val x) {
  return InF64(x, [](Val v) {
    const Format f(v);
    const Val a = Abs(v);
    const Val y = f.F(0.5) * Log1p((f.F(2) * a) / (f.F(1) - a));
    return f.CopySign(Select(a < f.F(0x1p-28), a, y), v);
  });
}

}  // namespace lathe::kernel::math
