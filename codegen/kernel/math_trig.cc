// sin, cos and tan: x = q * pi/2 + r with |r| <= pi/4, then a polynomial for sin(r) or cos(r).
// Moderate arguments are reduced by Cody and Waite's method in three parts; when a vector holds a
// huge one, that lane is reduced by Payne and Hanek's method in integer arithmetic (M. H. Payne, R.
// N. Hanek, "Radian reduction for trigonometric functions", SIGNUM 1983).
#include <array>
#include <limits>
#include <vector>

#include "codegen/kernel/math_internal.h"

namespace lathe::kernel::math {
namespace {

// The binary digits of 2/pi after the point, 32 in a word, behind `kLeadingWords` words of zeros.
constexpr int kLeadingWords = 1;
constexpr std::array<uint32_t, 38> kTwoOverPi = {
    0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
    0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5,
    0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff,
    0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7,
    0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046};

// i64 lanes that hold 32-bit digits, and arithmetic on them.
class Digits {
 public:
  Digits(KernelBuilder* b, int lanes) : b_(b), type_{DType::kI64, lanes} {}
  Val I(int64_t value) const { return {b_, b_->Int(type_, value)}; }
  Val Low(Val x) const { return x & I(0xffffffff); }
  Val High(Val x) const { return x >> I(32); }

  // Words `first`, first + 1, .. of kTwoOverPi with `first` differing by lane, in steps of halving:
  // a shift network over constants. 0 <= first <= max_first.
  std::vector<Val> Words(Val first, int max_first, int count) const {
    int step = 1;
    while (2 * step <= max_first) step *= 2;
    std::vector<Val> words;
    for (uint32_t w : kTwoOverPi) words.push_back(I(w));
    size_t needed = static_cast<size_t>(count + 2 * step - 1);
    words.resize(std::max(needed, words.size()), I(0));
    for (; step >= 1; step /= 2) {
      const Val far = I(0) < (first & I(step));
      needed -= static_cast<size_t>(step);
      for (size_t i = 0; i < needed; ++i) words[i] = Select(far, words[i + step], words[i]);
    }
    words.resize(static_cast<size_t>(count), I(0));
    return words;
  }

