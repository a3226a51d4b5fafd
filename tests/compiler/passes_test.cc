// Each pass that is no recogniser alone on text, and the manager.
#include <set>
#include <string>
#include <vector>

#include "compiler/passes/pass.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compiler/passes_util.h"
#include "tests/compiler/random_graph.h"

namespace lathe::compiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// -- refine_shapes

TEST(RefineShapesTest, DimsAreSimplifiedByDeclaredFactsAndInputsKeepTheirTypes) {
  const std::string text = After(R"(
dim n in 1..8, m
assume m == 2*n
x: f32[m, 3]
output r = relu(x[0:min(m, 64)])
)",
                                 {RefineShapes, Canonicalize});
  EXPECT_THAT(text, HasSubstr("x: f32[m, 3]"));
  EXPECT_THAT(text, Not(HasSubstr("min(")));
  EXPECT_THAT(text, Not(HasSubstr("slice")));
}

TEST(RefineShapesTest, ASymbolWithOneValueBecomesIt) {
  const std::string text =
      After("dim n in {4}\nx: f32[n]\noutput r = iota(shape=[n], axis=0, dtype=f32) + x\n",
            {RefineShapes});
  EXPECT_THAT(text, HasSubstr("iota(shape=[4]"));
}

// -- resolve_if

constexpr const char* kIf = R"(
x: f32[n]
y = if %s { yield exp(x) } else { yield x * 2 }
output y
)";

std::string IfText(const std::string& dims, const std::string& claim) {
  std::string text = dims + kIf;
  text.replace(text.find("%s"), 2, claim);
  return text;
}

TEST(ResolveIfTest, ProvedAndRefutedClaimsAreInlined) {
  const std::string proved = After(IfText("dim n in 8..64", "n >= 5"), {ResolveIf});
  EXPECT_THAT(proved, HasSubstr("exp"));
  EXPECT_THAT(proved, Not(HasSubstr("if")));
  const std::string refuted = After(IfText("dim n in 8..64", "n in {1, 2}"), {ResolveIf});
  EXPECT_THAT(refuted, HasSubstr("mul"));
  EXPECT_THAT(refuted, Not(HasSubstr("if")));
}

// A witness against a claim doesn't decide it.
TEST(ResolveIfTest, UndecidedClaimsStay) {
  EXPECT_THAT(After(IfText("dim n in 1..64", "n >= 5"), {ResolveIf}), HasSubstr("if"));
  EXPECT_THAT(After(IfText("dim n in 1..64", "n in {1, 2}"), {ResolveIf}), HasSubstr("if"));
}

TEST(ResolveIfTest, NestedOnesAreResolvedFromOutsideIn) {
  const std::string text = After(R"(
dim n in 8..64
x: f32[n]
y = if n >= 4 {
  a = if n % 2 == 0 { yield exp(x) } else { yield relu(x) }
  z = if n < 8 { yield sin(a) } else { yield cos(a) }
  yield z
} else { yield x }
output y
)",
                                 {ResolveIf});
  EXPECT_THAT(text, HasSubstr("cos"));
  EXPECT_THAT(text, HasSubstr("exp"));
  EXPECT_THAT(text, Not(HasSubstr("sin")));
  EXPECT_THAT(text, Not(HasSubstr("n >= 4")));
}

// -- fold_constants

TEST(FoldConstantsTest, KnownOperandsAreEvaluated) {
  const std::string text = After(R"(
dim n
x: f32[n, 2]
w = constant(f32[2, 2]{1, 2, 3, 4})
output r = x @ permute(w * 2 + 1, axes=[1, 0])
)",
                                 {FoldConstants});
  EXPECT_EQ(text, Normal(R"(
dim n
x: f32[n, 2]
output r = x @ constant(f32[2, 2]{3, 7, 5, 9})
)"));
}

TEST(FoldConstantsTest, WhatWouldGrowStays) {
  const std::string text = After(R"(
c = constant(f32[2]{1, 2})
output a = broadcast(c, shape=[1000, 2])
output i = iota(shape=[3], axis=0, dtype=i32)
output q = random(shape=[5000000], seed=1, distribution="normal", dtype=f32)
output p = pad(c, low=[0], high=[10000], value=0)
)",
                                 {FoldConstants});
  for (const char* op : {"broadcast", "iota", "random", "pad"}) EXPECT_THAT(text, HasSubstr(op));
}

