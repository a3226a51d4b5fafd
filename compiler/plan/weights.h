#pragma once
// Packed weights: a function of (content, type, packing, target), owned by the engine, shared by
// all versions and programs.
//
// Cache key: hash of the content + shape + packing + panel width.
//
// Matrices lie one behind the other in slabs, so that those of a model share huge pages: a call
// with few rows reads every weight once, and misses of the TLB are a tenth of its time.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/lower/lowered.h"
#include "lathe/tensor.h"
#include "runtime/allocator.h"
#include "runtime/host_program.h"

namespace lathe::compiler {

class WeightStore {
 public:
  // The packed form of a [K, N] matrix, f32 for kPanels and i8 for kBytePanels, or of matrices
  // [G, K, N], one behind the other; kept alive by whoever holds it, together with its slab.
  absl::StatusOr<rt::Constant> Panels(const Tensor& weights, Packing packing, int64_t panel_width);
  // Entries held, also those of weights that went since the last one was packed.
  size_t size() const {
    std::lock_guard lock(mutex_);
    return packed_.size();
  }
  // Bytes of the slabs that are alive.
  int64_t slab_bytes() const { return memory_.live_bytes(); }

 private:
  absl::StatusOr<std::shared_ptr<void>> Room(int64_t bytes);  // mutex_ held

  rt::Allocator memory_;      // apart from what calls take
  mutable std::mutex mutex_;  // guards all below
  std::map<std::string, std::weak_ptr<const void>> packed_;
  std::weak_ptr<char> slab_;  // the one being filled; null once all its matrices are gone
  int64_t slab_size_ = 0, slab_used_ = 0;
};

}  // namespace lathe::compiler