 private:
  KernelBuilder* b_;
  KType type_;
};

// x = q * pi/2 + r; only the low two bits of q count.
struct Reduced {
  Val r, q;
};

Reduced CodyWaite(const Format& f, Val a) {
  const Val magic = f.F(f.magic());
  const Val t = Fma(a, f.F(0x1.45f306p-1, 0x1.45f306dc9c883p-1), magic);
  const Val n = t - magic;
  Val r = Fma(n, f.F(-0x1.921fb6p+0, -0x1.921fb54442d18p+0), a);
  r = Fma(n, f.F(0x1.777a5cp-25, -0x1.1a62633145c07p-54), r);
  r = Fma(n, f.F(0x1.ee59dap-50, 0x1.f1976b7ed8fbcp-110), r);
  return {r, f.ToBits(t)};
}

// a = m * 2^(e - bias), so a * 2/pi modulo 4 needs only the digits of 2/pi from weight 2^1 of the
// shifted number on. With `digits` words of them the fraction of the product is exact to
// 2^-(32 * digits - 2 - bits of m), far below the nearest that any a comes to a multiple of pi/2.
Reduced PayneHanek(const Format& f, Val a) {
  const bool wide = f.is_f64();
  const Digits d(a.b, a.b->type(a.r).lanes);
  const Val bits = Cast(f.ToBits(a), DType::kI64);
  const Val exponent = bits >> d.I(f.mantissa_bits());
  const Val one = d.I(int64_t{1} << f.mantissa_bits());
  const Val mantissa = (bits & (one - d.I(1))) | one;
  // Where the digits start: bit 0 is the first of the leading zeros. The exponent is at least that
  // of 2^16 (f32) or 2^30 (f64), and a start below 0 can't happen.
  const int64_t bias = f.mantissa_bits() + (wide ? 1023 : 127);
  const Val start = exponent - d.I(bias + 2 - 32 * kLeadingWords);
  const int digits = wide ? 6 : 3;
  const std::vector<Val> words = d.Words(start >> d.I(5), wide ? 31 : 4, digits + 1);
  const Val shift = start & d.I(31);
  std::vector<Val> digit;  // most significant first
  for (int i = 0; i < digits; ++i) {
    const Val pair = (words[i] << d.I(32)) | words[i + 1];
    digit.push_back(d.Low(pair >> (d.I(32) - shift)));
  }
  // The product modulo 2^(32 * digits), from the low end; limbs of the mantissa have 32 bits.
  const Val m_low = wide ? d.Low(mantissa) : mantissa;
  std::vector<Val> product(static_cast<size_t>(digits), d.I(0));
  Val carry = d.I(0);
  for (int i = digits - 1; i >= 0; --i) {
    const Val sum = digit[i] * m_low + carry;
    product[i] = d.Low(sum);
    carry = d.High(sum);
  }
  if (wide) {
    const Val m_high = d.High(mantissa);
    carry = d.I(0);
    for (int i = digits - 1; i >= 1; --i) {
      const Val sum = digit[i] * m_high + product[i - 1] + carry;
      product[i - 1] = d.Low(sum);
      carry = d.High(sum);
    }
  }
  // The top two bits count quarter turns; the rest, rounded to the nearest, is the fraction.
  const Val top = (product[0] << d.I(32)) | product[1];
  const Val q = (top + d.I(int64_t{1} << 61)) >> d.I(62);
  const Val fraction = top - (q << d.I(62));
  Val r = Cast(fraction, f.float_type()) * f.F(0x1p-62);
  if (wide) {
    const Val next = ((product[2] << d.I(32)) | product[3]) >> d.I(1);
    r = r + Cast(next, f.float_type()) * f.F(0x1p-62) * f.F(0x1p-63);
  }
  // Infinity has no sine; its bits look like those of a large number.
  const Val infinity = f.F(std::numeric_limits<double>::infinity());
  const Val nan = f.F(std::numeric_limits<double>::quiet_NaN());
  r = Select(a == infinity, nan, r * f.F(0x1.921fb6p+0, 0x1.921fb54442d18p+0));
  return {r, Cast(q, f.int_type())};
}

Reduced Reduce(const Format& f, Val a) {
  const Reduced fast = CodyWaite(f, a);
  KernelBuilder& b = *a.b;
  const Val huge = f.F(0x1p16, 0x1p30) < a;
  const int r = b.Var(fast.r.r), q = b.Var(fast.q.r);
  b.If(b.Any(huge.r), [&] {
    const Reduced slow = PayneHanek(f, a);
    b.Set(r, Select(huge, slow.r, fast.r).r);
    b.Set(q, Select(huge, slow.q, fast.q).r);
  });
  return {{&b, b.Get(r)}, {&b, b.Get(q)}};
}

struct SineCosine {
  Val sine, cosine;
};

// Of |r| <= pi/4; both polynomials are minimax.
SineCosine OfReduced(const Format& f, Val r) {
  const Val u = r * r;
  const Val s =
      f.is_f64() ? f.Poly(u, {-0x1.5555555555548p-3, 0x1.111111110f75dp-7, -0x1.a01a019bf222ep-13,
                              0x1.71de355f05599p-19, -0x1.ae5e5471f5501p-26, 0x1.5d8e3511cdb44p-33})
                 : f.Poly(u, {-0x1.555546p-3, 0x1.110778p-7, -0x1.9953fep-13});
  const Val c =
      f.is_f64()
          ? f.Poly(u, {0x1.555555555554bp-5, -0x1.6c16c16c15016p-10, 0x1.a01a019c8f3eep-16,
                       -0x1.27e4f7f19d4b2p-22, 0x1.1ee9dbd0d86a6p-29, -0x1.8fa681e385241p-37})
          : f.Poly(u, {0x1.55554ap-5, -0x1.6c0c2ap-10, 0x1.99e91p-16});
  return {Fma(r, u * s, r), Fma(u, Fma(u, c, f.F(-0.5)), f.F(1))};
}

// sin(r + q * pi/2).
Val Quadrant(const Format& f, Val r, Val q) {
  const SineCosine of_r = OfReduced(f, r);
  const Val odd = (q & f.I(1)) == f.I(1);
  const Val negate = (q << f.I(f.is_f64() ? 62 : 30)) & f.SignBit();
  return f.FromBits(f.ToBits(Select(odd, of_r.cosine, of_r.sine)) ^ negate);
}

}  // namespace

// By the sine of |x|, so that sin(-0) is -0.
Val Sin(Val x) {
  const Format f(x);
  const Reduced d = Reduce(f, Abs(x));
  const Val y = Quadrant(f, d.r, d.q);
  return f.FromBits(f.ToBits(y) ^ (f.ToBits(x) & f.SignBit()));
}

Val Cos(Val x) {
  const Format f(x);
  const Reduced d = Reduce(f, Abs(x));
  return Quadrant(f, d.r, d.q + f.I(1));
}

// By the tangent of |x|; that of r + pi/2 is -cos(r) / sin(r).
Val Tan(Val x) {
  return InF64(x, [](Val v) {
    const Format f(v);
    const Reduced d = Reduce(f, Abs(v));
    const SineCosine of_r = OfReduced(f, d.r);
    const Val odd = (d.q & f.I(1)) == f.I(1);
    const Val y = Select(odd, -of_r.cosine, of_r.sine) / Select(odd, of_r.sine, of_r.cosine);
    return f.FromBits(f.ToBits(y) ^ (f.ToBits(v) & f.SignBit()));
  });
}

}  // namespace lathe::kernel::math
