// Proof certificates: every proved answer has one, and the checker accepts it.
#include "ir/dim/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "certificate_reading.h"
#include "ir/dim/check/check.h"
#include "ir/dim/check/poly.h"
#include "random_facts.h"

namespace lathe::dim {
namespace {

using testing::HasSubstr;

class Certificates : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"seq", "batch", "k"}) context_.Symbol(name);
  }
  void Add(const char* text) {
    absl::StatusOr<std::vector<Claim>> claims = ParseClaims(text, &context_, false);
    ASSERT_TRUE(claims.ok());
    for (const Claim& c : *claims) ASSERT_TRUE(facts_.Add(c, Standing::kDeclared, {}).ok());
  }
  absl::StatusOr<Proof> Certify(const char* text) {
    return dim::Certify(facts_, ParseClaims(text, &context_, false)->front());
  }

  DimContext context_;
  FactSet facts_{&context_};
};

TEST_F(Certificates, AProofIsReadableAndChecks) {
  Add("seq % 8 == 0");
  absl::StatusOr<Proof> proof = Certify("seq // 4 * 4 == seq");
  ASSERT_TRUE(proof.ok()) << proof.status();
  EXPECT_TRUE(check::Check(proof->problem, proof->certificate).ok());
  EXPECT_EQ(proof->facts, std::vector<FactId>{0});
  std::string text = check::ToString(proof->problem, proof->certificate);
  EXPECT_THAT(text, HasSubstr("(seq % 8) == 0  [fact 0]"));
  EXPECT_THAT(text, HasSubstr("(seq // 8)"));
}

