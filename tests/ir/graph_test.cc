// Graph: names, replacing, dead nodes, cloning, equality; long chains.
#include "ir/graph.h"

#include "tests/ir/graph_builder.h"

namespace lathe::ir {
namespace {

using ::testing::ElementsAre;

TEST(Graph, ValuesWithoutANameAreNumbered) {
  GraphBuilder g;
  const ValueId x = g.In("x", f32, {2});
  const ValueId y = g.Make(Op::k_neg, {x});
  EXPECT_EQ(g.graph.ValueName(x), "x");
  EXPECT_EQ(g.graph.ValueName(y), "%1");
  g.b.SetName(y, "y");
  EXPECT_EQ(g.graph.ValueName(y), "y");
}

TEST(Graph, ReplaceUsesFollowsChainsIntoBlocks) {
  GraphBuilder g;
  const Dim n = g.Symbol("n");
  const ValueId x = g.In("x", f32, {n});
  const ValueId a = g.Make(Op::k_neg, {x});
  const ValueId c = g.Make(Op::k_abs, {a});
  ASSERT_TRUE(g.b.OpenIf(n > 2).ok());
  const ValueId inner = g.Make(Op::k_exp, {c});
  ASSERT_TRUE(g.b.Else(inner).ok());
  const ValueId y = GraphBuilder::Ok(g.b.CloseIf(c));
  ASSERT_TRUE(g.b.Output("y", y).ok());
  std::vector<ValueId> with = {x, x, a, inner, y};  // c -> a -> x
  g.graph.ReplaceUses(with);
  EXPECT_THAT(g.graph.node(inner).operands, ElementsAre(x));
  EXPECT_THAT(g.graph.node(y).blocks[1].results, ElementsAre(x));
  g.ExpectVerified();
}

TEST(Graph, DeadNodesGoAndNodesThatMayFailStay) {
  GraphBuilder g;
  const Dim n = g.Symbol("n");
  const ValueId x = g.In("x", f32, {n});
  const ValueId unused = g.In("unused", i64, {n});
  const ValueId dead = g.Make(Op::k_neg, {x});
  const ValueId gather = g.Make(Op::k_gather, {x, unused}, {.axis = 0});
  ASSERT_TRUE(g.b.OpenIf(n > 2).ok());
  const ValueId dead_inside = g.Make(Op::k_exp, {x});
  const ValueId used_inside = g.Make(Op::k_abs, {x});
  ASSERT_TRUE(g.b.Else(used_inside).ok());
  const ValueId y = GraphBuilder::Ok(g.b.CloseIf(x));
  ASSERT_TRUE(g.b.OpenIf(n > 3).ok());
  const ValueId dead_if_side = g.Make(Op::k_exp, {x});
  ASSERT_TRUE(g.b.Else(dead_if_side).ok());
  const ValueId dead_if = GraphBuilder::Ok(g.b.CloseIf(x));
  ASSERT_TRUE(g.b.Output("y", y).ok());
  g.graph.RemoveDeadNodes();
  EXPECT_THAT(g.graph.body.nodes, ElementsAre(x, unused, gather, y));
  EXPECT_THAT(g.graph.node(y).blocks[0].nodes, ElementsAre(used_inside));
  EXPECT_EQ(g.graph.CountUses()[dead], 0);
  EXPECT_EQ(g.graph.CountUses()[dead_inside], 0);
  EXPECT_EQ(g.graph.CountUses()[dead_if], 0);
  EXPECT_EQ(g.graph.CountUses()[x], 3);  // gather, abs, the else-side's result
}

TEST(Graph, RejectedResultOfAFirstSideKeepsItsOwnNames) {
  // A side of an if that uses the then-side's values is caught: they are out of scope there.
  GraphBuilder g;
  const Dim n = g.Symbol("n");
  const ValueId x = g.In("x", f32, {n});
  ASSERT_TRUE(g.b.OpenIf(n > 2).ok());
  const ValueId inside = g.Make(Op::k_exp, {x});
  ASSERT_TRUE(g.b.Else(inside).ok());
  const ValueId y = GraphBuilder::Ok(g.b.CloseIf(inside));
  ASSERT_TRUE(g.b.Output("y", y).ok());
  EXPECT_THAT(Verify(g.graph).message(), ::testing::HasSubstr("invariant 3"));
}

TEST(Graph, ACloneIsIndependent) {
  GraphBuilder g;
  const Dim n = g.Symbol("n", "1..8");
  const ValueId x = g.In("x", f32, {n});
  ASSERT_TRUE(g.b.Output("y", x).ok());
  Graph copy = g.graph.Clone();
  EXPECT_TRUE(Equal(g.graph, copy));
  Builder b(&copy);
  ASSERT_TRUE(b.Create(Op::k_neg, {x}).ok());
  EXPECT_FALSE(Equal(g.graph, copy));
  EXPECT_EQ(g.graph.num_nodes(), 1u);
  EXPECT_EQ(copy.dims(), g.graph.dims());
}

TEST(Graph, EqualIgnoresNumbersAndSeesEverythingElse) {
  const auto make = [](double value, const char* spec, const char* name) {
    GraphBuilder g;
    const Dim n = g.Symbol("n", spec);
    const ValueId x = g.In("x", f32, {n, 2});
    if (value > 1) g.Make(Op::k_abs, {x});  // shifts the numbers
    g.graph.body.nodes.resize(1);
    const ValueId c = GraphBuilder::Ok(g.b.ScalarConstant(f32, value > 1 ? value - 2 : value));
    const ValueId y = GraphBuilder::Ok(g.b.Binary(Op::k_add, x, c));
    g.b.SetName(y, name);
    EXPECT_TRUE(g.b.Output("y", y).ok());
    return std::move(g.graph);
  };
  const Graph reference = make(0.0, "1..8", "y");
  EXPECT_TRUE(Equal(reference, make(2.0, "1..8", "y")));
  EXPECT_FALSE(Equal(reference, make(-0.0, "1..8", "y")));
  EXPECT_FALSE(Equal(reference, make(0.0, "1..9", "y")));
  EXPECT_FALSE(Equal(reference, make(0.0, "1..8", "z")));
}

TEST(Graph, AChainOf200000NodesIsBuiltVerifiedClonedComparedAndSwept) {
  GraphBuilder g;
  const Dim n = g.Symbol("n");
  const ValueId x = g.In("x", f32, {n, 4});
  ValueId v = x;
  for (int i = 0; i < 200'000; ++i) v = *g.b.Create(Op::k_neg, {v});
  ASSERT_TRUE(g.b.Output("y", v).ok());
  g.ExpectVerified();
  Graph copy = g.graph.Clone();
  EXPECT_TRUE(Equal(g.graph, copy));
  copy.body.results = {x};
  copy.RemoveDeadNodes();
  EXPECT_EQ(copy.body.nodes.size(), 1u);
}

TEST(Graph, LocationsPrintWhatIsKnown) {
  EXPECT_EQ(Location{}.ToString(), "");
  EXPECT_EQ((Location{"a.lathe", 3, 0}).ToString(), "a.lathe:3");
  EXPECT_EQ((Location{"a.lathe", 3, 7}).ToString(), "a.lathe:3:7");
  EXPECT_EQ((Location{"", 3, 7}).ToString(), "line 3:7");
}

}  // namespace
}  // namespace lathe::ir
