// log: x = 2^e * m with m in [2/3, 4/3), log(x) = e * ln(2) + log(m).
#include <limits>

#include "codegen/kernel/math_internal.h"

namespace lathe::kernel::math {
namespace {

struct Parts {
  Val e, f;  // exponent as a float; m - 1, which is exact
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
  return {as_float + shift, m - f.F(1)};
}

// f32: f - f^2 / 2 + f^3 * P(f), minimax in the relative error.
Val Log1p(const Format& f, Val x) {
  const Val p = f.Poly(x, {0x1.555506p-2, -0x1.fffefp-3, 0x1.99d064p-3, -0x1.559de8p-3,
                           0x1.1ed37ep-3, -0x1.f30d5ep-4, 0x1.1e77d6p-3, -0x1.080f4ep-3});
  return Fma(x * x, Fma(x, p, f.F(-0.5)), x);
}

}  // namespace

Val Log(Val x) {
  const Format f(x);
  const Parts parts = Split(f, x);
  Val y = parts.f;
  if (!f.is_f64()) {
    y = Fma(parts.e, f.F(0x1.62e43p-1), Log1p(f, parts.f));
  } else {
    // log(1 + f) = log((1 + s) / (1 - s)), s = f / (2 + f), as in fdlibm: 2s + s * R(s^2) written
    // as f - (f^2 / 2 - s * (f^2 / 2 + R)), where only small terms are rounded.
    const Val s = parts.f / (f.F(2) + parts.f);
    const Val z = s * s;
    const Val r = z * f.Poly(z, {0x1.5555555555773p-1, 0x1.99999998f1696p-2, 0x1.249249b1ba8e6p-2,
                                 0x1.c71c01a00321ap-3, 0x1.7474da0942fe5p-3, 0x1.385376e88dae0p-3,
                                 0x1.3ab9a899bf600p-3});
    const Val half_square = f.F(0.5) * parts.f * parts.f;
    const Val low = Fma(parts.e, f.F(0x1.abc9e3b39803fp-56), s * (half_square + r));
    y = Fma(parts.e, f.F(0x1.62e42fefa39efp-1), parts.f - (half_square - low));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Val zero = f.F(0);
  // Zero, negative numbers, and (kept as they are) infinity and NaN.
  const Val special = Select(x < zero, f.F(nan), Select(x == zero, f.F(-infinity), x));
  return Select((zero < x) & (x < f.F(infinity)), y, special);
}

}  // namespace lathe::kernel::math
