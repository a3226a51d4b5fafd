// The builder: broadcasting, reshape with -1, slices, if, limits and refusals.
#include "ir/builder.h"

#include <algorithm>
#include <limits>

#include "tests/ir/graph_builder.h"

namespace lathe::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BuilderTest : public ::testing::Test, public GraphBuilder {};

// -- broadcasting

TEST_F(BuilderTest, BroadcastsRightAlignedAndOnlyWhereNeeded) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 4}), bias = In("bias", f32, {4}), c = In("c", f32, {});
  const ValueId y = Ok(b.Binary(Op::k_add, x, bias));
  EXPECT_EQ(graph.type(y).ToString(), "f32[n, 4]");
  EXPECT_EQ(graph.node(y).operands[0], x);
  EXPECT_EQ(graph.node(graph.node(y).operands[1]).op, Op::k_broadcast);
  EXPECT_EQ(Type(b.Binary(Op::k_mul, c, x)), "f32[n, 4]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(Type(b.Binary(Op::k_add, x, In("d", f32, {5}))),
              HasSubstr("4 and 5 must be equal, or one of them 1"));
  EXPECT_THAT(Type(b.BroadcastTo(x, {4})), HasSubstr("lower rank"));
}

TEST_F(BuilderTest, AnOpThatFailsLeavesTheGraphAsItWas) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId x = In("x", f32, {n, 2, 4}), y = In("y", f32, {m, 2, 5});
  const ValueId z = In("z", f32, {m, 2, 4});
  const size_t nodes = graph.body.nodes.size();
  EXPECT_THAT(Type(b.Binary(Op::k_add, x, y)), HasSubstr("4 and 5 must be equal"));
  EXPECT_THAT(Type(b.MatMul(x, y)), HasSubstr("4"));  // once the batch is broadcast
  EXPECT_THAT(Type(b.Attention(x, y, z, kNoValue, {})), HasSubstr("4"));
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_EQ(graph.body.nodes.size(), nodes);
  Ok(b.Binary(Op::k_add, x, z));  // requires of n and m what the failed ones did
  EXPECT_EQ(Required().size(), 1u);
  ExpectVerified();
}

// For every pair of sizes: admitted exactly if numpy would, and the extent that numpy gives.
void CheckPair(GraphBuilder& g, ValueId y, size_t symbols) {
  g.ExpectVerified();
  for (int64_t n : {0, 1, 2, 3, 7}) {
    for (int64_t m : {0, 1, 2, 3, 7}) {
      if (symbols == 1 && m != 3) continue;
      const bool legal = n == m || n == 1 || m == 1;
      const std::vector<int64_t> sizes =
          symbols == 1 ? std::vector<int64_t>{n} : std::vector<int64_t>{n, m};
      EXPECT_EQ(g.Admits(sizes), legal) << n << " " << m;
      if (legal) {
        EXPECT_THAT(g.Extents(y, sizes), ElementsAre(n == 1 ? m : n)) << n << " " << m;
      }
    }
  }
}

TEST_F(BuilderTest, ARuntimeBroadcastOfTwoSymbolsAdmitsWhatNumpyAdmits) {
  const ValueId x = In("x", f32, {Symbol("n")}), y = In("y", f32, {Symbol("m")});
  CheckPair(*this, Ok(b.Binary(Op::k_add, x, y)), 2);
  constexpr int64_t kMost = int64_t{1} << 40;
  EXPECT_TRUE(Admits({kMost, kMost}));
  EXPECT_TRUE(Admits({1, kMost}));
  EXPECT_FALSE(Admits({kMost - 1, kMost}));
}

TEST_F(BuilderTest, ARuntimeBroadcastAgainstAConstantIsAFiniteSet) {
  const ValueId x = In("x", f32, {Symbol("n")}), y = In("y", f32, {3});
  CheckPair(*this, Ok(b.Binary(Op::k_add, x, y)), 1);
  EXPECT_THAT(Required(), ElementsAre("n in {1, 3}"));
}

