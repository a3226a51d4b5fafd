// Work that doesn't grow with what a Dim would be as a tree, nor with the numbers in a shape.
#include "ir/graph.h"
#include "tests/ir/graph_builder.h"

namespace lathe::ir {
namespace {

using ::testing::HasSubstr;

// 2^40 divisions as a tree, 80 as a graph.
Dim Shared(Dim n, Dim m) {
  Dim d = n;
  for (int i = 0; i < 40; ++i) d = FloorDiv(d, m) + Mod(d, m);
  return d;
}

TEST(SharedParts, DivisorsInASideAreRequiredOnceEach) {
  for (const std::string facts : {"1..8", ""}) {
    GraphBuilder g;
    const Dim n = g.Symbol("n"), m = facts.empty() ? g.Symbol("m") : g.Symbol("m", facts);
    g.In("x", f32, {n, m});
    ASSERT_TRUE(g.b.OpenIf(n > 4).ok());
    const ValueId then = g.Make(Op::k_size, {}, {.dim = Shared(n, m)});
    ASSERT_TRUE(g.b.Else(then).ok());
    const ValueId otherwise = g.Make(Op::k_size, {}, {.dim = n});
    EXPECT_TRUE(g.b.CloseIf(otherwise).ok());
    EXPECT_LE(g.Required().size(), facts.empty() ? 1u : 0u);
  }
}

// Both numbers are primes: nothing between 1 and the second one divides the first.
TEST(BoundedWork, AReshapeToLargePrimesIsRefusedAtOnce) {
  GraphBuilder g;
  const ValueId x = g.In("x", i8, {1099511627689});
  EXPECT_THAT(g.Type(g.b.Reshape(x, {-1, 549755813881})), HasSubstr("doesn't divide it"));
}

}  // namespace
}  // namespace lathe::ir
