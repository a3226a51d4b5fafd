// Contradictions: an irreducible core with sources, and an edit that mends it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/dim/facts.h"
#include "random_dims.h"

namespace lathe::dim {
namespace {

using testing::ElementsAre;

class ConflictTest : public testing::Test {
 protected:
  ConflictTest() : facts(&context) {}

  absl::Status Add(std::string_view text, std::string what = "test") {
    Claim c = (*ParseClaims(text, &context, true))[0];
    return facts.Add(c, Standing::kDeclared, {what, "m.lathe:" + std::to_string(++line)}, &conflict)
        .status();
  }

  DimContext context;
  FactSet facts;
  Conflict conflict;
  int line = 0;
};

TEST_F(ConflictTest, NamesOnlyTheFactsThatClash) {
  ASSERT_TRUE(Add("n >= 1", "dim n").ok());
  ASSERT_TRUE(Add("m <= 7", "dim m").ok());
  ASSERT_TRUE(Add("n <= 8192", "dim n").ok());
  ASSERT_TRUE(Add("n % 8 == 0", "dim n").ok());
  absl::Status s = Add("n >= 10000", "slice %3");
  EXPECT_EQ(s.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(conflict.core, ElementsAre(2, 4));
  EXPECT_EQ(s.message(),
            "these facts about sizes can't hold together:\n"
            "  n <= 8192  [declared: dim n at m.lathe:3]\n"
            "  10000 <= n  [declared: slice %3 at m.lathe:5]\n"
            "to mend it: change \"10000 <= n\" (slice %3) to \"8192 <= n\"");
  EXPECT_EQ(facts.facts().size(), 4u);
  EXPECT_TRUE(facts.Proves(*ParseDim("n", &context, false) <= 8192)) << "as it was before";
}

TEST_F(ConflictTest, ACoreOfThreeIsIrreducible) {
  ASSERT_TRUE(Add("a < b").ok());
  ASSERT_TRUE(Add("n == 4").ok());
  ASSERT_TRUE(Add("b < c").ok());
  ASSERT_FALSE(Add("c < a").ok());
  EXPECT_THAT(conflict.core, ElementsAre(0, 2, 3));
}

TEST_F(ConflictTest, ThroughEqualitiesAndCongruences) {
  ASSERT_TRUE(Add("2*a == b").ok());
  ASSERT_TRUE(Add("c <= 9").ok());
  ASSERT_FALSE(Add("b % 2 == 1").ok());
  EXPECT_THAT(conflict.core, ElementsAre(0, 2));
  EXPECT_THAT(conflict.edit, testing::HasSubstr("b % 2 == 0"));
}

TEST_F(ConflictTest, ASizeBelowZeroSaysHowToDeclareIt) {
  ASSERT_FALSE(Add("n <= -2").ok());
  EXPECT_THAT(conflict.core, ElementsAre(0));
  EXPECT_FALSE(conflict.edit.empty());
}

TEST_F(ConflictTest, FactsSurviveAConflict) {
  ASSERT_TRUE(Add("a <= b").ok());
  ASSERT_TRUE(Add("b <= 4").ok());
  ASSERT_FALSE(Add("a in {7, 9}").ok());
  ASSERT_FALSE(Add("2*a == 11").ok());
  ASSERT_TRUE(Add("a >= 4").ok());
  EXPECT_TRUE(facts.Proves((*ParseClaims("a == b", &context, false))[0]));
}

// Random facts without regard for each other: a refusal must be right, its core without a model,
// and irreducible: the rest of the core alone is accepted.
TEST(ConflictFuzz, CoresAreContradictoryAndIrreducible) {
  RandomDims random(FuzzSeed(), 3);
  int conflicts = 0;
  for (int round = 0; round < FuzzRounds(600); ++round) {
    DimContext context;
    for (const char* name : {"a", "b", "c"}) context.Symbol(name);
    FactSet facts(&context);
    Conflict conflict;
    std::vector<Claim> claims;
    bool ok = true;
    for (int i = 0; i < 8 && ok; ++i) {
      Dim a = Build(*random.Expression(2), &context);
      Dim b = random.Chance(60) ? Dim(random.Int(0, 12)) : Build(*random.Expression(1), &context);
      if (!a.ok() || !b.ok() || (a.is_constant() && b.is_constant())) continue;
      Claim c = random.Chance(40) ? a <= b : random.Chance(50) ? b < a : Eq(a, b);
      SymbolId s = 0;
      if (c.lhs.is_constant() && c.lhs.constant() < 0 && IsSymbol(c.rhs, &s)) continue;
      claims.push_back(c);
      absl::StatusOr<FactId> id = facts.Add(c, Standing::kDeclared, {}, &conflict);
      ok = id.ok();
      if (ok) claims.back() = facts.facts().back().claim;
    }
    if (ok) continue;
    ++conflicts;
    ASSERT_FALSE(conflict.core.empty());
    std::vector<int64_t> v(3);
    for (v[0] = 0; v[0] <= 15; ++v[0]) {
      for (v[1] = 0; v[1] <= 15; ++v[1]) {
        for (v[2] = 0; v[2] <= 15; ++v[2]) {
          bool all = true;
          for (FactId id : conflict.core) {
            absl::StatusOr<bool> t = Evaluate(claims[static_cast<size_t>(id)], v);
            all = all && t.ok() && *t;
          }
          ASSERT_FALSE(all) << "a core with a model " << testing::PrintToString(v);
        }
      }
    }
    for (FactId dropped : conflict.core) {
      FactSet rest(&context);
      for (FactId id : conflict.core) {
        if (id == dropped) continue;
        ASSERT_TRUE(rest.Add(claims[static_cast<size_t>(id)], Standing::kDeclared, {}).ok());
      }
    }
  }
  std::cout << conflicts << " conflicts" << std::endl;
  EXPECT_GT(conflicts, 50);
}

}  // namespace
}  // namespace lathe::dim
