// A libFuzzer program of one target: LATHE_FUZZ_TARGET is its name.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const lathe::fuzz::Target* const target = lathe::fuzz::FindTarget(LATHE_FUZZ_TARGET);
  target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
