// Strategies: which versions come to exist, and that all of them give the bits of the generic one.
#include <gmock/gmock.h>
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

// A wide product, which has a schedule for few rows, and sums over each open axis, so that a fixed
// one changes a kernel.
absl::StatusOr<Program> TraceSoftmax() {
  Trace t("f");
  const Dim batch = t.dim("batch", "0..64"), seq = t.dim("seq", "0..64");
  Tensor w(f32, {8, 256});
  for (int i = 0; i < 2048; ++i) w.data<float>()[i] = 0.125f * static_cast<float>(i % 7);
  const Value x = t.input("x", f32, {batch, seq, 8});
  return t.finish({softmax(matmul(x, t.constant(w)), -1), sum(x, {0}), sum(x, {1})},
                  {"y", "over_batch", "over_seq"});
}

TEST(EngineOptionsTest, NumbersOfThreadsBelowZeroAndUnknownProcessorsAreRefused) {
  for (const EngineOptions& options : {EngineOptions{.threads = -3}, EngineOptions{.cpu = "z80"}}) {
    Engine engine(options);
    EXPECT_EQ(engine.compile(TraceSoftmax()).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(engine.counters().compiles, 0);
  }
}

TEST(CompileOptionsTest, AnOpenSymbolThatIsNotThereIsRefused) {
  using testing::HasSubstr;
  Engine engine({.threads = 1});
  const auto compiled = [&](Strategy strategy, const std::string& symbol) {
    return engine.compile(TraceSoftmax(), {.strategy = strategy, .open_symbol = symbol}).status();
  };
  EXPECT_TRUE(compiled(Strategy::kSeqDynamic, "batch").ok());
  const absl::Status unknown = compiled(Strategy::kSeqDynamic, "length");
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("\"length\"; the inputs have batch, seq"));
  EXPECT_THAT(std::string(compiled(Strategy::kBatchDynamic, "seq").message()),
              HasSubstr("only Strategy::kSeqDynamic"));
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
    for (size_t i = 0; i < 3; ++i) {
      const absl::Status same = ir::SameBits((*best)[i], (*generic)[i]);
      EXPECT_TRUE(same.ok()) << batch << " x " << seq << ": " << same;
    }
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
