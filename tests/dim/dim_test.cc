// Arithmetic, canonical form, text and limits of Dims.
#include "lathe/dim.h"

#include <gtest/gtest.h>

#include "ir/dim/facts.h"

namespace lathe::dim {
namespace {

class DimTest : public testing::Test {
 protected:
  DimTest() : n(context.Symbol("n")), m(context.Symbol("m")), k(context.Symbol("k")) {}

  int64_t At(Dim d, std::vector<int64_t> values) {
    absl::StatusOr<int64_t> v = Evaluate(d, values);
    EXPECT_TRUE(v.ok()) << v.status();
    return v.ok() ? *v : 0;
  }

  DimContext context;
  Dim n, m, k;
};

TEST_F(DimTest, EqualPolynomialsAreTheSameDim) {
  EXPECT_EQ(n * 2 + n, 3 * n);
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_EQ(m * n + 4, Dim(4) + n * m);
  EXPECT_EQ(context.Symbol("n"), n);
  EXPECT_NE(n, m);
}

TEST_F(DimTest, LiteralZeroIsAConstant) {
  EXPECT_TRUE(Dim(0).is_constant());
  EXPECT_EQ(Dim(0), Dim());
  EXPECT_EQ(n * 0, Dim(0));
}

TEST_F(DimTest, FloorDivisionOfConstantsRoundsDown) {
  EXPECT_EQ(FloorDiv(Dim(-21), Dim(5)), Dim(-5));
  EXPECT_EQ(FloorDiv(Dim(-3), Dim(4)), Dim(-1));
  EXPECT_EQ(Mod(Dim(-3), Dim(4)), Dim(1));
  EXPECT_EQ(Mod(Dim(3), Dim(-4)), Dim(-1));
  EXPECT_EQ(CeilDiv(Dim(-7), Dim(2)), Dim(-3));
  EXPECT_EQ(CeilDiv(Dim(7), Dim(2)), Dim(4));
  EXPECT_EQ(CeilDiv(Dim(7), Dim(-2)), Dim(-3));
}

TEST_F(DimTest, DivisionSplitsWhatDividesForAllIntegers) {
  EXPECT_EQ(FloorDiv(4 * n, 4), n);
  EXPECT_EQ(FloorDiv(4 * n + m, 4), n + FloorDiv(m, 4));
  EXPECT_EQ(Mod(4 * n + m, 4), Mod(m, 4));
  EXPECT_EQ(Mod(8 * n, 4), Dim(0));
  EXPECT_EQ(FloorDiv(6 * n + 5, 4), FloorDiv(3 * n + 2, 2));
  EXPECT_EQ(FloorDiv(FloorDiv(n, 3), 5), FloorDiv(n, 15));
  EXPECT_EQ(Mod(Mod(n, 20), 4), Mod(n, 4));
  EXPECT_EQ(FloorDiv(n, -3), FloorDiv(-n, 3));
  EXPECT_EQ(CeilDiv(n, 16), FloorDiv(n + 15, 16));
}

TEST_F(DimTest, NoFactIsUsed) {
  EXPECT_NE(FloorDiv(4 * n, n), Dim(4)) << "n may be 0";
  EXPECT_NE(FloorDiv(n, n), Dim(1));
  EXPECT_NE(Max(n, 0), n) << "n may be declared negative";
}

TEST_F(DimTest, MinAndMaxDoNotDependOnTheOrderOfBuilding) {
  EXPECT_EQ(Min(n, m), Min(m, n));
  EXPECT_EQ(Max(n, Max(m, k)), Max(Max(k, n), m));
  EXPECT_EQ(Min(n, n), n);
  EXPECT_EQ(Max(n + 1, n + 3), n + 3);
  EXPECT_EQ(Min(Min(n, 8), 5), Min(n, 5));
  EXPECT_EQ(Max(n, Max(m, k)).ToString(), "max(n, m, k)");
}

TEST_F(DimTest, PrintsAsPeopleWrite) {
  EXPECT_EQ((4 * n).ToString(), "4*n");
  EXPECT_EQ(CeilDiv(n, 16).ToString(), "ceildiv(n, 16)");
  EXPECT_EQ((n * m + 3).ToString(), "n*m + 3");
  EXPECT_EQ((Dim(8) - n).ToString(), "8 - n");
  EXPECT_EQ((-n).ToString(), "-n");
  EXPECT_EQ((n - 3).ToString(), "n - 3");
  EXPECT_EQ(FloorDiv(n * 4 + 1, n).ToString(), "(4*n + 1) // n");
  EXPECT_EQ((2 * FloorDiv(n, 3)).ToString(), "2*(n // 3)");
  EXPECT_EQ(Mod(n * m, 512).ToString(), "n*m % 512");
  EXPECT_EQ(FloorDiv(Min(n, m), 2).ToString(), "min(n, m) // 2");
  EXPECT_EQ(ToString(Shape{n, 4 * m, 768}), "[n, 4*m, 768]");
  EXPECT_EQ(Eq(Mod(n, 8), 0).ToString(), "n % 8 == 0");
  EXPECT_EQ(In(n, {4, 1, 2, 1}).ToString(), "n in {1, 2, 4}");
  EXPECT_EQ((n > m).ToString(), "m < n");
}

TEST_F(DimTest, OverflowPoisonsWhatIsBuiltFromIt) {
  Dim big = Dim(INT64_MAX) * n;
  EXPECT_TRUE(big.ok());
  Dim over = big * 2;
  EXPECT_FALSE(over.ok());
  EXPECT_EQ(over.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(std::string(over.status().message()).find("9223372036854775807*n"), std::string::npos)
      << over.status();
  EXPECT_FALSE((over - over).ok());
  EXPECT_FALSE((over * 0 + n).ok());
  EXPECT_FALSE((Dim(INT64_MAX) + 1).ok());
  EXPECT_FALSE((Dim(INT64_MIN) * -1).ok());
  EXPECT_FALSE(Min(over, n).ok());
  // The judgement is on the canonical form: what cancels doesn't overflow.
  EXPECT_TRUE((Dim(INT64_MAX) * n - Dim(INT64_MAX) * n).ok());
}

TEST_F(DimTest, DivisionByTheConstantZeroPoisons) {
  EXPECT_FALSE(FloorDiv(n, 0).ok());
  EXPECT_FALSE(Mod(Dim(1), 0).ok());
  EXPECT_FALSE(CeilDiv(n, 0).ok());
  EXPECT_NE(std::string(FloorDiv(n, 0).status().message()).find("n // 0"), std::string::npos);
}

TEST_F(DimTest, MixingTwoProgramsPoisons) {
  DimContext other;
  Dim foreign = other.Symbol("n");
  EXPECT_FALSE((n + foreign).ok());
  EXPECT_FALSE(FloorDiv(n, foreign).ok());
  EXPECT_FALSE(Max(n, foreign).ok());
}

TEST_F(DimTest, ExtremeConstantsAreHandled) {
  Dim low = INT64_MIN, high = INT64_MAX;
  for (Dim a : {low, high, Dim(-1), Dim(0), Dim(1)}) {
    for (Dim b : {low, high, Dim(-1), Dim(0), Dim(1)}) {
      for (Dim d : {a + b, a - b, a * b, FloorDiv(a, b), Mod(a, b), CeilDiv(a, b), Min(a, b)}) {
        d.ToString();
      }
      for (Dim d : {n * a + b, FloorDiv(n + a, b), Mod(n * a + 3, b), CeilDiv(n + a, b)}) {
        if (!d.ok()) continue;
        EXPECT_EQ(*ParseDim(d.ToString(), &context, false), d) << d.ToString();
      }
    }
  }
  EXPECT_EQ(Mod(low, -1), Dim(0));
  EXPECT_FALSE(FloorDiv(low, -1).ok());
}

TEST_F(DimTest, AProductTooLargeToExpandBecomesAnAtom) {
  Dim a = 0, b = 0;
  for (int i = 0; i < 20; ++i) {
    a += context.FreshSymbol("a");
    b += context.FreshSymbol("b");
  }
  Dim product = a * b;
  ASSERT_TRUE(product.ok());
  EXPECT_EQ(product, b * a);
  EXPECT_EQ(Decompose(product).kind, ExprKind::kMul);
  std::vector<int64_t> ones(static_cast<size_t>(context.num_symbols()), 1);
  EXPECT_EQ(At(product * n + 1, ones), 401);
  EXPECT_EQ(*ParseDim((n * product + 1).ToString(), &context, false), n * product + 1);
}

TEST_F(DimTest, NestingBeyondTheLimitIsAnErrorNotACrash) {
  Dim d = n;
  for (int i = 0; i < 5000 && d.ok(); ++i) d = FloorDiv(d + m, k) + 1;
  EXPECT_FALSE(d.ok());
  EXPECT_EQ(d.status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(DimTest, SharedPartsAreEvaluatedOnce) {
  Dim d = n;
  for (int i = 0; i < 300; ++i) d = FloorDiv(d, 3 + m) + Mod(d, 7 + m);  // a tree of 2^300
  ASSERT_TRUE(d.ok());
  EXPECT_TRUE(Evaluate(d, {100, 1, 0}).ok());
  EXPECT_EQ(FreeSymbols(d).size(), 2u);
  EXPECT_TRUE(Substitute(d, {{0, Dim(5)}}, &context).ok());
  FactSet facts(&context);
  facts.Range(d);
  facts.Prove(d >= 0);
  EXPECT_LT(d.ToString().size(), size_t{1} << 20);
}

TEST_F(DimTest, EvaluateNamesWhatFailed) {
  absl::Status zero = Evaluate(FloorDiv(n, m), {3, 0, 0}).status();
  EXPECT_EQ(zero.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(zero.message(), "n // m divides by 0, where n = 3, m = 0");
  absl::Status over = Evaluate(n * m, {INT64_MAX, 2, 0}).status();
  EXPECT_EQ(over.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(over.message(), "n*m overflows int64, where n = 9223372036854775807, m = 2");
  EXPECT_EQ(Evaluate(n, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(DimTest, DecomposeGivesOneLevel) {
  Expr sum = Decompose(4 * n * m + k - 3);
  ASSERT_EQ(sum.kind, ExprKind::kAdd);
  ASSERT_EQ(sum.operands.size(), 3u);
  EXPECT_EQ(sum.operands[0], 4 * n * m);
  EXPECT_EQ(sum.operands[2], Dim(-3));
  Expr product = Decompose(sum.operands[0]);
  ASSERT_EQ(product.kind, ExprKind::kMul);
  EXPECT_EQ(product.operands, (std::vector<Dim>{4, n, m}));
  EXPECT_EQ(Decompose(FloorDiv(n, m)).kind, ExprKind::kFloorDiv);
  EXPECT_EQ(Decompose(Dim(7)).value, 7);
}

TEST_F(DimTest, SplitAffineFindsTheStride) {
  SymbolId id = 0;
  ASSERT_TRUE(IsSymbol(m, &id));
  Dim coefficient, rest;
  ASSERT_TRUE(SplitAffine(n * m * 4 + 2 * m + n + 1, id, &coefficient, &rest));
  EXPECT_EQ(coefficient, 4 * n + 2);
  EXPECT_EQ(rest, n + 1);
  EXPECT_FALSE(SplitAffine(m * m, id, &coefficient, &rest));
  EXPECT_FALSE(SplitAffine(n + FloorDiv(m, 2), id, &coefficient, &rest));
  ASSERT_TRUE(SplitAffine(n, id, &coefficient, &rest));
  EXPECT_EQ(coefficient, Dim(0));
}

TEST_F(DimTest, MoreThan64SymbolsAreTold) {
  std::vector<Dim> s;
  for (int i = 0; i < 200; ++i) s.push_back(context.FreshSymbol("s"));
  SymbolId first = 0, alias = 0;
  IsSymbol(s[0], &first);
  IsSymbol(s[64], &alias);
  EXPECT_TRUE(DependsOn(s[64] + n, alias));
  EXPECT_FALSE(DependsOn(s[64] + n, first)) << "64 ids apart";
  EXPECT_EQ(FreeSymbols(FloorDiv(s[130] + s[2], s[66])).size(), 3u);
  EXPECT_EQ(Substitute(s[64] + s[0], {{first, n}}, &context), s[64] + n);
}

TEST_F(DimTest, SymbolsOfAHintGetNumbers) {
  EXPECT_EQ(context.FreshSymbol("n").ToString(), "n1");
  EXPECT_EQ(context.FreshSymbol("n").ToString(), "n2");
  EXPECT_EQ(context.FreshSymbol("nnz").ToString(), "nnz");
  EXPECT_EQ(context.FreshSymbol("2 b").ToString(), "_2_b");
  EXPECT_FALSE(context.Symbol("2b").ok());
  EXPECT_FALSE(context.Find("absent").ok());
}

TEST_F(DimTest, NotNegatesARelation) {
  for (const Claim& c : {n < m, n <= m, Eq(n, m), Ne(n, m)}) {
    for (int64_t a = 0; a < 3; ++a) {
      for (int64_t b = 0; b < 3; ++b) {
        EXPECT_NE(*Evaluate(c, {a, b, 0}), *Evaluate(Not(c), {a, b, 0})) << c.ToString();
      }
    }
  }
}

TEST_F(DimTest, OrderIsTotalAndStructural) {
  std::vector<Dim> all = {n, m, n + m, 2 * n, FloorDiv(n, 2), Mod(n, 2), Min(n, m), 3, n * m};
  for (Dim a : all) {
    for (Dim b : all) {
      EXPECT_EQ(Compare(a, b), -Compare(b, a));
      EXPECT_EQ(Compare(a, b) == 0, a == b);
    }
  }
  DimContext other;  // the same program built in another order prints the same
  Dim x = other.Symbol("n"), y = other.Symbol("m");
  Dim d = Mod(x, 2) + FloorDiv(x, 2) + y;
  EXPECT_EQ(d.ToString(), (m + FloorDiv(n, 2) + Mod(n, 2)).ToString());
}

}  // namespace
}  // namespace lathe::dim
