// The inverse trigonometric functions, all by way of atan in f64.
#include <limits>

#include "codegen/kernel/math_internal.h"

namespace lathe::kernel::math {
namespace {

constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;

// atan(a) for a >= 0 or NaN. Around 1 it is pi/4 + atan((a - 1) / (a + 1)), beyond that
// pi/2 - atan(1 / a), so that what is left to compute is atan(t) with |t| <= tan(pi/8).
Val AtanOfMagnitude(const Format& f, Val a) {
  const Val one = f.F(1), zero = f.F(0);
  const Val high = f.F(0x1.3504f333f9de6p+1) < a, middle = f.F(0x1.a827999fcef32p-2) < a;
  const Val numerator = Select(high, f.F(-1), Select(middle, a - one, a));
  const Val denominator = Select(high, a, Select(middle, a + one, one));
  const Val t = numerator / denominator;
  const Val z = t * t;
  // t + t * z * P(z), minimax in the relative error.
  const Val p = f.Poly(
      z, {-0x1.5555555555555p-2, 0x1.999999999942ap-3, -0x1.249249243d6cp-3, 0x1.c71c7188b4bbep-4,
          -0x1.745d0b9b52753p-4, 0x1.3b126bde049fcp-4, -0x1.10fae47fbd987p-4, 0x1.dfecdce10c7aap-5,
          -0x1.a0b8b0f5e33aep-5, 0x1.41b4bd48a7156p-5, -0x1.3aeaa889bae44p-6});
  const Val base = Select(high, f.F(kHalfPi), Select(middle, f.F(kHalfPi / 2), zero));
  const Val base_low = Select(high, f.F(kHalfPiLow), Select(middle, f.F(kHalfPiLow / 2), zero));
  return base + (t + Fma(t * z, p, base_low));
}

}  // namespace

Val Atan(Val x) {
  return InF64(x, [](Val v) {
    const Format f(v);
    return f.CopySign(AtanOfMagnitude(f, Abs(v)), v);
  });
}

// atan(x / sqrt(1 - x^2)); the root of a negative number makes arguments beyond 1 NaN.
Val Asin(Val x) {
  return InF64(x, [](Val v) {
    const Format f(v);
    const Val a = Abs(v);
    return f.CopySign(AtanOfMagnitude(f, a / Sqrt((f.F(1) - a) * (f.F(1) + a))), v);
  });
}

// 2 * atan(sqrt((1 - x) / (1 + x))).
Val Acos(Val x) {
  return InF64(x, [](Val v) {
    const Format f(v);
    return f.F(2) * AtanOfMagnitude(f, Sqrt((f.F(1) - v) / (f.F(1) + v)));
  });
}

// The angle of (|x|, |y|), mirrored for negative x and then for negative y. Coordinates of one size
// have the ratio 1 also where both are infinite; at the origin it is 0.
Val Atan2(Val y, Val x) {
  const Format given(y);
  if (!given.is_f64())
    return Cast(Atan2(Cast(y, DType::kF64), Cast(x, DType::kF64)), given.float_type());
  const Format f(y);
  const Val a = Abs(y), b = Abs(x), zero = f.F(0);
  const Val ratio = Select(a == b, Select(a == zero, zero, f.F(1)), a / b);
  const Val angle = AtanOfMagnitude(f, ratio);
  const Val mirrored = f.F(2 * kHalfPi) - (angle - f.F(2 * kHalfPiLow));
  const Val left = f.ToBits(x) < f.I(0);
  return f.CopySign(Select(left, mirrored, angle), y);
}

}  // namespace lathe::kernel::math
