#pragma once
// The counter-based generator of the `random` op and of everyone who makes inputs from a seed
// (tests, REPL, benches): Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3" (SC 2011). Value `index` of stream `seed` needs no state, so elements may be made in any
// order.
//
// Compiled code reproduces every bit: beside integers only IEEE double + - * / sqrt, comparison and
// conversion occur, each rounded to nearest even, none fused. The exact formulas:
//
//   w = Philox4x32(counter = {lo32(index), hi32(index), 0, 0}, key = {lo32(seed), hi32(seed)})
//   uniform f32 = (w[0] >> 8) * 2^-24
//   uniform f64 = (w[0] * 2^21 + (w[1] >> 11)) * 2^-53
//   normal f64  = sqrt(-2 * Log(u)) * Cos(w[1])    with u = (w[0] + 1) * 2^-32, 0 < u <= 1
//   normal f32  = normal f64, rounded once
//
//   Log(u):  m = u, e = 0; for k in 16, 8, 4, 2, 1: if m < 2^-k then m = m * 2^k, e = e - k;
//            if m < sqrt(1/2) then m = m * 2, e = e - 1;
//            s = (m - 1) / (m + 1), z = s * s; p = 1/23;
//            for n in 21, 19, ..., 3, 1: p = p * z + 1/n;
//            Log = e * ln2 + (2 * s) * p
//   Cos(w):  of w * 2^-32 turns. h = w + 2^29; q = (h >> 30) & 3, the nearest quarter turn;
//            x = ((h & (2^30 - 1)) - 2^29) * (2*pi * 2^-32), z = x * x;
//            c = 1/16!, for n in 14, 12, ..., 2, 0: c = c * z + (-1)^(n/2) / n!
//            s = 1/17!, for n in 15, 13, ..., 3, 1: s = s * z + (-1)^((n-1)/2) / n!; s = s * x
//            Cos = c, -s, -c, s for q = 0, 1, 2, 3
//
// Constants (ln2, sqrt(1/2), 2*pi * 2^-32, 1/n, 1/n!) are the nearest doubles.
#include <array>
#include <cstdint>

namespace lathe::ir {

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// In [0, 1).
float PhiloxUniform(uint64_t seed, uint64_t index);
double PhiloxUniformF64(uint64_t seed, uint64_t index);

// Mean 0, variance 1; |value| < 6.7.
float PhiloxNormal(uint64_t seed, uint64_t index);
double PhiloxNormalF64(uint64_t seed, uint64_t index);

// A whole number in [low, high], both included, low <= high; slightly uneven for spans near 2^32.
int64_t PhiloxInteger(uint64_t seed, uint64_t index, int64_t low, int64_t high);

}  // namespace lathe::ir
