// The checker accepts nothing false: not mutated certificates, nor random ones, nor steps of proofs
// made stronger.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "certificate_reading.h"
#include "ir/dim/certificate.h"
#include "ir/dim/certificate_search.h"
#include "ir/dim/check/check.h"
#include "ir/dim/check/poly.h"
#include "random_facts.h"

namespace lathe::dim {
namespace {

// By either of the two ways to a proof.
absl::StatusOr<Proof> CertifyEitherWay(RandomDims* random, const FactSet& facts, const Claim& c) {
  if (random->Chance(50)) return Certify(facts, c);
  Answer answer = facts.Prove(c);
  if (answer.verdict != Verdict::kProved) return absl::NotFoundError("not proved");
  Proof proof = {answer.used, StateProblem(facts, answer.used, c), {}};
  ProofWriter writer(proof.problem);
  int last = SearchForProof(proof.problem, &writer);
  if (last < 0) return absl::UnimplementedError("no proof");
  proof.certificate = writer.Finish(last);
  absl::Status checked = check::Check(proof.problem, proof.certificate);
  EXPECT_TRUE(checked.ok()) << checked;
  return proof;
}

// A certificate with one thing changed.
class Mutator {
 public:
  Mutator(RandomDims* random, Problem* problem, Certificate* c)
      : random_(*random), problem_(*problem), c_(*c) {}

  // What was changed; empty if nothing could be.
  std::string Mutate() {
    if (c_.steps.empty()) return "";
    Step& s = c_.steps[Pick(c_.steps.size())];
    switch (random_.Int(0, 11)) {
      case 0:
        if (s.multipliers.empty()) return "";
        return Change(&s.multipliers[Pick(s.multipliers.size())]) ? "multiplier" : "";
      case 1: {
        if (s.premises.empty()) return "";
        int32_t& p = s.premises[Pick(s.premises.size())];
        int32_t old = p;
        p = static_cast<int32_t>(random_.Int(-1, static_cast<int64_t>(c_.steps.size())));
        return p != old ? "premise" : "";
      }
      case 2:
        return Change(&s.conclusion.e) ? "constant or coefficient" : "";
      case 3: {
        Rule old = s.rule;
        s.rule = static_cast<Rule>(random_.Int(0, kRules - 1));
        return s.rule != old ? "rule" : "";
      }
      case 4: {
        size_t i = Pick(c_.steps.size());
        c_.steps.erase(c_.steps.begin() + static_cast<std::ptrdiff_t>(i));
        for (Step& later : c_.steps) {
          for (int32_t& p : later.premises) p -= p > static_cast<int32_t>(i);
        }
        return "step removed";
      }
      case 5:
        if (!Change(&problem_.claim.e)) return "";
        return "claim";
      case 6:
        problem_.claim.sense = static_cast<Sense>(random_.Int(0, 4));
        c_.steps.back().conclusion.sense = problem_.claim.sense;
        return "claim and conclusion";
      case 7: {
        if (problem_.facts.empty()) return "";
        return Change(&problem_.facts[Pick(problem_.facts.size())].e) ? "fact" : "";
      }
      case 8: {
        Int old = s.divisor;
        s.divisor = random_.Int(-1, 9);
        return s.divisor != old ? "divisor" : "";
      }
      case 9: {
        std::vector<Atom>& atoms = random_.Chance(50) ? problem_.atoms : c_.atoms;
        if (atoms.empty()) return "";
        Atom& a = atoms[Pick(atoms.size())];
        if (a.kind == AtomKind::kSymbol) return "";
        return Change(random_.Chance(70) ? &a.b : &a.a) ? "modulus or operand" : "";
      }
      case 10: {
        int32_t& x = random_.Chance(60) ? s.index : s.other;
        int32_t old = x;
        x = static_cast<int32_t>(random_.Int(-1, 8));
        return x != old ? "index" : "";
      }
      default: {
        s.conclusion.sense = static_cast<Sense>(random_.Int(0, 4));
        if (!s.conclusion.set.empty()) s.conclusion.set[0] += random_.Int(-1, 1);
        return "conclusion";
      }
    }
  }

 private:
  size_t Pick(size_t n) { return static_cast<size_t>(random_.Int(0, static_cast<int64_t>(n) - 1)); }

  // One coefficient becomes another one.
  bool Change(check::Poly* e) {
    if (e->empty() || random_.Chance(40)) {
      Int& constant = (*e)[{}];
      constant += random_.Chance(50) ? 1 : -1;
      if (constant == 0) e->erase(check::Mono());
      return true;
    }
    auto it = e->begin();
    std::advance(it, static_cast<std::ptrdiff_t>(Pick(e->size())));
    it->second += random_.Chance(50) ? 1 : random_.Chance(50) ? -1 : -2 * it->second;
    if (it->second == 0) e->erase(it);
    return true;
  }

