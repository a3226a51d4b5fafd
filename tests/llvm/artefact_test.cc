// Life of compiled code: counters, memory, threads, texts, errors, and the cache of artefacts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/llvm/harness.h"

namespace lathe::llvm_target {
namespace {

using kernel::BufferKind;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::Reg;
using ::testing::HasSubstr;

// y = x * factor.
std::shared_ptr<kernel::Kernel> MakeScale(double factor) {
  KernelBuilder b("scale");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", f32, BufferKind::kInput, n);
  const int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(CeilDiv(n, 16));
  const Dim at = b.task() * 16;
  const Reg m = b.Mask(n - at, 16);
  const Reg v = b.Load(x, at, 16, 1, m);
  b.Store(y, at, b.Bin(KOp::kMul, v, b.Float({f32, 16}, factor)), 1, m);
  return b.Finish();
}

float RunScale(const rt::Artefact& code, float x) {
  float y = 0;
  void* buffers[] = {&x, &y};
  const int64_t n = 1;
  EXPECT_EQ(code.fn(buffers, &n, 0, 1, 0, nullptr), 0);
  return y;
}

int64_t ResidentPages() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident;
}

int64_t Mappings() {
  std::ifstream maps("/proc/self/maps");
  int64_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

TEST(Artefacts, CodeIsFreedWithTheLastReference) {
  const auto churn = [](int count) {
    for (int i = 0; i < count; ++i) {
      auto code = HostCompiler().Compile(*MakeScale(i), Tier::kQuick);
      ASSERT_TRUE(code.ok()) << code.status();
      ASSERT_EQ(RunScale(**code, 2), static_cast<float>(2 * i));
      ASSERT_GT((*code)->code_bytes, 0);
    }
  };
  churn(100);
  [[maybe_unused]] const int64_t pages = ResidentPages();
  const int64_t mappings = Mappings();
  churn(400);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory
  EXPECT_LT(ResidentPages() - pages, 1024) << "4 MiB of growth over 400 artefacts";
#endif
  EXPECT_LT(Mappings() - mappings, 20);
}

TEST(Artefacts, OutliveTheirCompiler) {
  std::shared_ptr<rt::Artefact> code;
  {
    auto compiler = LlvmCompiler::Create(HostTarget());
    ASSERT_TRUE(compiler.ok()) << compiler.status();
    code = *(*compiler)->Compile(*MakeScale(3), Tier::kFull);
  }
  EXPECT_EQ(RunScale(*code, 5), 15);
}

TEST(Artefacts, EqualKernelsHaveEqualKeysAndOthersNot) {
  const auto key = [](double factor, Tier tier, LlvmCompiler& c) {
    return (*c.Compile(*MakeScale(factor), tier))->key;
  };
  const std::string k = key(3, Tier::kFull, HostCompiler());
  EXPECT_EQ(k, key(3, Tier::kFull, HostCompiler()));
  EXPECT_NE(k, key(4, Tier::kFull, HostCompiler()));
  EXPECT_NE(k, key(3, Tier::kQuick, HostCompiler()));
  EXPECT_NE(k, key(3, Tier::kFull, Avx2Compiler()));
}

TEST(Counters, CompilesInsideCallsAreCounted) {
  const CompileCounters before = HostCompiler().counters();
  ASSERT_TRUE(HostCompiler().Compile(*MakeScale(1), Tier::kQuick).ok());
  {
    const rt::InCallScope call;
    ASSERT_TRUE(HostCompiler().Compile(*MakeScale(1), Tier::kQuick).ok());
  }
  const CompileCounters after = HostCompiler().counters();
  EXPECT_EQ(after.modules - before.modules, 2);
  EXPECT_EQ(after.in_calls - before.in_calls, 1);
  EXPECT_GT(after.seconds, before.seconds);
}

TEST(Threads, FourCompileAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 10; ++i) {
        LlvmCompiler& compiler = i % 2 == 0 ? HostCompiler() : Avx2Compiler();
        auto code = compiler.Compile(*MakeScale(t * 100 + i), Tier::kFull);
        ASSERT_TRUE(code.ok()) << code.status();
        EXPECT_EQ(RunScale(**code, 1), static_cast<float>(t * 100 + i));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Errors, AnInvalidKernelIsAStatus) {
  std::shared_ptr<kernel::Kernel> k = MakeScale(2);
  k->body.back().buffer = 7;
  auto code = HostCompiler().Compile(*k, Tier::kFull);
  EXPECT_EQ(code.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(code.status().message()), HasSubstr("buffer 7"));
  EXPECT_FALSE(HostCompiler().LlvmIr(*k).ok());
  EXPECT_FALSE(HostCompiler().Assembly(*k).ok());
}

TEST(Errors, AMicroKernelIsNotCompiledAlone) {
  KernelBuilder b("alone");
  b.SetMicro();
  EXPECT_EQ(HostCompiler().Compile(*b.Finish(), Tier::kFull).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Errors, AnUnknownTargetIsAStatus) {
  CpuTarget target = HostTarget();
  target.triple = "pdp11-dec-unix";
  auto compiler = LlvmCompiler::Create(target);
  ASSERT_TRUE(compiler.ok());
  EXPECT_THAT(std::string((*compiler)->Compile(*MakeScale(2), Tier::kFull).status().message()),
              HasSubstr("pdp11"));
}

TEST(Texts, IrAndAssemblyShowTheVectorCode) {
  const std::string ir = *HostCompiler().LlvmIr(*MakeScale(3));
  EXPECT_THAT(ir, HasSubstr("x float>"));
  EXPECT_THAT(*Avx2Compiler().Assembly(*MakeScale(3)), HasSubstr("vmulps"));
  EXPECT_THAT(ir, ::testing::Not(HasSubstr("fast"))) << "no fast-math flag anywhere";
}

std::shared_ptr<rt::Artefact> Bytes(int64_t bytes) {
  auto artefact = std::make_shared<rt::Artefact>();
  artefact->code_bytes = bytes;
  return artefact;
}

TEST(Cache, OneBuildAKeyWhileOthersWait) {
  rt::ArtefactCache cache(1 << 20);
  std::atomic<int> builds{0};
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<rt::Artefact>> got(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      got[t] = *cache.GetOrMake("k", [&]() -> absl::StatusOr<std::shared_ptr<rt::Artefact>> {
        ++builds;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return Bytes(10);
      });
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(builds, 1);
  for (const auto& g : got) EXPECT_EQ(g, got[0]);
  EXPECT_EQ(cache.counters().hits, 7);
  EXPECT_EQ(cache.counters().misses, 1);
}

TEST(Cache, EvictsTheLeastRecentlyUsedThatNobodyHolds) {
  rt::ArtefactCache cache(100);
  const auto get = [&](const std::string& key, int64_t bytes) {
    return *cache.GetOrMake(
        key, [&]() -> absl::StatusOr<std::shared_ptr<rt::Artefact>> { return Bytes(bytes); });
  };
  const auto held = get("held", 40);
  get("old", 40);
  get("new", 40);
  EXPECT_EQ(cache.counters().bytes, 80);
  EXPECT_EQ(cache.counters().evictions, 1);
  EXPECT_EQ(cache.counters().entries, 2);
  EXPECT_EQ(get("held", 40), held) << "code in use is never freed";
  get("new", 40);
  EXPECT_EQ(cache.counters().misses, 3);
  get("old", 40);
  EXPECT_EQ(cache.counters().misses, 4) << "the one that was evicted";
}

TEST(Cache, AFailedBuildIsTriedAgain) {
  rt::ArtefactCache cache(100);
  const auto failing = []() -> absl::StatusOr<std::shared_ptr<rt::Artefact>> {
    return absl::InternalError("no");
  };
  EXPECT_FALSE(cache.GetOrMake("k", failing).ok());
  EXPECT_TRUE(
      cache
          .GetOrMake("k",
                     []() -> absl::StatusOr<std::shared_ptr<rt::Artefact>> { return Bytes(1); })
          .ok());
}

}  // namespace
}  // namespace lathe::llvm_target