TEST_F(BuilderTest, TwoDimsAbove1AreRequiredEqual) {
  const ValueId x = In("x", f32, {Symbol("n", ">= 2")}), y = In("y", f32, {Symbol("m", ">= 2")});
  EXPECT_EQ(Type(b.Binary(Op::k_add, x, y)), "f32[n]");
  EXPECT_EQ(Required().size(), 1u);
  EXPECT_TRUE(Admits({3, 3}));
  EXPECT_FALSE(Admits({3, 2}));
  ExpectVerified();
}

TEST_F(BuilderTest, OneDimAbove1FixesTheResult) {
  const ValueId x = In("x", f32, {Symbol("n", ">= 2")}), y = In("y", f32, {Symbol("m")});
  EXPECT_EQ(Type(b.Binary(Op::k_add, y, x)), "f32[n]");
  EXPECT_TRUE(Admits({3, 3}));
  EXPECT_TRUE(Admits({3, 1}));
  EXPECT_FALSE(Admits({3, 2}));
  constexpr int64_t kMost = int64_t{1} << 40;
  EXPECT_TRUE(Admits({kMost, kMost}));
  ExpectVerified();
}

TEST_F(BuilderTest, ThreeWayRuntimeBroadcastAdmitsWhatNumpyAdmits) {
  const ValueId p = In("p", bool_, {Symbol("a")});
  const ValueId x = In("x", f32, {Symbol("b")}), y = In("y", f32, {Symbol("c")});
  const ValueId r = Ok(b.Elementwise(Op::k_select, {p, x, y}));
  ExpectVerified();
  for (int64_t i : {0, 1, 2, 3}) {
    for (int64_t j : {0, 1, 2, 3}) {
      for (int64_t k : {0, 1, 2, 3}) {
        int64_t extent = 1;
        bool legal = true;
        for (int64_t e : {i, j, k}) {
          legal = legal && (e == 1 || extent == 1 || e == extent);
          if (e != 1) extent = e;
        }
        EXPECT_EQ(Admits({i, j, k}), legal) << i << j << k;
        if (legal) {
          EXPECT_THAT(Extents(r, {i, j, k}), ElementsAre(extent));
        }
      }
    }
  }
}

TEST_F(BuilderTest, MatMulFollowsNumpy) {
  const Dim n = Symbol("n");
  const ValueId v = In("v", f32, {3}), w = In("w", f32, {3, 5}), x = In("x", f32, {n, 2, 3});
  const ValueId y = In("y", f32, {7, 1, 3, 4});
  EXPECT_EQ(Type(b.MatMul(v, v)), "f32[]");
  EXPECT_EQ(Type(b.MatMul(v, w)), "f32[5]");
  EXPECT_EQ(Type(b.MatMul(x, v)), "f32[n, 2]");
  EXPECT_EQ(Type(b.MatMul(x, w)), "f32[n, 2, 5]");
  EXPECT_EQ(Type(b.MatMul(x, y)), "f32[7, n, 2, 4]");
  EXPECT_THAT(Type(b.MatMul(In("s", f32, {}), w)), HasSubstr("scalar"));
  ExpectVerified();
}

TEST_F(BuilderTest, MatMulBatchOf0And1And3) {  // Z6
  const ValueId zero = In("zero", f32, {0, 2, 2}), one = In("one", f32, {1, 2, 2});
  const ValueId three = In("three", f32, {3, 2, 2});
  EXPECT_EQ(Type(b.MatMul(zero, one)), "f32[0, 2, 2]");
  EXPECT_EQ(Type(b.MatMul(one, zero)), "f32[0, 2, 2]");
  EXPECT_THAT(Type(b.MatMul(zero, three)), HasSubstr("0 and 3 must be equal, or one of them 1"));
}

TEST_F(BuilderTest, AttentionBroadcastsItsMask) {
  const Dim n = Symbol("n");
  const ValueId q = In("q", f32, {2, 12, n, 64}), mask = In("mask", f32, {2, 1, 1, n});
  const ValueId y = Ok(b.Attention(q, q, q, mask, {}));
  EXPECT_EQ(graph.type(y).ToString(), "f32[2, 12, n, 64]");
  EXPECT_EQ(graph.type(graph.node(y).operands[3]).ToString(), "f32[2, 12, n, n]");
  ExpectVerified();
}

