// DimConstraint and ConstraintDatabase: where naive versions are wrong, and against brute force.
#include "ir/dim/constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ir/dim/constraint_database.h"
#include "random_dims.h"

namespace lathe::dim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConstraintTest : public testing::Test {
 protected:
  DimContext context;
  Dim a = context.Symbol("a"), b = context.Symbol("b");

  DimConstraint Parse(std::string_view spec) {
    absl::StatusOr<DimConstraint> c = DimConstraint::Parse(spec, &context);
    EXPECT_TRUE(c.ok()) << c.status();
    return c.value_or(DimConstraint());
  }
  std::string ParseError(std::string_view spec) {
    absl::StatusOr<DimConstraint> c = DimConstraint::Parse(spec, &context);
    return c.ok() ? "accepted: " + c->ToString() : std::string(c.status().message());
  }
  static std::string Merged(const DimConstraint& x, const DimConstraint& y) {
    absl::StatusOr<DimConstraint> m = x.Merge(y);
    return m.ok() ? m->ToString() : std::string(m.status().message());
  }
};

TEST_F(ConstraintTest, ABoundOfZeroIsABound) {
  EXPECT_TRUE((DimConstraint{.min = 0}).Implies({.min = 0}));
  EXPECT_FALSE((DimConstraint{.min = -1}).Implies({.min = 0}));
  EXPECT_TRUE((DimConstraint{.max = 0}).Implies({.max = 3}));
  EXPECT_EQ(Merged({.max = 0}, {.max = 3}), "<= 0");
  EXPECT_EQ(Merged({.min = 0}, {.min = -3}), ">= 0");
  EXPECT_FALSE((DimConstraint{.min = 1, .max = 0}).IsFeasible());
  EXPECT_TRUE((DimConstraint{.min = 0, .max = 0}).IsFeasible());
}

TEST_F(ConstraintTest, AnUnsetFieldImpliesNothing) {
  for (const DimConstraint& c :
       {DimConstraint{.min = 0}, DimConstraint{.max = 0}, DimConstraint{.divisible_by = 2},
        DimConstraint{.equal_to = {a}}, DimConstraint{.multiple_of = {a}}}) {
    EXPECT_FALSE(DimConstraint().Implies(c)) << c.ToString();
    EXPECT_TRUE(c.Implies(DimConstraint())) << c.ToString();
    EXPECT_TRUE(c.Implies(c)) << c.ToString();
  }
}

TEST_F(ConstraintTest, DivisibilityTakesPartInImplies) {
  EXPECT_TRUE((DimConstraint{.divisible_by = 8}).Implies({.divisible_by = 4}));
  EXPECT_FALSE((DimConstraint{.divisible_by = 4}).Implies({.divisible_by = 8}));
  EXPECT_TRUE((DimConstraint{.min = 8, .max = 8}).Implies({.divisible_by = 8}));
  EXPECT_TRUE((DimConstraint{.min = 5, .max = 11})
                  .Merge({.divisible_by = 8})
                  ->Implies({.min = 8, .max = 8, .divisible_by = 8}));
  EXPECT_TRUE((DimConstraint{.divisible_by = 8, .remainder = 5})
                  .Implies({.divisible_by = 4, .remainder = 1}));
  EXPECT_TRUE((DimConstraint{.min = 1, .divisible_by = 8}).Implies({.min = 8}));
  EXPECT_TRUE((DimConstraint{.divisible_by = 6}).Implies({.multiple_of = {3, -2}}));
  EXPECT_TRUE((DimConstraint{.multiple_of = {4, 6}}).Implies({.divisible_by = 12}));
}

TEST_F(ConstraintTest, DivisibilityMergesByTheLeastCommonMultiple) {
  EXPECT_EQ(Merged({.divisible_by = 64}, {.min = 1, .max = 8192, .divisible_by = 48}),
            "192..8064, % 192 == 0");
  EXPECT_EQ(Merged({.divisible_by = 4, .remainder = 3}, {.divisible_by = 6, .remainder = 1}),
            "% 12 == 7");
  EXPECT_EQ(Merged({.divisible_by = 4, .remainder = 1}, {.divisible_by = 6}), "1..0");
  EXPECT_EQ(Merged({.divisible_by = (int64_t{1} << 40) + 1}, {.divisible_by = int64_t{1} << 40}),
            "the least common multiple of the divisors 1099511627777 and 1099511627776 passes the "
            "limit of 2^63 - 1");
}

