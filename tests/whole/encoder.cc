#include "tests/whole/encoder.h"

namespace lathe::whole {

examples::EncoderConfig SmallEncoder() {
  examples::EncoderConfig config;
  config.layers = 2;
  config.hidden = 64;
  config.heads = 4;
  config.ffn = 160;
  config.vocab = 50;
  config.max_seq = 128;
  config.batch_facts = "0..8";
  config.seq_facts = "0..128";
  return config;
}

std::vector<Tensor> EncoderInputs(const examples::EncoderConfig& config, int64_t batch,
                                  int64_t seq) {
  Tensor ids(i64, {batch, seq}), mask(i64, {batch, seq});
  for (int64_t i = 0; i < batch * seq; ++i) {
    ids.data<int64_t>()[i] = (7 * i + 3) % config.vocab;
    mask.data<int64_t>()[i] = i % seq < (seq + 1) / 2 + i / seq;
  }
  return {ids, mask};
}

}  // namespace lathe::whole
