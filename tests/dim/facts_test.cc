// What follows from facts: ranges, congruences, equalities, sets, answers, conflicts.
#include "ir/dim/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::dim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FactsTest : public testing::Test {
 protected:
  FactsTest() : facts(&context) {
    for (const char* name : {"a", "b", "c", "n"}) context.Symbol(name);
  }

  void Add(std::string_view claims, Standing standing = Standing::kDeclared) {
    std::vector<Claim> all = *ParseClaims(claims, &context, true);
    for (const Claim& c : all) {
      absl::StatusOr<FactId> id = facts.Add(c, standing, {"test", "t:1"});
      ASSERT_TRUE(id.ok()) << id.status();
    }
  }

  Dim D(std::string_view text) { return *ParseDim(text, &context, true); }

  Answer Ask(std::string_view claim, bool use_required = false) {
    return facts.Prove((*ParseClaims(claim, &context, true))[0], use_required);
  }

  std::string Verdict(std::string_view claim, bool use_required = false) {
    return Name(Ask(claim, use_required).verdict);
  }

  std::string Simplified(std::string_view text) { return facts.Simplify(D(text)).ToString(); }

  DimContext context;
  FactSet facts;
};

TEST_F(FactsTest, AnUndeclaredSizeIsNotNegativeAndNothingElse) {
  EXPECT_EQ(Verdict("n >= 0"), "proved");
  EXPECT_EQ(Verdict("n >= 1"), "refuted");
  EXPECT_EQ(Verdict("n != 1"), "refuted");
  EXPECT_EQ(Ask("n >= 1").witness[3], 0);
}

TEST_F(FactsTest, ADeclaredLowerBoundBelowZeroMakesASymbolSigned) {
  Add("n >= -5, n <= 5");
  EXPECT_EQ(facts.Range(D("n")).min, -5);
  EXPECT_EQ(Verdict("n >= 0"), "refuted");
  Add("n % 3 == 1");
  EXPECT_EQ(facts.Range(D("n")).min, -5);
  EXPECT_EQ(facts.Range(D("n")).max, 4);
}

TEST_F(FactsTest, BoundsGoForwardThroughEveryOperation) {
  Add("2 <= a <= 6, 1 <= b <= 3");
  auto range = [&](std::string_view d) {
    Interval r = facts.Range(D(d));
    return std::vector<int64_t>{r.min, r.max};
  };
  EXPECT_THAT(range("a + b"), ElementsAre(3, 9));
  EXPECT_THAT(range("a - b"), ElementsAre(-1, 5));
  EXPECT_THAT(range("a*b"), ElementsAre(2, 18));
  EXPECT_THAT(range("a // b"), ElementsAre(0, 6));
  EXPECT_THAT(range("a % 4"), ElementsAre(0, 3));
  EXPECT_THAT(range("a % b"), ElementsAre(0, 2));
  EXPECT_THAT(range("ceildiv(a, b)"), ElementsAre(1, 6));
  EXPECT_THAT(range("min(a, b)"), ElementsAre(1, 3));
  EXPECT_THAT(range("max(a, b)"), ElementsAre(2, 6));
  EXPECT_THAT(range("a // c"), ElementsAre(kUnboundedMin, kUnboundedMax)) << "c may be 0";
}

TEST_F(FactsTest, BoundsGoBackwards) {
  Add("4*a + 3 <= 21, a*b >= 7, b <= 3, n // 8 == 2, n % 8 == 5, max(c, 3) <= 7");
  EXPECT_EQ(facts.Range(D("a")).max, 4);
  EXPECT_EQ(facts.Range(D("a")).min, 3);
  EXPECT_EQ(Verdict("n == 21"), "proved");
  EXPECT_EQ(facts.Range(D("c")).max, 7);
}

TEST_F(FactsTest, CongruencesGoForwardAndBackward) {
  Add("n % 8 == 3, (2*a + n) % 4 == 1");
  EXPECT_EQ(Verdict("n % 4 == 3"), "proved");
  EXPECT_EQ(Verdict("(n*n) % 8 == 1"), "proved");
  EXPECT_EQ(Verdict("n % 16 == 3"), "refuted");
  EXPECT_EQ(Verdict("a % 2 == 1"), "proved");
  EXPECT_EQ(Verdict("n % 2 == 0"), "refuted");
  EXPECT_EQ(facts.CongruenceOf(D("6*n + 1")).modulus, 48);
  EXPECT_EQ(facts.CongruenceOf(D("6*n + 1")).remainder, 19);
}