// -- reshape

TEST_F(BuilderTest, MinusOneCancelsForEverySize) {
  const Dim n = Symbol("n"), m = Symbol("m");
  EXPECT_EQ(Type(b.Reshape(In("a", f32, {n, 4}), {n, -1})), "f32[n, 4]");
  EXPECT_EQ(Type(b.Reshape(In("b", f32, {n, 4, m}), {-1, m})), "f32[4*n, m]");
  EXPECT_EQ(Type(b.Reshape(In("c", f32, {n, 12}), {n, 3, -1})), "f32[n, 3, 4]");
  EXPECT_EQ(Type(b.Reshape(In("d", f32, {6 * n, m}), {3, -1})), "f32[3, 2*n*m]");
  EXPECT_EQ(Type(b.Reshape(In("e", f32, {4 * n + 4, m}), {n + 1, -1})), "f32[n + 1, 4*m]");
  EXPECT_EQ(Type(b.Reshape(In("f", f32, {}), {-1})), "f32[1]");
  EXPECT_EQ(Type(b.Reshape(In("g", f32, {1, 32, 5, 5}), {-1, 2, 4, 4, 5, 5})),
            "f32[1, 2, 4, 4, 5, 5]");                                                  // Z3
  EXPECT_EQ(Type(b.Reshape(In("h", f32, {2, 2, 3, 2}), {-1, 2, 3})), "f32[4, 2, 3]");  // Z4
  EXPECT_THAT(Required(), IsEmpty());
  ExpectVerified();
}

TEST_F(BuilderTest, MinusOneThatMayLeaveARemainderIsGuarded) {
  const Dim batch = Symbol("batch"), seq = Symbol("seq");
  const ValueId x = In("x", f32, {batch, seq});
  EXPECT_EQ(Type(b.Reshape(x, {-1, 512})), "f32[batch*seq // 512, 512]");
  EXPECT_EQ(Required().size(), 1u);
  EXPECT_TRUE(Admits({2, 256}));
  EXPECT_TRUE(Admits({0, 3}));
  EXPECT_FALSE(Admits({2, 255}));
  EXPECT_THAT(Type(b.Reshape(In("y", f32, {3, 5}), {-1, 4})), HasSubstr("without remainder"));
  ExpectVerified();
}

TEST_F(BuilderTest, MinusOneOverARestThatMayBe0IsGuarded) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId y = Ok(b.Reshape(In("x", f32, {n, 4}), {m, -1}));
  EXPECT_TRUE(Admits({3, 2}));
  EXPECT_FALSE(Admits({3, 5}));
  EXPECT_THAT(Extents(y, {3, 2}), ElementsAre(2, 6));
  bool refuses_zero = false;  // before the division is evaluated
  for (const std::string& claim : Required()) refuses_zero |= claim == "m != 0";
  EXPECT_TRUE(refuses_zero);
  ExpectVerified();
}

TEST_F(BuilderTest, BadReshapeTargetsSayWhy) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {0, 4}), y = In("y", f32, {n, 4});
  EXPECT_THAT(Type(b.Reshape(x, {0, -1})), HasSubstr("which is 0; give the extent"));  // Z2
  EXPECT_THAT(Type(b.Reshape(y, {-1, -1})), HasSubstr("-1 twice"));
  EXPECT_THAT(Type(b.Reshape(y, {-2, 4})), HasSubstr("has the extent -2"));
  EXPECT_FALSE(b.Reshape(x, {3, 2}).ok());  // Z5
  EXPECT_EQ(Type(b.Reshape(x, {7, 0})), "f32[7, 0]");
}