  RandomDims& random_;
  Problem& problem_;
  Certificate& c_;
};

bool SameText(const Proof& proof, const Problem& problem, const Certificate& c) {
  return check::ToString(proof.problem, proof.certificate) == check::ToString(problem, c) &&
         check::ToString(proof.problem, c, proof.problem.claim) ==
             check::ToString(problem, c, problem.claim);
}

// A mutant that the checker still accepts must be a proof: each of its steps is true in every model
// of its own problem. All others are rejected.
TEST(CertificateFuzz, MutatedCertificatesAreRejectedUnlessStillTrue) {
  RandomDims random(FuzzSeed(), RandomFacts::kSymbols);
  const std::vector<Point> box = Box(-6, 6);
  std::map<std::string, int> rejected, accepted;
  int count = 0;
  while (count < FuzzRounds(3000)) {
    DimContext context;
    RandomFacts f(&random, &context);
    for (int query = 0; query < 12; ++query) {
      Claim c = random.Chance(65) ? f.LikelyClaim() : f.RandomClaim();
      absl::StatusOr<Proof> proof = CertifyEitherWay(&random, f.facts(), c);
      if (!proof.ok()) continue;
      for (int i = 0; i < 6; ++i) {
        Problem problem = proof->problem;
        Certificate mutant = proof->certificate;
        std::string what = Mutator(&random, &problem, &mutant).Mutate();
        if (what.empty() || SameText(*proof, problem, mutant)) continue;
        if (!check::Check(problem, mutant).ok()) {
          ++rejected[what];
          ++count;
          continue;
        }
        ++accepted[what];
        std::vector<Point> points;
        for (int n = 0; n < 150; ++n) {
          points.push_back(
              box[static_cast<size_t>(random.Int(0, static_cast<int64_t>(box.size()) - 1))]);
        }
        ASSERT_EQ(Falsehood(problem, mutant, points), "") << what;
      }
    }
  }
  std::cout << count << " mutants rejected:";
  for (const auto& [what, n] : rejected) std::cout << " " << what << " " << n << ";";
  std::cout << "\nstill proofs:";
  for (const auto& [what, n] : accepted) std::cout << " " << what << " " << n << ";";
  std::cout << std::endl;
  EXPECT_GE(count, 1000);
}

// Certificates of nonsense: the checker survives, and what it accepts is true.
class Nonsense {
 public:
  explicit Nonsense(RandomDims* random) : random_(*random) {}

  Problem MakeProblem() {
    Problem p;
    int atoms = static_cast<int>(random_.Int(0, 7));
    for (int i = 0; i < atoms; ++i) p.atoms.push_back(MakeAtom(i));
    int facts = static_cast<int>(random_.Int(0, 3));
    for (int i = 0; i < facts; ++i) p.facts.push_back(MakeStatement(atoms));
    for (uint32_t s = 0; s < 3; ++s) {
      if (random_.Chance(40)) p.negative.push_back(s);
    }
    p.claim = MakeStatement(atoms);
    return p;
  }

  Certificate MakeCertificate(const Problem& p) {
    Certificate c;
    int atoms = static_cast<int>(p.atoms.size());
    for (int more = static_cast<int>(random_.Int(0, 2)); more > 0; --more) {
      c.atoms.push_back(MakeAtom(atoms++));
    }
    int steps = static_cast<int>(random_.Int(0, 9));
    for (int i = 0; i < steps; ++i) {
      Step s;
      s.rule = static_cast<Rule>(random_.Int(0, random_.Chance(2) ? 40 : kRules - 1));
      for (int k = static_cast<int>(random_.Int(0, 5)); k > 0; --k) {
        s.premises.push_back(Index(i));
        s.multipliers.push_back(MakePoly(atoms));
      }
      s.divisor = random_.Int(-1, 4);
      s.index = Index(atoms);
      s.other = Index(atoms);
      s.conclusion = MakeStatement(atoms);
      c.steps.push_back(std::move(s));
    }
    if (steps > 0 && random_.Chance(80)) c.steps.back().conclusion = p.claim;
    return c;
  }

  Statement MakeStatement(int atoms) {
    Statement s = {
        static_cast<Sense>(random_.Int(0, random_.Chance(2) ? 9 : 4)), MakePoly(atoms), {}};
    for (int k = static_cast<int>(random_.Int(0, 3)); k > 0; --k) {
      s.set.push_back(random_.Int(-4, 4));
    }
    return s;
  }

