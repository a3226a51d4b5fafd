// windows, check_index, scatter, argsort, cumsum and cumprod: shapes, refusals and reference
// values.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/compare.h"
#include "tests/ir/graph_builder.h"
#include "tests/ir/interpret_util.h"

namespace lathe::ir {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class SequentialShapes : public ::testing::Test, public GraphBuilder {
 protected:
  std::string TypeOf(Op op, std::vector<ValueId> operands, Attrs attrs = {}) {
    return Type(b.Create(op, std::move(operands), std::move(attrs)));
  }
  static Attrs Window(std::vector<Dim> sizes, std::vector<int64_t> steps,
                      std::vector<int64_t> dilations, std::vector<Dim> low, std::vector<Dim> high) {
    return {.steps = std::move(steps),
            .low = std::move(low),
            .high = std::move(high),
            .sizes = std::move(sizes),
            .dilations = std::move(dilations),
            .value = 0};
  }
};

TEST_F(SequentialShapes, WindowsFollowPositionsWithTheirElements) {
  const Dim h = Symbol("h"), w = Symbol("w");
  const ValueId x = In("x", f32, {2, 3, h, w});
  EXPECT_EQ(TypeOf(Op::k_windows, {x}, Window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1})),
            "f32[2, 3, h, w, 3, 3]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_EQ(TypeOf(Op::k_windows, {x}, Window({2}, {2}, {1}, {0}, {0})), "f32[2, 3, h, w // 2, 2]");
  EXPECT_THAT(Required(), IsEmpty());
}

TEST_F(SequentialShapes, AWindowThatDoesNotFitIsRefusedBelowAnExtentOfZero) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n}), four = In("four", f32, {4});
  EXPECT_EQ(TypeOf(Op::k_windows, {x}, Window({5}, {1}, {1}, {0}, {0})), "f32[n - 4, 5]");
  EXPECT_FALSE(Admits({3}));
  EXPECT_TRUE(Admits({4}));  // no position, an empty result
  EXPECT_THAT(TypeOf(Op::k_windows, {four}, Window({3}, {1}, {3}, {0}, {0})),
              HasSubstr("axis 0: windows of 3 over 4 give an extent of 0 or more"));
}

TEST_F(SequentialShapes, WindowsNeedAnEntryForEachOfTheLastAxes) {
  const ValueId x = In("x", f32, {4, 5});
  EXPECT_THAT(TypeOf(Op::k_windows, {x}, Window({}, {}, {}, {}, {})),
              HasSubstr("sizes has 0 entries; wanted one for each of the last axes, 1..2"));
  EXPECT_THAT(TypeOf(Op::k_windows, {x}, Window({1, 1, 1}, {1}, {1}, {0}, {0})),
              HasSubstr("sizes has 3 entries"));
  EXPECT_THAT(TypeOf(Op::k_windows, {x}, Window({2}, {1, 1}, {1}, {0}, {0})),
              HasSubstr("steps has 2 entries; wanted 1, as many as sizes"));
  EXPECT_THAT(TypeOf(Op::k_windows, {x}, Window({2}, {0}, {1}, {0}, {0})),
              HasSubstr("the stride is 0, wanted 1 or more"));
  EXPECT_THAT(TypeOf(Op::k_windows, {x}, Window({0}, {1}, {1}, {0}, {0})),
              HasSubstr("the kernel is 0, wanted 1 or more"));
  EXPECT_THAT(TypeOf(Op::k_windows, {x}, Window({2}, {1}, {1}, {-1}, {0})),
              HasSubstr("the padding is -1, wanted 0 or more"));
}

TEST_F(SequentialShapes, ScatterWantsFlatOperandsThatFit) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId data = In("data", f32, {n}), at = In("at", i64, {m}), up = In("up", f32, {m});
  const ValueId i = In("i", i32, {m}), p = In("p", bool_, {n}), q = In("q", bool_, {m});
  EXPECT_EQ(TypeOf(Op::k_scatter, {data, at, up}, {.reduction = "add"}), "f32[n]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(TypeOf(Op::k_scatter, {data, i, up}), HasSubstr("operand 1, the indices,"));
  EXPECT_THAT(TypeOf(Op::k_scatter, {data, at, q}), HasSubstr("wanted f32"));
  EXPECT_THAT(TypeOf(Op::k_scatter, {In("x", f32, {n, 2}), at, up}), HasSubstr("wanted rank 1"));
  EXPECT_THAT(TypeOf(Op::k_scatter, {data, at, up}, {.reduction = "mean"}),
              HasSubstr("reduction is 'mean'; wanted 'none', 'add', 'mul', 'max' or 'min'"));
  EXPECT_THAT(TypeOf(Op::k_scatter, {p, at, q}, {.reduction = "add"}),
              HasSubstr("no meaning for bool"));
  EXPECT_EQ(TypeOf(Op::k_scatter, {data, at, data}), "f32[n]");
  EXPECT_TRUE(Admits({2, 2}));
  EXPECT_FALSE(Admits({2, 3}));
}

TEST_F(SequentialShapes, TheOthersKeepTheirOperandsShape) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 4}), k = In("k", i32, {3}), s = In("s", f32, {});
  EXPECT_EQ(TypeOf(Op::k_argsort, {x}), "i64[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_cumsum, {x}, {.axis = -1}), "f32[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_check_index, {k}, {.dim = n}), "i32[3]");
  EXPECT_THAT(TypeOf(Op::k_argsort, {s}), HasSubstr("operand 0 is a scalar"));
  EXPECT_THAT(TypeOf(Op::k_cumprod, {s}, {.axis = 0}), HasSubstr("a scalar has no axes"));
  EXPECT_FALSE(b.Create(Op::k_check_index, {x}, {.dim = n}).ok());
}

