// Versions are swapped in while sixteen threads call: every result is right, whichever version gave
// it. Meant for ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "ir/compare.h"
#include "tests/whole/encoder.h"

namespace lathe::whole {
namespace {

constexpr int kThreads = 16;
constexpr int64_t kBatches = 3, kLengths = 6;

examples::EncoderConfig TinyEncoder() {
  examples::EncoderConfig config = SmallEncoder();
  config.layers = 1;
  config.hidden = 32;
  config.ffn = 160;  // wide enough for few rows to have code of their own
  return config;
}

TEST(Swap, SixteenThreadsCallWhileVersionsAppear) {
  const examples::EncoderConfig config = TinyEncoder();
  for (Strategy strategy : {Strategy::kAuto, Strategy::kFullStatic}) {
    Engine engine({.threads = 2});
    engine.hold_background(true);
    absl::StatusOr<Function> f =
        engine.compile(examples::TraceEncoder(config), {.strategy = strategy});
    ASSERT_TRUE(f.ok()) << f.status();
    ASSERT_TRUE(f->prepare().ok());
    std::vector<Tensor> wanted;
    for (int64_t i = 0; i < kBatches * kLengths; ++i) {
      const auto out = f->call(EncoderInputs(config, i / kLengths, i % kLengths));
      ASSERT_TRUE(out.ok()) << out.status();
      wanted.push_back((*out)[0]);
    }
    std::atomic<int> wrong{0};
    std::atomic<bool> swapped{false};
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < kThreads; ++seed) {
      threads.emplace_back([&, seed] {
        std::mt19937 random(seed);
        Context context;
        for (int round = 0; round < 40 || !swapped; ++round) {
          // Versions are compiled at idle priority: leave them time.
          if (round > 40) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          const int64_t i = random() % (kBatches * kLengths);
          const std::vector<Tensor> inputs = EncoderInputs(config, i / kLengths, i % kLengths);
          const Tensor& want = wanted[static_cast<size_t>(i)];
          if (seed % 2 == 0) {
            Tensor out(f32, want.shape());
            wrong += !f->call_into(inputs, {out}, context).ok() || !ir::SameBits(out, want).ok();
          } else {
            const auto out = f->call(inputs);
            wrong += !out.ok() || !ir::SameBits((*out)[0], want).ok();
          }
          if (seed == 0 && round % 16 == 3) {
            wrong += !f->peak_bytes({{"batch", 2}, {"seq", 3}}).ok();
            wrong += f->versions().empty();
          }
        }
      });
    }
    engine.hold_background(false);
    f->wait_for_versions();
    swapped = true;
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(engine.counters().compiles_in_calls, 0);
    if (strategy == Strategy::kAuto) {
      EXPECT_GE(engine.counters().versions_swapped, 1);
    }
  }
}

TEST(Swap, FunctionsComeAndGoWhileOthersAreCalled) {
  const examples::EncoderConfig config = TinyEncoder();
  Engine engine({.threads = 2});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int64_t k = 0; k < 4; ++k) {
    threads.emplace_back([&, k] {
      for (int round = 0; round < 2; ++round) {
        examples::EncoderConfig mine = config;
        mine.ffn += k;
        absl::StatusOr<Function> f = engine.compile(examples::TraceEncoder(mine));
        wrong += !f.ok() || !f->prepare().ok();
        for (int64_t seq = 0; seq < 6 && f.ok(); ++seq)
          wrong += !f->call(EncoderInputs(mine, 2, seq)).ok();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace lathe::whole