TEST(FoldConstantsTest, SizesThatAreKnownFoldAndTheOthersStay) {
  const std::string text = After(R"(
dim n
x: f32[n]
output a = size(dim=7) + 1
output c = size(dim=n) + 1
)",
                                 {FoldConstants});
  EXPECT_THAT(text, HasSubstr("constant(i64[]{8})"));
  EXPECT_THAT(text, HasSubstr("size(dim=n)"));
}

TEST(FoldConstantsTest, TheBudgetOfBytesAndWorkIsKept) {
  const std::string before = R"(
output y = permute(constant(f32[100, 20]{0.5*2000}), axes=[1, 0])
output z = constant(f32[100, 20]{0.5*2000}) @ constant(f32[20, 10]{0.5*200})
)";
  PassContext small;
  small.fold_bytes = 1000;
  EXPECT_THAT(After(before, {FoldConstants}, small), HasSubstr("permute"));
  PassContext lazy;
  lazy.fold_work = 1000;
  EXPECT_THAT(After(before, {FoldConstants}, lazy), HasSubstr("matmul"));
  EXPECT_THAT(After(before, {FoldConstants}), Not(HasSubstr("matmul")));
}

// Each result is small enough by itself; together they would have 200 times the bytes of the graph.
TEST(FoldConstantsTest, AChainOfFunctionsOfAWeightStops) {
  std::string text = "y0 = constant(f32[100, 20]{0.5*2000})\n";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&text, "y", i + 1, " = sin(y", i, ")\n");
  absl::StrAppend(&text, "output z = y200 + 0\n");
  PassContext context;
  context.fold_bytes = 20'000;
  ir::Graph graph = Parsed(text);
  ASSERT_TRUE(FoldConstants(graph, context).ok());
  EXPECT_EQ(context.rewrites["folded"], (4 * 8000 + 20'000) / 8000);
  graph = Parsed(text);
  PassContext unlimited;
  unlimited.fold_bytes = INT64_MAX;
  ASSERT_TRUE(FoldConstants(graph, unlimited).ok());
  EXPECT_GE(unlimited.rewrites["folded"], 200);
}

// A matrix that is transposed for two products, and again in a side of an `if`.
TEST(FoldConstantsTest, WeightsThatAreSharedAreStoredOnce) {
  ir::Graph g = Parsed(R"(
dim n
x: f32[n, 200]
w = constant(f32[300, 200]{0.5*60000})
a = x @ permute(w, axes=[1, 0])
b = relu(x) @ permute(w, axes=[1, 0])
y = if n >= 4 { yield a + b } else { yield sin(x) @ permute(w, axes=[1, 0]) }
output y
)");
  PassContext context;
  ASSERT_TRUE(RunPasses(g, context).ok());
  std::set<const void*> buffers;
  for (ir::ValueId v = 0; v < g.num_nodes(); ++v) {
    if (g.node(v).op == ir::Op::k_constant && g.node(v).attrs.tensor.num_elements() == 60000)
      buffers.insert(g.node(v).attrs.tensor.raw());
  }
  EXPECT_EQ(buffers.size(), 1u);
}

// 8-bit weights of an integer product stay 8-bit.
TEST(FoldConstantsTest, WideningBigConstantsStays) {
  const std::string text = After(R"(
dim n
x: i8[n, 1024]
w = constant(i8[1024, 1024]{3*1048576})
output y = cast(x, i32) @ (cast(w, i32) - 5)
)",
                                 {Canonicalize, FoldConstants});
  EXPECT_THAT(text, HasSubstr("constant(i8[1024, 1024]"));
  EXPECT_THAT(text, Not(HasSubstr("constant(i32[1024, 1024]")));
}

TEST(FoldConstantsTest, AnEvaluationThatFailsIsLeftToTheCall) {
  const std::string text = After(
      "output y = gather(constant(f32[2]{1, 2}), constant(i32[1]{5}), axis=0)\n", {FoldConstants});
  EXPECT_THAT(text, HasSubstr("gather"));
}

// -- eliminate_common

