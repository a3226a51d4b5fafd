// Small cases of threads, caches and lifetimes (T), which broke other systems. T3, two processes
// that write one disk cache, has no test: there is no such cache. T5, a very long chain:
// errors_test.cc.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "ir/compare.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

TEST(Cases, T1_NothingLeaksBetweenThreads) {
  Engine engine({.threads = 2});
  const std::string text = R"(
dim n, m
x: f32[n, m]
limit: f32[]
output y = minimum(x, limit) * cast(size(dim=n), f32)
)";
  const Function a = CompileText(engine, text);
  const Function b = CompileText(engine, text, {.strategy = Strategy::kFullDynamic});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned seed = 0; seed < 16; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 200; ++i) {
        const int64_t n = random() % 9, m = random() % 70;
        const float limit = static_cast<float>(random() % 50);
        const auto out = (random() % 2 ? a : b).call({Counted({n, m}), F32({}, {limit})});
        if (!out.ok() || (*out)[0].shape() != std::vector<int64_t>{n, m}) {
          ++wrong;
          continue;
        }
        for (int64_t e = 0; e < n * m; ++e) {
          const float wanted = std::min(static_cast<float>(e), limit) * static_cast<float>(n);
          wrong += (*out)[0].data<float>()[e] != wanted;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

struct Footprint {
  int64_t resident = 0, mappings = 0, files = 0;
};

Footprint Measure() {
  Footprint f;
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> f.resident;
  f.resident *= sysconf(_SC_PAGESIZE);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++f.mappings;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++f.files;
  }
  return f;
}

TEST(Cases, T2_AHundredThousandSizesReachAPlateau) {
  Engine engine({.threads = 1});
  const Function f = CompileText(engine, "dim n, m\nx: f32[n, m]\noutput y = sum(x, axes=[1])\n");
  f.wait_for_versions();
  Tensor memory(f32, {320 * 320});
  std::vector<float> to(320 * 320);
  Context context;
  Footprint half;
  const int64_t compiles = engine.counters().compiles;
  for (int64_t i = 0; i < 100'000; ++i) {
    const int64_t n = i / 316, m = i % 316;
    const Tensor x = Tensor::View(memory.raw(), f32, {n, m});
    ASSERT_TRUE(f.call_into({x}, {Tensor::View(to.data(), f32, {n})}, context).ok());
    ASSERT_TRUE(f.call({x}).ok());
    if (i == 50'000) half = Measure();
  }
  const Footprint end = Measure();
  EXPECT_EQ(engine.counters().compiles, compiles);
  EXPECT_LE(end.resident, half.resident + (16 << 20));
  EXPECT_LE(end.mappings, half.mappings + 16);
  EXPECT_LE(end.files, half.files);
}

TEST(Cases, T4_AnEngineDestroyedWhileItCompiles) {
  for (int round = 0; round < 4; ++round) {
    std::vector<Function> survivors;
    {
      Engine engine({.threads = 2});
      Trace t("product");
      const Dim n = t.dim("n");
      const Value x = t.input("x", f32, {n, 24});
      const Value y = relu(matmul(x, t.constant(Counted({24, 40}))));
      absl::StatusOr<Function> f =
          engine.compile(t.finish({matmul(y, t.constant(Counted({40, 8})))}, {"z"}));
      ASSERT_TRUE(f.ok()) << f.status();
      if (round != 0) {
        ASSERT_TRUE(f->prepare().ok());
      }
      if (round > 1) survivors.push_back(*f);
      if (round == 3) f->wait_for_versions();
    }
    for (const Function& f : survivors) EXPECT_TRUE(f.call({Counted({3, 24})}).ok());
  }
}

TEST(Cases, T6_AGoodCallAfterEveryKindOfFailure) {
  Engine engine({.threads = 2, .max_arena_bytes = 1 << 20, .background_compiles = false});
  const Function f = CompileText(engine, R"(
dim n, m
x: f32[n]
ids: i64[m]
y = sum(broadcast(x, shape=[n*n*n, n], axes=[1]) * 2, axes=[0])
z = softmax(x, axis=0)
w = softmax(z, axis=0)
output a = gather(x, ids, axis=0)
output b = w + y
)");
  const auto good = [&] {
    const auto out = f.call({F32({2}, {5, 5}), I64({3}, {1, -2, 0})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_TRUE(ir::SameBits((*out)[0], F32({3}, {5, 5, 5})).ok());
    EXPECT_TRUE(ir::SameBits((*out)[1], F32({2}, {80.5, 80.5})).ok());
  };
  good();
  absl::Status s = f.call({Counted({2}), I64({3}, {1, 2, 0})}).status();
  EXPECT_EQ(s.code(), absl::StatusCode::kOutOfRange) << s;
  good();
  s = f.call({Tensor(f32, {1 << 20}), I64({0}, {})}).status();
  EXPECT_FALSE(s.ok());
  good();
  s = f.call({Counted({2})}).status();
  EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument) << s;
  good();
  const int64_t live = engine.counters().live_bytes;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(f.call({Counted({2}), I64({1}, {9})}).ok());
  EXPECT_EQ(engine.counters().live_bytes, live);
}

}  // namespace
}  // namespace lathe::whole
