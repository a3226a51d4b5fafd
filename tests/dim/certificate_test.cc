// Proof certificates: every proved answer has one, the checker accepts it, and it accepts nothing
// false: not mutated certificates, nor random ones.
#include "ir/dim/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "ir/dim/certificate_search.h"
#include "ir/dim/check/check.h"
#include "ir/dim/check/poly.h"
#include "random_facts.h"

namespace lathe::dim {
namespace {

using check::Atom;
using check::AtomKind;
using check::Certificate;
using check::Int;
using check::Problem;
using check::Rule;
using check::Sense;
using check::Statement;
using check::Step;
using testing::HasSubstr;

using Point = std::vector<int64_t>;

constexpr int kRules = static_cast<int>(Rule::kEnumerate) + 1;

// Values by the book, with one of several readings of x // 0. Independent of the checker's.
class Reading {
 public:
  Reading(const Problem& problem, const Certificate& c, const Point& point, int division)
      : defined(problem.atoms.size() + c.atoms.size(), true) {
    for (const std::vector<Atom>* list : {&problem.atoms, &c.atoms}) {
      for (const Atom& a : *list) values_.push_back(Value(a, point, division));
    }
  }

  Int Value(const check::Poly& e) const {
    Int sum = 0;
    for (const auto& [mono, coef] : e) {
      Int product = coef;
      for (int32_t x : mono) product = Times(product, values_[static_cast<size_t>(x)]);
      sum = Plus(sum, product);
    }
    return sum;
  }

  bool Holds(const Statement& s) const {
    if (s.sense == Sense::kFalse) return false;
    Int v = Value(s.e);
    return s.sense == Sense::kGe   ? v >= 0
           : s.sense == Sense::kEq ? v == 0
           : s.sense == Sense::kNe ? v != 0
                                   : std::find(s.set.begin(), s.set.end(), v) != s.set.end();
  }

  bool IsDefined(const check::Poly& e) const {
    for (const auto& [mono, coef] : e) {
      for (int32_t x : mono) {
        if (!defined[static_cast<size_t>(x)]) return false;
      }
    }
    return true;
  }

  std::vector<bool> defined;      // by atom
  mutable bool overflow = false;  // some value passes 128 bits: nothing can be said

 private:
  Int Times(Int a, Int b) const {
    overflow |= __builtin_mul_overflow(a, b, &a);
    return a;
  }
  Int Plus(Int a, Int b) const {
    overflow |= __builtin_add_overflow(a, b, &a);
    return a;
  }

  Int Value(const Atom& atom, const Point& point, int division) {
    size_t self = values_.size();
    if (atom.kind == AtomKind::kSymbol) return point[atom.symbol];
    Int a = Value(atom.a), b = Value(atom.b);
    defined[self] = IsDefined(atom.a) && IsDefined(atom.b);
    auto divide = [&](Int x) {
      if (b != 0) return x / b - (x % b != 0 && (x < 0) != (b < 0));
      defined[self] = false;
      return division == 0 ? Int{0} : division == 1 ? Int{5} : Plus(1, Times(-3, x));
    };
    switch (atom.kind) {
      case AtomKind::kFloorDiv:
        return divide(a);
      case AtomKind::kMod:
        return Plus(a, Times(Times(-1, b), divide(a)));
      case AtomKind::kCeilDiv:
        return Times(-1, divide(Times(-1, a)));
      case AtomKind::kMin:
        return std::min(a, b);
      case AtomKind::kMax:
        return std::max(a, b);
      default:
        return Times(a, b);
    }
  }

  std::vector<Int> values_;
};

// Empty if every step of an accepted certificate holds at the points that are models, under its
// assumptions; otherwise what is wrong.
std::string Falsehood(const Problem& problem, const Certificate& c,
                      const std::vector<Point>& points) {
  std::vector<std::set<int32_t>> open(c.steps.size());
  for (size_t i = 0; i < c.steps.size(); ++i) {
    const Step& s = c.steps[i];
    if (s.rule == Rule::kAssume) open[i].insert(static_cast<int32_t>(i));
    bool discharges = s.rule == Rule::kCases || s.rule == Rule::kContradiction;
    size_t first = s.rule == Rule::kCases ? s.premises.size() % 2 : 0;
    for (size_t k = 0; k < s.premises.size(); ++k) {
      bool is_assumption = discharges && k >= first && (k - first) % 2 == 0;
      if (is_assumption) continue;
      for (int32_t a : open[static_cast<size_t>(s.premises[k])]) {
        if (!(discharges && k > first && a == s.premises[k - 1])) open[i].insert(a);
      }
    }
  }
  for (const Point& point : points) {
    for (uint32_t s = 0; s < point.size(); ++s) {
      bool may = std::count(problem.negative.begin(), problem.negative.end(), s) > 0;
      if (point[s] < 0 && !may) goto next;
    }
    for (int division : {0, 1, 2}) {
      Reading reading(problem, c, point, division);
      for (const Statement& f : problem.facts) {
        if (!reading.IsDefined(f.e) || !reading.Holds(f)) goto next;
      }
      for (size_t i = 0; i < c.steps.size(); ++i) {
        bool assumed = std::all_of(open[i].begin(), open[i].end(), [&](int32_t a) {
          return reading.Holds(c.steps[static_cast<size_t>(a)].conclusion);
        });
        if (!assumed || reading.Holds(c.steps[i].conclusion) || reading.overflow) continue;
        return "step " + std::to_string(i) + " doesn't hold at " + testing::PrintToString(point) +
               ":\n" + check::ToString(problem, c);
      }
    }
  next:;
  }
  return "";
}

std::vector<Point> Box(int64_t low, int64_t high) {
  std::vector<Point> points;
  for (int64_t a = low; a <= high; ++a) {
    for (int64_t b = low; b <= high; ++b) {
      for (int64_t c = low; c <= high; ++c) points.push_back({a, b, c});
    }
  }
  return points;
}

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
