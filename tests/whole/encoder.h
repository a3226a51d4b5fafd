#pragma once
// The encoder example as the tests of the whole compiler use it.
#include <memory>
#include <string>
#include <vector>

#include "examples/encoder.h"
#include "lathe/lathe.h"

namespace lathe::whole {

// Two layers of 64 wide, 4 heads; batch 0..8, seq 0..max_seq.
examples::EncoderConfig SmallEncoder();

// Token ids and a mask whose last tokens are padding.
std::vector<Tensor> EncoderInputs(const examples::EncoderConfig& config, int64_t batch,
                                  int64_t seq);

}  // namespace lathe::whole