TEST_F(BuilderTest, ReshapeToAnEmptyShapeIsAGuardOnTheSymbol) {  // Z1
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 8, 2});
  const ValueId y = Ok(b.Reshape(x, {4, 2, -1}));
  EXPECT_EQ(graph.type(y).ToString(), "f32[4, 2, 2*n]");
  EXPECT_EQ(Type(b.Reshape(y, {0, 0, 4})), "f32[0, 0, 4]");
  EXPECT_TRUE(Admits({0}));
  EXPECT_FALSE(Admits({2}));
}

// -- slices

// Python's slice(start, limit, step).indices(n), then the count.
int64_t PythonCount(int64_t n, int64_t start, int64_t limit, int64_t step, int64_t* first) {
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto clamp = [&](int64_t v) {
    return std::clamp(v < 0 ? std::max(v + n, low) : v, low, high);
  };
  *first = clamp(start);
  const int64_t last = clamp(limit);
  const int64_t span = step > 0 ? last - *first : *first - last, by = step > 0 ? step : -step;
  return span <= 0 ? 0 : (span + by - 1) / by;
}

TEST_F(BuilderTest, SlicesCountAsInPythonForEverySize) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n});
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const int64_t bounds[] = {kMin, -9, -3, -1, 0, 1, 2, 5, kMax};
  for (int64_t start : bounds) {
    for (int64_t limit : bounds) {
      for (int64_t step : {1, 2, 3, -1, -2}) {
        const ValueId y = Ok(b.Slice(x, 0, start, limit, step));
        for (int64_t size : {0, 1, 2, 3, 7, 8}) {
          int64_t first = 0;
          const int64_t count = PythonCount(size, start, limit, step, &first);
          ASSERT_THAT(Extents(y, {size}), ElementsAre(count))
              << size << ": [" << start << ":" << limit << ":" << step << "] is "
              << graph.type(y).ToString();
          const int64_t found = *dim::Evaluate(graph.node(y).attrs.starts[0], {size});
          if (count > 0) {
            ASSERT_EQ(found, first);
          }
        }
      }
    }
  }
  EXPECT_THAT(Required(), IsEmpty());
  ExpectVerified();
}

TEST_F(BuilderTest, SlicesBySymbolsCountAsInPython) {
  const Dim n = Symbol("n"), a = Symbol("a"), c = Symbol("c");
  const ValueId x = In("x", f32, {n});
  for (int64_t step : {1, -1, 3}) {
    const ValueId y = Ok(b.Slice(x, 0, a - 3, c - 3, step));
    for (int64_t size : {0, 1, 3, 7}) {
      for (int64_t start : {0, 1, 2, 3, 4, 9}) {
        for (int64_t limit : {0, 1, 2, 3, 4, 9}) {
          int64_t first = 0;
          const int64_t count = PythonCount(size, start - 3, limit - 3, step, &first);
          EXPECT_THAT(Extents(y, {size, start, limit}), ElementsAre(count));
        }
      }
    }
  }
  EXPECT_THAT(Required(), IsEmpty());
}

TEST_F(BuilderTest, ProvableSlicesHaveSimpleExtents) {
  const Dim n = Symbol("n", "8..64"), m = Symbol("m");
  const ValueId x = In("x", f32, {n, m});
  EXPECT_EQ(Type(b.Slice(x, 0, 0, 5)), "f32[5, m]");
  EXPECT_EQ(Type(b.Slice(x, 0, 2, INT64_MAX)), "f32[n - 2, m]");
  EXPECT_EQ(Type(b.Slice(x, 0, -3, INT64_MAX)), "f32[3, m]");
  EXPECT_EQ(Type(b.Slice(x, 1, 0, 5)), "f32[n, min(m, 5)]");
  EXPECT_EQ(Type(b.Slice(x, -1, INT64_MAX, INT64_MIN, -1)), "f32[n, m]");
  EXPECT_THAT(Type(b.Slice(x, 0, 0, 5, 0)), HasSubstr("the step is 0"));
  EXPECT_THAT(Type(b.Slice(x, 2, 0, 5)), HasSubstr("axis 2 is outside of rank 2"));
}

// -- if

