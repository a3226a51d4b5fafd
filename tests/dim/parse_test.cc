// Reading sizes, claims and specs, with errors that name the column.
#include <gtest/gtest.h>

#include "ir/dim/facts.h"

namespace lathe::dim {
namespace {

class ParseTest : public testing::Test {
 protected:
  std::string Error(std::string_view text) {
    absl::StatusOr<Dim> d = ParseDim(text, &context, false);
    return d.ok() ? "no error" : std::string(d.status().message());
  }

  DimContext context;
  Dim n = context.Symbol("n"), m = context.Symbol("m");
};

TEST_F(ParseTest, ReadsSizes) {
  EXPECT_EQ(*ParseDim("n*m", &context, false), n * m);
  EXPECT_EQ(*ParseDim("ceildiv(n, 16)", &context, false), CeilDiv(n, 16));
  EXPECT_EQ(*ParseDim(" min(n, m, 3) // 2 ", &context, false), FloorDiv(Min(n, Min(m, 3)), 2));
  EXPECT_EQ(*ParseDim("-n + 2*(m - 1) % 3", &context, false), Mod(2 * (m - 1), 3) - n);
  EXPECT_EQ(*ParseDim("n // m // 2", &context, false), FloorDiv(FloorDiv(n, m), 2));
  EXPECT_EQ(*ParseDim("-9223372036854775808", &context, false), Dim(INT64_MIN));
  EXPECT_EQ(*ParseDim("new.size", &context, true), context.Symbol("new.size"));
}

TEST_F(ParseTest, ErrorsNameTheColumnAndWhatWasWanted) {
  EXPECT_EQ(Error("n + "), "column 5: found the end, wanted a size in \"n + \"");
  EXPECT_EQ(Error("n / 2"),
            "column 3: found \"/\", wanted // (floor division) or ceildiv(a, b) in \"n / 2\"");
  EXPECT_EQ(Error("(n"), "column 3: found the end, wanted \")\" in \"(n\"");
  EXPECT_EQ(Error("n n"), "column 3: found \"n\", wanted an operator or the end in \"n n\"");
  EXPECT_EQ(Error("n + q"), "column 5: no size is named \"q\" in \"n + q\"");
  EXPECT_NE(Error("f(n)").find("wanted ceildiv, min or max"), std::string::npos);
  EXPECT_NE(Error("ceildiv(n)").find("another operand"), std::string::npos);
  EXPECT_NE(Error("ceildiv(n, 2, 3)").find("two operands"), std::string::npos);
  EXPECT_NE(Error("99999999999999999999").find("fits int64"), std::string::npos);
  EXPECT_NE(Error("n // 0").find("division by the constant 0"), std::string::npos);
  EXPECT_NE(Error(std::string(5000, '(')).find("levels of parentheses"), std::string::npos);
  EXPECT_NE(Error("\xff").find("wanted a size"), std::string::npos);
  EXPECT_NE(Error("").find("column 1"), std::string::npos);
  EXPECT_EQ(ParseDim("q", &context, false).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ParseTest, ReadsClaims) {
  std::vector<Claim> c =
      *ParseClaims("n % 8 == 0, 1 <= n <= 64, m in {2,1}, n > m, m in 1..8", &context, false);
  std::string text;
  for (const Claim& claim : c) text += claim.ToString() + "; ";
  EXPECT_EQ(text, "n % 8 == 0; 1 <= n; n <= 64; m in {1, 2}; m < n; 1 <= m; m <= 8; ");
  EXPECT_FALSE(ParseClaims("n", &context, false).ok());
  EXPECT_FALSE(ParseClaims("n == ", &context, false).ok());
  EXPECT_FALSE(ParseClaims("n in {1, m}", &context, false).ok());
  EXPECT_FALSE(ParseClaims("n in {1", &context, false).ok());
  EXPECT_FALSE(ParseClaims("n == 1 m == 2", &context, false).ok());
}

TEST_F(ParseTest, SpecsBecomeFactsAboutTheirSubject) {
  auto facts_of = [&](std::string_view spec) {
    FactSet facts(&context);
    absl::Status s = facts.AddSpec(&n, spec, {"dim n", "f:1"});
    if (!s.ok()) return std::string(s.message());
    std::string text;
    for (const Fact& f : facts.facts()) text += f.claim.ToString() + "; ";
    return text;
  };
  EXPECT_EQ(facts_of("1..8192, % 8 == 0"), "1 <= n; n <= 8192; n % 8 == 0; ");
  EXPECT_EQ(facts_of(">= 1"), "1 <= n; ");
  EXPECT_EQ(facts_of("in {1,2,4}"), "n in {1, 2, 4}; ");
  EXPECT_EQ(facts_of("in 1..8, n % 2 == 0"), "1 <= n; n <= 8; n % 2 == 0; ");
  EXPECT_EQ(facts_of("?"), "");
  EXPECT_EQ(facts_of(""), "");
  EXPECT_EQ(facts_of("64"), "n == 64; ");
  EXPECT_EQ(facts_of("2*m"), "n == 2*m; ");
  EXPECT_EQ(facts_of("-5..5"), "-5 <= n; n <= 5; ");
  EXPECT_EQ(facts_of("4.."), "4 <= n; ");
  EXPECT_EQ(facts_of("..4"), "n <= 4; ");
  EXPECT_EQ(facts_of("1..m"), "1 <= n; n <= m; ");
  EXPECT_NE(facts_of("1..").find("1 <= n"), std::string::npos);
  EXPECT_NE(facts_of("% 0 == 0").find("division by the constant 0"), std::string::npos);
  EXPECT_NE(facts_of("1..8 n").find("column 6"), std::string::npos);
  EXPECT_NE(facts_of("<").find("column 2"), std::string::npos);
}

TEST_F(ParseTest, ASpecThatConflictsLeavesNothingBehind) {
  FactSet facts(&context);
  ASSERT_TRUE(facts.AddSpec(nullptr, "n <= 8", {"first", ""}).ok());
  absl::Status s = facts.AddSpec(&n, "2.., % 4 == 0, >= 9", {"second", ""});
  EXPECT_EQ(s.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(facts.facts().size(), 1u);
  EXPECT_EQ(facts.Range(n).min, 0);
}

}  // namespace
}  // namespace lathe::dim
