#pragma once
// Runs CUDA text on the host: the text behind the host prelude, compiled by the system's C++
// compiler into a shared object, each lane of a warp a fibre. For tests: the very text that a GPU
// would run, with no GPU.
//
//   absl::StatusOr<std::unique_ptr<HostModule>> m = HostModule::Build({&kernel}, {.folder = dir});
//   absl::Status s = (*m)->Launch(kernel, buffers, sizes, tasks, {}, &error);
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/kernel/evaluator.h"
#include "codegen/kernel/kernel.h"

namespace lathe::cuda {

struct HostOptions {
  std::string folder;  // where shared objects are kept, by a hash of what they are made from
  std::string compiler = "c++";  // looked up in PATH
};

struct LaunchShape {
  int blocks = 1, warps = 1;   // warps of a block
  bool falling_lanes = false;  // the order in which lanes run between collectives
};

class HostModule {
 public:
  // All kernels in one shared object; equal ones once. What CudaText says of a kernel, or the
  // compiler's own words, if it can't be made.
  static absl::StatusOr<std::unique_ptr<HostModule>> Build(
      absl::Span<const kernel::Kernel* const> kernels, const HostOptions& options);
  ~HostModule();

  // All tasks of a kernel of this module, on this thread. As kernel::Evaluate: buffers are in the
  // order of the ABI, and a reached fail site gives OutOfRange with *error filled. Scratch buffers
  // hold a part per warp of the grid. Internal if lanes part ways.
  absl::Status Launch(const kernel::Kernel& k, absl::Span<const kernel::EvalBuffer> buffers,
                      absl::Span<const int64_t> sizes, int64_t tasks, const LaunchShape& shape,
                      rt::KernelError* error) const;

  bool was_cached() const { return was_cached_; }  // the shared object was there already

 private:
  using Entry = void (*)(void* const* buffers, const int64_t* sizes, int64_t tasks, int64_t* error);
  HostModule() = default;
  absl::Status Check(const kernel::Kernel& k, absl::Span<const kernel::EvalBuffer> buffers,
                     absl::Span<const int64_t> sizes, int64_t warps) const;

  void* library_ = nullptr;
  void (*set_warp_)(struct LatheHostWarp*) = nullptr;
  absl::flat_hash_map<std::string, Entry> entries_;  // by KernelName
  bool was_cached_ = false;
};

}  // namespace lathe::cuda
