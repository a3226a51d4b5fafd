// erf and gelu.
#include "codegen/kernel/math_internal.h"

namespace lathe::kernel::math {
namespace {

// erf for |x| < 1: x * P(x^2), minimax in the relative error.
Val ErfSmall(const Format& f, Val x) {
  const Val u = x * x;
  if (!f.is_f64())
    return x * f.Poly(u, {0x1.20dd74p+0, -0x1.812660p-2, 0x1.ce077cp-4, -0x1.b59370p-6,
                          0x1.420828p-8, -0x1.268bc2p-11});
  return x * f.Poly(u, {0x1.20dd750429b6dp+0, -0x1.812746b0379b2p-2, 0x1.ce2f21a0408d1p-4,
                        -0x1.b82ce311ee09bp-6, 0x1.565bccf7e2856p-8, -0x1.c02db0149d904p-11,
                        0x1.f9a2b75531772p-14, -0x1.f4ca204c771c5p-17, 0x1.b97e44280cfb9p-20,
                        -0x1.5bfe763844720p-23, 0x1.d6e3ddfeb1f49p-27, -0x1.ab15c51d2ebebp-31});
}

// erfc for 1 <= a, where only its absolute error counts. f32: exp(P(a)) with P(a) near
// log(erfc(a)), for a <= 3.93; f64: exp(-a^2) * P(t) with t = (a - 2.45) / (a + 2.45), for a <= 6.
Val ErfcLarge(const Format& f, Val a) {
  if (!f.is_f64()) {
    return ExpNonPositive(f.Poly(a, {-0x1.5e300ep-9, -0x1.1e1072p+0, -0x1.4f193p-1, -0x1.6b0b9ap-4,
                                     0x1.e43faap-7, -0x1.2d9352p-10}));
  }
  const Val t = (a - f.F(2.45)) / (a + f.F(2.45));
  const Val p = f.Poly(
      t, {0x1.b7796ffa8dca2p-3, -0x1.81dd9536d088dp-2, 0x1.01b54a7eb7308p-2, -0x1.f19e1fd5108cbp-4,
          0x1.29bcc60c6e94cp-5, -0x1.2b9c382eb5cc6p-9, -0x1.764ff00c41c94p-9, 0x1.687bf16023988p-11,
          0x1.34adb7a020886p-12, -0x1.b24f3f671b967p-14, -0x1.86c735643ebccp-15,
          0x1.c4552b35e1ebbp-17, 0x1.3eee7d8d567eap-17, -0x1.19b56686df957p-20,
          -0x1.df6dded8d6b27p-20, -0x1.99cc0ac179330p-24});
  return ExpNonPositive(-(a * a)) * p;
}

}  // namespace

Val Erf(Val x) {
  const Format f(x);
  const Val a = AtMost(Abs(x), f.F(3.93, 6));
  const Val large = f.CopySign(f.F(1) - ErfcLarge(f, a), x);
  return Select(a < f.F(1), ErfSmall(f, x), large);
}

// 0.5 * x * (1 + erf(x / sqrt(2))). In f32 erf(x / sqrt(2)) is c * P(c^2) / Q(c^2) with c = x
// clamped, minimax in the absolute error, which alone counts here; it is exactly 1 at the ends, so
// that gelu(x) is x or 0 beyond them.
Val Gelu(Val x) {
  const Format f(x);
  const Val half = f.F(0.5) * x;
  if (f.is_f64()) return Fma(half, Erf(x * f.F(0, 0x1.6a09e667f3bcdp-1)), half);
  const Val c = AtLeast(AtMost(x, f.F(5.4)), f.F(-5.4));
  const Val u = c * c;
  const Val p = f.Poly(u, {0x1.98844ap-1, 0x1.151ddp-4, 0x1.32b89ep-7, 0x1.62d6p-12, 0x1.ae727ep-17,
                           0x1.8da72ep-25});
  const Val q =
      f.Poly(u, {1, 0x1.017e76p-2, 0x1.d54a82p-6, 0x1.ee7516p-10, 0x1.36b834p-14, 0x1.45ca66p-20});
  return Fma(half, (c * p) / q, half);
}

}  // namespace lathe::kernel::math