TEST_F(BuilderTest, ASideKnowsItsCondition) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 4});
  ASSERT_TRUE(b.OpenIf(n >= 8).ok());
  const ValueId head = Ok(b.Slice(x, 0, 0, 8));
  EXPECT_EQ(graph.type(head).ToString(), "f32[8, 4]");
  const ValueId sum = Make(Op::k_max, {head}, {.axes = {0}});
  ASSERT_TRUE(b.Else(sum).ok());
  EXPECT_EQ(Type(b.Slice(x, 0, 0, 8)), "f32[n, 4]");
  const ValueId zero = Make(Op::k_sum, {x}, {.axes = {0}});
  const ValueId y = Ok(b.CloseIf(zero));
  EXPECT_EQ(graph.type(y).ToString(), "f32[4]");
  EXPECT_THAT(Required(), IsEmpty());
  ASSERT_TRUE(b.Output("y", y).ok());
  ExpectVerified();
}

TEST_F(BuilderTest, AClaimOfASideIsRequiredOnlyWhereTheSideIsTaken) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n});
  ASSERT_TRUE(b.OpenIf(n >= 8).ok());
  const ValueId folded = Ok(b.Reshape(x, {-1, 4}));
  const ValueId flat = Ok(b.Reshape(folded, {n}));
  ASSERT_TRUE(b.Else(flat).ok());
  ASSERT_TRUE(b.Output("y", Ok(b.CloseIf(x))).ok());
  EXPECT_TRUE(Admits({3}));
  EXPECT_TRUE(Admits({12}));
  EXPECT_FALSE(Admits({13}));
  ExpectVerified();
}

TEST_F(BuilderTest, AClaimOfASideThatIsNotTakenDividesByNothing) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId x = In("x", f32, {n, 4});
  ASSERT_TRUE(b.OpenIf(m > 0).ok());
  const ValueId folded = Ok(b.Reshape(x, {m, -1}));
  ASSERT_TRUE(b.Else(Ok(b.Reshape(folded, {n, 4}))).ok());
  ASSERT_TRUE(b.Output("y", Ok(b.CloseIf(x))).ok());
  EXPECT_TRUE(Admits({3, 0}));
  EXPECT_TRUE(Admits({3, 6}));
  EXPECT_FALSE(Admits({3, 5}));
  ExpectVerified();
}

TEST_F(BuilderTest, TheElseOfAMembershipKnowsThatItIsNone) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n});
  ASSERT_TRUE(b.OpenIf(lathe::In(n, {0, 3})).ok());
  ASSERT_TRUE(b.Else(x).ok());
  ASSERT_TRUE(b.Create(Op::k_max, {x}, {.axes = {0}}).ok());  // n is not 0 here
  ASSERT_TRUE(b.Output("y", Ok(b.CloseIf(x))).ok());
  EXPECT_TRUE(Admits({0}));
  EXPECT_TRUE(Admits({5}));
  ExpectVerified();
}

TEST_F(BuilderTest, SidesGiveOneType) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId x = In("x", f32, {n}), y = In("y", f32, {m}), k = In("k", i32, {n});
  const auto join = [&](const Claim& claim, ValueId a, ValueId c) {
    EXPECT_TRUE(b.OpenIf(claim).ok());
    EXPECT_TRUE(b.Else(a).ok());
    return Type(b.CloseIf(c));
  };
  EXPECT_THAT(join(n > 3, x, k), HasSubstr("f32[n] and i32[n]; wanted one element type"));
  EXPECT_THAT(join(n > 3, x, y), HasSubstr("axis 0 is n and m, not known to be equal"));
  EXPECT_EQ(join(Eq(n, m), x, y), "f32[m]");  // where they differ the else-side is taken
  EXPECT_EQ(join(Ne(n, m), x, y), "f32[n]");
}

