// exp and what is made of it: sigmoid, silu, and tanh.
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

// exp(r) for |r| <= ln(2) / 2, minimax in the relative error, exactly 1 at 0: 2^-23.4 and 2^-57.8.
Val ExpPolynomial(const Format& f, Val r) {
  if (!f.is_f64()) {
    return f.Poly(r, {1, 0x1.fffff6p-1, 0x1.fffdc6p-2, 0x1.555a8p-3, 0x1.573a1cp-5, 0x1.0f9fa6p-7});
  }
  return f.Poly(
      r, {1, 1, 0x1.000000000000ap-1, 0x1.55555555554fep-3, 0x1.55555555506bfp-5,
          0x1.1111111126b36p-7, 0x1.6c16c18475faap-10, 0x1.a01a012fed2e6p-13, 0x1.a01999629942ap-16,
          0x1.71df18f7a6667p-19, 0x1.28adf8e7a4278p-22, 0x1.ad92d1dacb82fp-26});
}

// Below it exp(x), and |x| * exp(x) too, is less than half the least subnormal.
double NegativeLimit(const Format& f) { return f.is_f64() ? -760 : -110; }

// exp(-|x|) * 2^ExpScaleLog2, and exp(-|x|).
struct ExpOfMinusAbs {
  Val scaled, plain;
};

ExpOfMinusAbs MinusAbs(const Format& f, Val x) {
  const Val scaled = ExpScaled(AtLeast(-Abs(x), f.F(NegativeLimit(f))));
  return {scaled, scaled * f.F(0x1p-64, 0x1p-600)};
}

}  // namespace

int ExpScaleLog2(DType t) { return t == DType::kF64 ? 600 : 64; }

Val ExpScaled(Val x) {
  const Format f(x);
  const Reduced d = Reduce(f, x, ExpScaleLog2(f.float_type()));
  return f.FromBits(f.ToBits(ExpPolynomial(f, d.r)) + (d.biased << f.I(f.mantissa_bits())));
}

// 2^n is applied as two factors that are both normal numbers, so only the last product rounds, also
// when the result is subnormal or overflows.
Val Exp(Val x) {
  const Format f(x);
  x = AtLeast(AtMost(x, f.F(89, 710)), f.F(-104, -746));
  const Reduced d = Reduce(f, x, f.is_f64() ? 2046 : 254);
  const Val half = d.biased >> f.I(1);
  const Val low = f.FromBits(half << f.I(f.mantissa_bits()));
  const Val high = f.FromBits((d.biased - half) << f.I(f.mantissa_bits()));
  return ExpPolynomial(f, d.r) * low * high;
}

Val ExpNonPositive(Val x) {
  const Format f(x);
  return ExpScaled(AtLeast(x, f.F(-104, -746))) * f.F(0x1p-64, 0x1p-600);
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
  const Val scale = Select(negative, f.F(0x1p-64, 0x1p-600), f.F(1));
  return (x * sigmoid) * Select(x < f.F(NegativeLimit(f)), f.F(0), scale);
}

// f32: x * P(x^2) / Q(x^2), minimax on [-9.01, 9.01], where tanh rounds to 1 at the end.
// f64: -expm1(-2|x|) / (2 + expm1(-2|x|)).
Val Tanh(Val x) {
  const Format f(x);
  if (!f.is_f64()) {
    const Val c = AtLeast(AtMost(x, f.F(9.01)), f.F(-9.01));
    const Val u = c * c;
    const Val p = f.Poly(
        u, {0x1p+0, 0x1.182c9ep-3, 0x1.fb1b52p-9, 0x1.d6164ap-16, 0x1.06f854p-25, -0x1.ae1f68p-37});
    const Val q = f.Poly(u, {0x1p+0, 0x1.e16ba4p-2, 0x1.be6e6p-6, 0x1.9d1abep-12, 0x1.59cc6cp-20});
    return (c * p) / q;
  }
  const Val z = AtLeast(Abs(x) * f.F(-2), f.F(-44));
  const Reduced d = Reduce(f, z, 1023);
  const Val two_n = f.FromBits(d.biased << f.I(52));
  // expm1(r) = r + r^2 * q(r), minimax.
  const Val q = f.Poly(d.r, {0x1p-1, 0x1.555555555555cp-3, 0x1.5555555555544p-5,
                             0x1.111111110ea08p-7, 0x1.6c16c16c1e5c3p-10, 0x1.a01a01b43ce4bp-13,
                             0x1.a01a017d44d05p-16, 0x1.71ddee89f9a64p-19, 0x1.27e533aab53fep-22,
                             0x1.af6e545ffa69ep-26, 0x1.1eecf5df2d17cp-29});
  const Val m = Fma(d.r * d.r, q, d.r);
  const Val expm1 = Fma(two_n, m, two_n - f.F(1));
  return f.CopySign(Abs(expm1 / (expm1 + f.F(2))), x);
}

}  // namespace lathe::kernel::math