TEST_F(ConstraintTest, EqualToSurvivesAMerge) {
  EXPECT_EQ(Merged({.equal_to = {a}}, {.min = 1, .max = 8}), "1..8, == a");
  EXPECT_EQ(Merged({.max = 8}, {.equal_to = {a, a}, .multiple_of = {b}}), "<= 8, == a, % b == 0");
  EXPECT_EQ(Merged({.equal_to = {b}}, {.equal_to = {a}}), "== a, == b");
  EXPECT_EQ(Merged({.equal_to = {8}}, {.max = 9}), "8..8");
  EXPECT_EQ(Merged({.equal_to = {8}}, {.equal_to = {9}}), "1..0");
}

TEST_F(ConstraintTest, InfeasibleIsSeen) {
  EXPECT_FALSE((DimConstraint{.min = 5, .max = 7, .divisible_by = 8}).IsFeasible());
  EXPECT_TRUE((DimConstraint{.min = 5, .max = 8, .divisible_by = 8}).IsFeasible());
  EXPECT_FALSE((DimConstraint{.min = 5, .equal_to = {4}}).IsFeasible());
  EXPECT_FALSE((DimConstraint{.max = -1, .equal_to = {a}}).IsFeasible());  // a >= 0
  EXPECT_FALSE((DimConstraint{.divisible_by = 2, .equal_to = {2 * a + 1}}).IsFeasible());
  EXPECT_FALSE((DimConstraint{.multiple_of = {0}}).IsFeasible());
  EXPECT_TRUE(
      (DimConstraint{.min = INT64_MIN, .max = INT64_MAX, .divisible_by = INT64_MAX}).IsFeasible());
}

TEST_F(ConstraintTest, RelationsImplyWhatTheirSizesDo) {
  EXPECT_TRUE((DimConstraint{.equal_to = {a}}).Implies({.min = 0}));
  EXPECT_TRUE((DimConstraint{.equal_to = {2 * a}}).Implies({.divisible_by = 2}));
  EXPECT_TRUE((DimConstraint{.equal_to = {a, a + 1}}).Implies({.min = 77}));  // no value at all
  EXPECT_TRUE((DimConstraint{.max = 8, .equal_to = {a}}).Implies({.equal_to = {Min(a, 8)}}));
  EXPECT_FALSE((DimConstraint{.equal_to = {a}}).Implies({.equal_to = {b}}));
  EXPECT_FALSE((DimConstraint{.equal_to = {a}}).Implies({.multiple_of = {a}}));  // a may be 0
  EXPECT_FALSE((DimConstraint{.min = 0, .max = 0}).Implies({.multiple_of = {a}}));
}

TEST_F(ConstraintTest, InvalidOnesSayWhy) {
  EXPECT_THAT((DimConstraint{.divisible_by = 0}).Validate().ToString(),
              HasSubstr("divisible_by is 0, wanted 1 or more"));
  EXPECT_THAT((DimConstraint{.remainder = 0}).Validate().ToString(),
              HasSubstr("divisible_by isn't set"));
  EXPECT_THAT((DimConstraint{.divisible_by = 4, .remainder = 4}).Validate().ToString(),
              HasSubstr("remainder is 4, wanted 0..3"));
  EXPECT_FALSE((DimConstraint{.divisible_by = 0}).Merge({}).ok());
  EXPECT_FALSE((DimConstraint{.divisible_by = -2}).Implies({}));
}

