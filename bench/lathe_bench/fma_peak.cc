#include "bench/lathe_bench/fma_peak.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>

namespace lathe::bench {
namespace {

constexpr int kChains = 12;  // more than latency times units, so that no chain is waited for
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

__attribute__((target("avx512f"))) double Avx512Seconds() {
  __m512 acc[kChains];
  for (int i = 0; i < kChains; ++i) acc[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f);
  const auto start = std::chrono::steady_clock::now();
  for (int t = 0; t < kTrips; ++t) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) acc[i] = _mm512_fmadd_ps(acc[i], x, y);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  float sink[16];
  for (int i = 1; i < kChains; ++i) acc[0] = _mm512_add_ps(acc[0], acc[i]);
  _mm512_storeu_ps(sink, acc[0]);
  volatile float keep = sink[0];
  (void)keep;
  return seconds;
}

double BestGflops(double (*seconds)(), int lanes) {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) best = std::min(best, seconds());
  return 2.0 * lanes * kChains * kTrips / best / 1e9;
}

}  // namespace

double FmaPeakGflops() {
  const double narrow = BestGflops(Avx2Seconds, 8);
  return __builtin_cpu_supports("avx512f") ? std::max(narrow, BestGflops(Avx512Seconds, 16))
                                           : narrow;
}

}  // namespace lathe::bench
