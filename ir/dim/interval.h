#pragma once
// Interval arithmetic over the integers with ends that saturate to unbounded. Every result contains
// every value of the operation on members of the operands. Internal to ir/dim.
#include "ir/dim/facts.h"

namespace lathe::dim {

inline Interval Exactly(int64_t v) { return {v, v}; }
inline bool IsExact(Interval x) { return x.min == x.max; }
inline bool Contains(Interval x, int64_t v) { return x.min <= v && v <= x.max; }
inline bool operator==(Interval x, Interval y) { return x.min == y.min && x.max == y.max; }

// A lower end above int64 stays a sound lower bound at INT64_MAX; likewise an upper end below it.
int64_t Saturate(__int128 v);

Interval Intersect(Interval x, Interval y);
Interval Hull(Interval x, Interval y);
Interval AddIntervals(Interval x, Interval y);
Interval ScaleInterval(Interval x, int64_t k);
Interval MulIntervals(Interval x, Interval y);
// A divisor that may be 0 gives the unbounded interval; so does an empty operand, which stands for
// facts that contradict each other.
Interval FloorDivIntervals(Interval x, Interval y);
Interval CeilDivIntervals(Interval x, Interval y);
Interval ModIntervals(Interval x, Interval y);
Interval MinIntervals(Interval x, Interval y);
Interval MaxIntervals(Interval x, Interval y);

// The x with k * x in `y`, k != 0.
Interval UnscaleInterval(Interval y, int64_t k);

}  // namespace lathe::dim