TEST_F(ConstraintTest, TextGoesBothWays) {
  for (const char* spec : {"?", "1..8192, % 64 == 0", ">= 1", "<= 0", "% 8 == 3", "== a",
                           "0..6, == a, == 2*b, % b == 0, % (a + 1) == 0"}) {
    const DimConstraint c = Parse(spec);
    EXPECT_EQ(Parse(c.ToString()), c) << spec;
    // What AddSpec makes of the text are the same facts.
    FactSet facts(&context);
    const Dim d = context.FreshSymbol("d");
    ASSERT_TRUE(facts.AddSpec(&d, c.ToString(), {}).ok()) << c.ToString();
  }
  EXPECT_EQ(Parse("in {1, 4, 7}").ToString(), "1..7, % 3 == 1");
  EXPECT_EQ(Parse("> 3, < 8, _ % 2 == 0").ToString(), "4..6, % 2 == 0");
  EXPECT_EQ(Parse("8").ToString(), "8..8");
  EXPECT_THAT(ParseError("in {1, 2, 4}"), HasSubstr("\"_ in {1, 2, 4}\""));
  EXPECT_THAT(ParseError("!= 3"), HasSubstr("no bound, residue, equality or divisibility"));
  EXPECT_THAT(ParseError("<= "), HasSubstr("column 4: found the end, wanted a size"));
  EXPECT_THAT(ParseError("% 4 == 4"), HasSubstr("remainder is 4, wanted 0..3"));
}

TEST_F(ConstraintTest, ComesFromFactsAndGoesToClaims) {
  FactSet facts(&context);
  ASSERT_TRUE(facts.AddSpec(&a, "1..100, % 8 == 0", {}).ok());
  ASSERT_TRUE(facts.AddSpec(nullptr, "b == a + 2", {}).ok());
  EXPECT_EQ(DimConstraint::Of(facts, a).ToString(), "8..96, % 8 == 0, == b - 2");
  EXPECT_EQ(DimConstraint::Of(facts, b).ToString(), "10..98, % 8 == 2, == a + 2");
  std::string text;
  for (const Claim& c : DimConstraint::Of(facts, a).Claims(a)) text += c.ToString() + "; ";
  EXPECT_EQ(text, "8 <= a; a <= 96; a % 8 == 0; a == b - 2; ");
}

// ---- Against brute force, on values -12..12.

DimConstraint RandomConstraint(RandomDims* random) {
  DimConstraint c;
  if (random->Chance(80)) c.min = random->Int(-9, 9);
  if (random->Chance(80)) c.max = random->Int(-9, 12);
  if (random->Chance(60)) {
    c.divisible_by = random->Int(1, 7);
    if (random->Chance(50)) c.remainder = random->Int(0, *c.divisible_by - 1);
  }
  if (random->Chance(8)) c.equal_to.push_back(random->Int(-9, 9));
  if (random->Chance(10)) c.multiple_of.push_back(random->Int(-4, 4));
  return c;
}

std::set<int64_t> Members(const DimConstraint& c) {
  std::set<int64_t> values;
  for (int64_t v = -12; v <= 12; ++v) {
    if (c.Admits(v)) values.insert(v);
  }
  return values;
}

bool Bounded(const DimConstraint& c) { return c.min.has_value() && c.max.has_value(); }

TEST_F(ConstraintTest, AgreesWithBruteForce) {
  RandomDims random(FuzzSeed(), 0);
  int implied = 0;
  for (int i = 0; i < FuzzRounds(30000); ++i) {
    const DimConstraint x = RandomConstraint(&random), y = RandomConstraint(&random);
    const std::set<int64_t> in_x = Members(x), in_y = Members(y);
    const std::string both = x.ToString() + " and " + y.ToString();
    const bool subset = std::includes(in_y.begin(), in_y.end(), in_x.begin(), in_x.end());
    if (x.Implies(y)) {
      EXPECT_TRUE(subset) << both;
    }
    if (Bounded(x)) {
      EXPECT_EQ(x.Implies(y), subset) << both;
      EXPECT_EQ(x.IsFeasible(), !in_x.empty()) << both;
      const std::vector<int64_t> values = x.Values();
      EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()), in_x) << both;
    }
    implied += x.Implies(y) && x.IsFeasible();
    std::set<int64_t> meet;
    for (int64_t v : in_x) {
      if (in_y.contains(v)) meet.insert(v);
    }
    absl::StatusOr<DimConstraint> m = x.Merge(y);
    ASSERT_TRUE(m.ok()) << both << ": " << m.status();
    EXPECT_EQ(Members(*m), meet) << both << " gave " << m->ToString();
    EXPECT_TRUE(m->Implies(x) && m->Implies(y)) << both << " gave " << m->ToString();
    EXPECT_EQ(*m->Normalized(), *m) << both;
    EXPECT_EQ(Members(*x.Normalized()), in_x) << x.ToString();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(implied, 100);
}