TEST_F(BuilderTest, IfsOutOfOrderAndTooDeepAreErrors) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n});
  EXPECT_FALSE(b.Else(x).ok());
  EXPECT_FALSE(b.CloseIf(x).ok());
  for (int i = 0; i < kMaxBlockDepth; ++i) ASSERT_TRUE(b.OpenIf(n > i).ok());
  EXPECT_THAT(b.OpenIf(n > 99).message(), HasSubstr("deeper than the limit of 32"));
  EXPECT_FALSE(b.CloseIf(x).ok());
  EXPECT_FALSE(b.Input("late", {f32, {}}).ok());
  EXPECT_FALSE(b.Output("late", x).ok());
  for (int i = 0; i < kMaxBlockDepth; ++i) {
    ASSERT_TRUE(b.Else(x).ok());
    ASSERT_TRUE(b.CloseIf(x).ok());
  }
  ASSERT_TRUE(b.Output("y", x).ok());
  ExpectVerified();
}

// -- names, constants, limits

TEST_F(BuilderTest, NamesAreUniqueWords) {
  const ValueId x = In("x", f32, {2});
  EXPECT_EQ(b.Input("x", {f32, {2}}).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(b.Input("", {f32, {2}}).ok());
  EXPECT_FALSE(b.Input("2x", {f32, {2}}).ok());
  EXPECT_TRUE(b.Output("y", x).ok());
  EXPECT_FALSE(b.Output("y", x).ok());
  EXPECT_FALSE(b.Output("z", 99).ok());
}

TEST_F(BuilderTest, ConstantsAreExactOrRefused) {
  const ValueId c = Ok(b.ScalarConstant(f32, 0.1));
  EXPECT_EQ(*graph.node(c).attrs.tensor.data<float>(), 0.1f);
  const ValueId big = Ok(b.IntConstant(i64, (int64_t{1} << 53) + 1));
  EXPECT_EQ(*graph.node(big).attrs.tensor.data<int64_t>(), (int64_t{1} << 53) + 1);
  EXPECT_THAT(Type(b.IntConstant(i32, int64_t{1} << 31)), HasSubstr("is no i32"));
  EXPECT_THAT(Type(b.ScalarConstant(i32, 0.5)), HasSubstr("0.5 is no i32"));
  EXPECT_FALSE(b.Constant(Tensor(f32, {-1})).ok());
}

TEST_F(BuilderTest, ErrorsNameThePlace) {
  b.set_location({"demo.lathe", 7, 3});
  const ValueId x = In("x", f32, {2}), y = In("y", f32, {3});
  EXPECT_THAT(Type(b.Binary(Op::k_add, x, y)), HasSubstr("add at demo.lathe:7:3: "));
  EXPECT_THAT(Type(b.Create(Op::k_input, {})), HasSubstr("wanted Input, Constant or OpenIf"));
}

TEST_F(BuilderTest, TheNodeLimitIsAnError) {
  const ValueId x = In("x", f32, {});
  EXPECT_EQ(graph.max_nodes, kMaxNodes);
  graph.max_nodes = 3;
  Make(Op::k_abs, {Make(Op::k_neg, {x})});
  const absl::StatusOr<ValueId> fourth = b.Create(Op::k_neg, {x});
  EXPECT_EQ(fourth.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Type(fourth), HasSubstr("neg: the graph has 3 nodes already, the limit is 3"));
}

TEST_F(BuilderTest, ApplyIsWhatPeopleWrite) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 4}), w = In("w", f32, {4, 3}), v = In("v", f32, {4});
  EXPECT_EQ(Type(b.Apply(Op::k_add, {x, v})), "f32[n, 4]");
  EXPECT_EQ(Type(b.Apply(Op::k_matmul, {v, w})), "f32[3]");
  EXPECT_EQ(Type(b.Apply(Op::k_reshape, {x}, {.shape = Shape{-1, 2}})), "f32[2*n, 2]");
  EXPECT_EQ(Type(b.Apply(Op::k_softmax, {x}, {.axis = -1})), "f32[n, 4]");
  EXPECT_THAT(Type(b.Apply(Op::k_matmul, {x})), HasSubstr("has 1 operands; wanted 2"));
  EXPECT_THAT(Type(b.Apply(Op::k_reshape, {x})), HasSubstr("lacks the attribute 'shape'"));
}

}  // namespace
}  // namespace lathe::ir
