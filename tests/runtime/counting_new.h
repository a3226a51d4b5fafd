#pragma once
// The test binary's operator new counts, so that a test can say that something allocates nothing.
// It stands in a file of its own, out of the optimiser's sight.
#include <cstdint>

namespace lathe::rt::fake {

// How often the calling thread allocated.
int64_t AllocationsOfThread();

}  // namespace lathe::rt::fake