// The same without ends: residue classes decide, exactly.
TEST_F(ConstraintTest, UnboundedOnesAgreeWithBruteForce) {
  for (int64_t m = 1; m <= 12; ++m) {
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t n = 1; n <= 12; ++n) {
        for (int64_t s = 0; s < n; ++s) {
          const DimConstraint x{.divisible_by = m, .remainder = r};
          const DimConstraint y{.divisible_by = n, .remainder = s};
          EXPECT_EQ(x.Implies(y), m % n == 0 && r % n == s);
          EXPECT_EQ((DimConstraint{.min = -3, .divisible_by = m, .remainder = r}).Implies(y),
                    m % n == 0 && r % n == s);
        }
      }
    }
  }
}

// Whatever is implied with other sizes involved holds for all of their values.
TEST_F(ConstraintTest, RelationsAgreeWithBruteForce) {
  RandomDims random(FuzzSeed(), 2);
  int implied = 0;
  for (int i = 0; i < FuzzRounds(500); ++i) {
    DimConstraint x = RandomConstraint(&random), y = RandomConstraint(&random);
    const Dim pool[] = {a, b, a + 1, 2 * a, a + b, 3 * b + 1, Min(a, b), a * b};
    for (DimConstraint* c : {&x, &y}) {
      if (random.Chance(60)) c->equal_to.push_back(pool[random.Int(0, 7)]);
      if (random.Chance(40)) c->multiple_of.push_back(pool[random.Int(0, 7)]);
    }
    const bool implies = x.Implies(y), feasible = x.IsFeasible();
    absl::StatusOr<DimConstraint> m = x.Merge(y);
    ASSERT_TRUE(m.ok());
    implied += implies && feasible;
    const std::string where = x.ToString() + " and " + y.ToString();
    for (int64_t va = 0; va <= 5; ++va) {
      for (int64_t vb = 0; vb <= 5; ++vb) {
        for (int64_t v = -12; v <= 30; ++v) {
          const std::vector<int64_t> symbols = {va, vb};
          const bool in_x = x.Admits(v, symbols), in_y = y.Admits(v, symbols);
          if (implies && in_x) {
            ASSERT_TRUE(in_y) << where << " at " << v;
          }
          if (in_x) {
            ASSERT_TRUE(feasible) << where << " at " << v;
          }
          ASSERT_EQ(m->Admits(v, symbols), in_x && in_y) << where << " at " << v;
        }
      }
    }
  }
  EXPECT_GT(implied, 3);
}

// ---- The database.

