#pragma once
// Packed weights: a function of (content, type, packing, target), owned by the engine, shared by
// all versions and programs.
//
// Cache key: hash of the content + shape + packing + panel width.
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
  // [G, K, N], one behind the other; kept alive by whoever holds it.
  absl::StatusOr<rt::Constant> Panels(const Tensor& weights, Packing packing, int64_t panel_width);
  // Entries held, also those of weights that went since the last one was packed.
  size_t size() const {
    std::lock_guard lock(mutex_);
    return packed_.size();
  }

 private:
  rt::Allocator memory_;  // apart from what calls take
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const void>> packed_;
};

}  // namespace lathe::compiler
