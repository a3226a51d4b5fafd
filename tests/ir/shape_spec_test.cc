// Shape specs: every kind of size as text and as a value, and an error for every mistake.
#include "ir/shape_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/interpreter.h"
#include "ir/text_parser.h"

namespace lathe::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ShapeSpecTest : public testing::Test {
 protected:
  dim::DimContext context;

  ShapeSpec Parse(std::string_view text, std::string_view subject = "x") {
    absl::StatusOr<ShapeSpec> s = ShapeSpec::Parse(text, &context, subject);
    EXPECT_TRUE(s.ok()) << text << ": " << s.status();
    return s.ok() ? *s : ShapeSpec();
  }
  std::string Text(std::string_view text) { return Parse(text).ToString(); }
  std::string Error(std::string_view text) {
    absl::StatusOr<ShapeSpec> s = ShapeSpec::Parse(text, &context);
    return s.ok() ? "accepted: " + s->ToString() : std::string(s.status().message());
  }
};

TEST_F(ShapeSpecTest, KnowsEveryKind) {
  const struct {
    const char* text;
    const char* kind;
    const char* dim;
    const char* claims;
  } kCases[] = {
      {"4", "static", "4", ""},
      {"?", "unbounded", "x_d0", ""},
      {"None", "unbounded", "x_d0", ""},
      {"_", "unbounded", "x_d0", ""},
      {"seq<=8192", "bounded", "seq", "seq <= 8192; "},
      {"1..8192", "bounded", "x_d0", "1 <= x_d0; x_d0 <= 8192; "},
      {"1..", "bounded", "x_d0", "1 <= x_d0; "},
      {"..8", "bounded", "x_d0", "x_d0 <= 8; "},
      {"<= 8", "bounded", "x_d0", "x_d0 <= 8; "},
      {"? in 1..8", "bounded", "x_d0", "1 <= x_d0; x_d0 <= 8; "},
      {"8 <= seq <= 64", "bounded", "seq", "8 <= seq; seq <= 64; "},
      {"seq in 1..64", "bounded", "seq", "1 <= seq; seq <= 64; "},
      {"seq > 2", "bounded", "seq", "2 < seq; "},
      {"batch", "symbolic", "batch", ""},
      {"2*s + 1", "symbolic", "2*s + 1", ""},
      {"2*(a + b)", "symbolic", "2*a + 2*b", ""},
      {"seq % 64 == 0", "divisible", "seq", "seq % 64 == 0; "},
      {"?%64==0", "divisible", "x_d0", "x_d0 % 64 == 0; "},
      {"% 8 == 3", "divisible", "x_d0", "x_d0 % 8 == 3; "},
      {"batch in {1,2,4,8}", "set", "batch", "batch in {1, 2, 4, 8}; "},
      {"in {2, 3}", "set", "x_d0", "x_d0 in {2, 3}; "},
      {"~seq", "ragged", "seq", ""},
      {"~seq <= 512", "ragged", "seq", "seq <= 512; "},
      {"data(k <= n)", "data", "k", "k <= n; "},
      {"data(<= n)", "data", "x_d0", "x_d0 <= n; "},
      {"data(1 <= k <= 8)", "data", "k", "1 <= k; k <= 8; "},
      {"data(0..8)", "data", "x_d0", "0 <= x_d0; x_d0 <= 8; "},
  };
  for (const auto& c : kCases) {
    dim::DimContext fresh;
    absl::StatusOr<ShapeSpec> s = ShapeSpec::Parse(c.text, &fresh);
    ASSERT_TRUE(s.ok()) << c.text << ": " << s.status();
    ASSERT_EQ(s->dims.size(), 1u);
    EXPECT_EQ(Name(s->dims[0].kind), c.kind) << c.text;
    EXPECT_EQ(s->dims[0].dim.ToString(), c.dim) << c.text;
    std::string claims;
    for (const Claim& claim : s->dims[0].claims) claims += claim.ToString() + "; ";
    EXPECT_EQ(claims, c.claims) << c.text;
    // The text of the value is a spec of the same value.
    dim::DimContext again;
    absl::StatusOr<ShapeSpec> back = ShapeSpec::Parse(s->ToString(), &again);
    ASSERT_TRUE(back.ok()) << s->ToString() << ": " << back.status();
    EXPECT_EQ(back->ToString(), s->ToString()) << c.text;
    EXPECT_EQ(back->dims[0].kind, s->dims[0].kind) << c.text;
    std::string back_claims;
    for (const Claim& claim : back->dims[0].claims) back_claims += claim.ToString() + "; ";
    EXPECT_EQ(back_claims, c.claims) << c.text;
  }
}