TEST(Sequential, WindowsOfAPaddedRow) {
  const Attrs w{.steps = {2}, .low = {1}, .high = {2}, .sizes = {3}, .dilations = {1}, .value = 9};
  EXPECT_EQ(RunText(Op::k_windows, {I({1, 2, 3, 4})}, w), "i32[3, 3]{9, 1, 2, 2, 3, 4, 4, 9, 9}");
  const Attrs d{.steps = {1}, .low = {0}, .high = {0}, .sizes = {2}, .dilations = {2}, .value = 0};
  EXPECT_EQ(RunText(Op::k_windows, {I({1, 2, 3})}, d), "i32[1, 2]{1, 3}");
  EXPECT_EQ(RunText(Op::k_windows, {I({1, 2})}, d), "i32[0, 2]{}");
}

TEST(Sequential, CheckedIndicesCountFromTheStart) {
  EXPECT_EQ(RunText(Op::k_check_index, {L({0, -1, 2, -3})}, {.dim = 3}), "i64[4]{0, 2, 2, 0}");
  EXPECT_EQ(RunText(Op::k_check_index, {L({})}, {.dim = 0}), "i64[0]{}");
  const absl::StatusOr<Tensor> bad = RunOp(Op::k_check_index, {I({0, 3})}, {.dim = 3});
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(bad.status().message()),
              HasSubstr("index 3 at position [1] is outside of 3 elements"));
}

TEST(Sequential, AnUncheckedGatherGivesZeroOutside) {
  EXPECT_EQ(RunText(Op::k_gather, {I({5, 6}), L({1, 2, -1, 0})}, {.axis = 0, .unchecked = true}),
            "i32[4]{6, 0, 0, 5}");
  EXPECT_EQ(RunText(Op::k_gather, {I({}), L({0})}, {.axis = 0, .unchecked = true}), "i32[1]{0}");
}

TEST(Sequential, ScatterWritesInOrderAndDropsWhatIsOutside) {
  const Tensor data = I({1, 2, 3}), at = L({1, 1, 3, -1, 2}), up = I({5, 7, 9, 9, 4});
  EXPECT_EQ(RunText(Op::k_scatter, {data, at, up}), "i32[3]{1, 7, 4}");
  EXPECT_EQ(RunText(Op::k_scatter, {data, at, up}, {.reduction = "none"}), "i32[3]{1, 7, 4}");
  EXPECT_EQ(RunText(Op::k_scatter, {data, at, up}, {.reduction = "add"}), "i32[3]{1, 14, 7}");
  EXPECT_EQ(RunText(Op::k_scatter, {data, at, up}, {.reduction = "mul"}), "i32[3]{1, 70, 12}");
  EXPECT_EQ(RunText(Op::k_scatter, {data, at, up}, {.reduction = "max"}), "i32[3]{1, 7, 4}");
  EXPECT_EQ(RunText(Op::k_scatter, {data, at, up}, {.reduction = "min"}), "i32[3]{1, 2, 3}");
  EXPECT_EQ(RunText(Op::k_scatter, {data, L({}), I({})}), "i32[3]{1, 2, 3}");
  EXPECT_EQ(RunText(Op::k_scatter, {I({}), L({0}), I({3})}), "i32[0]{}");
}

TEST(Sequential, ArgsortIsStableAndNanIsTheGreatest) {
  const Tensor x = F({2, kNan, -0.0f, 1, 0.0f, kNan, 2});
  EXPECT_EQ(RunText(Op::k_argsort, {x}), "i64[7]{2, 4, 3, 0, 6, 1, 5}");
  EXPECT_EQ(RunText(Op::k_argsort, {x}, {.descending = true}), "i64[7]{1, 5, 0, 6, 3, 2, 4}");
  const Tensor rows = Tensor::FromVector<bool>({2, 2}, {true, false, false, true});
  EXPECT_EQ(RunText(Op::k_argsort, {rows}), "i64[2, 2]{1, 0, 0, 1}");
  EXPECT_EQ(RunText(Op::k_argsort, {F({})}), "i64[0]{}");
  EXPECT_EQ(RunText(Op::k_argsort, {F({3})}), "i64[1]{0}");
}

TEST(Sequential, PrefixSumsAndProducts) {
  const Tensor x = Tensor::FromVector<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(RunText(Op::k_cumsum, {x}, {.axis = 1}), "i32[2, 3]{1, 3, 6, 4, 9, 15}");
  EXPECT_EQ(RunText(Op::k_cumsum, {x}, {.axis = 0}), "i32[2, 3]{1, 2, 3, 5, 7, 9}");
  EXPECT_EQ(RunText(Op::k_cumsum, {x}, {.axis = 1, .exclusive = true}),
            "i32[2, 3]{0, 1, 3, 0, 4, 9}");
  EXPECT_EQ(RunText(Op::k_cumsum, {x}, {.axis = 1, .reverse = true}),
            "i32[2, 3]{6, 5, 3, 15, 11, 6}");
  EXPECT_EQ(RunText(Op::k_cumprod, {x}, {.axis = 1, .exclusive = true, .reverse = true}),
            "i32[2, 3]{6, 3, 1, 30, 6, 1}");
  EXPECT_EQ(RunText(Op::k_cumsum, {F({-0.0f})}, {.axis = 0}), "f32[1]{-0}");
  EXPECT_EQ(RunText(Op::k_cumsum, {F({-0.0f})}, {.axis = 0, .exclusive = true}), "f32[1]{0}");
  // Each step rounds to the type.
  EXPECT_EQ(RunText(Op::k_cumsum, {F({16777216, 1, 1})}, {.axis = 0}),
            "f32[3]{16777216, 16777216, 16777216}");
}

}  // namespace
}  // namespace lathe::ir
