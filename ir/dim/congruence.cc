#include "ir/dim/congruence.h"

#include <algorithm>
#include <utility>

#include "ir/dim/node.h"

namespace lathe::dim {
namespace {

using Wide = __int128;

Wide Abs(Wide v) { return v < 0 ? -v : v; }

Wide GcdWide(Wide a, Wide b) {
  a = Abs(a);
  b = Abs(b);
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

// From a modulus >= 0 and any remainder; loses what doesn't fit int64.
Congruence Make(Wide modulus, Wide remainder) {
  if (modulus > INT64_MAX) return {};
  if (modulus == 0) {
    if (remainder > INT64_MAX || remainder < INT64_MIN) return {};
    return {0, static_cast<int64_t>(remainder)};
  }
  Wide r = remainder % modulus;
  if (r < 0) r += modulus;
  return {static_cast<int64_t>(modulus), static_cast<int64_t>(r)};
}

// x with a * x == 1 (mod m), for coprime a and m, m >= 1.
Wide Inverse(Wide a, Wide m) {
  Wide r0 = m, r1 = ((a % m) + m) % m, t0 = 0, t1 = 1;
  while (r1 != 0) {
    Wide q = r0 / r1;
    t0 = std::exchange(t1, t0 - q * t1);
    r0 = std::exchange(r1, r0 - q * r1);
  }
  return t0 < 0 ? t0 + m : t0;
}

}  // namespace

Congruence AddCongruences(Congruence x, Congruence y) {
  return Make(GcdWide(x.modulus, y.modulus), Wide{x.remainder} + y.remainder);
}

Congruence ScaleCongruence(Congruence x, int64_t k) {
  if (k == 1) return x;
  Wide modulus = Abs(Wide{x.modulus} * k);
  if (modulus > INT64_MAX) return Make(Abs(k), 0);
  return Make(modulus, Wide{x.remainder} * k);
}

Congruence MulCongruences(Congruence x, Congruence y) {
  if (x.modulus == 0) return ScaleCongruence(y, x.remainder);
  if (y.modulus == 0) return ScaleCongruence(x, y.remainder);
  // (r + m*s) * (p + q*t) == r*p + m*p*s + r*q*t + m*q*s*t
  Wide g = GcdWide(GcdWide(Wide{x.modulus} * y.remainder, Wide{y.modulus} * x.remainder),
                   Wide{x.modulus} * y.modulus);
  return Make(g, Wide{x.remainder} * y.remainder);
}

Congruence FloorDivCongruence(Congruence x, int64_t c) {
  if (x.modulus % c != 0) return {};
  int64_t q = 0;
  FloorDivConst(x.remainder, c, &q);
  return Make(x.modulus / c, q);
}

Congruence ModCongruence(Congruence x, int64_t c) {
  int64_t r = 0;
  ModConst(x.remainder, c, &r);
  if (x.modulus % c == 0) return {0, r};
  return Make(Gcd(x.modulus, c), r);
}

Congruence JoinCongruences(Congruence x, Congruence y) {
  Wide g = GcdWide(GcdWide(x.modulus, y.modulus), Wide{x.remainder} - y.remainder);
  return Make(g, x.remainder);
}

bool Contains(Congruence x, int64_t v) {
  if (x.modulus == 0) return v == x.remainder;
  return (Wide{v} - x.remainder) % x.modulus == 0;
}

bool MeetCongruences(Congruence x, Congruence y, Congruence* out) {
  if (x.modulus == 0 || y.modulus == 0) {
    if (x.modulus != 0) std::swap(x, y);
    *out = x;
    return Contains(y, x.remainder);
  }
  Wide g = GcdWide(x.modulus, y.modulus);
  Wide difference = Wide{y.remainder} - x.remainder;
  if (difference % g != 0) return false;
  Wide lcm = Wide{x.modulus} / g * y.modulus;
  if (lcm > INT64_MAX) {  // keep the stronger of the two
    *out = x.modulus >= y.modulus ? x : y;
    return true;
  }
  // x.remainder + x.modulus * t == y.remainder (mod y.modulus)
  Wide m = y.modulus / g;
  Wide t = difference / g % m * Inverse(x.modulus / g, m) % m;
  *out = Make(lcm, x.remainder + x.modulus * t);
  return true;
}

bool UnscaleCongruence(Congruence y, int64_t k, Congruence* out) {
  if (y.modulus == 0) {
    if (Wide{y.remainder} % k != 0) return false;
    *out = Make(0, Wide{y.remainder} / k);
    return true;
  }
  Wide g = GcdWide(k, y.modulus);
  if (y.remainder % g != 0) return false;
  Wide m = y.modulus / g;
  *out = Make(m, y.remainder / g % m * Inverse(k / g, m) % m);
  return true;
}

Interval Tighten(Interval range, Congruence c) {
  if (range.empty()) return range;
  if (c.modulus == 0) {
    if (range.min <= c.remainder && c.remainder <= range.max) return {c.remainder, c.remainder};
    return {1, 0};
  }
  if (c.modulus == 1) return range;
  if (range.min != kUnboundedMin) {
    Wide up = (Wide{c.remainder} - range.min) % c.modulus;
    if (up < 0) up += c.modulus;
    Wide low = range.min + up;
    if (low > INT64_MAX) return range.max == kUnboundedMax ? range : Interval{1, 0};
    range.min = static_cast<int64_t>(low);
  }
  if (range.max != kUnboundedMax) {
    Wide down = (Wide{range.max} - c.remainder) % c.modulus;
    if (down < 0) down += c.modulus;
    Wide high = range.max - down;
    if (high < INT64_MIN) return range.min == kUnboundedMin ? range : Interval{1, 0};
    range.max = static_cast<int64_t>(high);
  }
  return range;
}

}  // namespace lathe::dim
