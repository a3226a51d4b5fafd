// The prover against brute force: random consistent facts, random claims, about half of them true,
// of which intervals alone would decide less than a third. A claim that was proved must hold in
// every model that brute force finds; a refuted one must come with a model that breaks it. Facts,
// claims and models have negative values and 0. 200,000 questions; 10 million with LATHE_FULL=1.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/dim/facts.h"
#include "ir/dim/interval.h"
#include "random_facts.h"

namespace lathe::dim {
namespace {

constexpr int kSymbols = 3;
constexpr int64_t kLow = -7, kHigh = 13;  // the box of brute force
constexpr size_t kModels = 160;

using Values = std::vector<int64_t>;

// 1 true, 0 false, -1 undefined.
int Truth(const Claim& c, const Values& v) {
  absl::StatusOr<bool> t = Evaluate(c, v);
  return t.ok() ? *t : -1;
}

// What intervals alone say of an expression, with the symbols' own bounds.
Interval PlainRange(Dim d, const std::vector<Interval>& symbols) {
  Expr e = Decompose(d);
  if (e.kind == ExprKind::kConstant) return Exactly(e.value);
  if (e.kind == ExprKind::kSymbol) return symbols[e.symbol];
  Interval r = PlainRange(e.operands[0], symbols);
  for (size_t i = 1; i < e.operands.size(); ++i) {
    Interval x = PlainRange(e.operands[i], symbols);
    switch (e.kind) {
      case ExprKind::kAdd:
        r = AddIntervals(r, x);
        break;
      case ExprKind::kMul:
        r = MulIntervals(r, x);
        break;
      case ExprKind::kFloorDiv:
        r = FloorDivIntervals(r, x);
        break;
      case ExprKind::kMod:
        r = ModIntervals(r, x);
        break;
      case ExprKind::kCeilDiv:
        r = CeilDivIntervals(r, x);
        break;
      case ExprKind::kMin:
        r = MinIntervals(r, x);
        break;
      default:
        r = MaxIntervals(r, x);
    }
  }
  return r;
}

// Whether intervals settle the claim, in the form given or as a difference.
bool IntervalsDecide(const Claim& c, const std::vector<Interval>& symbols) {
  Interval a = PlainRange(c.lhs, symbols);
  if (c.relation == Relation::kIn) {
    bool outside =
        std::none_of(c.set.begin(), c.set.end(), [&](int64_t v) { return dim::Contains(a, v); });
    return outside || (IsExact(a) && std::binary_search(c.set.begin(), c.set.end(), a.min));
  }
  Interval b = PlainRange(c.rhs, symbols);
  Interval e = PlainRange(c.rhs - c.lhs, symbols);
  switch (c.relation) {
    case Relation::kLe:
      return a.max <= b.min || b.max < a.min || e.min >= 0 || e.max < 0;
    case Relation::kLt:
      return a.max < b.min || b.max <= a.min || e.min > 0 || e.max <= 0;
    default:
      return a.max < b.min || b.max < a.min || e.min > 0 || e.max < 0 || e == Exactly(0) ||
             (IsExact(a) && IsExact(b));
  }
}

struct Counts {
  int true_claims[3] = {}, false_claims[3] = {};  // by verdict; of what is true in the box
  int by_intervals = 0, all = 0;
  int alone = 0, unproved_alone = 0;  // proofs asked for again from the facts named
};

int Rounds(int rounds) {
  return FuzzRounds(rounds) * (std::getenv("LATHE_FULL") != nullptr ? 50 : 1);
}

class Round {
 public:
  Round(RandomDims* random, DimContext* context)
      : random_(*random), context_(*context), facts_(context) {}

  void AddFacts() {
    for (SymbolId s = 0; s < kSymbols; ++s) {
      negative_[s] = random_.Chance(40);
      hidden_.push_back(random_.Int(negative_[s] ? kLow : 0, kHigh));
      Dim d = context_.SymbolDim(s);
      if (negative_[s]) Add(Dim(random_.Int(kLow, std::min<int64_t>(hidden_[s], -1))) <= d);
      if (random_.Chance(40)) Add(d <= Dim(random_.Int(hidden_[s], kHigh)));
    }
    int count = static_cast<int>(random_.Int(0, 4));
    for (int i = 0; i < count; ++i) {
      Claim c = RandomClaim(2);
      if (Truth(c, hidden_) == 1) Add(c);
    }
    FindModels();
  }