TEST_F(FactsTest, EqualitiesAreSolvedBothWays) {
  Add("2*a == b, b <= 20, a*c == 30, b == 10");
  EXPECT_EQ(Verdict("a == 5"), "proved");
  EXPECT_EQ(Verdict("c == 6"), "proved");
  EXPECT_EQ(Simplified("a + b + c"), "21");
}

TEST_F(FactsTest, EqualSymbolsAreOneInProducts) {
  Add("a == b, c == a + 1");
  EXPECT_EQ(Verdict("a*n == n*b"), "proved");
  EXPECT_EQ(Verdict("c*c == a*b + 2*a + 1"), "proved");
  EXPECT_EQ(Simplified("b"), "a");
  EXPECT_EQ(Verdict("a == c"), "refuted");
}

TEST_F(FactsTest, OneLengthFromTwiceAnother) {
  Add("2*a == 3*b");
  EXPECT_EQ(Verdict("a % 3 == 0"), "proved");
  EXPECT_EQ(Verdict("b % 2 == 0"), "proved");
}

TEST_F(FactsTest, EitherSideOfAnEqualityBindsTheOther) {
  Add("2*a == b, a <= 9, 3*c == 2*n, n >= 10");
  EXPECT_EQ(Verdict("b % 2 == 0"), "proved");
  EXPECT_EQ(Verdict("b <= 18"), "proved");
  EXPECT_EQ(Verdict("b // 2 == a"), "proved");
  EXPECT_EQ(Verdict("c % 2 == 0"), "proved");
  EXPECT_EQ(Verdict("n % 3 == 0"), "proved");
  EXPECT_EQ(facts.Range(D("n")).min, 12);
  EXPECT_EQ(facts.Range(D("c")).min, 8);
  Add("b >= 17");
  EXPECT_EQ(Verdict("a == 9"), "proved");
}

TEST_F(FactsTest, AProductWithAKnownFactorBindsTheOther) {
  Add("a*b == 1024, a == 32");
  EXPECT_EQ(Verdict("b == 32"), "proved");
  EXPECT_EQ(facts.Range(D("b")).max, 32);
  Add("c*n == 4096, c >= 64, n >= 64");
  EXPECT_EQ(Verdict("c == 64"), "proved");
}

TEST_F(FactsTest, EqualitiesGoThroughDivisionsBothWays) {
  Add("ceildiv(a, 16) == 4, b // 8 == a // 8, min(c, 5) == 5, max(n, 3) == 3");
  EXPECT_EQ(facts.Range(D("a")).min, 49);
  EXPECT_EQ(facts.Range(D("a")).max, 64);
  EXPECT_EQ(Verdict("b >= 48"), "proved");
  EXPECT_EQ(Verdict("b <= 71"), "proved");
  EXPECT_EQ(Verdict("c >= 5"), "proved");
  EXPECT_EQ(Verdict("n <= 3"), "proved");
  Add("a % 16 == 0");
  EXPECT_EQ(Verdict("a == 64"), "proved");
}

TEST_F(FactsTest, LinearRelationsOfThreeFactsAreFoundWhenDeclared) {
  Add("a + b <= c, c + 4 <= n");
  EXPECT_EQ(Verdict("a + b < n"), "proved");
  EXPECT_THAT(Ask("a + b < n").used, ElementsAre(0, 1));
  EXPECT_FALSE(facts.Add(D("n") <= D("a + b + 3"), Standing::kDeclared, {}).ok());
  EXPECT_FALSE(facts.AddSpec(nullptr, "a > b, a < b", {}).ok());
  EXPECT_FALSE(facts.AddSpec(nullptr, "a > b, b > c, c > a", {}).ok());
}

