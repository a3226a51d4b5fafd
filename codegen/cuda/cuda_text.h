#pragma once
// CUDA text of kernels: Kernel IR of the pointwise and row kinds printed as CUDA C++ in a closed
// vocabulary (prelude_cuda.h, prelude_ops.h, and what CUDA itself predeclares), without #include.
// The same text compiles behind either prelude, for a GPU or for the host.
//
// A vector of 32 lanes is one scalar per thread of a warp; scalars are computed alike by all lanes.
// Tasks are dealt to warps: warp w of W runs tasks w, w + W, ... Worker scratch has a part per
// warp. A kernel's signature is
//   lathe_<fingerprint>(buffers.., sizes.., lathe_i64 tasks, lathe_i64* error)
// with buffers as pointers to float, double, lathe_i32, lathe_i64 or unsigned char (bool), sizes as
// lathe_i64, and `error` of kErrorWords words that are 0 before the launch: lathe_fail in
// prelude_ops.h says what they hold. Any grid of one-dimensional blocks of whole warps serves, up
// to kMaxBlockThreads a block. Equal kernels give equal text.
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/kernel/kernel.h"

namespace lathe::cuda {

inline constexpr int kWarpLanes = 32;
inline constexpr int kMaxBlockThreads = 256;
inline constexpr int kErrorWords = 5;

// The name of the kernel's function: lathe_<fingerprint>.
std::string KernelName(const kernel::Kernel& k);

// The function alone. Unimplemented, saying what was found, for vectors of other than 32 lanes and
// for kernels that call others.
absl::StatusOr<std::string> CudaText(const kernel::Kernel& k);

// Programs: kernels' texts, which must be distinct, behind their prelude.
std::string CudaProgram(absl::Span<const std::string> texts);
std::string HostProgram(absl::Span<const std::string> texts);

}  // namespace lathe::cuda