  check::Poly MakePoly(int atoms) {
    check::Poly e;
    for (int k = static_cast<int>(random_.Int(0, 3)); k > 0; --k) {
      check::Mono m;
      for (int d = static_cast<int>(random_.Int(0, 2)); d > 0; --d) m.push_back(Index(atoms));
      if (!random_.Chance(2)) std::sort(m.begin(), m.end());
      Int coef = random_.Int(-3, 3);
      if (random_.Chance(2)) coef = (Int{1} << 126) * random_.Int(-2, 1);
      if (coef != 0 || random_.Chance(2)) e[m] = coef;
    }
    return e;
  }

 private:
  int32_t Index(int count) {
    if (random_.Chance(1)) return static_cast<int32_t>(random_.Int(INT32_MIN, INT32_MAX));
    return static_cast<int32_t>(random_.Int(count > 0 ? 0 : -1, std::max(0, count - 1)));
  }

  Atom MakeAtom(int earlier) {
    Atom a;
    a.kind = static_cast<AtomKind>(random_.Int(0, random_.Chance(2) ? 9 : 6));
    a.symbol =
        static_cast<uint32_t>(random_.Chance(2) ? random_.Int(0, UINT32_MAX) : random_.Int(0, 2));
    if (earlier > 0 || random_.Chance(5)) a.a = MakePoly(earlier);
    if (random_.Chance(50)) {
      a.b = check::Constant(random_.Int(-2, 5));
    } else if (earlier > 0) {
      a.b = MakePoly(earlier);
    }
    return a;
  }