  void Add(const Claim& c) {
    Standing standing = random_.Chance(85) ? Standing::kDeclared : Standing::kRequired;
    if (ContextOf(c.lhs) == nullptr && ContextOf(c.rhs) == nullptr) return;
    SymbolId s = 0;
    if (MakesSigned(c, &s)) {
      standing = Standing::kDeclared;
      negative_[s] = true;
    }
    absl::StatusOr<FactId> id = facts_.Add(c, standing, {"fuzz", ""});
    ASSERT_TRUE(id.ok()) << "consistent facts refused, at " << testing::PrintToString(hidden_)
                         << ": " << id.status();
  }

  Claim RandomClaim(int depth) { return dim::RandomClaim(&random_, &context_, depth); }
  Claim LikelyClaim() { return dim::LikelyClaim(&random_, &context_, models_); }

  void FindModels() {
    Values v(kSymbols);
    for (v[0] = kLow; v[0] <= kHigh; ++v[0]) {
      for (v[1] = kLow; v[1] <= kHigh; ++v[1]) {
        for (v[2] = kLow; v[2] <= kHigh; ++v[2]) {
          if (!Allowed(v)) continue;
          bool declared = true, all = true;
          for (const Fact& f : facts_.facts()) {
            bool holds = Truth(f.claim, v) == 1;
            all &= holds;
            declared &= holds || f.standing == Standing::kRequired;
          }
          if (declared) models_.push_back(v);
          if (all) strict_models_.push_back(v);
        }
      }
    }
    Thin(&models_);
    Thin(&strict_models_);
  }

  bool Allowed(const Values& v) const {
    for (size_t s = 0; s < kSymbols; ++s) {
      if (v[s] < 0 && !negative_[s]) return false;
    }
    return true;
  }

  void Thin(std::vector<Values>* models) {
    while (models->size() > kModels) {
      size_t i = static_cast<size_t>(random_.Int(0, static_cast<int64_t>(models->size()) - 1));
      (*models)[i] = models->back();
      models->pop_back();
    }
  }

  std::string Text() const {
    std::string text;
    for (const Fact& f : facts_.facts()) {
      text += std::string(Name(f.standing)) + " " + f.claim.ToString() + "; ";
    }
    return text;
  }

  // The symbols' own bounds.
  std::vector<Interval> OwnBounds() const {
    std::vector<Interval> own;
    for (bool negative : negative_) own.push_back({negative ? kUnboundedMin : 0, kUnboundedMax});
    for (const Fact& f : facts_.facts()) {
      SymbolId s = 0;
      if (f.claim.relation != Relation::kLe) continue;
      if (IsSymbol(f.claim.rhs, &s) && f.claim.lhs.is_constant()) {
        own[s].min = std::max(own[s].min, f.claim.lhs.constant());
      }
      if (IsSymbol(f.claim.lhs, &s) && f.claim.rhs.is_constant()) {
        own[s].max = std::min(own[s].max, f.claim.rhs.constant());
      }
    }
    return own;
  }

