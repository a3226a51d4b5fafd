// Versions over time: prepare, background builds, swaps, pins, lifetimes; and what people ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/runtime/fakes.h"
#include "tests/runtime/no_more_threads.h"

namespace lathe::rt::fake {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Chain Guarded(const std::string& guard, int order, std::vector<KernelFn> kernels = {AddOne}) {
  Chain c;
  c.kernels = std::move(kernels);
  c.name = c.guard = guard;
  c.order = order;
  return c;
}

std::shared_ptr<ir::Graph> OneInput(const std::string& facts = "") {
  return GraphOf({{"x", {"n", "4"}}}, facts);
}

TEST(Prepare, BuildsTheGenericVersionOnceAndTheOthersBehind) {
  const Made made = MakeFunction(OneInput(), {}, {Guarded("n <= 8", 2), Guarded("n >= 100", 1)});
  ASSERT_TRUE(made.function.prepare().ok());
  ASSERT_TRUE(made.function.prepare().ok());
  made.function.wait_for_versions();
  EXPECT_EQ(made.builder->builds, 3);
  const auto versions = made.function.versions();
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions[0].name, "n <= 8");
  EXPECT_EQ(versions[2].name, "generic");
  EXPECT_LE(versions[2].ready_seconds, versions[0].ready_seconds);
  EXPECT_EQ(versions[0].kernel_families, std::vector<std::string>{"family 0"});
  EXPECT_EQ(made.engine->Counters().versions_built, 3);
  EXPECT_EQ(made.engine->Counters().versions_swapped, 2);
}

TEST(Prepare, AHeldBackgroundThreadBlocksNeitherPrepareNorCalls) {
  const Made made = MakeFunction(OneInput(), {}, {Guarded("n <= 8", 1)});
  made.engine->background.Hold(true);
  ASSERT_TRUE(made.function.prepare().ok());
  for (int64_t n : {1, 5, 0, 20}) EXPECT_TRUE(made.function.call({Rows(n)}).ok());
  EXPECT_EQ(made.function.versions().size(), 1u);
  EXPECT_EQ(made.function.versions()[0].calls, 4);
  made.engine->background.Hold(false);
  made.function.wait_for_versions();
  EXPECT_TRUE(made.function.call({Rows(1)}).ok());
  EXPECT_EQ(made.function.versions()[0].name, "n <= 8");
  EXPECT_EQ(made.function.versions()[0].calls, 1);
}

TEST(Prepare, WithSizesWaitsForTheirVersions) {
  const Made made = MakeFunction(OneInput(), {}, {Guarded("n <= 8", 1)});
  const Sizes sizes = {{"n", 4}};
  ASSERT_TRUE(made.function.prepare({sizes}).ok());
  EXPECT_EQ(made.function.versions().size(), 2u);
  EXPECT_THAT(made.function.prepare({Sizes{{"q", 4}}}).ToString(), HasSubstr("no size named q"));
}