TEST_F(ConstraintTest, DatabaseSetsAddsAndGets) {
  ConstraintDatabase db(&context);
  EXPECT_EQ(db.Get("seq").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(db.Add("seq", {.max = 8192}).ok());
  ASSERT_TRUE(db.Add("seq", {.min = 1, .divisible_by = 64}).ok());
  EXPECT_EQ(db.Get("seq")->ToString(), "64..8192, % 64 == 0");
  ASSERT_TRUE(db.Set("seq", {.max = 16}).ok());
  EXPECT_EQ(db.Get("seq")->ToString(), "<= 16");
  EXPECT_THAT(db.Symbols(), ElementsAre("seq"));
  EXPECT_FALSE(db.Set("1seq", {}).ok());
  EXPECT_THAT(db.Add("seq", {.divisible_by = 0}).ToString(), HasSubstr("the constraint on seq"));
  DimContext other;
  EXPECT_THAT(db.Add("seq", {.equal_to = {other.Symbol("z")}}).ToString(),
              HasSubstr("another program"));
}

TEST_F(ConstraintTest, DatabaseShowsSizesOrAConflict) {
  ConstraintDatabase db(&context);
  ASSERT_TRUE(db.Set("a", {.min = 5, .max = 9}, {"config", "run.cfg:3"}).ok());
  ASSERT_TRUE(db.Set("b", {.min = 1, .divisible_by = 8}).ok());
  ASSERT_TRUE(db.AddClaims("a == b").ok());
  Feasibility f = db.Check();
  EXPECT_EQ(f.answer, Feasible::kYes);
  EXPECT_EQ(f.ToString(), "feasible: a = 8, b = 8");
  EXPECT_EQ(db.Derived("a")->min, 8);
  ASSERT_TRUE(db.Add("a", {.max = 7}, {"caller", ""}).ok());
  f = db.Check();
  EXPECT_EQ(f.answer, Feasible::kNo);
  EXPECT_THAT(f.witness, IsEmpty());
  EXPECT_THAT(f.ToString(), HasSubstr("a <= 7  [caller]"));
  EXPECT_THAT(f.ToString(), HasSubstr("b % 8 == 0  [constraint on b]"));
  EXPECT_FALSE(db.Derived("a").ok());
  EXPECT_THAT(db.AddClaims("a <= q").ToString(), HasSubstr("no size is named \"q\""));
}

TEST_F(ConstraintTest, DatabaseLetsSignedSizesBeSigned) {
  ConstraintDatabase db(&context);
  ASSERT_TRUE(db.Add("a", {.max = -3}).ok());
  EXPECT_EQ(db.Check().answer, Feasible::kNo);  // a size is >= 0
  ASSERT_TRUE(db.Add("a", {.min = -5}).ok());
  EXPECT_EQ(db.Check().answer, Feasible::kYes);
}

// Every feasible answer's sizes satisfy everything; every conflict is real and can't be smaller.
TEST_F(ConstraintTest, DatabaseAgreesWithBruteForce) {
  RandomDims random(FuzzSeed(), 3);
  const Dim c = context.Symbol("c");
  int found[3] = {};
  for (int i = 0; i < FuzzRounds(300); ++i) {
    ConstraintDatabase db(&context);
    std::vector<Claim> claims;
    for (Dim d : {a, b, c}) {
      DimConstraint k;
      k.min = random.Int(0, 4);
      k.max = random.Int(3, 9);
      if (random.Chance(50)) {
        k.divisible_by = random.Int(1, 5);
        k.remainder = random.Int(0, *k.divisible_by - 1);
      }
      ASSERT_TRUE(db.Set(d.ToString(), k).ok());
      for (const Claim& claim : k.Claims(d)) claims.push_back(claim);
    }
    for (int64_t n = random.Int(0, 2); n-- > 0;) {
      const Dim x = Build(*random.Expression(1), &context);
      const Dim y = Build(*random.Expression(1), &context);
      if (!x.ok() || !y.ok()) continue;
      const Claim claim = random.Chance(50) ? Eq(x, y) : x < y;
      claims.push_back(claim);
      ASSERT_TRUE(db.AddClaim(claim).ok());
    }
    const auto possible = [](const std::vector<Claim>& all) {
      for (int64_t n = 0; n < 1000; ++n) {
        const std::vector<int64_t> values = {n % 10, n / 10 % 10, n / 100};
        const bool holds = std::all_of(all.begin(), all.end(), [&](const Claim& claim) {
          const absl::StatusOr<bool> h = Evaluate(claim, values);
          return h.ok() && *h;
        });
        if (holds) return true;
      }
      return false;
    };
    const Feasibility f = db.Check();
    ++found[static_cast<int>(f.answer)];
    if (f.answer == Feasible::kYes) {
      std::vector<int64_t> values;
      for (const auto& [name, value] : f.witness) values.push_back(value);
      for (const Claim& claim : claims) EXPECT_TRUE(*Evaluate(claim, values)) << claim.ToString();
    }
    if (f.answer == Feasible::kNo) {
      EXPECT_FALSE(possible(claims)) << f.ToString();
      std::vector<Claim> core;
      for (const Fact& fact : f.conflict) core.push_back(fact.claim);
      ASSERT_FALSE(core.empty());
      for (size_t k = 0; k < core.size() && core.size() <= 4; ++k) {
        ConstraintDatabase rest(&context);
        for (size_t j = 0; j < core.size(); ++j) {
          if (j == k) continue;
          ASSERT_TRUE(rest.AddClaim(core[j]).ok());
        }
        EXPECT_NE(rest.Check().answer, Feasible::kNo) << f.ToString();
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(found[0], 50);
  EXPECT_GT(found[1], 50);
}

}  // namespace
}  // namespace lathe::dim
