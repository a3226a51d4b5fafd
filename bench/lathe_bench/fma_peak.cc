#include "bench/lathe_bench/fma_peak.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>

namespace lathe::bench {
namespace {

constexpr int kChains = 12;
constexpr int kTrips = 200000;

__attribute__((target("avx2,fma"))) double Avx2Seconds() {
  __m256 acc[kChains];
  for (int i = 0; i < kChains; ++i) acc[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-3f);
  const auto start = std::chrono::steady_clock::now();
  for (int t = 0; t < kTrips; ++t) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) acc[i] = _mm256_fmadd_ps(acc[i], x, y);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  float sink[8];
  for (int i = 1; i < kChains; ++i) acc[0] = _mm256_add_ps(acc[0], acc[i]);
  _mm256_storeu_ps(sink, acc[0]);
  volatile float keep = sink[0];
  (void)keep;
  return seconds;
}

}  // namespace

double FmaPeakGflops() {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) best = std::min(best, Avx2Seconds());
  return 2.0 * 8 * kChains * kTrips / best / 1e9;
}

}  // namespace lathe::bench
