// Programs that were once wrong, as small as they got.
#include <gtest/gtest.h>

#include "ir/samples.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

struct Program {
  const char* name;
  const char* text;
  std::vector<std::vector<int64_t>> sizes;  // by symbol, calls in order
};

class Regression : public testing::TestWithParam<Program> {};

TEST_P(Regression, IsRightAtTheseSizes) {
  absl::StatusOr<ir::Graph> g = ir::Parse(GetParam().text);
  ASSERT_TRUE(g.ok()) << g.status();
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, *g);
  ASSERT_TRUE(f.ok()) << f.status();
  for (const std::vector<int64_t>& sizes : GetParam().sizes) {
    const std::vector<Tensor> inputs = ir::SampleInputs(*g, sizes, 1, true);
    absl::Status s = CheckCall(*f, *g, inputs, true, true);
    EXPECT_TRUE(s.ok()) << s;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Regression,
    testing::Values(Program{"a_row_value_broadcast_back_over_axes_that_are_not_the_last",
                            "dim n\nx: f32[n, 2, 2]\n"
                            "m = min(x, axes=[0, 2], keep_dims=true, value=0)\n"
                            "output broadcast(m, shape=[n, 2, 2], axes=[0, 1, 2])\n",
                            {{3}, {1}, {0}, {3}}},
                    Program{"a_gather_that_nobody_reads_still_looks_at_its_indices",
                            "dim n\ndim m\nx: f32[n, m]\ni: i64[3]\n"
                            "g = gather(x, i, axis=1)\noutput y = x\n",
                            {{0, 0}, {2, 4}, {0, 0}}},
                    Program{"a_slice_ends_inside_the_parts_of_the_axis_that_it_cuts",
                            "dim n\nx: f32[n, 4, 8]\n"
                            "y = reshape(permute(neg(x), axes=[0, 2, 1]), [n, 32])\n"
                            "output z = y[:, 0:17]\n",
                            {{3}, {1}, {0}, {3}}},
                    Program{"a_size_may_have_the_name_of_the_worker_count",
                            "dim worker_count\nx: f32[worker_count, 7]\n"
                            "output y = max(x, axis=1) + 1\n",
                            {{3}, {1}, {0}, {3}}}),
    [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace lathe::whole
