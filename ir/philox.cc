#include "ir/philox.h"

#include <cmath>

namespace lathe::ir {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr double kLn2 = 0.693147180559945309417232121458;
constexpr double kSqrtHalf = 0.707106781186547524400844362105;
constexpr double kTurnUnit = 6.28318530717958647692528676656 * 0x1p-32;

std::array<uint32_t, 4> Words(uint64_t seed, uint64_t index) {
  return Philox4x32({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), 0, 0},
                    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

double Log(double u) {
  double m = u, e = 0;
  for (int k : {16, 8, 4, 2, 1}) {
    const double up = static_cast<double>(1 << k);
    if (m < 1 / up) {
      m *= up;
      e -= k;
    }
  }
  if (m < kSqrtHalf) {
    m *= 2;
    e -= 1;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 23;
  for (int n = 21; n >= 1; n -= 2) p = p * z + 1.0 / n;
  return e * kLn2 + (2 * s) * p;
}

constexpr double Factorial(int n) {  // exact up to 18!
  double product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return product;
}

double Cos(uint32_t w) {
  const int64_t h = int64_t{w} + (int64_t{1} << 29);
  const int quarter = static_cast<int>((h >> 30) & 3);
  const int64_t rest = (h & ((int64_t{1} << 30) - 1)) - (int64_t{1} << 29);
  const double x = static_cast<double>(rest) * kTurnUnit, z = x * x;
  double c = 1 / Factorial(16), s = 1 / Factorial(17);
  for (int n = 14; n >= 0; n -= 2) c = c * z + (n % 4 == 0 ? 1 : -1) / Factorial(n);
  for (int n = 15; n >= 1; n -= 2) s = s * z + (n % 4 == 1 ? 1 : -1) / Factorial(n);
  s *= x;
  switch (quarter) {
    case 0:
      return c;
    case 1:
      return -s;
    case 2:
      return -c;
    default:
      return s;
  }
}

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> x, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t p0 = uint64_t{kMultiplier0} * x[0], p1 = uint64_t{kMultiplier1} * x[2];
    x = {static_cast<uint32_t>(p1 >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(p0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return x;
}

float PhiloxUniform(uint64_t seed, uint64_t index) {
  return static_cast<float>(Words(seed, index)[0] >> 8) * 0x1p-24f;
}

double PhiloxUniformF64(uint64_t seed, uint64_t index) {
  const std::array<uint32_t, 4> w = Words(seed, index);
  return static_cast<double>((uint64_t{w[0]} << 21) + (w[1] >> 11)) * 0x1p-53;
}

float PhiloxNormal(uint64_t seed, uint64_t index) {
  return static_cast<float>(PhiloxNormalF64(seed, index));
}

double PhiloxNormalF64(uint64_t seed, uint64_t index) {
  const std::array<uint32_t, 4> w = Words(seed, index);
  const double u = (static_cast<double>(w[0]) + 1) * 0x1p-32;
  return std::sqrt(-2 * Log(u)) * Cos(w[1]);
}

int64_t PhiloxInteger(uint64_t seed, uint64_t index, int64_t low, int64_t high) {
  const std::array<uint32_t, 4> w = Words(seed, index);
  const uint64_t bits = (uint64_t{w[1]} << 32) | w[0];
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t step = span == 0 ? bits : bits % span;
  return static_cast<int64_t>(static_cast<uint64_t>(low) + step);
}

}  // namespace lathe::ir
