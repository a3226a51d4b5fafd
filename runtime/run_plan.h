#pragma once
// A host program flattened for the call path: buffers become indices into one array of pointers, so
// that a step is a gather and a call. Made once a version, when its table is published; read by all
// threads.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/version.h"

namespace lathe::rt {

// The array of pointers of a context: constants, then inputs, outputs, arena values.
struct RunPlan {
  struct Kernel {
    KernelFn fn;
    int32_t first_buffer, num_buffers;  // in `buffers`
    int32_t first_size;                 // in `size_slots`
    int32_t tasks_slot, work_slot;
  };

  const Version* version = nullptr;  // kept alive by the table
  std::vector<Kernel> kernels;       // as in the host program
  std::vector<int32_t> buffers;      // indices into the pointers
  std::vector<int32_t> size_slots;   // of all kernels, gathered once for new sizes
  std::vector<void*> constants;
  int32_t first_input = 0, first_output = 0, first_value = 0, num_pointers = 0;
  int32_t max_buffers = 0;               // of a kernel
  std::vector<uint32_t> output_headers;  // HeaderOf each output

  // Internal if the program names a slot, buffer or step that isn't there, or doesn't fit the
  // function.
  static absl::StatusOr<RunPlan> Make(const EntryPlan& entry, const ir::Graph& graph,
                                      const Version& version);
};

// Type and rank of a tensor in one word, for comparing both at once; an invalid tensor's equals
// none.
inline uint32_t HeaderOf(DType dtype, size_t rank, bool ok = true) {
  return static_cast<uint32_t>(dtype) | static_cast<uint32_t>(rank) << 8 |
         static_cast<uint32_t>(!ok) << 31;
}
inline uint32_t HeaderOf(const Tensor& t) { return HeaderOf(t.dtype(), t.shape().size(), t.ok()); }

// What calls use: a table with its plans. Immutable; a context holds the one it last used.
struct Published {
  std::shared_ptr<const VersionTable> table;
  std::shared_ptr<const std::vector<RunPlan>> plans;  // in the table's order
  int pinned = -1;                                    // index of the version that wins where it may
  uint64_t generation = 0;
};

}  // namespace lathe::rt
