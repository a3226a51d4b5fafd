#include "ir/dim/interval.h"

#include <algorithm>

namespace lathe::dim {
namespace {

// Ends are computed in 128 bits, where infinity is a number that no finite step reaches.
using Wide = __int128;
constexpr Wide kInf = Wide{1} << 100;

Wide Low(Interval x) { return x.min == kUnboundedMin ? -kInf : Wide{x.min}; }
Wide High(Interval x) { return x.max == kUnboundedMax ? kInf : Wide{x.max}; }

bool Infinite(Wide v) { return v >= kInf || v <= -kInf; }

Wide Mul(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (Infinite(a) || Infinite(b)) return (a < 0) == (b < 0) ? kInf : -kInf;
  return std::clamp(a * b, -kInf, kInf);  // |a|, |b| <= 2^63
}

Wide FloorDivWide(Wide a, Wide b) {  // b >= 1, both finite
  Wide q = a / b;
  return q - (a % b != 0 && a < 0);
}

Interval Make(Wide low, Wide high) { return {Saturate(low), Saturate(high)}; }

Interval Negate(Interval x) { return Make(-High(x), -Low(x)); }

}  // namespace

int64_t Saturate(__int128 v) {
  if (v > INT64_MAX) return INT64_MAX;
  if (v < INT64_MIN) return INT64_MIN;
  return static_cast<int64_t>(v);
}

Interval Intersect(Interval x, Interval y) {
  return {std::max(x.min, y.min), std::min(x.max, y.max)};
}

Interval Hull(Interval x, Interval y) { return {std::min(x.min, y.min), std::max(x.max, y.max)}; }

Interval AddIntervals(Interval x, Interval y) {
  Wide low = x.min == kUnboundedMin || y.min == kUnboundedMin ? -kInf : Wide{x.min} + y.min;
  Wide high = x.max == kUnboundedMax || y.max == kUnboundedMax ? kInf : Wide{x.max} + y.max;
  return Make(low, high);
}

Interval ScaleInterval(Interval x, int64_t k) {
  if (k == 1) return x;
  Wide a = Mul(Low(x), k), b = Mul(High(x), k);
  return k >= 0 ? Make(a, b) : Make(b, a);
}

Interval MulIntervals(Interval x, Interval y) {
  Wide p[] = {Mul(Low(x), Low(y)), Mul(Low(x), High(y)), Mul(High(x), Low(y)),
              Mul(High(x), High(y))};
  return Make(*std::min_element(p, p + 4), *std::max_element(p, p + 4));
}

Interval FloorDivIntervals(Interval x, Interval y) {
  if (x.empty() || y.empty()) return {};
  if (y.max <= -1) return FloorDivIntervals(Negate(x), Negate(y));
  if (y.min < 1) return {};
  Wide xl = Low(x), xh = High(x), yl = Low(y), yh = High(y);
  Wide low = -kInf, high = kInf;
  if (xl >= 0) {
    low = Infinite(yh) ? Wide{0} : FloorDivWide(xl, yh);
  } else if (!Infinite(xl)) {
    low = FloorDivWide(xl, yl);
  }
  if (xh < 0) {
    high = Infinite(yh) || Infinite(xh) ? Wide{-1} : FloorDivWide(xh, yh);
  } else if (!Infinite(xh)) {
    high = FloorDivWide(xh, yl);
  }
  return Make(low, high);
}

Interval CeilDivIntervals(Interval x, Interval y) {
  return Negate(FloorDivIntervals(Negate(x), y));
}

Interval ModIntervals(Interval x, Interval y) {
  if (x.empty() || y.empty()) return {};
  if (y.max <= -1) return Negate(ModIntervals(Negate(x), Negate(y)));
  if (y.min < 1) return {};
  if (x.min >= 0 && x.max < y.min) return x;
  Interval r = {0, y.max == kUnboundedMax ? kUnboundedMax : y.max - 1};
  if (x.min >= 0) r.max = std::min(r.max, x.max);
  if (!IsExact(y) || x.min == kUnboundedMin || x.max == kUnboundedMax) return r;
  Wide block = FloorDivWide(x.min, y.min);
  if (block != FloorDivWide(x.max, y.min)) return r;
  return Make(x.min - block * y.min, x.max - block * y.min);
}

Interval MinIntervals(Interval x, Interval y) {
  return {std::min(x.min, y.min), std::min(x.max, y.max)};
}

Interval MaxIntervals(Interval x, Interval y) {
  return {std::max(x.min, y.min), std::max(x.max, y.max)};
}

Interval UnscaleInterval(Interval y, int64_t k) {
  if (k == 1) return y;
  Wide low = Low(y), high = High(y), d = k;
  if (k < 0) {
    Wide t = -low;
    low = -high;
    high = t;
    d = -d;
  }
  if (!Infinite(low)) low = -FloorDivWide(-low, d);
  if (!Infinite(high)) high = FloorDivWide(high, d);
  return Make(low, high);
}

}  // namespace lathe::dim