TEST(EliminateCommonTest, EqualNodesAreOne) {
  const std::string text = After(R"(
dim n
x: f32[n]
y: f32[n]
output a = exp(x + y) * exp(y + x)
output r = random(shape=[n], seed=1, distribution="normal", dtype=f32) + random(shape=[n], seed=1, distribution="normal", dtype=f32)
)",
                                 {EliminateCommon});
  EXPECT_EQ(text, Normal(R"(
dim n
x: f32[n]
y: f32[n]
%3 = exp(x + y)
output a = %3 * %3
%4 = random(shape=[n], seed=1, distribution="normal", dtype=f32)
output r = %4 + %4
)")) << text;
}

TEST(EliminateCommonTest, DifferentAttributesAndZerosStayApart) {
  const std::string before = R"(
dim n
x: f32[n]
output a = constant(f32[1]{0}) / constant(f32[1]{-0.0})
output r = random(shape=[n], seed=1, distribution="normal", dtype=f32) - random(shape=[n], seed=2, distribution="normal", dtype=f32)
output s = softmax(reshape(x, [n, 1]), axis=0) - softmax(reshape(x, [n, 1]), axis=1)
)";
  const std::string text = After(before, {EliminateCommon});
  EXPECT_THAT(text, HasSubstr("seed=2"));
  EXPECT_THAT(text, HasSubstr("axis=0"));
  EXPECT_THAT(text, HasSubstr("axis=1"));
  EXPECT_THAT(text, HasSubstr("{-0}")) << text;
}

TEST(EliminateCommonTest, SidesOfAnIfShareWithWhatIsAroundThemButNotWithEachOther) {
  const std::string text = After(R"(
dim n
x: f32[n]
e = exp(x)
y = if n >= 4 { yield exp(x) + sin(x) } else { yield sin(x) * e }
output y
output z = sin(x)
)",
                                 {EliminateCommon});
  size_t sines = 0, exponentials = 0;
  for (size_t at = 0; (at = text.find("sin(", at)) != std::string::npos; ++at) ++sines;
  for (size_t at = 0; (at = text.find("exp(", at)) != std::string::npos; ++at) ++exponentials;
  EXPECT_EQ(sines, 3u) << text;
  EXPECT_EQ(exponentials, 1u) << text;
}

// -- merge_products

TEST(MergeProductsTest, ProductsWithRowsBecomeOne) {
  const std::string text = After(R"(
dim n
x: f32[n, 2]
q = x @ constant(f32[2, 1]{1, 2}) + constant(f32[1]{10})
k = constant(f32[2]{20, 30}) + x @ constant(f32[2, 2]{3, 4, 5, 6})
output q
output k
)",
                                 {MergeProducts});
  EXPECT_EQ(text, Normal(R"(
dim n
x: f32[n, 2]
%1 = x @ constant(f32[2, 3]{1, 3, 4, 2, 5, 6}) + constant(f32[3]{10, 20, 30})
q = %1[:, 0:1]
k = %1[:, 1:3]
output q
output k
)")) << text;
}

TEST(MergeProductsTest, ARowThatIsUsedTwiceOrMissingLeavesTheAdditions) {
  const std::string text = After(R"(
dim n
x: f32[n, 2]
a = x @ constant(f32[2, 1]{1, 2})
output q = a + constant(f32[1]{10})
output k = x @ constant(f32[2, 1]{3, 4}) + constant(f32[1]{20})
output a
)",
                                 {MergeProducts});
  EXPECT_THAT(text, HasSubstr("f32[2, 2]{1, 3, 2, 4}"));
  EXPECT_THAT(text, HasSubstr("f32[1]{20}"));
}

TEST(MergeProductsTest, OtherLeftSidesAndMatricesThatAreNotConstantStay) {
  const std::string before = R"(
dim n
x: f32[n, 2]
w: f32[2, 2]
output a = x @ constant(f32[2, 1]{1, 2})
output c = relu(x) @ constant(f32[2, 1]{3, 4})
output d = x @ w
)";
  EXPECT_EQ(After(before, {MergeProducts}), Normal(before));
}

