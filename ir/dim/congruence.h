#pragma once
// Arithmetic on congruences: every result holds for every value of the operation on members of the
// operands. Remainders are in [0, modulus); modulus 0 is one exact value. Internal to ir/dim.
#include "ir/dim/facts.h"

namespace lathe::dim {

inline bool IsTrivial(Congruence x) { return x.modulus == 1; }
inline bool operator==(Congruence x, Congruence y) {
  return x.modulus == y.modulus && x.remainder == y.remainder;
}

Congruence AddCongruences(Congruence x, Congruence y);
Congruence ScaleCongruence(Congruence x, int64_t k);
Congruence MulCongruences(Congruence x, Congruence y);
Congruence FloorDivCongruence(Congruence x, int64_t c);  // c >= 1
Congruence ModCongruence(Congruence x, int64_t c);       // c >= 1
Congruence JoinCongruences(Congruence x, Congruence y);  // what holds for members of either

bool Contains(Congruence x, int64_t v);

// What holds for members of both; false if there are none.
bool MeetCongruences(Congruence x, Congruence y, Congruence* out);

// The x with k * x in `y`, k != 0; false if there are none.
bool UnscaleCongruence(Congruence y, int64_t k, Congruence* out);

// Moves the ends of `range` inwards to members of `c`; the result may be empty.
Interval Tighten(Interval range, Congruence c);

}  // namespace lathe::dim
