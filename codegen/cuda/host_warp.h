#pragma once
// Runs one warp of host-compiled kernel text: 32 lanes as fibres of one thread. A lane runs until
// it meets the others at a collective; then the next one runs. For host_run.cc.
//
// Lanes run as far apart as the text allows, in rising or falling order, so that a missing barrier
// shows in one of the two.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace lathe::cuda {

struct LatheDim3 {
  unsigned x = 0, y = 0, z = 0;
};

// What a running warp sees; prelude_host.h has the same struct.
struct LatheHostWarp {
  LatheDim3 thread, block, block_dim, grid_dim;
  unsigned lane = 0;
  unsigned long long slots[2][32] = {};
  unsigned sites[2][32] = {};
  unsigned turns[32] = {};
  void (*wait)(LatheHostWarp*) = nullptr;
  int diverged = 0;
};

// Keeps its stacks from warp to warp. For one thread.
class WarpRunner {
 public:
  WarpRunner();
  ~WarpRunner();
  WarpRunner(const WarpRunner&) = delete;
  WarpRunner& operator=(const WarpRunner&) = delete;

  LatheHostWarp& warp();  // block, block_dim and grid_dim are for the caller to set

  // Runs `lane_body` once on each lane; `first_thread` is the thread number of lane 0. False if
  // lanes met at different collectives, or one ended while others waited.
  bool Run(unsigned first_thread, bool falling, const std::function<void()>& lane_body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::cuda