TEST_F(ShapeSpecTest, ReadsWholeShapes) {
  EXPECT_EQ(Text("f32[batch, seq<=8192, 768]"), "f32[batch, seq <= 8192, 768]");
  EXPECT_EQ(Text("(batch, 768)"), "[batch, 768]");
  EXPECT_EQ(Text("b, 2*s, _"), "[b, 2*s, ?]");
  EXPECT_EQ(Text("b, 2*s where s >= 1, s % 8 == 0"), "[b, 2*s] where 1 <= s, s % 8 == 0");
  EXPECT_EQ(Text("(b, ..., 4)"), "[b, ..., 4]");
  EXPECT_EQ(Text("..."), "[...]");
  EXPECT_EQ(Text("[...,]"), "[...]");
  EXPECT_EQ(Text("()"), "[]");
  EXPECT_EQ(Text("i64[]"), "i64[]");
  EXPECT_EQ(Text("(b,)"), "[b]");
  EXPECT_EQ(Text("f64(1..8, ?)"), "f64[1..8, ?]");
  EXPECT_EQ(Text("[n, ~seq <= 512, data(<= n)]"), "[n, ~seq <= 512, data(<= n)]");
}

// A value made by hand may say more than an entry can: it then stands beside the shape.
TEST_F(ShapeSpecTest, WhatNoEntryCanSayStandsBeside) {
  ShapeSpec s = Parse("[seq, 4]");
  const Dim seq = s.dims[0].dim;
  s.dims[0].claims = {Dim(1) <= seq, seq <= 64, Eq(Mod(seq, 8), 0)};
  EXPECT_EQ(s.ToString(), "[seq, 4] where 1 <= seq, seq <= 64, seq % 8 == 0");
  EXPECT_EQ(Text(s.ToString()), s.ToString());
}

TEST_F(ShapeSpecTest, NamesUnknownSizesAfterInputAndAxis) {
  EXPECT_EQ(ToString(*Parse("?, 4, _", "ids").ToShape()), "[ids_d0, 4, ids_d2]");
  EXPECT_EQ(ToString(*Parse("?, 4", "ids").ToShape()), "[ids_d01, 4]");  // taken: another name
  EXPECT_EQ(ToString(*Parse("?", "no name").ToShape()), "[x_d0]");
}

TEST_F(ShapeSpecTest, EllipsisNeedsARank) {
  const ShapeSpec s = Parse("b, ..., 4");
  EXPECT_THAT(s.ToShape().status().ToString(), HasSubstr("how many axes ... stands for"));
  EXPECT_EQ(ToString(*s.WithRank(2, &context)->ToShape()), "[b, 4]");
  EXPECT_EQ(ToString(*s.WithRank(4, &context)->ToShape()), "[b, x_d1, x_d2, 4]");
  EXPECT_THAT(s.WithRank(1, &context).status().ToString(),
              HasSubstr("[b, ..., 4] has at least 2 axes, found rank 1 of x"));
  EXPECT_THAT(Parse("b").WithRank(2, &context).status().ToString(), HasSubstr("has 1 axis"));
  EXPECT_EQ(s.ToPartial().ToString(), "[...]");
  EXPECT_EQ(Parse("b, ?, 4, ?<=3").ToPartial().ToString(), "[b, ?, 4, x_d3]");
}