TEST(MergeProductsTest, ProductsInDifferentSidesStayApart) {
  const std::string text = After(R"(
dim n
x: f32[n, 2]
y = if n >= 4 { yield x @ constant(f32[2, 1]{1, 2}) } else { yield x @ constant(f32[2, 1]{3, 4}) }
z = if n >= 4 {
  a = x @ constant(f32[2, 1]{5, 6})
  c = x @ constant(f32[2, 1]{7, 8})
  yield a * c
} else { yield y }
output z
)",
                                 {MergeProducts});
  EXPECT_THAT(text, HasSubstr("f32[2, 2]{5, 7, 6, 8}"));
  EXPECT_THAT(text, HasSubstr("f32[2, 1]{1, 2}"));
}

// -- remove_dead

TEST(RemoveDeadTest, WhatMayFailStaysAndConstantsAreFreed) {
  ir::Graph g = Parsed(R"(
dim n
x: f32[n]
i: i32[3]
dead = exp(x)
may_fail = gather(x, i, axis=0)
c = constant(f32[2]{1, 2})
output y = relu(x)
)");
  PassContext context;
  ASSERT_TRUE(RemoveDead(g, context).ok());
  const std::string text = ir::Print(g);
  EXPECT_THAT(text, HasSubstr("gather"));
  EXPECT_THAT(text, Not(HasSubstr("exp")));
  for (ir::ValueId v = 0; v < g.num_nodes(); ++v) {
    if (g.node(v).op == ir::Op::k_constant) {
      EXPECT_EQ(g.node(v).attrs.tensor.num_elements(), 0);
    }
  }
  EXPECT_EQ(context.rewrites["dead nodes"], 2);
}

// -- the manager

TEST(PassManagerTest, RowsAreCompleteAndDistinct) {
  std::set<std::string_view> names;
  for (const PassRow& row : PassTable()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_NE(row.run, nullptr);
    EXPECT_FALSE(row.why_here.empty()) << row.name;
  }
  EXPECT_EQ(PassTable().front().name, "refine_shapes");
  EXPECT_EQ(PassTable().back().name, "remove_dead");
}

TEST(PassManagerTest, SkipsTimesAndDumps) {
  ir::Graph g =
      Parsed("dim n\nx: f32[n]\noutput y = neg(neg(x)) + (constant(1.0) + constant(2.0))\n");
  PassContext context;
  context.verify = true;
  context.skip = {"canonicalize"};
  std::vector<std::string> dumped;
  context.dump = [&](std::string_view pass, const ir::Graph&) { dumped.emplace_back(pass); };
  ASSERT_TRUE(RunPasses(g, context).ok());
  EXPECT_THAT(ir::Print(g), HasSubstr("neg"));
  ASSERT_EQ(context.timings.size(), PassTable().size());
  for (const PassTiming& t : context.timings) {
    EXPECT_EQ(t.skipped, t.pass == "canonicalize" || t.pass == "fold_scale");
    EXPECT_GE(t.seconds, 0);
  }
  EXPECT_THAT(dumped, ElementsAre("fold_constants", "remove_dead"));
}

TEST(PassManagerTest, AnUnknownNameToSkipIsAnErrorThatListsThePasses) {
  ir::Graph g = Parsed("x: f32[2]\noutput y = x\n");
  PassContext context;
  context.skip = {"fuse_everything"};
  const absl::Status s = RunPasses(g, context);
  EXPECT_THAT(std::string(s.message()), HasSubstr("fuse_everything"));
  EXPECT_THAT(std::string(s.message()), HasSubstr("merge_products"));
}

TEST(PassManagerTest, ABrokenGraphIsReportedWithThePass) {
  ir::Graph g = Parsed("x: f32[2]\noutput y = exp(x)\n");
  g.node(g.body.results[0]).type.shape = {3};
  PassContext context;
  context.verify = true;
  EXPECT_THAT(std::string(RunPasses(g, context).message()), HasSubstr("pass refine_shapes"));
}

TEST(PassManagerTest, RunningTwiceChangesNothingMore) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ir::Graph g = fuzz::RandomGraph(seed);
    PassContext context;
    context.verify = true;
    std::string once;
    for (int run = 0; run < 3; ++run) {
      once = ir::Print(g);
      const absl::Status s = RunPasses(g, context);
      ASSERT_TRUE(s.ok()) << s << " of seed " << seed;
    }
    EXPECT_EQ(ir::Print(g), once) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lathe::compiler