TEST_F(FactsTest, NoMagnitudeIsTooLargeToDecide) {
  Add("a <= 1099511627776, b <= 1099511627776, 3*a + 5*b <= 7*c, c <= 3*n");
  EXPECT_EQ(Verdict("a <= 7*n"), "proved");
  EXPECT_EQ(Verdict("a + b <= 7*n"), "proved");
  EXPECT_EQ(Verdict("b <= 4*n"), "refuted");
  EXPECT_EQ(Verdict("6*a - 9*b != 4"), "proved");
  EXPECT_EQ(Verdict("(a + b) // 3 <= a // 3 + b // 3 + 1"), "proved");
}

TEST_F(FactsTest, ALiteralRequirementIsAlwaysFound) {
  for (const char* claim :
       {"a*b % (c + 1) == n", "a // (b + 1) * c <= n*n", "max(a*n, b) != c*c*c"}) {
    Add(claim, Standing::kRequired);
    EXPECT_EQ(Verdict(claim, true), "proved") << claim;
    EXPECT_NE(Verdict(claim, false), "proved") << claim;
  }
}

TEST_F(FactsTest, FiniteSetsAreKept) {
  Add("a in {1, 2, 4, 8}, a != 4, b in {3, 5}");
  EXPECT_THAT(facts.Values(D("a")), ElementsAre(1, 2, 8));
  EXPECT_THAT(facts.Values(D("a*b")), ElementsAre(3, 5, 6, 10, 24, 40));
  EXPECT_EQ(Verdict("a in {1, 2, 8, 9}"), "proved");
  EXPECT_EQ(Verdict("a + b in {4, 5, 6, 7, 11, 13}"), "proved");
  EXPECT_EQ(Verdict("a == 2"), "refuted");
  Add("a >= 2, a % 4 == 0");
  EXPECT_EQ(Verdict("a == 8"), "proved");
}

TEST_F(FactsTest, OrderIsTransitive) {
  Add("a <= b, b < c, c <= n");
  EXPECT_EQ(Verdict("a < n"), "proved");
  EXPECT_EQ(Verdict("a + 1 <= c"), "proved");
  EXPECT_EQ(Verdict("n <= a"), "refuted");
  EXPECT_THAT(Ask("a < c").used, ElementsAre(0, 1));
  EXPECT_EQ(Simplified("min(a, b)"), "a");
  EXPECT_EQ(Simplified("max(c, b)"), "c");
}

TEST_F(FactsTest, DivisionJoinsAgain) {
  EXPECT_EQ(Verdict("n // 8 * 8 + n % 8 == n"), "proved");
  EXPECT_EQ(Verdict("n // 8 * 8 <= n"), "proved");
  EXPECT_EQ(Verdict("ceildiv(n, 64)*64 >= n"), "proved");
  EXPECT_EQ(Verdict("ceildiv(n, 64)*64 <= n + 63"), "proved");
  EXPECT_EQ(Simplified("n // 8 * 8 + n % 8"), "n");
  Add("b >= 1");
  EXPECT_EQ(Verdict("a // b * b <= a"), "proved");
  EXPECT_EQ(Verdict("a // b <= a"), "proved");
  EXPECT_EQ(Verdict("a % b < b"), "proved");
}

TEST_F(FactsTest, SimplifyCancelsOnlyWhatIsKnown) {
  EXPECT_EQ(Simplified("4*n // n"), "4*n // n");
  Add("n >= 1, n % 8 == 0, a < n, b <= 8");
  EXPECT_EQ(Simplified("4*n // n"), "4");
  EXPECT_EQ(Simplified("ceildiv(n, 8)"), "n // 8");
  EXPECT_EQ(Simplified("n % 4"), "0");
  EXPECT_EQ(Simplified("(n*b + a) // n"), "b");
  EXPECT_EQ(Simplified("(n*b + a) % n"), "a");
  EXPECT_EQ(Simplified("min(b, 8)"), "b");
  EXPECT_EQ(Simplified("min(b, 7)"), "min(b, 7)");
  EXPECT_EQ(Simplified("b // 9"), "0");
  EXPECT_EQ(Simplified("b % 9"), "b");
}

TEST_F(FactsTest, RequiredFactsCountOnlyWhenAskedFor) {
  Add("n % 8 == 0", Standing::kRequired);
  EXPECT_EQ(Verdict("n % 4 == 0"), "refuted");
  EXPECT_EQ(Verdict("n % 4 == 0", true), "proved");
  EXPECT_EQ(Simplified("ceildiv(n, 8)"), "ceildiv(n, 8)") << "a check is never dropped by itself";
  EXPECT_THAT(Ask("n % 4 == 0", true).used, ElementsAre(0));
}

