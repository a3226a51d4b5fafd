// pow: 2^(y * log2|x|). In f32 that is computed in f64; in f64 the logarithm and its product with y
// are sums of two numbers, since an error of theirs counts up to 1024 times in the result.
#include <limits>

#include "codegen/kernel/math_internal.h"

namespace lathe::kernel::math {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The number hi + lo, |lo| at most half a unit in the last place of hi.
struct Pair {
  Val hi, lo;
};

// a + b where |a| >= |b| or a is 0 (T. J. Dekker, "A floating-point technique for extending the
// available precision", 1971).
Pair Sum(Val a, Val b) {
  const Val sum = a + b;
  return {sum, b - (sum - a)};
}
Pair Sum(Pair a, Pair b) {
  const Pair s = Sum(a.hi, b.hi);
  return Sum(s.hi, s.lo + (a.lo + b.lo));
}

Pair Product(Pair a, Pair b) {
  const Val p = a.hi * b.hi;
  const Val error = Fma(a.hi, b.hi, -p);
  return Sum(p, Fma(a.hi, b.lo, Fma(a.lo, b.hi, error)));
}

// log2 of a > 0, to some 2^-66 of it; -infinity of 0, and infinity and NaN as they are. With a =
// 2^e * m, m in [2/3, 4/3), and s = (m - 1) / (m + 1): log(m) = 2 * atanh(s) = 2s + 2/3 s^3 + ..,
// of which the first three terms are pairs.
Pair Log2(const Format& f, Val a) {
  const Val subnormal = a < f.F(0x1p-1022);
  const Val bits = f.ToBits(Select(subnormal, a * f.F(0x1p52), a));
  const Val exponent = Sar(bits - f.ToBits(f.F(0x1.5555555555555p-1)), f.I(52));
  const Val m = f.FromBits(bits - (exponent << f.I(52)));
  const Val e = (f.FromBits(f.ToBits(f.F(f.magic())) + exponent) - f.F(f.magic())) +
                Select(subnormal, f.F(-52), f.F(0));

  const Val x = m - f.F(1);
  const Pair d = Sum(f.F(2), x);
  const Val quotient = x / d.hi;
  const Val rest = Fma(-quotient, d.lo, Fma(-quotient, d.hi, x));
  const Pair s{quotient, rest / d.hi};
  const Pair z = Product(s, s);
  // Minimax in the absolute error.
  const Val tail = f.Poly(
      z.hi, {0x1.24924924924d1p-2, 0x1.c71c71c6e5a69p-3, 0x1.745d17951521cp-3, 0x1.3b13848408e1ep-3,
             0x1.111d377e43a2fp-3, 0x1.de7d1a863a7f3p-4, 0x1.eabe2a58c7805p-4});
  const auto constant = [&](double hi, double lo) { return Pair{f.F(hi), f.F(lo)}; };
  Pair sum = Sum(constant(0x1.999999999999ap-2, -0x1.999999999999ap-56), {z.hi * tail, f.F(0)});
  sum = Sum(constant(0x1.5555555555555p-1, 0x1.5555555555555p-55), Product(z, sum));
  sum = Product(s, Product(z, sum));
  const Pair log = Sum({f.F(2) * s.hi, f.F(2) * s.lo}, sum);
  const Pair log2 = Product(log, constant(0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56));
  const Pair result = Sum({e, f.F(0)}, log2);

  const Val normal = (f.F(0) < a) & (a < f.F(kInfinity));
  const Val special = Select(a == f.F(0), f.F(-kInfinity), a);
  return {Select(normal, result.hi, special), Select(normal, result.lo, f.F(0))};
}

// a^y for a >= 0, apart from the cases in which the product below is 0 * infinity.
Val PowOfMagnitude(Val a, Val y) {
  const Format f(a);
  if (!f.is_f64()) {
    const Val log = math::Log2(Cast(a, DType::kF64));
    return Cast(Exp2(Cast(y, DType::kF64) * log), f.float_type());
  }
  const Pair log = Log2(f, a);
  const Val p = y * log.hi;
  const Val tail = Fma(y, log.lo, Fma(y, log.hi, -p));
  return Exp2(p, Select(Abs(p) < f.F(2048), tail, f.F(0)));
}

}  // namespace

// The special values are those of C's annex F. Exponents 1 and 2 are exact or rounded once.
Val Pow(Val x, Val y) {
  const Format f(x);
  const Val a = Abs(x), one = f.F(1), infinity = f.F(kInfinity);
  const Val whole = Floor(y) == y, half = y * f.F(0.5);
  const Val odd = whole & Bin(KOp::kNe, Floor(half), half);
  const Val sign = Select(odd, f.ToBits(x) & f.SignBit(), f.I(0));
  Val r = f.FromBits(f.ToBits(PowOfMagnitude(a, y)) | sign);
  const Val no_root = Bin(KOp::kAnd, (x < f.F(0)) & (a < infinity), Bin(KOp::kNe, Floor(y), y));
  r = Select(no_root, f.F(std::numeric_limits<double>::quiet_NaN()), r);
  const Val is_one = (y == f.F(0)) | (x == one) | ((a == one) & (Abs(y) == infinity));
  r = Select(is_one, one, r);
  return Select(y == one, x, Select(y == f.F(2), x * x, r));
}

// By squaring, a bit of the exponent at a time. 1 / x^n is 0 for all but 1 and -1.
Val IntegerPow(Val x, Val y) {
  KernelBuilder& b = *x.b;
  const KType type = b.type(x.r);
  const auto constant = [&](int64_t value) { return Val{&b, b.Int(type, value)}; };
  const Val zero = constant(0), one = constant(1), minus_one = constant(-1);
  const int result = b.Var(one.r), square = b.Var(x.r), rest = b.Var(y.r);
  b.For("bit", 0, 8 * SizeOf(type.dtype), 1, [&](Dim) {
    const Val s{&b, b.Get(square)}, n{&b, b.Get(rest)}, r{&b, b.Get(result)};
    b.Set(result, Select((n & one) == one, r * s, r).r);
    b.Set(square, (s * s).r);
    b.Set(rest, (n >> one).r);
  });
  const Val sign = Select((y & one) == one, x, one);
  const Val inverse = Select(x == one, one, Select(x == minus_one, sign, zero));
  return Select(y < zero, inverse, {&b, b.Get(result)});
}

}  // namespace lathe::kernel::math
