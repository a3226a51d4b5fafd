// Where divisions of sizes vanish: no inner loop of the encoder divides, nor do loops over axes
// that a reshape splits and joins. The same programs against the interpreter, at sizes A, B, A.
#include <gtest/gtest.h>

#include "examples/encoder.h"
#include "ir/samples.h"
#include "runtime/function_state.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

int InnerDivisions(const Function& f) {
  int count = 0;
  for (const std::shared_ptr<const rt::Version>& version : f.state()->table()->versions()) {
    for (const rt::GroupReport& group : version->groups) count += group.inner_divisions;
  }
  return count;
}

TEST(Divisions, NoneInTheEncodersInnerLoops) {
  Trace t("encoder");
  examples::EncoderConfig config;
  config.layers = 1;
  config.vocab = 100;
  absl::StatusOr<Value> hidden = examples::BuildEncoder(t, config, examples::SeededWeights(1));
  ASSERT_TRUE(hidden.ok()) << hidden.status();
  Engine engine({.threads = 1});
  absl::StatusOr<Function> f = engine.compile(t.finish({*hidden}, {"last_hidden"}));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  f->wait_for_versions();
  EXPECT_GT(f->versions().size(), 1u);
  EXPECT_EQ(InnerDivisions(*f), 0);
}

struct Views {
  const char* name;
  const char* text;
  std::vector<std::vector<int64_t>> sizes;
  bool declared;  // divisibility is declared, so that no inner loop divides
};

class SplitAndJoin : public testing::TestWithParam<Views> {};

TEST_P(SplitAndJoin, NeedsNoDivision) {
  const absl::StatusOr<ir::Graph> g = ir::Parse(GetParam().text);
  ASSERT_TRUE(g.ok()) << g.status();
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, *g);
  ASSERT_TRUE(f.ok()) << f.status();
  if (GetParam().declared) {
    EXPECT_EQ(InnerDivisions(*f), 0);
  }
  const int64_t compiles = engine.counters().compiles;
  for (const std::vector<int64_t>& sizes : GetParam().sizes) {
    const std::vector<Tensor> inputs = ir::SampleInputs(*g, sizes, 1, true);
    const absl::Status s = CheckCall(*f, *g, inputs, /*exact=*/true, /*with_evaluator=*/true);
    EXPECT_TRUE(s.ok()) << s;
  }
  EXPECT_EQ(engine.counters().compiles, compiles);
}

INSTANTIATE_TEST_SUITE_P(
    All, SplitAndJoin,
    testing::Values(
        Views{"interleave_declared",
              "dim n in 0..4096, n % 16 == 0\ndim m\nx: f32[m, n]\n"
              "output reshape(permute(reshape(x, [m, n//16, 16]), [0, 2, 1]), [m, n]) * 2\n",
              {{32, 3}, {0, 2}, {1024, 1}, {16, 0}, {32, 3}},
              true},
        Views{"interleave_checked",
              "dim n\ndim m\nx: f32[m, n]\n"
              "output reshape(permute(reshape(x, [m, n//16, 16]), [0, 2, 1]), [m, n]) * 2\n",
              {{32, 3}, {0, 2}, {640, 2}, {32, 3}},
              false},
        Views{"patches",
              "dim h in 0..1024, h % 8 == 0\ndim w in 0..1024, w % 8 == 0\nx: f32[3, h, w]\n"
              "a = reshape(x, [3, h//8, 8, w//8, 8])\n"
              "output reshape(permute(a, [1, 3, 0, 2, 4]), [h//8 * (w//8), 192]) * 2\n",
              {{16, 24}, {8, 8}, {0, 16}, {16, 24}},
              true},
        Views{"patches_back",
              "dim h in 0..1024, h % 8 == 0\ndim w in 0..1024, w % 8 == 0\n"
              "x: f32[h//8 * (w//8), 192]\ny: f32[h, w, 3]\n"
              "a = reshape(x, [h//8, w//8, 3, 8, 8])\n"
              "output reshape(permute(a, [0, 3, 1, 4, 2]), [h, w, 3]) + y\n",
              {{16, 24}, {8, 8}, {0, 16}, {16, 24}},
              true},
        Views{"with_a_broadcast_row",
              "dim n in 0..512, n % 4 == 0\nx: f32[n]\ny: f32[3, n]\n"
              "output reshape(permute(reshape(x, [n//4, 4]), [1, 0]), [n]) * y\n",
              {{8}, {0}, {60}, {4}, {8}},
              true}),
    [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace lathe::whole
