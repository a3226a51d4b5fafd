#pragma once
// Seconds of a clock that only goes forward.
#include <chrono>

namespace lathe::bench {

inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lathe::bench
