// rem and mod of floats, exact. One step takes a whole quotient of at most as many bits as the
// mantissa has, and r - q * s is then a number of the type: it is a multiple of the lesser unit of
// r and s, and less than s. A longer quotient is taken in such steps, by divisors b * 2^(k *
// mantissa bits) from the greatest that isn't above a down to b.
#include "codegen/kernel/math_internal.h"

namespace lathe::kernel::math {
namespace {

// r mod s for r >= 0, s > 0 and r / s at most 2^mantissa_bits; NaN where s is 0 or r infinite. The
// rounded quotient is a whole number too high at most by one.
Val Step(const Format& f, Val r, Val s) {
  const Val rest = Fma(-Floor(r / s), s, r);
  return Select(rest < f.F(0), rest + s, rest);
}

// a mod b brought below b * 2^mantissa_bits, for a > 0.
Val Shorten(const Format& f, Val a, Val b) {
  KernelBuilder& builder = *a.b;
  // The largest number over the least is below 2^277 (f64: 2^2098).
  const int steps = f.is_f64() ? 40 : 12;
  const Val up = f.F(0x1p23, 0x1p52), down = f.F(0x1p-23, 0x1p-52);
  const int divisor = builder.Var(b.r), rest = builder.Var(a.r);
  builder.For("up", 0, steps, 1, [&](Dim) {
    const Val s{&builder, builder.Get(divisor)};
    builder.Set(divisor, Select(s * up <= a, s * up, s).r);
  });
  builder.For("down", 0, steps, 1, [&](Dim) {
    const Val s{&builder, builder.Get(divisor)}, r{&builder, builder.Get(rest)};
    builder.Set(rest, Step(f, r, s).r);
    builder.Set(divisor, Select(s * down < b, b, s * down).r);
  });
  return {&builder, builder.Get(rest)};
}

}  // namespace

Val Rem(Val x, Val y) {
  const Format f(x);
  const Val a = Abs(x), b = Abs(y);
  KernelBuilder& builder = *x.b;
  const int rest = builder.Var(a.r);
  const Val is_long = b * f.F(0x1p23, 0x1p52) < a;
  builder.If(builder.Any(is_long.r), [&] { builder.Set(rest, Shorten(f, a, b).r); });
  const Val r = f.CopySign(Step(f, {&builder, builder.Get(rest)}, b), x);
  return Select(a < b, x, r);  // of an infinite y the step is NaN
}

// The remainder, plus y where the signs differ; a zero has the sign of y.
Val Mod(Val x, Val y) {
  const Format f(x);
  const Val r = Rem(x, y), zero = f.F(0);
  const Val moved = Select((r < zero) ^ (y < zero), r + y, r);
  return Select(r == zero, f.CopySign(zero, y), moved);
}

}  // namespace lathe::kernel::math