TEST(Prepare, WithSizesTheFirstCallsGrowNothing) {
  EngineOptions options = OneThread();
  options.max_arena_bytes = 1 << 20;
  const Made made = MakeFunction(OneInput(), {.kernels = {AddOne, AddOne, AddOne}}, {}, options);
  const auto growths = [&](int64_t n) {
    EXPECT_TRUE(made.function.call({Rows(n)}).ok()) << n;
    return made.engine->Counters().arena_growths;
  };
  ASSERT_TRUE(made.function.prepare({Sizes{{"n", 100}}, Sizes{{"n", 7}}}).ok());
  EXPECT_EQ(growths(100), 0);
  EXPECT_EQ(growths(7), 0);
  EXPECT_EQ(growths(200), 1);
  EXPECT_THAT(made.function.prepare({Sizes{{"n", 100'000}}}).ToString(),
              HasSubstr("more than max_arena_bytes"));
  EXPECT_EQ(growths(200), 1) << "the context is back in the pool";
}

TEST(Prepare, AVersionWithoutAKernelOfItsOwnTakesNoPlace) {
  Chain generic, same = Guarded("n <= 8", 2), other = Guarded("n <= 16", 1);
  generic.key = same.key = "same";
  CompileOptions two;
  two.max_versions = 2;
  const Made made = MakeFunction(OneInput(), generic, {same, other}, OneThread(), two);
  ASSERT_TRUE(made.function.prepare().ok());
  made.function.wait_for_versions();
  ASSERT_EQ(made.function.versions().size(), 2u);
  EXPECT_EQ(made.function.versions()[0].name, "n <= 16");
  EXPECT_THAT(*made.function.explain({{"n", 3}}),
              HasSubstr("not built: n <= 8: its kernels are all those of the generic version"));
}

TEST(Prepare, OptionsLimitTheVersions) {
  const std::vector<Chain> others = {Guarded("n <= 8", 4), Guarded("n <= 16", 3),
                                     Guarded("n <= 32", 2)};
  EngineOptions no_background = OneThread();
  no_background.background_compiles = false;
  CompileOptions dynamic, two;
  dynamic.strategy = Strategy::kFullDynamic;
  two.max_versions = 2;
  const auto count = [&](EngineOptions engine, CompileOptions compile) {
    const Made made = MakeFunction(OneInput(), {}, others, engine, compile);
    EXPECT_TRUE(made.function.prepare().ok());
    made.function.wait_for_versions();
    return made.function.versions().size();
  };
  EXPECT_EQ(count(no_background, {}), 1u);
  EXPECT_EQ(count(OneThread(), dynamic), 1u);
  EXPECT_EQ(count(OneThread(), two), 2u);
  EXPECT_EQ(count(OneThread(), {}), 4u);
}

TEST(Prepare, ADeadVersionIsDroppedAndSaid) {
  const Made made =
      MakeFunction(OneInput("n <= 50"), {}, {Guarded("n <= 8", 2), Guarded("n <= 4", 1)});
  ASSERT_TRUE(made.function.prepare().ok());
  made.function.wait_for_versions();
  EXPECT_EQ(made.function.versions().size(), 2u);
  EXPECT_THAT(*made.function.explain({{"n", 3}}),
              AllOf(HasSubstr("not built: n <= 4"), HasSubstr("comes before it")));
}

TEST(Prepare, ExactSizesAreBuiltOnceSeen) {
  CompileOptions compile;
  compile.strategy = Strategy::kFullStatic;
  compile.max_versions = 3;
  auto order = std::make_shared<int>(0);
  const Made made = MakeFunction(OneInput(), {}, {}, OneThread(), compile, [&](FakeBuilder& b) {
    b.observe = [order](absl::Span<const int64_t> symbols) {
      return Guarded("n == " + std::to_string(symbols[0]), ++*order, {AddTen});
    };
  });
  ASSERT_TRUE(made.function.prepare().ok());
  for (int64_t n : {7, 7, 3, 9, 11, 7}) {
    ASSERT_TRUE(made.function.call({Rows(n)}).ok());
    made.function.wait_for_versions();
  }
  EXPECT_EQ(made.function.versions().size(), 3u) << "generic, 7 and 3";
  EXPECT_TRUE(IsSum((*made.function.call({Rows(7)}))[0], Rows(7), 10));
  EXPECT_TRUE(IsSum((*made.function.call({Rows(9)}))[0], Rows(9), 1));
}

// A size of the open symbol gives nothing new, however many are seen.
TEST(Prepare, SizesThatDifferInAnOpenSymbolAreOneObservation) {
  CompileOptions compile;
  compile.strategy = Strategy::kBatchDynamic;
  compile.max_versions = 3;
  auto order = std::make_shared<int>(0);
  const Made made =
      MakeFunction(GraphOf({{"x", {"n", "m"}}}), {}, {}, OneThread(), compile, [&](FakeBuilder& b) {
        b.open_symbol = 0;
        b.observe = [order](absl::Span<const int64_t> symbols) {
          return Guarded("m == " + std::to_string(symbols[1]), ++*order, {AddTen});
        };
      });
  ASSERT_TRUE(made.function.prepare().ok());
  made.function.wait_for_versions();
  made.engine->background.Hold(true);
  for (int64_t n = 1; n < 24; ++n) ASSERT_TRUE(made.function.call({Rows(n, 16)}).ok());
  made.engine->background.Hold(false);
  ASSERT_TRUE(made.function.prepare({Sizes{{"n", 30}, {"m", 16}}, Sizes{{"n", 1}, {"m", 9}}}).ok());
  EXPECT_EQ(made.builder->asked, 2);
  EXPECT_EQ(made.builder->builds, 3) << "generic, m == 16 and m == 9";
  EXPECT_EQ(made.function.versions().size(), 3u);
}

TEST(Prepare, ASecondThreadWaitsForTheFirstOnesProposals) {
  const Made made = MakeFunction(OneInput(), {}, {Guarded("n <= 8", 1)});
  std::atomic<bool> proposing{false};
  made.builder->on_propose = [&] {
    proposing = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  std::thread first([&] { EXPECT_TRUE(made.function.prepare().ok()); });
  while (!proposing) std::this_thread::yield();
  EXPECT_TRUE(made.function.prepare({Sizes{{"n", 4}}}).ok());
  EXPECT_EQ(made.function.versions().size(), 2u);
  first.join();
}

TEST(Prepare, WithoutABackgroundThreadWhoeverWaitsBuilds) {
  const Made made = MakeFunction(OneInput(), {}, {Guarded("n <= 8", 2), Guarded("n >= 100", 1)});
  const NoMoreThreads none;
  ASSERT_TRUE(made.function.prepare().ok());
  EXPECT_TRUE(made.function.call({Rows(3)}).ok());
  EXPECT_EQ(made.function.versions().size(), 1u);
  made.function.wait_for_versions();
  EXPECT_EQ(made.function.versions().size(), 3u);
}

TEST(Prepare, RefusesWhatACallWouldForItsOutputs) {
  EngineOptions options = OneThread();
  options.max_arena_bytes = 48 * 100;  // arena 2 * 16n + outputs 16n
  const Made made = MakeFunction(OneInput(), {.kernels = {AddOne, AddOne, AddOne}}, {}, options);
  EXPECT_TRUE(made.function.prepare({Sizes{{"n", 100}}}).ok());
  EXPECT_TRUE(made.function.call({Rows(100)}).ok());
  const absl::Status prepared = made.function.prepare({Sizes{{"n", 104}}});
  EXPECT_EQ(prepared, made.function.call({Rows(104)}).status());
  EXPECT_EQ(prepared.code(), absl::StatusCode::kResourceExhausted);
  Context context;
  EXPECT_TRUE(made.function.reserve(context, {{"n", 104}}).ok()) << "call_into makes no outputs";
}

TEST(Threads, AQuestionLiftsTheBuildThatItWaitsFor) {
  const Made made = MakeFunction(OneInput(), {}, {Guarded("n <= 8", 1)});
  std::atomic<bool> started{false}, lifted{false};
  made.builder->on_build = [&] {
    started = true;
    for (int i = 0; i < 5000 && !lifted; ++i) {
      lifted = sched_getscheduler(0) != SCHED_IDLE;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  ASSERT_TRUE(made.function.prepare().ok());
  while (!started) std::this_thread::yield();
  EXPECT_TRUE(made.function.could_exceed(100).ok());
  EXPECT_TRUE(lifted);
  made.function.wait_for_versions();
}

TEST(Versions, PinnedOnesServeWhereTheyMay) {
  const Made made = MakeFunction(
      OneInput(), {}, {Guarded("n <= 8", 2, {AddTen}), Guarded("n <= 16", 1, {AddOne, AddTen})});
  ASSERT_TRUE(made.function.prepare().ok());
  made.function.wait_for_versions();
  Context context;
  const auto sum = [&](int64_t n) {
    Tensor y(DType::kF32, {n, 4});
    EXPECT_TRUE(made.function.call_into({Rows(n)}, {y}, context).ok());
    return y.data<float>()[0];
  };
  EXPECT_EQ(sum(4), 10);
  ASSERT_TRUE(made.function.pin_version("generic").ok());
  EXPECT_EQ(sum(4), 1);
  ASSERT_TRUE(made.function.pin_version("n <= 16").ok());
  EXPECT_EQ(sum(4), 11);
  EXPECT_EQ(sum(40), 1);
  EXPECT_EQ(made.function.pin_version("nope").code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(made.function.pin_version("").ok());
  EXPECT_EQ(sum(4), 10);
}

TEST(Lifetime, TheEngineMayGoFirst) {
  Made made = MakeFunction(OneInput(), {}, {Guarded("n <= 8", 1)});
  ASSERT_TRUE(made.function.prepare().ok());
  made.engine.reset();
  const auto out = made.function.call({Rows(3)});
  ASSERT_TRUE(out.ok());
  std::vector<Tensor> kept = *out;
  made.function = Function(nullptr);
  EXPECT_TRUE(IsSum(kept[0], Rows(3), 1)) << "outputs outlive engine and function";
}

TEST(Lifetime, AContextMayOutliveItsFunction) {
  Context context;
  for (int i = 0; i < 3; ++i) {  // a new function may get the address of the old one
    const Made made = MakeFunction(OneInput(), {.kernels = {i == 1 ? AddTen : AddOne}});
    ASSERT_TRUE(made.function.prepare().ok());
    Tensor y(DType::kF32, {2, 4});
    ASSERT_TRUE(made.function.call_into({Rows(2)}, {y}, context).ok());
    EXPECT_TRUE(IsSum(y, Rows(2), i == 1 ? 10 : 1));
  }
}

TEST(Lifetime, DestroyedWhileABuildRunsOrWaits) {
  for (bool hold : {false, true}) {
    Made made = MakeFunction(OneInput(), {}, {Guarded("n <= 8", 2), Guarded("n <= 16", 1)});
    made.builder->on_build = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    made.engine->background.Hold(hold);
    ASSERT_TRUE(made.function.prepare().ok());
    if (!hold) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(Lifetime, AStoppedBackgroundTakesNoMoreJobs) {
  Made made = MakeFunction(OneInput(), {}, {Guarded("n <= 8", 1)});
  made.engine->background.Stop();
  ASSERT_TRUE(made.function.prepare().ok());
  made.function.wait_for_versions();
  EXPECT_EQ(made.function.versions().size(), 1u);
}

// Case T1, and the swap between calls.
TEST(Threads, SixteenCallWithRandomSizesWhileVersionsAreSwapped) {
  std::vector<Chain> others;
  for (int i = 0; i < 5; ++i) others.push_back(Guarded("n <= " + std::to_string(8 << i), 9 - i));
  for (int threads : {1, 2}) {
    EngineOptions options;
    options.threads = threads;
    Chain generic;
    generic.kernels = {AddOne, AddOne, AddOne};
    generic.work = 100'000;  // goes to the pool
    std::vector<Chain> same;
    for (Chain c : others) {
      c.kernels = generic.kernels;
      c.work = generic.work;
      same.push_back(c);
    }
    Made made = MakeFunction(OneInput(), generic, same, options);
    made.builder->on_build = [] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
    ASSERT_TRUE(made.function.prepare().ok());
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int t = 0; t < 16; ++t) {
      callers.emplace_back([&, t] {
        std::minstd_rand random(static_cast<unsigned>(t + 1));
        Context context;
        for (int i = 0; i < 200; ++i) {
          const int64_t n = static_cast<int64_t>(random() % 300);
          const Tensor x = Rows(n, 4, static_cast<float>(t));
          if (i % 2 == 0) {
            Tensor y(DType::kF32, {n, 4});
            wrong += !made.function.call_into({x}, {y}, context).ok() || !IsSum(y, x, 3);
          } else {
            const auto out = made.function.call({x});
            wrong += !out.ok() || !IsSum((*out)[0], x, 3);
          }
          if (t == 0 && i % 20 == 0) {
            wrong += !made.function.pin_version(i % 40 == 0 ? "generic" : "").ok();
            wrong += !made.function.explain({{"n", n}}).ok();
          }
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    made.function.wait_for_versions();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(made.function.versions().size(), 6u);
    int64_t calls = 0;
    for (const auto& v : made.function.versions()) calls += v.calls;
    EXPECT_EQ(calls, 16 * 200);
  }
}

TEST(Explain, NamesVersionGuardsLosersKernelsAndBytes) {
  const Made made =
      MakeFunction(OneInput("n <= 100"), {.kernels = {AddOne, AddOne}}, {Guarded("n <= 8", 1)});
  EXPECT_EQ(made.function.explain({{"n", 4}}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(made.function.prepare().ok());
  made.function.wait_for_versions();
  EXPECT_THAT(*made.function.explain({{"n", 4}}),
              AllOf(HasSubstr("n = 4 (axis 0 of input x)"), HasSubstr("version \"n <= 8\""),
                    HasSubstr("guard holds: n <= 8"),
                    HasSubstr("not \"generic\": its guard holds, but its order 0 is below 1"),
                    HasSubstr("holds: n <= 100, declared by the test (test.lathe:1)"),
                    HasSubstr("family 0"), HasSubstr("schedule: unroll=1"),
                    HasSubstr("arena 0 bytes, outputs 64 bytes, peak 64 bytes"),
                    HasSubstr("output y: f32[4, 4]")));
  EXPECT_THAT(*made.function.explain({{"n", 9}}),
              HasSubstr("not \"n <= 8\": its guard n <= 8 doesn't hold: the left side is 9"));
}

TEST(Memory, PeakAndItsInverse) {
  // Arena 2 * 16n + outputs 16n.
  const Made made = MakeFunction(OneInput("n <= 5000, n % 4 == 0"),
                                 {.kernels = {AddOne, AddOne, AddOne}}, {Guarded("n <= 64", 1)});
  EXPECT_FALSE(made.function.peak_bytes({{"n", 4}}).ok());
  ASSERT_TRUE(made.function.prepare().ok());
  made.function.wait_for_versions();
  EXPECT_EQ(*made.function.peak_bytes({{"n", 100}}), 4800);
  EXPECT_EQ(*made.function.peak_bytes({{"n", 64}}), 1024) << "the version without an arena";
  EXPECT_EQ(*made.function.largest("n", {}, 4800), 100);
  EXPECT_EQ(*made.function.largest("n", {}, 4799), 96);
  EXPECT_EQ(*made.function.largest("n", {}, int64_t{1} << 40), 5000);
  EXPECT_EQ(*made.function.largest("n", {}, 1100), 64);
  EXPECT_EQ(*made.function.largest("n", {}, 0), 0);
  EXPECT_EQ(made.function.largest("n", {}, -1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(made.function.largest("q", {}, 9).status().ToString(), HasSubstr("no size named q"));
  EXPECT_FALSE(made.function.peak_bytes({{"n", 3}}).ok());
}

TEST(Memory, LargestWithOthersAndWithoutBound) {
  const Made made = MakeFunction(GraphOf({{"x", {"n", "m"}}}, "n*m <= 1000, m in {1, 3, 10}"), {});
  ASSERT_TRUE(made.function.prepare().ok());
  EXPECT_EQ(*made.function.largest("n", {{"m", 10}}, int64_t{1} << 40), 100);
  EXPECT_EQ(*made.function.largest("n", {{"m", 3}}, 400), 32);
  EXPECT_EQ(*made.function.largest("m", {{"n", 20}}, 1000), 10);
  EXPECT_EQ(*made.function.largest("m", {{"n", 20}}, 700), 3);
  EXPECT_THAT(made.function.largest("n", {}, 400).status().ToString(),
              HasSubstr("no size is given for m"));
}

}  // namespace
}  // namespace lathe::rt::fake