  void CheckProve(const Claim& claim, Counts* counts) {
    bool use_required = random_.Chance(30);
    Answer answer = facts_.Prove(claim, use_required);
    const std::vector<Values>& models = use_required ? strict_models_ : models_;
    auto broken = std::find_if(models.begin(), models.end(),
                               [&](const Values& v) { return Truth(claim, v) == 0; });
    bool is_true = broken == models.end();
    ++(is_true ? counts->true_claims : counts->false_claims)[static_cast<int>(answer.verdict)];
    ++counts->all;
    counts->by_intervals += IntervalsDecide(claim, OwnBounds()) ? 1 : 0;
    if (answer.verdict == Verdict::kProved) {
      ASSERT_TRUE(is_true) << claim.ToString() << " was proved from " << Text() << "but not at "
                           << testing::PrintToString(*broken);
      CheckUsed(claim, answer, use_required, counts);
    } else if (answer.verdict == Verdict::kRefuted) {
      ASSERT_EQ(answer.witness.size(), kSymbols);
      ASSERT_EQ(Truth(claim, answer.witness), 0) << claim.ToString();
      ASSERT_TRUE(Allowed(answer.witness)) << claim.ToString();
      for (const Fact& f : facts_.facts()) {
        if (f.standing == Standing::kRequired && !use_required) continue;
        ASSERT_EQ(Truth(f.claim, answer.witness), 1) << f.claim.ToString();
      }
    } else {
      ASSERT_FALSE(answer.hint.empty());
    }
    const Answer quick = facts_.ProveQuickly(claim);
    if (quick.verdict == Verdict::kProved) {
      ASSERT_TRUE(std::all_of(models_.begin(), models_.end(),
                              [&](const Values& v) { return Truth(claim, v) != 0; }))
          << claim.ToString() << " was proved quickly from " << Text();
    } else if (quick.verdict == Verdict::kRefuted) {
      ASSERT_EQ(Truth(claim, quick.witness), 0) << claim.ToString();
      ASSERT_TRUE(Allowed(quick.witness)) << claim.ToString();
    }
  }

  // The facts named must carry the proof alone. They are asked again beside those that let symbols
  // be negative, which may lead the bounded search astray: seldom.
  void CheckUsed(const Claim& claim, const Answer& answer, bool use_required, Counts* counts) {
    for (int i = 0; i < 30; ++i) {
      Values v(kSymbols);
      for (int64_t& x : v) x = random_.Int(kLow, kHigh);
      if (!Allowed(v) || Truth(claim, v) != 0) continue;
      bool holds = true;
      for (FactId id : answer.used) {
        const Fact& f = facts_.facts()[static_cast<size_t>(id)];
        ASSERT_TRUE(use_required || f.standing != Standing::kRequired);
        holds &= Truth(f.claim, v) == 1;
      }
      ASSERT_FALSE(holds) << claim.ToString() << " doesn't follow from the facts named, of "
                          << Text() << "; at " << testing::PrintToString(v);
    }
    if (!random_.Chance(4)) return;
    FactSet alone(&context_);
    for (const Fact& f : facts_.facts()) {
      SymbolId s = 0;
      bool makes_signed =
          IsSymbol(f.claim.rhs, &s) && f.claim.lhs.is_constant() && f.claim.lhs.constant() < 0;
      if (makes_signed || std::binary_search(answer.used.begin(), answer.used.end(), f.id)) {
        ASSERT_TRUE(alone.Add(f.claim, Standing::kDeclared, {}).ok());
      }
    }
    ++counts->alone;
    const Verdict again = alone.Prove(claim).verdict;
    ASSERT_NE(again, Verdict::kRefuted) << claim.ToString() << ", of " << Text();
    if (again == Verdict::kProved) return;
    ++counts->unproved_alone;
    std::cout << claim.ToString() << " isn't proved from the facts named alone, of " << Text()
              << std::endl;
  }

  void CheckValues(Dim d) {
    Interval range = facts_.Range(d);
    Congruence residue = facts_.CongruenceOf(d);
    std::vector<int64_t> set = facts_.Values(d);
    Dim simple = facts_.Simplify(d);
    ASSERT_TRUE(simple.ok());
    Dim twice = facts_.Simplify(simple);
    ASSERT_EQ(twice, simple) << d.ToString() << " simplified to " << simple.ToString()
                             << ", then to " << twice.ToString() << " under " << Text();
    for (const Values& v : models_) {
      absl::StatusOr<int64_t> x = Evaluate(d, v);
      if (!x.ok()) continue;
      ASSERT_LE(range.min, *x) << d.ToString() << " under " << Text();
      ASSERT_GE(range.max, *x) << d.ToString() << " under " << Text();
      if (residue.modulus == 0) {
        ASSERT_EQ(*x, residue.remainder) << d.ToString() << " under " << Text();
      } else {
        ASSERT_EQ((*x - residue.remainder) % residue.modulus, 0)
            << d.ToString() << " under " << Text();
      }
      ASSERT_TRUE(set.empty() || std::binary_search(set.begin(), set.end(), *x))
          << d.ToString() << " = " << *x << " under " << Text();
      absl::StatusOr<int64_t> y = Evaluate(simple, v);
      ASSERT_TRUE(y.ok() && *y == *x) << d.ToString() << " simplified to " << simple.ToString()
                                      << " under " << Text() << " at " << testing::PrintToString(v);
    }
  }

