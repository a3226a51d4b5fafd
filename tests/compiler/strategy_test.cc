// Strategies: which versions come to exist, and that all of them give the bits of the generic one.
#include <gtest/gtest.h>

#include "ir/compare.h"
#include "lathe/lathe.h"

namespace lathe {
namespace {

Tensor Ramp(int64_t rows, int64_t columns) {
  Tensor t(f32, {rows, columns, 8});
  for (int64_t i = 0; i < t.num_elements(); ++i)
    t.data<float>()[i] = static_cast<float>(i % 17) * 0.25f - 2;
  return t;
}

absl::StatusOr<Program> TraceSoftmax() {
  Trace t("f");
  const Dim batch = t.dim("batch", "0..64"), seq = t.dim("seq", "0..64");
  Tensor w(f32, {8, 5});
  for (int i = 0; i < 40; ++i) w.data<float>()[i] = 0.125f * static_cast<float>(i % 7);
  return t.finish({softmax(matmul(t.input("x", f32, {batch, seq, 8}), t.constant(w)), -1)}, {"y"});
}

TEST(EngineOptionsTest, NumbersOfThreadsBelowZeroAndUnknownProcessorsAreRefused) {
  for (const EngineOptions& options : {EngineOptions{.threads = -3}, EngineOptions{.cpu = "z80"}}) {
    Engine engine(options);
    EXPECT_EQ(engine.compile(TraceSoftmax()).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(engine.counters().compiles, 0);
  }
}

class StrategyTest : public testing::TestWithParam<std::pair<Strategy, int>> {};

TEST_P(StrategyTest, VersionsAreMadeForSizesThatWereSeenAndAgreeWithTheGenericOne) {
  const auto [strategy, versions] = GetParam();
  Engine engine({.threads = 1});
  absl::StatusOr<Function> f = engine.compile(TraceSoftmax(), {.strategy = strategy});
  ASSERT_TRUE(f.ok()) << f.status();
  const std::vector<Sizes> seen{{{"batch", 2}, {"seq", 7}}, {{"batch", 3}, {"seq", 7}}};
  ASSERT_TRUE(f->prepare(seen).ok());
  EXPECT_EQ(f->versions().size(), static_cast<size_t>(versions));
  for (const auto& [batch, seq] : {std::pair{2, 7}, {3, 7}, {2, 9}, {0, 7}, {1, 1}, {2, 7}}) {
    const Tensor x = Ramp(batch, seq);
    ASSERT_TRUE(f->pin_version("").ok());
    const absl::StatusOr<std::vector<Tensor>> best = f->call({x});
    ASSERT_TRUE(f->pin_version("generic").ok());
    const absl::StatusOr<std::vector<Tensor>> generic = f->call({x});
    ASSERT_TRUE(best.ok()) << best.status();
    ASSERT_TRUE(generic.ok()) << generic.status();
    const absl::Status same = ir::SameBits((*best)[0], (*generic)[0]);
    EXPECT_TRUE(same.ok()) << batch << " x " << seq << ": " << same;
  }
  EXPECT_EQ(engine.counters().compiles_in_calls, 0);
}

INSTANTIATE_TEST_SUITE_P(All, StrategyTest,
                         testing::Values(std::pair{Strategy::kFullDynamic, 1},
                                         std::pair{Strategy::kAuto, 2},
                                         std::pair{Strategy::kBatchDynamic, 2},
                                         std::pair{Strategy::kSeqDynamic, 3},
                                         std::pair{Strategy::kFullStatic, 3}));

}  // namespace
}  // namespace lathe
