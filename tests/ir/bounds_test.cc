// Bounds through the graph: what they say is an upper bound at every admitted size, and what isn't
// known stays unknown.
#include "ir/bounds.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/provenance.h"
#include "ir/text_parser.h"

namespace lathe::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A program and its values by name.
class Sample {
 public:
  explicit Sample(std::string_view text) : session_(&graph, "p.lathe") {
    StatementReader reader(text);
    for (StatementText s = reader.Next(); !s.text.empty(); s = reader.Next()) {
      const auto done = session_.Execute(s);
      EXPECT_TRUE(done.ok()) << done.status();
    }
  }
  ValueId operator[](std::string_view name) const { return *session_.Find(name); }

  Graph graph;

 private:
  TextSession session_;
};

TEST(Bounds, FollowDeclaredFactsThroughEveryOp) {
  Sample p(
      "dim batch in 1..4; dim seq in 1..100, seq % 8 == 0\n"
      "x: f32[batch, seq, 16]\n"
      "y = concat(x, x, axis=1); z = sum(y, axis=-1)\n");
  EXPECT_EQ(BoundsOf(p.graph, p["x"]).max_bytes, 4 * 96 * 16 * 4);
  EXPECT_EQ(BoundsOf(p.graph, p["y"]).max_elements, 4 * 192 * 16);
  EXPECT_EQ(BoundsOf(p.graph, p["z"]).max_bytes, 4 * 192 * 4);
  const GraphBounds all = BoundsOf(p.graph);
  EXPECT_EQ(all.max_total_bytes, 4 * 192 * 16 * 4 + 4 * 192 * 4);
}

TEST(Bounds, UnknownStaysUnknown) {
  Sample p("dim n; dim m in 0..7\nx: f32[n, m]; y = exp(x); z: f32[m, 0]\n");
  EXPECT_EQ(BoundsOf(p.graph, p["y"]).max_bytes, std::nullopt);
  EXPECT_EQ(BoundsOf(p.graph, p["z"]).max_bytes, 0);
  EXPECT_EQ(BoundsOf(p.graph).max_total_bytes, std::nullopt);
  EXPECT_EQ(BoundsOf(p.graph).max_peak_bytes, std::nullopt);
}

TEST(Bounds, ARelationBoundsWhatNoSymbolDoes) {
  Sample p("dim a; dim b; assume a*b <= 1000\nx: f32[a, b]; y = exp(x)\n");
  EXPECT_EQ(BoundsOf(p.graph, p["y"]).max_elements, 1000);
}

TEST(Bounds, PeakEndsValuesAtTheirLastUse) {
  Sample p(
      "dim n in 0..10\n"
      "x: f32[n]; a = exp(x); b = tanh(a); c = tanh(b); d = tanh(c)\noutput d\n");
  const GraphBounds all = BoundsOf(p.graph);
  EXPECT_EQ(all.max_total_bytes, 4 * 40);
  EXPECT_EQ(all.max_peak_bytes, 2 * 40);  // a value and its operand
}

TEST(Bounds, BothSidesOfAnIfCount) {
  Sample p(
      "dim n in 0..10\n"
      "x: f32[n]; y = if n > 4 { yield exp(tanh(x)) } else { yield x }\noutput y\n");
  const GraphBounds all = BoundsOf(p.graph);
  EXPECT_EQ(all.max_total_bytes, 3 * 40);
  EXPECT_GE(all.max_peak_bytes, 2 * 40);
}

TEST(Bounds, AFormulaThatPassesSixtyFourBitsIsUnknown) {
  Sample p("dim n in 0..1099511627776\nx: f32[n, n, n]\n");
  EXPECT_EQ(BoundsOf(p.graph, p["x"]).max_elements, std::nullopt);
}

TEST(CouldExceed, NoHasFactsAndYesHasSizes) {
  Sample p("dim n in 1..100; dim m in 1..10\nx: f32[n, m]; y = exp(x)\n");
  const dim::Answer no = CouldExceed(p.graph, p["y"], 4000);
  EXPECT_EQ(no.verdict, dim::Verdict::kProved);
  EXPECT_FALSE(no.used.empty());
  const dim::Answer yes = CouldExceed(p.graph, p["y"], 3999);
  ASSERT_EQ(yes.verdict, dim::Verdict::kRefuted);
  EXPECT_EQ(yes.witness[0] * yes.witness[1] * 4, 4000);
}

TEST(CouldExceed, AnUnboundedValueCanExceedAnything) {
  Sample p("dim n\nx: f32[n]; y = exp(x)\n");
  const dim::Answer yes = CouldExceed(p.graph, p["y"], int64_t{1} << 40);
  ASSERT_EQ(yes.verdict, dim::Verdict::kRefuted);
  EXPECT_GT(yes.witness[0] * 4, int64_t{1} << 40);
}

TEST(SizesText, SaysWhatIsKnownOfOpenDims) {
  Sample p("dim n in 8..64, n % 8 == 0; dim m\nx: f32[n, 4]; y: f32[m]; z: f32[3]\n");
  EXPECT_EQ(SizesText(p.graph, p["x"]), "n 8..64 % 8; at most 1024 bytes");
  EXPECT_EQ(SizesText(p.graph, p["y"]), "m 0..; unknown bytes");
  EXPECT_EQ(SizesText(p.graph, p["z"]), "");
}

std::vector<std::string> Lines(const Sample& p, std::string_view value, int axis) {
  std::vector<std::string> lines;
  for (const DimOrigin& o : OriginsOf(p.graph, p[value], axis)) {
    lines.push_back(std::string(static_cast<size_t>(o.depth), ' ') + o.text);
  }
  return lines;
}

TEST(Origins, LeadBackToTheInput) {
  Sample p("dim n\nx: f32[4, n]\ny = permute(x, axes=[1, 0])\nz = concat(y, y, axis=0)\n");
  EXPECT_THAT(Lines(p, "z", 0), ElementsAre("z.0 = 2*n: by concat at p.lathe:4:5 from y.0, y.0",
                                            " y.0 = n: by permute at p.lathe:3:5 from x.1",
                                            "  x.1 = n: axis 1 of input x at p.lathe:2:1"));
  EXPECT_THAT(Lines(p, "z", -1).front(), HasSubstr("z.1 = 4"));
}

TEST(Origins, OfAProductAreAllItsParts) {
  Sample p("dim n; dim m\nx: f32[n, m]\ny = reshape(x, [-1])\n");
  EXPECT_THAT(Lines(p, "y", 0), ElementsAre(HasSubstr("by reshape at p.lathe:3:5 from x.0, x.1"),
                                            HasSubstr("x.0 = n"), HasSubstr("x.1 = m")));
}

TEST(Origins, AreBoundedInNumber) {
  std::string text = "dim n\nx: f32[n]\n";
  for (int i = 0; i < 200; ++i) text += "x = exp(x)\n";
  EXPECT_EQ(Lines(Sample(text), "x", 0).size(), 64u);
}

}  // namespace
}  // namespace lathe::ir