TEST_F(ShapeSpecTest, DeclaresItsFacts) {
  dim::FactSet facts(&context);
  ASSERT_TRUE(Parse("[b in {1, 2}, 2*s] where s % 8 == 0").Declare(&facts, {"here", ""}).ok());
  EXPECT_THAT(facts.Values(context.Symbol("b")), ElementsAre(1, 2));
  EXPECT_TRUE(facts.Proves(Eq(Mod(2 * context.Symbol("s"), 16), 0)));
  EXPECT_THAT(Parse("[b >= 3]").Declare(&facts, {"there", ""}).ToString(),
              HasSubstr("b in {1, 2}"));
}

TEST_F(ShapeSpecTest, EveryMistakeHasItsColumn) {
  const struct {
    const char* text;
    const char* error;
  } kCases[] = {
      {"", "column 1: found the end, wanted a shape; that of a scalar is ()"},
      {"[b", "column 3: found the end, wanted \",\" or \"]\""},
      {"(b]", "column 3: found \"]\", wanted \",\" or \")\""},
      {"[b, , 4]", "column 5: found \",\", wanted a size"},
      {"[b 4]", "column 4: found \"4\", wanted an operator, a bound, \",\" or the end"},
      {"f32", "column 4: found the end, wanted \"[\" and a shape after f32"},
      {"[b] 4", "column 5: found \"4\", wanted \"where\" and claims, or the end"},
      {"[b] where", "column 10: found the end, wanted a size"},
      {"[b] where b", "column 12: found the end, wanted a relation"},
      {"[b] where b < 3,", "column 17: found the end, wanted a size"},
      {"[? 4]", "column 4: found \"4\", wanted a bound or the end of the entry"},
      {"[seq <= ]", "column 9: found \"]\", wanted a size"},
      {"[seq / 2]", "column 6: found \"/\", wanted // (floor division)"},
      {"[seq % 64 = 0]", "column 11: found \"=\", wanted"},
      {"[seq in 4]", "column 10: found \"]\", wanted \"..\" of a range"},
      {"[seq in {1, 2]", "column 14: found \"]\", wanted \",\" or \"}\""},
      {"[seq in {1, b}]", "column 14: found \"}\", wanted only numbers between { and }"},
      {"[4 <= 8]", "column 8: found \"]\", wanted a size with a name beside its bounds"},
      {"[..., a, ...]", "column 13: found \"]\", wanted \"...\" once"},
      {"[~]", "column 3: found \"]\", wanted a size"},
      {"[~4]", "column 4: found \"]\", wanted a name after ~"},
      {"[data()]", "column 7: found \")\", wanted a size"},
      {"[data(k)]", "column 8: found \")\", wanted a relation"},
      {"[data(k >= 1)]", "column 13: found \")\", wanted an upper bound, as in data(k <= n)"},
      {"[data(k <= n]", "column 13: found \"]\", wanted \")\""},
      {"[99999999999999999999]", "column 2: found \"99999999999999999999\", wanted a number that"},
      {"[seq @ 2]", "column 6: found \"@\", wanted an operator, a bound"},
      {"[f(seq)]", "column 2: found \"f\", wanted ceildiv, min or max as a function"},
      {"[seq // 0]", "division by the constant 0"},
  };
  for (const auto& c : kCases) EXPECT_THAT(Error(c.text), HasSubstr(c.error)) << c.text;
}

// ---- The same kinds in programs.

class KindsInTextTest : public testing::Test {
 protected:
  Graph graph;
  TextSession session{&graph};

  std::string Run(std::string_view statement) {
    absl::StatusOr<StatementResult> r = session.Execute(statement);
    if (!r.ok()) return std::string(r.status().message());
    return r->value == kNoValue ? "ok" : graph.type(r->value).ToString();
  }
  std::string Facts() {
    std::string text;
    for (const dim::Fact& f : graph.facts().facts()) text += f.claim.ToString() + "; ";
    return text;
  }
};