TEST_F(FactsTest, ADerivedFactNamesItsReasons) {
  Add("a <= 8, b <= 2, n <= 7");
  Add("a*b <= 16", Standing::kDerived);
  EXPECT_THAT(facts.facts().back().from, ElementsAre(0, 1));
}

TEST_F(FactsTest, WitnessesSatisfyTheFacts) {
  Add("a % 16 == 0, a >= 17, b == 3*a, c <= b, a + c >= 100");
  Answer answer = Ask("c <= a");
  ASSERT_EQ(answer.verdict, Verdict::kRefuted);
  for (const Fact& f : facts.facts()) EXPECT_TRUE(*Evaluate(f.claim, answer.witness));
  EXPECT_FALSE(*Evaluate(D("c") <= D("a"), answer.witness));
}

TEST_F(FactsTest, UnknownNamesADivisorThatMayBeZero) {
  Answer answer = Ask("a // b <= a");
  EXPECT_EQ(answer.verdict, Verdict::kUnknown);
  EXPECT_EQ(answer.hint, "1 <= b");
}

TEST_F(FactsTest, AWitnessHasAValueForSymbolsMadeLater) {
  Add("a <= 3");
  EXPECT_EQ(Verdict("a <= 2"), "refuted");
  context.Symbol("later");
  EXPECT_EQ(Ask("a <= 2").witness.size(), 5u);
  EXPECT_EQ(Verdict("later <= a"), "refuted");
}

TEST_F(FactsTest, CopiesAreIndependent) {
  Add("a <= 3");
  FactSet copy = facts;
  ASSERT_TRUE(copy.Add(D("a") <= 2, Standing::kDeclared, {}).ok());
  EXPECT_EQ(facts.Range(D("a")).max, 3);
  EXPECT_EQ(copy.Range(D("a")).max, 2);
}

TEST_F(FactsTest, DescribeListsFactsWithTheirSource) {
  Add("1 <= n <= 64, n % 8 == 0, a <= 3");
  std::string text = facts.Describe(D("n"));
  EXPECT_THAT(text, HasSubstr("n % 8 == 0  [declared: test at t:1]\n"));
  EXPECT_THAT(text, HasSubstr("8 <= n <= 64  [derived]\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("a <= 3")));
}

TEST_F(FactsTest, BadFactsAreRefusedWithoutATrace) {
  DimContext other;
  EXPECT_EQ(facts.Add(other.Symbol("a") <= 3, Standing::kDeclared, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(facts.Add(FloorDiv(D("a"), 0) <= 3, Standing::kDeclared, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(facts.Prove(other.Symbol("a") <= 3).verdict, Verdict::kUnknown);
  EXPECT_EQ(facts.Prove(FloorDiv(D("a"), 0) <= 3).verdict, Verdict::kUnknown);
  EXPECT_TRUE(facts.facts().empty());
}

TEST_F(FactsTest, AnswersRepeat) {
  Add("a <= 100, b <= a, c == a*b, n % 7 == 2");
  for (const char* claim : {"c <= a*a", "n // 7 * 7 + 2 == n", "c + n != 5", "b*b <= c"}) {
    Answer first = Ask(claim), again = Ask(claim);
    EXPECT_EQ(first.verdict, again.verdict);
    EXPECT_EQ(first.witness, again.witness);
    EXPECT_EQ(first.used, again.used);
  }
}

TEST_F(FactsTest, ManySymbolsStayFast) {
  std::vector<Dim> s;
  for (int i = 0; i < 300; ++i) {
    s.push_back(context.FreshSymbol("s"));
    if (i > 0) {
      ASSERT_TRUE(facts.Add(s[i - 1] <= s[i], Standing::kDeclared, {}).ok());
    }
  }
  EXPECT_TRUE(facts.Proves(s[100] <= s[102]));
  EXPECT_EQ(facts.Prove(s[64] <= s[0]).verdict, Verdict::kRefuted);
}

}  // namespace
}  // namespace lathe::dim