  RandomDims& random_;
};

TEST(CertificateFuzz, NonsenseIsSurvivedAndOnlyTruthAccepted) {
  RandomDims random(FuzzSeed(), RandomFacts::kSymbols);
  const std::vector<Point> box = Box(-3, 3);
  Nonsense nonsense(&random);
  int accepted = 0;
  for (int round = 0; round < FuzzRounds(60000); ++round) {
    Problem p = nonsense.MakeProblem();
    Certificate c = nonsense.MakeCertificate(p);
    bool ok = check::Check(p, c).ok();
    check::CheckWitness(p, {1, -2, 3}).IgnoreError();
    ASSERT_LT(check::ToString(p, c).size(), size_t{1} << 24);
    if (!ok) continue;
    ++accepted;
    ASSERT_EQ(Falsehood(p, c, box), "");
  }
  std::cout << accepted << " accepted" << std::endl;
  EXPECT_GT(accepted, 0);
}

// Steps that look right: a random rule on random earlier steps, sometimes off by a little. Whatever
// the checker accepts must be true.
TEST(CertificateFuzz, AcceptedStepsAreTrue) {
  RandomDims random(FuzzSeed(), RandomFacts::kSymbols);
  const std::vector<Point> box = Box(-4, 4);
  Nonsense nonsense(&random);
  int64_t accepted = 0, rejected = 0, rules[kRules] = {};
  for (int round = 0; round < FuzzRounds(700); ++round) {
    DimContext context;
    RandomFacts f(&random, &context);
    std::vector<FactId> ids;
    for (const Fact& fact : f.facts().facts()) ids.push_back(fact.id);
    Problem p = StateProblem(f.facts(), ids, f.RandomClaim());
    ProofWriter w(p);
    int atoms = w.num_atoms();
    int made = 0;
    auto pick = [&] { return static_cast<int>(random.Int(0, std::max(0, made - 1))); };
    auto statement = [&] { return nonsense.MakeStatement(std::min(atoms, 4)); };
    for (size_t i = 0; i < p.facts.size(); ++i) made = w.Fact(static_cast<int32_t>(i)) + 1;
    for (int32_t x = 0; x < atoms; ++x) {
      const Atom& a = w.AtomOf(x);
      int step = a.kind == AtomKind::kSymbol                            ? w.NonNegative(x)
                 : a.kind == AtomKind::kFloorDiv                        ? w.Quotient(x, x % 2)
                 : a.kind == AtomKind::kMin || a.kind == AtomKind::kMax ? w.Bound(x, x % 2)
                                                                        : w.Definition(x);
      made = std::max(made, step + 1);
    }
    for (int tries = 0; tries < 25; ++tries) {
      int step = -1;
      auto sense = [&](int s) { return w.Of(s).sense; };
      int a = made > 0 ? pick() : -1, b = made > 0 ? pick() : -1;
      if (a < 0) continue;
      bool both = sense(a) == Sense::kGe && sense(b) == Sense::kGe;
      bool linear = (both || sense(a) == Sense::kEq) && sense(b) <= Sense::kEq;
      switch (random.Int(0, 7)) {
        case 0:
        case 1:
          if (linear) {
            step = w.Combine(
                {{check::Constant(random.Int(0, 3)), a}, {check::Constant(random.Int(1, 3)), b}});
          }
          break;
        case 2:
          if (both) step = w.Multiply(a, b);
          break;
        case 3:
          step = w.Assume(statement());
          break;
        case 4:
          step = w.Square(nonsense.MakePoly(std::min(atoms, 4)));
          break;
        case 5: {
          if (sense(a) != Sense::kFalse) break;
          for (int s = 0; s < made; ++s) {
            if (!w.RestsOn(a, s)) continue;
            Sense assumed = w.Of(s).sense;
            if (assumed != Sense::kIn && assumed != Sense::kFalse) step = w.Contradiction(s, a);
          }
          break;
        }
        case 6: {  // all points of a small box, with an assumption
          std::vector<int32_t> premises;
          for (int s = 0; s < made; ++s) {
            if (!random.Chance(30)) premises.push_back(s);
          }
          step = w.Enumerate(premises, statement());
          break;
        }
        default: {  // cases of which one is absurd
          Statement d = statement();
          d.sense = Sense::kGe;
          check::Poly opposite;
          check::Add(d.e, -1, &opposite);
          check::Add(check::Constant(1), -1, &opposite);
          int x = w.Assume(d), y = w.Assume({Sense::kGe, opposite, {}});
          step = w.Cases(-1, {{x, a}, {y, a}});
        }
      }
      if (step < 0) continue;
      Certificate c = w.Finish(step);
      if (random.Chance(40)) {  // off by a little
        Statement& s = c.steps.back().conclusion;
        Int& constant = s.e[{}];
        constant += random.Int(-1, 1);
        if (constant == 0) s.e.erase(check::Mono());
        if (random.Chance(20)) s.sense = static_cast<Sense>(random.Int(0, 4));
      }
      // An assumption that is left open is no proof; a claim under it is one of its own.
      Problem own = p;
      own.claim = c.steps.back().conclusion;
      if (check::Check(own, c).ok()) {
        ++accepted;
        ++rules[static_cast<size_t>(c.steps.back().rule)];
        ASSERT_EQ(Falsehood(own, c, box), "") << f.Text();
      } else {
        ++rejected;
      }
      made = std::max(made, step + 1);
      // Only what holds is built upon.
      Certificate whole = w.Finish(step);
      own.claim = whole.steps.back().conclusion;
      std::string error(check::Check(own, whole).message());
      if (!error.empty() && error != "the last step rests on an assumption") break;
    }
  }
  std::cout << accepted << " accepted, " << rejected << " rejected; by rule:";
  for (int64_t n : rules) std::cout << " " << n;
  std::cout << std::endl;
  EXPECT_GT(accepted, 1000);
}

// Every step of real proofs, as it is and with a conclusion that is off by a little.
TEST(CertificateFuzz, StepsOfProofsMadeStrongerAreRejectedUnlessTrue) {
  RandomDims random(FuzzSeed(), RandomFacts::kSymbols);
  const std::vector<Point> box = Box(-5, 5);
  int64_t accepted[kRules] = {}, rejected[kRules] = {}, certificates = 0;
  while (certificates < FuzzRounds(1500)) {
    DimContext context;
    RandomFacts f(&random, &context);
    for (int query = 0; query < 12; ++query) {
      absl::StatusOr<Proof> proof = CertifyEitherWay(
          &random, f.facts(), random.Chance(65) ? f.LikelyClaim() : f.RandomClaim());
      if (!proof.ok()) continue;
      ++certificates;
      const std::vector<Step>& steps = proof->certificate.steps;
      for (size_t i = 0; i < steps.size(); ++i) {
        Problem p = proof->problem;
        Certificate c = proof->certificate;
        c.steps.resize(i + 1);
        Statement& s = c.steps.back().conclusion;
        Int& constant = s.e[{}];
        constant += random.Int(-1, 1);
        if (constant == 0) s.e.erase(check::Mono());
        if (random.Chance(5)) s.sense = static_cast<Sense>(random.Int(0, 4));
        if (random.Chance(10) && !s.set.empty()) s.set.pop_back();
        p.claim = s;
        size_t rule = static_cast<size_t>(steps[i].rule);
        bool ok = check::Check(p, c).ok();
        ++(ok ? accepted : rejected)[rule];
        if (!ok) continue;
        std::vector<Point> points;
        for (int n = 0; n < 40; ++n) {
          points.push_back(
              box[static_cast<size_t>(random.Int(0, static_cast<int64_t>(box.size()) - 1))]);
        }
        c.steps.erase(c.steps.begin(), c.steps.end() - 1);
        c.steps[0].premises.clear();
        ASSERT_EQ(Falsehood(p, c, points), "") << check::ToString(p, proof->certificate);
      }
    }
  }
  std::cout << "accepted and rejected by rule:";
  for (int r = 0; r < kRules; ++r) std::cout << " " << accepted[r] << "/" << rejected[r];
  std::cout << std::endl;
}

}  // namespace
}  // namespace lathe::dim
