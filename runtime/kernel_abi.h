#pragma once
// The calling convention of compiled kernels, shared by code generators, evaluator and runtime.
#include <cstdint>

namespace lathe::rt {

// Filled by a kernel that fails on data (an index out of range).
struct KernelError {
  int64_t code = 0;      // the fail site: index into the kernel's `failures`
  int64_t position = 0;  // row-major position of the offending element
  int64_t value = 0;     // what was found there
  int64_t bound = 0;     // what it must stay below
};

// Runs tasks begin..end-1. `buffers` and `sizes` are in the kernel's order; `worker` numbers the
// thread (0..workers-1) and selects its part of worker-scratch buffers. Returns 0, or 1 with *error
// filled; then the outputs are unspecified.
using KernelFn = int64_t (*)(void* const* buffers, const int64_t* sizes, int64_t begin, int64_t end,
                             int64_t worker, KernelError* error);

}  // namespace lathe::rt
