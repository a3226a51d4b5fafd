// Random sets of facts that can't hold together: bounds, congruences, equalities, sets, linear
// relations and divisions. Brute force says when a set has no model left. From then on the conflict
// must be reported, its core must have no model, each part of the core must have one, and the edit
// that is printed must mend the core.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/dim/facts.h"
#include "random_dims.h"

namespace lathe::dim {
namespace {

constexpr int kSymbols = 3;
constexpr int64_t kHigh = 11;

using Values = std::vector<int64_t>;

bool Holds(const Claim& c, const Values& v) {
  absl::StatusOr<bool> t = Evaluate(c, v);
  return t.ok() && *t;
}

enum Kind { kInterval, kCongruence, kEquality, kSet, kLinear, kDivision };

struct Made {
  Kind kind;
  Claim claim;
};

class Round {
 public:
  Round(RandomDims* random, DimContext* context) : random_(*random), context_(*context) {
    for (const char* name : {"a", "b", "c"}) context->Symbol(name);
    Values v(kSymbols);
    for (v[0] = 0; v[0] <= kHigh; ++v[0]) {
      for (v[1] = 0; v[1] <= kHigh; ++v[1]) {
        for (v[2] = 0; v[2] <= kHigh; ++v[2]) models_.push_back(v);
      }
    }
  }

  Dim Pick() { return context_.SymbolDim(static_cast<SymbolId>(random_.Int(0, kSymbols - 1))); }

  Made Fact() {
    Dim s = Pick(), t = Pick();
    while (t == s) t = Pick();
    switch (random_.Int(0, 8)) {
      case 0:
        return {kInterval,
                random_.Chance(50) ? s <= Dim(random_.Int(2, 9)) : Dim(random_.Int(1, 8)) <= s};
      case 1: {
        int64_t m = random_.Int(2, 5);
        return {kCongruence,
                Eq(Mod(random_.Chance(60) ? s : s + t, Dim(m)), Dim(random_.Int(0, m - 1)))};
      }
      case 2:
        return {kEquality, random_.Chance(50) ? Eq(Dim(random_.Int(2, 3)) * s, t)
                                              : Eq(s, t + Dim(random_.Int(0, 4)))};
      case 3:
        return {kSet, In(s, {random_.Int(0, 3), random_.Int(4, 7), random_.Int(8, 11)})};
      case 4:
        return {kDivision, Eq(FloorDiv(s, Dim(random_.Int(2, 4))), Dim(random_.Int(0, 3)))};
      case 5:
        return {kDivision, FloorDiv(s + t, Dim(random_.Int(2, 4))) < Pick()};
      case 6:
        return {kLinear, s < t};
      default:
        return {kLinear, Dim(random_.Int(1, 3)) * s + Dim(random_.Int(-2, 2)) * t <=
                             Dim(random_.Int(0, 14))};
    }
  }

  // False if no model of the facts so far satisfies the claim.
  bool Keep(const Claim& c) {
    models_.erase(std::remove_if(models_.begin(), models_.end(),
                                 [&](const Values& v) { return !Holds(c, v); }),
                  models_.end());
    return !models_.empty();
  }

