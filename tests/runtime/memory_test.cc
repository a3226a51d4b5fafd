// Memory: no allocation in the steady state, plateaus, poisoned values, packing, the allocator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "runtime/pack.h"
#include "tests/runtime/counting_new.h"
#include "tests/runtime/fakes.h"

namespace lathe::rt::fake {
namespace {

using ::testing::HasSubstr;

TEST(Steady, NoAllocationWithinTheReservation) {
  for (int threads : {1, 2}) {
    EngineOptions options;
    options.threads = threads;
    const Made made =
        MakeFunction(GraphOf({{"x", {"n", "m"}}, {"z", {"n + k", "m"}}}, "n <= 100"),
                     {.kernels = {AddOne, AddOne, AddOne, AddOne}, .work = 10'000}, {}, options);
    ASSERT_TRUE(made.function.prepare().ok());
    std::vector<std::vector<Tensor>> inputs, outputs;
    for (int64_t n : {5, 0, 90, 1, 33}) {
      Tensor whole = Rows(2 * n);
      // Every other row of it: strided, so packed.
      inputs.push_back({n == 33 ? Tensor::View(whole.raw(), DType::kF32, {n, 4}, {8, 1}) : Rows(n),
                        Rows(n + 2)});
      outputs.push_back({Tensor(DType::kF32, {n, 4})});
      if (n == 33) inputs.back().push_back(whole);  // keeps the memory
    }
    Context context;
    ASSERT_TRUE(made.function.reserve(context, {{"n", 100}, {"m", 4}, {"k", 2}}).ok());
    const auto round = [&] {
      int failures = 0;
      for (size_t i = 0; i < inputs.size(); ++i) {
        failures +=
            !made.function.call_into(absl::MakeSpan(inputs[i]).subspan(0, 2), outputs[i], context)
                 .ok();
      }
      return failures;
    };
    ASSERT_EQ(round(), 0);  // the scratch for the strided input grows here
    int failures = 0;
    const int64_t before = AllocationsOfThread();
    for (int i = 0; i < 50; ++i) failures += round();
    const int64_t allocations = AllocationsOfThread() - before;
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(allocations, 0) << threads << " threads";
    EXPECT_EQ(made.engine->Counters().arena_growths, 0);
  }
}

int64_t ResidentPages() {
  long total = 0, resident = 0;
  if (FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return resident;
}

TEST(Steady, AHundredThousandSizesReachAPlateau) {  // case T2
  const Made made =
      MakeFunction(GraphOf({{"x", {"n", "m"}}}), {.kernels = {Nothing, Nothing, Nothing}});
  ASSERT_TRUE(made.function.prepare().ok());
  made.function.wait_for_versions();
  std::vector<char> memory(1 << 20);
  std::minstd_rand random(1);
  const auto calls = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const int64_t n = static_cast<int64_t>(random() % 400),
                    m = static_cast<int64_t>(random() % 400);
      ASSERT_TRUE(made.function.call({Tensor::View(memory.data(), DType::kF32, {n, m})}).ok());
    }
  };
  calls(20'000);
  const int64_t live = made.engine->Counters().live_bytes, pages = ResidentPages();
  calls(80'000);
  EXPECT_LE(made.engine->Counters().live_bytes, live + (1 << 19));
  EXPECT_LE(ResidentPages(), pages + 2048);
  EXPECT_EQ(made.builder->builds, 1);
}

EngineOptions Poisoned() {
  EngineOptions options = OneThread();
  options.poison_values = true;
  return options;
}

TEST(Poison, AnswersAreTheSameAndLiveBytesAreRecorded) {
  const Made made = MakeFunction(GraphOf({{"x", {"n", "4"}}}),
                                 {.kernels = {AddOne, AddOne, AddOne, AddOne}}, {}, Poisoned());
  ASSERT_TRUE(made.function.prepare().ok());
  for (int64_t n : {0, 1, 16, 5, 16}) {
    made.engine->ResetPeak();
    const Tensor x = Rows(n);
    const auto out = made.function.call({x});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_TRUE(IsSum((*out)[0], x, 4));
    const int64_t value = (16 * n + 63) / 64 * 64;
    // Two values and the output at a time.
    EXPECT_EQ(made.engine->Counters().poison_peak_bytes, 3 * value);
    EXPECT_EQ(*made.function.peak_bytes({{"n", n}}), 3 * value);
  }
}

TEST(Poison, ReadingWhatNobodyWroteGivesNaN) {
  const Made made =
      MakeFunction(GraphOf({{"x", {"n", "4"}}}), {.kernels = {Nothing, AddOne}}, {}, Poisoned());
  ASSERT_TRUE(made.function.prepare().ok());
  const auto out = made.function.call({Rows(3)});
  ASSERT_TRUE(out.ok());
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(std::isnan((*out)[0].data<float>()[i]));
  const Made silent =
      MakeFunction(GraphOf({{"x", {"n", "4"}}}), {.kernels = {Nothing}}, {}, Poisoned());
  ASSERT_TRUE(silent.function.prepare().ok());
  EXPECT_TRUE(std::isnan((*silent.function.call({Rows(3)}))[0].data<float>()[11]));
}

TEST(Poison, WritingBesideAValueIsReported) {
  const Made made = MakeFunction(GraphOf({{"x", {"n", "4"}}}), {.kernels = {WritesBeyond, AddOne}},
                                 {}, Poisoned());
  ASSERT_TRUE(made.function.prepare().ok());
  const absl::Status status = made.function.call({Rows(3)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("memory around value v0 (48 bytes)"));
}

TEST(Pack, EveryKindOfViewEqualsItsClone) {
  std::minstd_rand random(7);
  std::vector<char> memory(1 << 16);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<char>(random());
  for (int round = 0; round < 2000; ++round) {
    const DType dtype = static_cast<DType>(random() % kNumDTypes);
    std::vector<int64_t> shape, strides;
    for (size_t axes = random() % 5; axes > 0; --axes) {
      shape.push_back(static_cast<int64_t>(random() % 5));
      strides.push_back(static_cast<int64_t>(random() % 41) - 20);
    }
    const Tensor view =
        Tensor::View(memory.data() + (1 << 15) + random() % 3, dtype, shape, strides);
    if (strides.empty()) continue;
    const Tensor clone = view.Clone();
    std::vector<char> packed(static_cast<size_t>(clone.num_bytes()) + 1, 'e');
    Pack(view, packed.data());
    ASSERT_EQ(std::memcmp(packed.data(), clone.raw(), static_cast<size_t>(clone.num_bytes())), 0)
        << view.ToString();
    EXPECT_EQ(packed.back(), 'e');
    const AddressRange range = RangeOf(view);
    EXPECT_EQ(range.begin == range.end, view.num_elements() == 0);
  }
}

TEST(Allocator, CountsLiveAndPeakAndOutlivesItself) {
  auto allocator = std::make_unique<Allocator>();
  std::shared_ptr<void> a = *allocator->Allocate(100), b = *allocator->Allocate(5 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.get()) % 64, 0u);
  EXPECT_EQ(allocator->live_bytes(), 100 + (5 << 20));
  b.reset();
  EXPECT_EQ(allocator->live_bytes(), 100);
  EXPECT_EQ(allocator->peak_bytes(), 100 + (5 << 20));
  allocator->ResetPeak();
  EXPECT_EQ(allocator->peak_bytes(), 100);
  EXPECT_NE(*allocator->Allocate(0), nullptr);
  EXPECT_EQ(allocator->Allocate(INT64_MAX).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(allocator->Allocate(-1).status().code(), absl::StatusCode::kInvalidArgument);
  allocator.reset();
  a.reset();
}

}  // namespace
}  // namespace lathe::rt::fake
