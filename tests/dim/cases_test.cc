// Small cases of integer algebra and size facts that went wrong in public systems, each by name and
// by brute force.
#include <gtest/gtest.h>

#include "ir/dim/dim_program.h"
#include "ir/dim/facts.h"

namespace lathe::dim {
namespace {

class Cases : public testing::Test {
 protected:
  Dim D(std::string_view text) { return *ParseDim(text, &context, true); }
  Claim C(std::string_view text) { return (*ParseClaims(text, &context, true))[0]; }

  DimContext context;
};

TEST_F(Cases, D1_NestedRemaindersAreNotMergedWrongly) {
  Dim d = D("i % 20 // 2 * 2 % 4");
  EXPECT_NE(d, D("i % 4"));
  EXPECT_EQ(*Evaluate(d, {1}), 0);
  EXPECT_EQ(*Evaluate(D("i % 4"), {1}), 1);
  FactSet facts(&context);
  EXPECT_EQ(facts.Prove(Eq(d, D("i % 4"))).verdict, Verdict::kRefuted);
  for (int64_t i = -200; i < 200; ++i) {
    int64_t r = ((i % 20) + 20) % 20;
    EXPECT_EQ(*Evaluate(d, {i}), r / 2 * 2 % 4);
  }
}

TEST_F(Cases, D2_SplitAndJoinedAgainIsTheSame) {
  Dim q = D("(k + 28672*j + 50176*i) // 1024");
  Dim joined = FloorDiv(q, 14) * 14 + Mod(q, 14);
  FactSet facts(&context);
  EXPECT_TRUE(facts.Proves(Eq(joined, q)));
  EXPECT_EQ(facts.Simplify(joined), q);
  for (int64_t k : {-5000, -1, 0, 1023, 1024, 99999}) {
    for (int64_t j : {-3, 0, 5}) {
      for (int64_t i : {-2, 0, 7}) {
        EXPECT_EQ(*Evaluate(joined, {k, j, i}), *Evaluate(q, {k, j, i}));
      }
    }
  }
}

TEST_F(Cases, D3_DivisionFloors) {
  EXPECT_EQ(D("-21 // 5"), Dim(-5));
  EXPECT_EQ(D("-3 // 4"), Dim(-1));
  DimProgramBuilder builder(&context);
  Dim a = D("a"), b = D("b");
  builder.Input(a);
  builder.Input(b);
  int q = builder.Slot(FloorDiv(a, b)), r = builder.Slot(Mod(a, b));
  DimProgram p = builder.Build();
  std::vector<int64_t> slots(static_cast<size_t>(p.num_slots()));
  for (int64_t x = -25; x <= 25; ++x) {
    for (int64_t y = -7; y <= 7; ++y) {
      if (y == 0) continue;
      slots[0] = x;
      slots[1] = y;
      ASSERT_EQ(p.Run(slots.data()), -1);
      int64_t quotient = slots[static_cast<size_t>(q)], rest = slots[static_cast<size_t>(r)];
      EXPECT_EQ(quotient * y + rest, x);
      EXPECT_TRUE(y > 0 ? rest >= 0 && rest < y : rest <= 0 && rest > y) << x << " % " << y;
    }
  }
}

TEST_F(Cases, D4_NegativeCoefficientsInsideDivisions) {
  EXPECT_EQ(*Evaluate(D("(((a+1)*-2)//3 + a)*-4"), {0}), 4);
  DimContext other;
  EXPECT_EQ(*Evaluate(*ParseDim("((a+b+(c+2*b+1)//3+4)//9-57)//36", &other, true), {6, 0, 0}), -2);
}

TEST_F(Cases, D5_TheRangeOfARemainderHasTheDivisorsSign) {
  FactSet facts(&context);
  ASSERT_TRUE(facts.Add(D("a") >= -5, Standing::kDeclared, {}).ok());
  ASSERT_TRUE(facts.Add(D("a") <= 5, Standing::kDeclared, {}).ok());
  Interval up = facts.Range(Mod(D("a"), 3)), down = facts.Range(Mod(D("a"), -3));
  EXPECT_EQ(up.min, 0);
  EXPECT_EQ(up.max, 2);
  EXPECT_EQ(down.min, -2);
  EXPECT_EQ(down.max, 0);
  ASSERT_TRUE(facts.Add(Eq(D("b"), 3), Standing::kDeclared, {}).ok());
  EXPECT_EQ(facts.Range(D("a % b")).min, 0);
  EXPECT_EQ(facts.Range(D("a % b")).max, 2);
}

TEST_F(Cases, D6_ANegationDoesNotMoveThroughDivision) {
  EXPECT_EQ(*Evaluate(D("((c*-85)-70)//3"), {-36}), 996);
  EXPECT_NE(FloorDiv(-D("c"), 3), -FloorDiv(D("c"), 3));
}

TEST_F(Cases, S5_AConstraintThatLeavesOnlyZeroIsLegal) {
  FactSet facts(&context);
  ASSERT_TRUE(facts.Add(D("b") <= 0, Standing::kDeclared, {}).ok());
  EXPECT_TRUE(facts.Proves(C("b == 0")));
}

TEST_F(Cases, S6_EqualSizesAreSolvedFromEither) {
  Dim a = D("a"), b = D("b"), x = D("x"), y = D("y");
  FactSet facts(&context);
  for (const Claim& c : {Eq(a, b), Eq(x, 2 * a), Eq(y, 2 * b)}) {
    ASSERT_TRUE(facts.Add(c, Standing::kDeclared, {}).ok());
  }
  EXPECT_TRUE(facts.Proves(Eq(x, y)));
  EXPECT_TRUE(facts.Proves(Eq(Mod(y, 2), 0)));
  ASSERT_TRUE(facts.Add(Eq(y, 14), Standing::kDeclared, {}).ok());
  EXPECT_TRUE(facts.Proves(Eq(a, 7)));
  EXPECT_TRUE(facts.Proves(Eq(b, 7)));
}

TEST_F(Cases, TheTotalOverTheRestCancelsForEverySize) {
  FactSet facts(&context);
  // [n, 4] -> [n, -1]: with n >= 1 the division is decided; with n == 0 the builder cancels first.
  EXPECT_NE(facts.Simplify(D("4*n // n")), Dim(4));
  ASSERT_TRUE(facts.Add(D("n") >= 1, Standing::kDeclared, {}).ok());
  EXPECT_EQ(facts.Simplify(D("4*n // n")), Dim(4));
}

TEST_F(Cases, IndexWidthSeesEveryIntermediateTerm) {
  FactSet facts(&context);
  Dim i = D("i"), j = D("j");
  ASSERT_TRUE(facts.Add(i < 46342, Standing::kDerived, {}).ok());
  ASSERT_TRUE(facts.Add(j < 46341, Standing::kDerived, {}).ok());
  EXPECT_FALSE(facts.Proves(i * 46341 + j <= Dim(INT32_MAX)));
  EXPECT_TRUE(facts.Proves(i * 46341 + j <= Dim(int64_t{46342} * 46341)));
  EXPECT_FALSE(facts.Proves(i - 2779057358 >= Dim(INT32_MIN)));
}

}  // namespace
}  // namespace lathe::dim