  const FactSet& facts() const { return facts_; }

 private:
  RandomDims& random_;
  DimContext& context_;
  FactSet facts_;
  bool negative_[kSymbols] = {};
  Values hidden_;
  std::vector<Values> models_, strict_models_;  // without and with the required facts
};

class ProverFuzzShard : public testing::TestWithParam<int> {};

TEST_P(ProverFuzzShard, NoWrongAnswerAgainstBruteForce) {
  RandomDims random(FuzzSeed() + 7919 * static_cast<uint64_t>(GetParam()), kSymbols);
  Counts counts;
  for (int round = 0; round < Rounds(300); ++round) {
    DimContext context;
    for (const char* name : {"a", "b", "c"}) context.Symbol(name);
    Round r(&random, &context);
    ASSERT_NO_FATAL_FAILURE(r.AddFacts());
    FactSet copy = r.facts();
    for (int query = 0; query < 100; ++query) {
      Claim c = r.RandomClaim(2);
      // Most of what intervals alone decide is drawn again.
      for (int draw = 0; draw < 3; ++draw) {
        c = random.Chance(42) ? r.LikelyClaim() : r.RandomClaim(2);
        if (random.Chance(35) || !IntervalsDecide(c, r.OwnBounds())) break;
      }
      ASSERT_NO_FATAL_FAILURE(r.CheckProve(c, &counts));
      if (query % 20 == 0) {
        ASSERT_EQ(copy.Prove(c).verdict, r.facts().Prove(c).verdict) << "a copy differs";
      }
    }
  }
  const int *t = counts.true_claims, *f = counts.false_claims;
  int true_claims = t[0] + t[1] + t[2];
  std::cout << counts.all << " questions; true claims: " << t[0] << " proved, " << t[2]
            << " unknown, " << t[1] << " true in the box only; false in the box: " << f[1]
            << " refuted, " << f[2] << " unknown; by intervals alone: " << counts.by_intervals
            << std::endl;
  EXPECT_GT(true_claims, counts.all * 45 / 100);
  EXPECT_LT(true_claims, counts.all * 55 / 100);
  EXPECT_LE(counts.by_intervals, counts.all * 3 / 10);
  EXPECT_LE(counts.unproved_alone, counts.alone / 5000);
}

INSTANTIATE_TEST_SUITE_P(Shards, ProverFuzzShard, testing::Range(0, 8));

// Sizes near 2^31, 2^53 and 2^63: saturated ends must lose knowledge, never truth. The models are
// sampled, since no box holds them; what overflows is undefined and says nothing.
TEST(ProverFuzz, NoWrongAnswerNearTheLimitsOfInt64) {
  RandomDims random(FuzzSeed(), 2);
  auto huge = [&] {
    int64_t magnitude = random.Chance(25)   ? INT64_MAX - random.Int(0, 3)
                        : random.Chance(50) ? (int64_t{1} << random.Int(28, 62)) + random.Int(-2, 2)
                                            : random.Int(0, 9);
    return random.Chance(30) ? -magnitude : magnitude;
  };
  int counts[3] = {};
  for (int round = 0; round < FuzzRounds(1500); ++round) {
    DimContext context;
    FactSet facts(&context);
    Values hidden;
    std::vector<bool> is_signed;
    std::vector<int64_t> interesting = {0, 1, -1, INT64_MAX, INT64_MIN};
    for (const char* name : {"a", "b"}) {
      Dim d = context.Symbol(name);
      hidden.push_back(huge());
      interesting.push_back(hidden.back());
      int64_t low = random.Chance(50) ? hidden.back() : -INT64_MAX;
      is_signed.push_back(low < 0);
      ASSERT_TRUE(facts.Add(Dim(low) <= d, Standing::kDeclared, {}).ok());
      if (random.Chance(40)) {
        ASSERT_TRUE(facts.Add(d <= Dim(hidden.back()), Standing::kDeclared, {}).ok());
      }
    }
    auto expression = [&] {
      Dim d = Dim(huge()) * Build(*random.Expression(2), &context) +
              (random.Chance(50) ? Dim(huge()) : Build(*random.Expression(2), &context));
      return random.Chance(30) ? FloorDiv(d, Dim(huge() | 1)) : d;
    };
    auto claim = [&] {
      Dim a = expression(), b = random.Chance(50) ? Dim(huge()) : expression();
      return random.Chance(20)   ? Eq(Mod(a, Dim(huge() | 1)), b)
             : random.Chance(20) ? Eq(a, b)
             : random.Chance(50) ? a <= b
                                 : Ne(a, b);
    };
    for (int i = 0; i < 2; ++i) {
      Claim c = claim();
      if (!c.lhs.ok() || !c.rhs.ok() || Truth(c, hidden) != 1) continue;
      absl::StatusOr<FactId> id = facts.Add(c, Standing::kDeclared, {});
      ASSERT_TRUE(id.ok() || id.status().code() == absl::StatusCode::kInvalidArgument)
          << id.status() << testing::PrintToString(hidden);
    }
    for (int query = 0; query < 12; ++query) {
      Claim c = claim();
      if (!c.lhs.ok() || !c.rhs.ok()) continue;
      Answer answer = facts.Prove(c);
      ++counts[static_cast<int>(answer.verdict)];
      if (answer.verdict == Verdict::kRefuted) {
        ASSERT_EQ(Truth(c, answer.witness), 0);
      }
      Interval range = facts.Range(c.lhs);
      Dim simple = facts.Simplify(c.lhs);
      for (int i = 0; i < 60; ++i) {
        Values v = hidden;
        for (int64_t& x : v) {
          if (random.Chance(30)) continue;
          x = random.Chance(50) ? huge()
                                : interesting[static_cast<size_t>(
                                      random.Int(0, static_cast<int64_t>(interesting.size()) - 1))];
        }
        bool model = (v[0] >= 0 || is_signed[0]) && (v[1] >= 0 || is_signed[1]);
        for (const Fact& f : facts.facts()) model = model && Truth(f.claim, v) == 1;
        if (!model) continue;
        if (answer.verdict == Verdict::kProved) {
          ASSERT_NE(Truth(c, v), 0) << c.ToString() << " at " << testing::PrintToString(v);
        }
        absl::StatusOr<int64_t> x = Evaluate(c.lhs, v), y = Evaluate(simple, v);
        if (!x.ok()) continue;
        ASSERT_LE(range.min, *x) << c.lhs.ToString();
        ASSERT_GE(range.max, *x) << c.lhs.ToString();
        if (!y.ok()) continue;
        ASSERT_EQ(*x, *y) << c.lhs.ToString() << " became " << simple.ToString();
      }
    }
  }
  std::cout << counts[0] << " proved, " << counts[1] << " refuted, " << counts[2] << " unknown"
            << std::endl;
}

TEST(ProverFuzz, RangeCongruenceValuesAndSimplifyHoldInEveryModel) {
  RandomDims random(FuzzSeed(), kSymbols);
  for (int round = 0; round < FuzzRounds(700); ++round) {
    DimContext context;
    for (const char* name : {"a", "b", "c"}) context.Symbol(name);
    Round r(&random, &context);
    ASSERT_NO_FATAL_FAILURE(r.AddFacts());
    for (int query = 0; query < 20; ++query) {
      Dim d = Build(*random.Expression(3), &context);
      if (!d.ok()) continue;
      ASSERT_NO_FATAL_FAILURE(r.CheckValues(d));
    }
  }
}

}  // namespace
}  // namespace lathe::dim