TEST_F(Certificates, WhatIsNotProvedHasNone) {
  Add("seq <= 100");
  EXPECT_EQ(Certify("seq <= 99").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(Certificates, RequiredFactsCountOnlyIfAllowed) {
  Dim seq = *context_.Find("seq");
  ASSERT_TRUE(facts_.Add(seq <= Dim(5), Standing::kRequired, {}).ok());
  EXPECT_FALSE(dim::Certify(facts_, seq <= Dim(6)).ok());
  EXPECT_TRUE(dim::Certify(facts_, seq <= Dim(6), /*use_required=*/true).ok());
}

// One claim of each kind of reasoning, without bounds that a point-by-point search could use.
TEST_F(Certificates, UnboundedSizes) {
  Add("seq % 8 == 4, batch >= 2, seq >= 3*batch, k in {2, 4, 6}, k != 4");
  for (const char* claim :
       {"seq % 4 == 0", "seq % 2 != 1", "seq // 8 * 8 + 4 == seq", "(seq + 4) % 8 == 0",
        "batch * seq >= 8", "batch * batch >= 2 * batch", "seq // batch >= 3", "k % 2 == 0",
        "k in {2, 6, 7}", "min(seq, batch) == batch", "max(seq, 5) <= seq + 1", "seq >= 12",
        "ceildiv(seq, 8) * 8 == seq + 4", "seq * k % 8 != 3", "batch * (seq // batch) <= seq",
        "seq % batch < batch", "k * batch <= 6 * batch"}) {
    absl::StatusOr<Proof> proof = Certify(claim);
    if (proof.status().code() == absl::StatusCode::kNotFound) continue;  // beyond the prover
    EXPECT_TRUE(proof.ok()) << claim << ": " << proof.status();
  }
}

TEST(CertificateFuzz, EveryProvedAnswerHasACheckedCertificate) {
  RandomDims random(FuzzSeed(), RandomFacts::kSymbols);
  int64_t proved = 0, certified = 0, steps = 0, enumerated = 0;
  std::map<std::string, int> missing;
  for (int round = 0; round < FuzzRounds(120); ++round) {
    DimContext context;
    RandomFacts f(&random, &context);
    for (int query = 0; query < 100; ++query) {
      Claim c = random.Chance(65) ? f.LikelyClaim() : f.RandomClaim();
      if (f.facts().Prove(c).verdict != Verdict::kProved) continue;
      ++proved;
      absl::StatusOr<Proof> proof = Certify(f.facts(), c);
      if (!proof.ok()) {
        ++missing[std::string(proof.status().message()) + " from " + f.Text()];
        continue;
      }
      ++certified;
      steps += static_cast<int64_t>(proof->certificate.steps.size());
      enumerated += proof->certificate.steps.back().rule == Rule::kEnumerate;
      ASSERT_TRUE(check::Check(proof->problem, proof->certificate).ok());
      if (query % 10 != 0) continue;
      std::vector<Point> points = f.models();
      if (points.size() > 40) points.resize(40);
      ASSERT_EQ(Falsehood(proof->problem, proof->certificate, points), "");
    }
  }
  std::cout << certified << " of " << proved << " proved claims have a certificate, of "
            << static_cast<double>(steps) / static_cast<double>(std::max<int64_t>(certified, 1))
            << " steps on average; " << enumerated << " try all points" << std::endl;
  for (const auto& [text, count] : missing) std::cout << "no certificate: " << text << std::endl;
  EXPECT_GE(certified * 1000, proved * 998);
}

TEST(CertificateFuzz, WitnessesOfRefutedClaimsCheck) {
  RandomDims random(FuzzSeed(), RandomFacts::kSymbols);
  int refuted = 0, mutants = 0;
  for (int round = 0; round < FuzzRounds(150); ++round) {
    DimContext context;
    RandomFacts f(&random, &context);
    std::vector<FactId> ids;
    for (const Fact& fact : f.facts().facts()) ids.push_back(fact.id);
    for (int query = 0; query < 40; ++query) {
      Claim c = f.RandomClaim();
      Answer answer = f.facts().Prove(c);
      if (answer.verdict != Verdict::kRefuted) continue;
      ++refuted;
      Problem p = StateProblem(f.facts(), ids, c);
      ASSERT_TRUE(check::CheckWitness(p, answer.witness).ok()) << c.ToString();
      Point other = answer.witness;
      other[static_cast<size_t>(random.Int(0, 2))] += random.Int(-9, 9);
      bool breaks = RandomFacts::Truth(c, other) == 0;
      for (const Fact& fact : f.facts().facts()) {
        breaks = breaks && RandomFacts::Truth(fact.claim, other) == 1;
      }
      for (uint32_t s = 0; s < 3; ++s) {
        breaks = breaks && (other[s] >= 0 || std::count(p.negative.begin(), p.negative.end(), s));
      }
      ASSERT_EQ(check::CheckWitness(p, other).ok(), breaks) << c.ToString();
      mutants += !breaks;
    }
  }
  std::cout << refuted << " witnesses accepted, " << mutants << " wrong ones refused" << std::endl;
  EXPECT_GT(refuted, 300);
}

// The hint of an unknown answer is a claim about the same sizes; with it as a fact, the answer is
// proved, unless the hint contradicts the facts (then the claim is false).
TEST(CertificateFuzz, HintsDecide) {
  RandomDims random(FuzzSeed(), RandomFacts::kSymbols);
  int unknown = 0, decided = 0, contradicted = 0;
  for (int round = 0; round < FuzzRounds(250); ++round) {
    DimContext context;
    RandomFacts f(&random, &context);
    for (int query = 0; query < 40; ++query) {
      Claim c = random.Chance(65) ? f.LikelyClaim() : f.RandomClaim();
      Answer answer = f.facts().Prove(c);
      if (answer.verdict != Verdict::kUnknown) continue;
      ++unknown;
      absl::StatusOr<std::vector<Claim>> hint = ParseClaims(answer.hint, &context, false);
      ASSERT_TRUE(hint.ok()) << answer.hint << ": " << hint.status();
      FactSet more = f.facts();
      bool added = true;
      for (const Claim& h : *hint) {
        added = added && more.Add(h, Standing::kDeclared, {"hint", ""}).ok();
      }
      contradicted += !added;
      if (added) decided += more.Prove(c).verdict != Verdict::kUnknown;
    }
  }
  std::cout << unknown << " unknown: the hint decides " << decided << ", contradicts the facts "
            << contradicted << std::endl;
  EXPECT_GE((decided + contradicted) * 10, unknown * 8);
}

TEST(Checker, RefusesWhatNeedsAPremiseThatIsMissing) {
  Problem p;
  p.atoms = {{AtomKind::kSymbol, 0, {}, {}}, {AtomKind::kSymbol, 1, {}, {}}};
  p.atoms.push_back({AtomKind::kFloorDiv, 0, check::Variable(0), check::Variable(1)});
  check::Poly rest = check::Variable(0);  // a - b * (a // b)
  rest[{1, 2}] = -1;
  p.claim = {Sense::kGe, rest, {}};
  Certificate c;
  c.steps.push_back({.rule = Rule::kQuotient, .index = 2, .conclusion = p.claim});
  EXPECT_THAT(std::string(check::Check(p, c).message()), HasSubstr("step 0"));
  check::Poly positive = check::Variable(1);
  positive[{}] = -1;
  p.facts.push_back({Sense::kGe, positive, {}});
  c.steps.insert(c.steps.begin(), {.rule = Rule::kFact, .conclusion = p.facts[0]});
  EXPECT_FALSE(check::Check(p, c).ok());
  c.steps[1].premises = {0};
  EXPECT_TRUE(check::Check(p, c).ok()) << check::Check(p, c);
}

TEST(Checker, AnOpenAssumptionIsNoProof) {
  Problem p;
  p.claim = {Sense::kFalse, {}, {}};
  Certificate c;
  c.steps.push_back({.rule = Rule::kAssume, .conclusion = p.claim});
  EXPECT_THAT(std::string(check::Check(p, c).message()), HasSubstr("assumption"));
  EXPECT_THAT(std::string(check::Check(p, {}).message()), HasSubstr("no steps"));
}

}  // namespace
}  // namespace lathe::dim
