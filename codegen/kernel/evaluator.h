#pragma once
// The bounds-checking evaluator of Kernel IR: the second oracle. Slow and obvious; runs a kernel
// with the ABI's arguments, checks every address against the buffers' extents and every assumption.
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "codegen/kernel/kernel.h"
#include "runtime/kernel_abi.h"

namespace lathe::kernel {

struct EvalBuffer {
  void* data = nullptr;
  int64_t elements = 0;  // what may be touched; for worker scratch: of all workers together
};

// Runs tasks begin..end-1. An address out of bounds is an Internal error that prints the statement;
// a kFail statement gives OutOfRange and fills *error.
absl::Status Evaluate(const Kernel& k, absl::Span<const EvalBuffer> buffers,
                      absl::Span<const int64_t> sizes, int64_t begin, int64_t end, int64_t worker,
                      rt::KernelError* error);

}  // namespace lathe::kernel
