// Each invariant of the verifier, broken by hand, is reported by its number.
#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/ir/graph_builder.h"

namespace lathe::ir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// x -> neg -> if n > 2 { exp } else { neg } -> y
struct Sample : GraphBuilder {
  Dim n = Symbol("n"), m = Symbol("m");
  ValueId x = In("x", f32, {n});
  ValueId neg = Make(Op::k_neg, {x});
  ValueId exp, chosen;

  Sample() {
    EXPECT_TRUE(b.OpenIf(n > 2).ok());
    exp = Make(Op::k_exp, {neg});
    EXPECT_TRUE(b.Else(exp).ok());
    chosen = Ok(b.CloseIf(neg));
    EXPECT_TRUE(b.Output("y", chosen).ok());
  }
};

void ExpectBroken(int invariant, const std::function<void(Sample&)>& damage) {
  Sample sample;
  sample.ExpectVerified();
  damage(sample);
  const absl::Status s = Verify(sample.graph);
  EXPECT_THAT(std::string(s.message()), HasSubstr(absl::StrCat("invariant ", invariant, ": ")));
}

TEST(Verifier, Blocks) {
  ExpectBroken(2, [](Sample& s) { s.graph.body.nodes.push_back(999); });
  ExpectBroken(2, [](Sample& s) { s.graph.body.nodes.push_back(s.neg); });
  ExpectBroken(2, [](Sample& s) { s.graph.node(s.chosen).blocks[1].nodes = {s.exp}; });
  ExpectBroken(2, [](Sample& s) { s.graph.node(s.chosen).blocks[1].nodes = {s.chosen}; });
  ExpectBroken(3, [](Sample& s) { std::swap(s.graph.body.nodes[0], s.graph.body.nodes[1]); });
  ExpectBroken(3, [](Sample& s) { s.graph.node(s.chosen).blocks[1].results = {s.exp}; });
  ExpectBroken(3, [](Sample& s) { s.graph.body.results = {s.exp}; });
  ExpectBroken(3, [](Sample& s) { s.graph.body.results = {kNoValue}; });
  ExpectBroken(3, [](Sample& s) { s.graph.node(s.neg).operands = {s.neg}; });
}

TEST(Verifier, InputsAndOutputs) {
  ExpectBroken(4, [](Sample& s) { s.graph.inputs.clear(); });
  ExpectBroken(4, [](Sample& s) { s.graph.inputs.push_back(s.x); });
  ExpectBroken(4, [](Sample& s) { s.graph.inputs.push_back(s.neg); });
  ExpectBroken(5, [](Sample& s) { s.graph.output_names.clear(); });
  ExpectBroken(5, [](Sample& s) {
    s.graph.output_names.push_back("y");
    s.graph.body.results.push_back(s.x);
  });
}

TEST(Verifier, RegionsBelongToIf) {
  ExpectBroken(6, [](Sample& s) { s.graph.node(s.neg).blocks.resize(1); });
  ExpectBroken(6, [](Sample& s) { s.graph.node(s.chosen).blocks.resize(1); });
  ExpectBroken(6, [](Sample& s) { s.graph.node(s.chosen).blocks[0].results.clear(); });
  ExpectBroken(6, [](Sample& s) { s.graph.node(s.chosen).attrs.claim.reset(); });
}

TEST(Verifier, RowsAndTypes) {
  ExpectBroken(7, [](Sample& s) { s.graph.node(s.neg).operands.push_back(s.x); });
  ExpectBroken(7, [](Sample& s) { s.graph.node(s.neg).attrs.axis = 0; });
  ExpectBroken(
      7, [](Sample& s) { s.graph.node(s.x).type.dtype = s.graph.node(s.neg).type.dtype = i32; });
  ExpectBroken(7, [](Sample& s) {
    Node sum{.op = Op::k_sum, .operands = {s.x}, .attrs = {.axes = {-1}}, .type = {f32, {}}};
    s.graph.body.nodes.push_back(s.graph.AppendNode(sum));
  });
  ExpectBroken(8, [](Sample& s) { s.graph.node(s.neg).type.dtype = f64; });
  ExpectBroken(8, [](Sample& s) { s.graph.node(s.neg).type.shape = {s.m}; });
  ExpectBroken(8, [](Sample& s) { s.graph.node(s.neg).type.shape = {s.n, 1}; });
}

TEST(Verifier, DimsThatAreKnownEqualAreOneType) {
  Sample s;
  ASSERT_TRUE(s.graph.facts().Add(Eq(s.n, s.m), dim::Standing::kDeclared, {"test", ""}).ok());
  s.graph.node(s.neg).type.shape = {s.m};
  s.ExpectVerified();
}

TEST(Verifier, Dims) {
  ExpectBroken(9, [](Sample& s) { s.graph.node(s.x).type.shape = {kMaxDim + 1}; });
  ExpectBroken(9, [](Sample& s) { s.graph.node(s.x).type.shape = Shape(17, Dim(1)); });
}

TEST(Verifier, ClaimsOfOpsMustBeAmongTheFacts) {
  ExpectBroken(10, [](Sample& s) {
    Node reshape{.op = Op::k_reshape,
                 .operands = {s.x},
                 .attrs = {.shape = Shape{s.m, 2}},
                 .type = {f32, {s.m, 2}}};
    s.graph.body.nodes.push_back(s.graph.AppendNode(reshape));
  });
  ExpectBroken(10, [](Sample& s) { s.graph.node(s.x).type.shape = {s.n - 1}; });
}

TEST(Verifier, NestingBeyondTheLimit) {
  Sample s;
  ValueId v = s.chosen;
  for (int i = 0; i < kMaxBlockDepth + 1; ++i) {
    Node outer{.op = Op::k_if, .attrs = {.claim = s.n > 2}, .type = s.graph.type(s.x)};
    outer.blocks = {{{v}, {v}}, {{}, {s.x}}};
    v = s.graph.AppendNode(outer);
  }
  s.graph.body.nodes = {s.x, s.neg, v};
  s.graph.body.results = {v};
  EXPECT_THAT(std::string(Verify(s.graph).message()),
              AllOf(HasSubstr("invariant 1"), HasSubstr("deeper than 32")));
}

TEST(Verifier, ErrorsNameOpValueAndPlace) {
  Sample s;
  s.graph.name = "demo";
  s.graph.node(s.neg).location = {"demo.lathe", 4, 2};
  s.graph.node(s.neg).type.dtype = f64;
  EXPECT_THAT(
      std::string(Verify(s.graph).message()),
      HasSubstr("graph 'demo' breaks invariant 8: neg %1 at demo.lathe:4:2: has type f64[n]"));
}

}  // namespace
}  // namespace lathe::ir
