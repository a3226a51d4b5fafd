// exp and what is made of it: exp2, expm1, sigmoid, silu, and the hyperbolic functions.
#include "codegen/kernel/math_internal.h"

namespace lathe::kernel::math {
namespace {

// x = n * ln(2) + r with |r| <= ln(2) / 2. `biased` holds n + bias in its low bits.
struct Reduced {
  Val r, biased;
};

// Cody and Waite's reduction. n is rounded by adding `magic + bias`; bias is even and |n| is far
// below 2^mantissa_bits, so ties round alike for every bias.
Reduced Reduce(const Format& f, Val x, double bias) {
  const Val magic = f.F(f.magic() + bias);
  const Val t = Fma(x, f.F(0x1.715476p+0, 0x1.71547652b82fep+0), magic);
  const Val n = t - magic;
  Val r = Fma(n, f.F(-0x1.62e43p-1, -0x1.62e42fefa39efp-1), x);
  r = Fma(n, f.F(0x1.05c61p-29, -0x1.abc9e3b39803fp-56), r);
  return {r, f.ToBits(t)};
}

// exp itself is as cheap as its bound allows; functions that add roundings of their own start from
// a polynomial of one degree more.
enum class Digits { kEnough, kMore };

// exp(r) for |r| <= ln(2) / 2, minimax (f32: in ULP, with rounded coefficients searched for the
// least error), exactly 1 at 0.
Val ExpPolynomial(const Format& f, Val r, Digits digits) {
  if (!f.is_f64() && digits == Digits::kMore) {
    return f.Poly(
        r, {1, 1, 0x1.fffffap-2, 0x1.555492p-3, 0x1.555a26p-5, 0x1.12397cp-7, 0x1.694c82p-10});
  }
  if (!f.is_f64()) {
    return f.Poly(r,
                  {1, 0x1.ffffeep-1, 0x1.fffdbap-2, 0x1.555d4ep-3, 0x1.573d18p-5, 0x1.0eb268p-7});
  }
  return f.Poly(
      r, {1, 1, 0x1.000000000000ap-1, 0x1.55555555554fep-3, 0x1.55555555506bfp-5,
          0x1.1111111126b36p-7, 0x1.6c16c18475faap-10, 0x1.a01a012fed2e6p-13, 0x1.a01999629942ap-16,
          0x1.71df18f7a6667p-19, 0x1.28adf8e7a4278p-22, 0x1.ad92d1dacb82fp-26});
}

// Below it exp(x), and |x| * exp(x) too, is less than half the least subnormal.
double NegativeLimit(const Format& f) { return f.is_f64() ? -760 : -110; }

// exp(x) * 2^63 (f64: 2^601) for x from NegativeLimit to 0, where no factor is subnormal.
// The scale makes 2^(n + scale) a normal number for every n that occurs. It multiplies, rather than
// being added to the exponent's bits, so that NaN stays NaN.
Val ExpScaled(Val x, Digits digits) {
  const Format f(x);
  const Reduced d = Reduce(f, x, f.exponent_bias() + (f.is_f64() ? 601 : 63));
  return ExpPolynomial(f, d.r, digits) * f.FromBits(d.biased << f.I(f.mantissa_bits()));
}

// p * 2^(biased - 2 * bias). 2^n is applied as two factors that are both normal numbers, so only
// the last product rounds, also when the result is subnormal or overflows.
Val TimesPowerOfTwo(const Format& f, Val p, Val biased) {
  const Val half = biased >> f.I(1);
  const Val low = f.FromBits(half << f.I(f.mantissa_bits()));
  const Val high = f.FromBits((biased - half) << f.I(f.mantissa_bits()));
  return p * low * high;
}

// exp(x) / 4 and (exp(x) - 1) / 4 for x up to 710.48 (f32: 89), where sinh overflows in f64.
struct QuarterExp {
  Val plain, minus_one;
};

QuarterExp Quarter(const Format& f, Val x) {
  const Reduced d = Reduce(f, x, f.exponent_bias() + 1);
  const Val scale = f.FromBits((d.biased - f.I(3)) << f.I(f.mantissa_bits()));
  // expm1(r) = r + r^2 * Q(r), minimax in the relative error, as in Tanh.
  const Val q =
      f.is_f64() ? f.Poly(d.r, {0x1.0000000000005p-1, 0x1.555555555553bp-3, 0x1.55555555520f5p-5,
                                0x1.1111111118838p-7, 0x1.6c16c17f3825cp-10, 0x1.a01a0177f53a7p-13,
                                0x1.a019a67fb602dp-16, 0x1.71de80ea261d9p-19, 0x1.28a2b5be872c4p-22,
                                0x1.ae77dfb6e7d1ep-26})
                 : f.Poly(d.r, {0x1.fffffep-2, 0x1.5554b0p-3, 0x1.555716p-5, 0x1.1227aap-7,
                                0x1.6b73a0p-10});
  const Val m = Fma(d.r * d.r, q, d.r);
  return {Fma(scale, m, scale), Fma(scale, m, scale - f.F(0.25))};
}

Val Unscale(Val x) {
  const Format f(x);
  return x * f.F(0x1p-63, 0x1p-601);
}

// exp(-|x|) * 2^63 (f64: 2^601), and exp(-|x|).
struct ExpOfMinusAbs {
  Val scaled, plain;
};

ExpOfMinusAbs MinusAbs(const Format& f, Val x) {
  const Val scaled = ExpScaled(AtLeast(-Abs(x), f.F(NegativeLimit(f))), Digits::kMore);
  return {scaled, Unscale(scaled)};
}

}  // namespace

Val Exp(Val x) {
  const Format f(x);
  x = AtLeast(AtMost(x, f.F(89, 710)), f.F(-104, -746));
  const Reduced d = Reduce(f, x, 2 * f.exponent_bias());
  return TimesPowerOfTwo(f, ExpPolynomial(f, d.r, Digits::kEnough), d.biased);
}

// x = n + r, and 2^r = exp(r * ln(2)).
Val Exp2(Val x) { return Exp2(x, Format(x).F(0)); }

Val Exp2(Val x, Val tail) {
  const Format f(x);
  x = AtLeast(AtMost(x, f.F(129, 1025)), f.F(-151, -1076));
  const Val magic = f.F(f.magic() + 2 * f.exponent_bias());
  const Val t = x + magic;
  const Val r = ((x - (t - magic)) + tail) * f.F(0x1.62e43p-1, 0x1.62e42fefa39efp-1);
  return TimesPowerOfTwo(f, ExpPolynomial(f, r, Digits::kMore), f.ToBits(t));
}

Val Expm1(Val x) {
  const Format f(x);
  const Val y = f.F(4) * Quarter(f, AtLeast(AtMost(x, f.F(89, 710)), f.F(-30, -50))).minus_one;
  return Select(Abs(x) < f.F(0x1p-25, 0x1p-54), x, y);
}

Val ExpNonPositive(Val x) {
  const Format f(x);
  return Unscale(ExpScaled(AtLeast(x, f.F(-104, -746)), Digits::kEnough));
}

// 1 / (1 + exp(-x)), written with exp of a non-positive number on both sides.
Val Sigmoid(Val x) {
  const Format f(x);
  const Val e = MinusAbs(f, x).plain;
  return Select(x < f.F(0), e, f.F(1)) / (f.F(1) + e);
}

// x * sigmoid(x). For negative x the scaled exponential is used, since the product with x may be a
// good number where the exponential alone is subnormal.
Val Silu(Val x) {
  const Format f(x);
  const ExpOfMinusAbs e = MinusAbs(f, x);
  const Val negative = x < f.F(0);
  const Val sigmoid = Select(negative, e.scaled, f.F(1)) / (f.F(1) + e.plain);
  const Val scale = Select(negative, f.F(0x1p-63, 0x1p-601), f.F(1));
  return (x * sigmoid) * Select(x < f.F(NegativeLimit(f)), f.F(0), scale);
}

// With m = expm1(|x|), (m + m / (m + 1)) / 2.
Val Sinh(Val x) {
  return InF64(x, [](Val v) {
    const Format f(v);
    const Val a = AtMost(Abs(v), f.F(710.48));
    const Val q = Quarter(f, a).minus_one;
    const Val y = f.F(2) * (q + q / (f.F(4) * q + f.F(1)));
    return f.CopySign(Select(a < f.F(0x1p-28), a, y), v);
  });
}

// With e = exp(|x|), (e + 1 / e) / 2.
Val Cosh(Val x) {
  return InF64(x, [](Val v) {
    const Format f(v);
    const Val q = Quarter(f, AtMost(Abs(v), f.F(710.48))).plain;
    return f.F(2) * (q + f.F(0.0625) / q);
  });
}

// With m = expm1(-2|x|), tanh(|x|) = -m / (m + 2). m is made of m(r) for -2|x| = n * ln(2) - 2r, as
// 2^n * m(r) + (2^n - 1). For n = 0, r is |x| itself; for the rest one constant is enough, since
// 2^n shrinks its error.
Val Tanh(Val x) {
  const Format f(x);
  const Val a = AtMost(Abs(x), f.F(9.02, 20));
  const Val magic = f.F(f.magic() + f.exponent_bias());
  const Val t = Fma(a, f.F(-0x1.715476p+1, -0x1.71547652b82fep+1), magic);
  const Val r = Fma(t - magic, f.F(0x1.62e43p-2, 0x1.62e42fefa39efp-2), a);
  const Val two_n = f.FromBits(f.ToBits(t) << f.I(f.mantissa_bits()));
  // expm1(-2r) = r * (-2 + r * Q(r)), minimax in the relative error.
  const Val q = f.is_f64()
                    ? f.Poly(r, {0x1.0000000000005p+1, -0x1.555555555553bp+0, 0x1.55555555520f5p-1,
                                 -0x1.1111111118838p-2, 0x1.6c16c17f3825cp-4, -0x1.a01a0177f53a7p-6,
                                 0x1.a019a67fb602dp-8, -0x1.71de80ea261d9p-10,
                                 0x1.28a2b5be872c4p-12, -0x1.ae77dfb6e7d1ep-15})
                    : f.Poly(r, {0x1.fffffep+0, -0x1.5554b0p+0, 0x1.555716p-1, -0x1.1227aap-2,
                                 0x1.6b73a0p-4});
  const Val m = Fma(r * r, q, f.F(-2) * r);
  const Val expm1 = Fma(two_n, m, two_n - f.F(1));
  return f.CopySign(Abs(expm1 / (expm1 + f.F(2))), x);
}

}  // namespace lathe::kernel::math