 private:
  RandomDims& random_;
  DimContext& context_;
  std::vector<Values> models_;
};

// The core with the printed edit applied, or empty if the edit isn't understood.
std::vector<Claim> Mended(const Conflict& conflict, const std::vector<Claim>& core,
                          DimContext* context) {
  auto quoted = [&](size_t from, std::string* text) {
    size_t open = conflict.edit.find('"', from);
    size_t close = conflict.edit.find('"', open + 1);
    if (open == std::string::npos || close == std::string::npos) return std::string::npos;
    *text = conflict.edit.substr(open + 1, close - open - 1);
    return close + 1;
  };
  std::string old, replacement;
  size_t next = quoted(0, &old);
  bool change = conflict.edit.rfind("change ", 0) == 0;
  if (next == std::string::npos || (change && quoted(next, &replacement) == std::string::npos)) {
    return {};
  }
  std::vector<Claim> mended;
  bool applied = false;
  for (const Claim& c : core) {
    if (applied || c.ToString() != old) {
      mended.push_back(c);
      continue;
    }
    applied = true;
    if (!change) continue;
    absl::StatusOr<std::vector<Claim>> parsed = ParseClaims(replacement, context, false);
    if (!parsed.ok()) return {};
    mended.insert(mended.end(), parsed->begin(), parsed->end());
  }
  return applied ? mended : std::vector<Claim>();
}

class ConflictFuzzShard : public testing::TestWithParam<int> {};

TEST_P(ConflictFuzzShard, ConflictsAreFoundIrreducibleAndMended) {
  RandomDims random(FuzzSeed() + 104729 * static_cast<uint64_t>(GetParam()), kSymbols);
  const int wanted = FuzzRounds(std::getenv("LATHE_FULL") != nullptr ? 10000 : 1250);
  int conflicts = 0, mixed = 0, missed = 0, parts = 0, parts_with_model = 0, changes = 0;
  for (int round = 0; conflicts < wanted && round < 20 * wanted; ++round) {
    DimContext context;
    Round r(&random, &context);
    FactSet facts(&context);
    Conflict conflict;
    std::vector<Made> made;
    for (SymbolId s = 0; s < kSymbols; ++s) {
      made.push_back({kInterval, context.SymbolDim(s) <= Dim(kHigh)});
      ASSERT_TRUE(facts.Add(made.back().claim, Standing::kDeclared, {}).ok());
    }
    bool refused = false, has_model = true;
    while (!refused && has_model && made.size() < 16) {
      Made next = r.Fact();
      has_model = r.Keep(next.claim);
      made.push_back(next);
      refused = !facts.Add(next.claim, Standing::kDeclared, {"line", ""}, &conflict).ok();
      ASSERT_FALSE(refused && has_model) << next.claim.ToString() << " refused\n"
                                         << conflict.ToString(facts);
    }
    if (has_model) continue;
    if (!refused) {
      ++missed;
      continue;
    }
    std::vector<Claim> core;
    unsigned kinds = 0;
    for (FactId id : conflict.core) {
      core.push_back(made[static_cast<size_t>(id)].claim);
      kinds |= 1u << made[static_cast<size_t>(id)].kind;
    }
    bool is_mixed = core.size() >= 3 && (kinds & (kinds - 1)) != 0;
    // Half of the sets have a core of three or more facts of several kinds.
    if (!is_mixed && conflicts - mixed >= wanted / 2) continue;
    ++conflicts;
    mixed += is_mixed ? 1 : 0;
    std::string text;
    for (const Claim& c : core) text += c.ToString() + "; ";
    // The core has no model. Sizes up to 40 show it where the core itself sets no bounds.
    Values v(kSymbols);
    const int64_t box = random.Chance(5) ? 40 : kHigh;
    for (v[0] = 0; v[0] <= box; ++v[0]) {
      for (v[1] = 0; v[1] <= box; ++v[1]) {
        for (v[2] = 0; v[2] <= box; ++v[2]) {
          bool all =
              std::all_of(core.begin(), core.end(), [&](const Claim& c) { return Holds(c, v); });
          ASSERT_FALSE(all) << text << " has a model " << testing::PrintToString(v);
        }
      }
    }
    for (size_t dropped = 0; dropped < core.size(); ++dropped) {
      FactSet rest(&context);
      for (size_t i = 0; i < core.size(); ++i) {
        if (i == dropped) continue;
        ASSERT_TRUE(rest.Add(core[i], Standing::kDeclared, {}).ok())
            << text << " without " << core[dropped].ToString();
      }
      Answer answer = rest.Prove(core[dropped]);
      ASSERT_NE(answer.verdict, Verdict::kProved) << text;
      ++parts;
      if (answer.verdict != Verdict::kRefuted) continue;
      ++parts_with_model;
      for (size_t i = 0; i < core.size(); ++i) {
        ASSERT_EQ(Holds(core[i], answer.witness), i != dropped) << core[i].ToString();
      }
    }
    std::vector<Claim> mended = Mended(conflict, core, &context);
    ASSERT_TRUE(core.size() == 1 || !mended.empty()) << conflict.edit;
    changes += conflict.edit.rfind("change ", 0) == 0 ? 1 : 0;
    FactSet again(&context);
    for (const Claim& c : mended) {
      ASSERT_TRUE(again.Add(c, Standing::kDeclared, {}).ok()) << text << conflict.edit;
    }
  }
  std::cout << conflicts << " conflicts, " << mixed << " of three or more mixed facts; " << missed
            << " not seen; " << parts_with_model << " of " << parts
            << " parts shown consistent by sizes; " << changes << " edits move a bound"
            << std::endl;
  EXPECT_GE(conflicts, wanted);
  EXPECT_GE(2 * mixed, conflicts);
  EXPECT_LE(missed, wanted / 100);
  EXPECT_GE(parts_with_model, parts * 98 / 100);
}

INSTANTIATE_TEST_SUITE_P(Shards, ConflictFuzzShard, testing::Range(0, 8));

}  // namespace
}  // namespace lathe::dim
