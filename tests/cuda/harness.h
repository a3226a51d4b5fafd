#pragma once
// Runs a kernel's CUDA text on the host and the kernel in the evaluator, on equal buffers, and
// compares every byte. Values that are NaN in both are equal. Shared with tests/compiler_cuda.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cuda/host_run.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/kernel/builder.h"

namespace lathe::cuda {

// The contents of one buffer; scratch has none of its own.
struct TestBuffer {
  DType dtype = DType::kF32;
  std::vector<uint8_t> bytes;
  int64_t elements() const { return static_cast<int64_t>(bytes.size()) / SizeOf(dtype); }

  static TestBuffer OfBits(DType dtype, const std::vector<uint64_t>& bits);
  // Bytes that no kernel writes by chance; bools are 0 and 1.
  static TestBuffer Canaries(DType dtype, int64_t elements);
};

// Where host modules are kept from run to run.
HostOptions TestHostOptions();

// The module of all kernels; a failure of the test and null if it can't be built.
std::unique_ptr<HostModule> BuildModule(
    const std::vector<std::shared_ptr<const kernel::Kernel>>& kernels);

// "" if the text gives the evaluator's bytes and errors in grids of one and of several warps, with
// lanes in either order; else what differs. `buffers` are those that aren't scratch, in order;
// `after`, if given, gets what the evaluator left in them; `failed`, whether both reached a fail
// site.
std::string Difference(const HostModule& module, const kernel::Kernel& k,
                       const std::vector<TestBuffer>& buffers, const std::vector<int64_t>& sizes,
                       std::vector<TestBuffer>* after = nullptr, bool* failed = nullptr);

// NVRTC, or null: then the test has failed, or was skipped because LATHE_NO_NVRTC=1 says that this
// machine has none.
std::shared_ptr<Nvrtc> OpenNvrtc();

// Values of an element type at which arithmetic goes wrong first, as bits.
std::vector<uint64_t> SpecialValues(DType dtype);

}  // namespace lathe::cuda
