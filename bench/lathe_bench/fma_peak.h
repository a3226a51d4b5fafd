#pragma once
// The machine's own limit, measured beside what is compared with it.

namespace lathe::bench {

// Best rate of f32 fused multiply-adds of one core, in GFLOP/s, over a few milliseconds: with AVX2,
// or with AVX-512 where the processor has it and is faster with it.
double FmaPeakGflops();

}  // namespace lathe::bench
