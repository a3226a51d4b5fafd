#pragma once
// Where the lanes of a warp must wait for each other: between accesses of different lanes to the
// same element of a buffer that the kernel writes. Asked by the text emitter, statement by
// statement.
//
// Tasks don't share elements, except of worker scratch, so only order within a task counts. Scalar
// loads are made by all lanes, scalar stores by lane 0.
#include <vector>

#include "codegen/kernel/kernel.h"

namespace lathe::cuda {

// An access of a warp to a buffer that the kernel writes.
struct WarpAccess {
  int buffer = 0;
  bool is_store = false;
  bool gather = false;  // any element
  int lanes = 1;
  Dim index, stride = 1;
};

class Hazards {
 public:
  explicit Hazards(const kernel::Kernel& k) : kernel_(k) {}

  // Whether a barrier must come before the statement. It is then taken as made, and the accesses of
  // a plain statement as following it. For a loop: before its first iteration. A branch itself
  // needs none; its statements are asked about one by one.
  bool NeedsBarrier(const kernel::Stmt& s);
  // Whether each iteration of the loop must start with a barrier.
  bool IterationsNeedBarrier(const kernel::Stmt& loop) const;
  void Barrier() { pending_.clear(); }

  // The accesses that no barrier has followed. Branches start from the same state and are merged.
  using State = std::vector<WarpAccess>;
  const State& state() const { return pending_; }
  void Reset(State state) { pending_ = std::move(state); }
  void Merge(const State& other) { pending_.insert(pending_.end(), other.begin(), other.end()); }

 private:
  void Collect(const kernel::Stmt& s, State* out) const;
  bool Conflicts(const State& later) const;

  const kernel::Kernel& kernel_;
  State pending_;
};

}  // namespace lathe::cuda
