// Attention beside the op sweep: hidden keys count for nothing, whatever their values hold.
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "ir/interpreter.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

class HiddenKeys : public testing::TestWithParam<std::string> {};

TEST_P(HiddenKeys, ValuesBehindAMaskMayBeInfiniteOrNaN) {
  absl::StatusOr<ir::Graph> g = ir::Parse(GetParam());
  ASSERT_TRUE(g.ok()) << g.status();
  for (const char* cpu : {"", "avx2"}) {
    Engine engine({.threads = 1, .cpu = cpu});
    absl::StatusOr<Function> f = CompileGraph(engine, *g);
    ASSERT_TRUE(f.ok()) << f.status();
    for (int64_t n : {1, 5, 33, 70, 130}) {
      std::vector<Tensor> inputs;
      for (int i = 0; i < 3; ++i) {
        Tensor t(f32, {n, 8});
        for (int64_t k = 0; k < t.num_elements(); ++k)
          t.data<float>()[k] = static_cast<float>((k * (i + 3)) % 13) * 0.1f - 0.5f;
        inputs.push_back(t);
      }
      inputs[2].data<float>()[(n - 1) * 8 + 1] = std::numeric_limits<float>::infinity();
      inputs[2].data<float>()[(n / 2) * 8 + 2] = std::numeric_limits<float>::quiet_NaN();
      absl::StatusOr<std::vector<Tensor>> found = f->call(inputs);
      absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(*g, inputs);
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_TRUE(wanted.ok()) << wanted.status();
      EXPECT_LT(ir::RelativeError((*found)[0], (*wanted)[0]), 1e-5) << n << " keys, " << cpu;
      absl::StatusOr<std::vector<Tensor>> evaluated = RunByEvaluator(*f, inputs);
      ASSERT_TRUE(evaluated.ok()) << evaluated.status();
      EXPECT_TRUE(ir::SameBits((*found)[0], (*evaluated)[0]).ok());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HiddenKeys,
    testing::Values(
        "dim n in 1..200\nq: f32[n, 8]\nk: f32[n, 8]\nv: f32[n, 8]\n"
        "output attention(q, k, v, causal=true)\n",
        "dim n in 1..200\nq: f32[n, 8]\nk: f32[n, 8]\nv: f32[n, 8]\n"
        "m = iota(shape=[n, n], axis=1, dtype=i64) <= iota(shape=[n, n], axis=0, dtype=i64)\n"
        "output attention(q, k, v, m)\n",
        "dim n in 1..200\nq: f32[n, 8]\nk: f32[n, 8]\nv: f32[n, 8]\n"
        "m = iota(shape=[n, n], axis=1, dtype=i64) <= iota(shape=[n, n], axis=0, dtype=i64)\n"
        "output attention(q, k, v, select(m, constant(f32[]{0}), constant(f32[]{-inf})))\n"));

// A visible key whose score is -inf has probability 0, which an infinite value makes NaN.
TEST(Attention, VisibleKeysCountWhateverTheirProbability) {
  for (const char* causal : {"true", "false"}) {
    absl::StatusOr<ir::Graph> g = ir::Parse(absl::StrCat(
        "dim n in 1..200\nx: f32[n, 1]\ny = (1.25 / x) @ constant(f32[1, 3]{1.375, -2, -0.25})\n"
        "output attention(y, y, y, causal=",
        causal, ")\n"));
    ASSERT_TRUE(g.ok()) << g.status();
    Engine engine({.threads = 1});
    absl::StatusOr<Function> f = CompileGraph(engine, *g);
    ASSERT_TRUE(f.ok()) << f.status();
    for (int64_t n : {1, 2, 8, 33, 130}) {
      Tensor x(f32, {n, 1});
      for (int64_t i = 0; i < n; ++i) x.data<float>()[i] = static_cast<float>(i % 5 - 2);
      absl::StatusOr<std::vector<Tensor>> found = f->call({x});
      absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(*g, {x});
      ASSERT_TRUE(found.ok() && wanted.ok());
      EXPECT_LT(ir::RelativeError((*found)[0], (*wanted)[0]), 1e-5) << n << " keys, " << causal;
    }
  }
}

}  // namespace
}  // namespace lathe::whole