TEST_F(KindsInTextTest, InputsTakeEveryKind) {
  EXPECT_EQ(Run("x: f32[4, ?, None, _, 1..8192]"), "f32[4, x_d1, x_d2, x_d3, x_d4]");
  EXPECT_EQ(Facts(), "1 <= x_d4; x_d4 <= 8192; ");
  EXPECT_EQ(Run("y: f32[batch in {1,2,4,8}, seq % 64 == 0, ?%64==0, k<=9]"),
            "f32[batch, seq, y_d2, k]");
  EXPECT_EQ(Run("z: i64[b, 2*s] where s >= 1, s % 8 == 0"), "i64[b, 2*s]");
  EXPECT_THAT(Facts(), HasSubstr("y_d2 % 64 == 0; k <= 9; 1 <= s; s % 8 == 0; "));
  EXPECT_EQ(Run("d: f32[n, data(q <= n), data(<= 8)]"), "f32[n, q, d_d2]");
  EXPECT_EQ(Run("dim t <= 3"), "ok");
  EXPECT_EQ(Run("assume x_d1 <= 5"), "ok");  // they can be spoken of by name
  EXPECT_EQ(Run("w: f32[\n  t,  # rows\n  1..\n]"), "f32[t, w_d1]");
  const absl::StatusOr<Graph> again = lathe::ir::Parse(Print(graph));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Print(*again), Print(graph));
}

TEST_F(KindsInTextTest, MistakesNameTheirPlace) {
  EXPECT_THAT(Run("x: f32[n, ...]"), HasSubstr("1:11: '...' needs a rank"));
  EXPECT_THAT(Run("x: f32[n, 4 <= 8]"),
              HasSubstr("1:17: found the end, wanted a size with a name"));
  EXPECT_THAT(Run("x: f32[n, ? 4]"), HasSubstr("1:13: found \"4\", wanted a bound"));
  EXPECT_THAT(Run("x: f32[n, data(k)]"), HasSubstr("1:17: found \")\", wanted a relation"));
  EXPECT_THAT(Run("x: f32[n] where"), HasSubstr("1:16: found the end of the text"));
  EXPECT_THAT(Run("x: f32[n] where m <= 4"), HasSubstr("1:17: there is no dim 'm'"));
  EXPECT_THAT(Run("x: f32[n] where n <= 4, n > 4"), HasSubstr("can't hold together"));
  EXPECT_THAT(Run("dim _"), HasSubstr("1:5: '_' stands for a size without a name"));
  EXPECT_THAT(Run("dim n, None in 1..3"), HasSubstr("'None' stands for a size without a name"));
  EXPECT_EQ(Facts(), "");
  EXPECT_EQ(Run("x: f32[n]"), "f32[n]");
  EXPECT_THAT(Run("y: f32[_] = x + 1"), HasSubstr("only the shape of an input declares dims"));
  EXPECT_THAT(Run("y: f32[n] where n > 2 = x + 1"), HasSubstr("bounds can stand only"));
}

TEST_F(KindsInTextTest, TypeSpecsMayLackBrackets) {
  const auto type = [&](const char* text) {
    absl::StatusOr<ValueType> t = ParseTypeSpec(text, &graph, "x");
    return t.ok() ? t->ToString() : std::string(t.status().message());
  };
  EXPECT_EQ(type("b, 2*s, _"), "f32[b, 2*s, x_d2]");
  EXPECT_EQ(type("b, 2*s where s >= 1, s % 8 == 0"), "f32[b, 2*s]");
  EXPECT_EQ(type("1..8"), "f32[x_d0]");
  EXPECT_EQ(Facts(), "1 <= s; s % 8 == 0; 1 <= x_d0; x_d0 <= 8; ");
  EXPECT_THAT(type(""), HasSubstr("1:1: found the end of the text"));
  EXPECT_THAT(type("b, , 2"), HasSubstr("1:4"));
  EXPECT_THAT(type("f24[2]"), HasSubstr("an element type"));
  EXPECT_THAT(type("f32"), HasSubstr("'[' and a shape"));
  EXPECT_THAT(type("b, ..."), HasSubstr("1:4: '...' needs a rank"));
}

}  // namespace
}  // namespace lathe::ir
