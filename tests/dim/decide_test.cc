// What the theory decides without trying out domains, measured against Z3: facts and claims over up
// to three symbols, with bounds to 2^40 and without. Z3 says which questions are decidable; no
// answer may contradict it. The table that is printed stands in docs/shapes.md.
#include <gtest/gtest.h>
#include <z3.h>

#include <iomanip>

#include "ir/dim/facts.h"
#include "random_dims.h"

namespace lathe::dim {
namespace {

enum class Kind { kBoundedLinear, kUnboundedLinear, kDivision, kMinMax, kProducts };

const char* Name(Kind kind) {
  switch (kind) {
    case Kind::kBoundedLinear:
      return "linear, bounds to 2^40";
    case Kind::kUnboundedLinear:
      return "linear, unbounded";
    case Kind::kDivision:
      return "// and % by constants";
    case Kind::kMinMax:
      return "min and max";
    case Kind::kProducts:
      return "products";
  }
  return "";
}

// One question to Z3: facts, and whether the claim can be broken.
class Oracle {
 public:
  explicit Oracle(unsigned steps) {
    Z3_config config = Z3_mk_config();
    context_ = Z3_mk_context(config);
    Z3_del_config(config);
    integer_ = Z3_mk_int_sort(context_);
    solver_ = Z3_mk_simple_solver(context_);
    Z3_solver_inc_ref(context_, solver_);
    Z3_params params = Z3_mk_params(context_);
    Z3_params_inc_ref(context_, params);
    // Steps, not time: the verdicts repeat. But a step over polynomials may take minutes.
    constexpr unsigned kMostMs = 10'000;
    Z3_params_set_uint(context_, params, Z3_mk_string_symbol(context_, "rlimit"), steps);
    Z3_params_set_uint(context_, params, Z3_mk_string_symbol(context_, "timeout"), kMostMs);
    Z3_solver_set_params(context_, solver_, params);
    Z3_params_dec_ref(context_, params);
  }
  ~Oracle() {
    Z3_solver_dec_ref(context_, solver_);
    Z3_del_context(context_);
  }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  void Reset() { Z3_solver_reset(context_, solver_); }
  void Assert(const Claim& c, bool truth) {
    Z3_ast a = truth ? Of(c) : Z3_mk_not(context_, Of(c));
    Z3_solver_assert(context_, solver_, a);
  }
  void Within(SymbolId s, int64_t low, int64_t high) {
    Z3_solver_assert(context_, solver_, Z3_mk_ge(context_, Variable(s), Number(low)));
    Z3_solver_assert(context_, solver_, Z3_mk_le(context_, Variable(s), Number(high)));
  }
  void NotNegative(SymbolId s) {
    Z3_solver_assert(context_, solver_, Z3_mk_ge(context_, Variable(s), Number(0)));
  }
  Z3_lbool Check() { return Z3_solver_check(context_, solver_); }

 private:
  Z3_ast Number(int64_t v) { return Z3_mk_int64(context_, v, integer_); }
  Z3_ast Variable(SymbolId s) {
    return Z3_mk_const(context_, Z3_mk_int_symbol(context_, static_cast<int>(s)), integer_);
  }

  // Divisors are constants >= 2, for which Z3's div and mod are `//` and `%`.
  Z3_ast Of(Dim d) {
    Expr e = Decompose(d);
    if (e.kind == ExprKind::kConstant) return Number(e.value);
    if (e.kind == ExprKind::kSymbol) return Variable(e.symbol);
    std::vector<Z3_ast> x;
    for (Dim part : e.operands) x.push_back(Of(part));
    unsigned n = static_cast<unsigned>(x.size());
    switch (e.kind) {
      case ExprKind::kAdd:
        return Z3_mk_add(context_, n, x.data());
      case ExprKind::kMul:
        return Z3_mk_mul(context_, n, x.data());
      case ExprKind::kFloorDiv:
        return Z3_mk_div(context_, x[0], x[1]);
      case ExprKind::kMod:
        return Z3_mk_mod(context_, x[0], x[1]);
      case ExprKind::kMin:
        return Z3_mk_ite(context_, Z3_mk_le(context_, x[0], x[1]), x[0], x[1]);
      case ExprKind::kMax:
        return Z3_mk_ite(context_, Z3_mk_le(context_, x[0], x[1]), x[1], x[0]);
      default:
        ADD_FAILURE() << "no translation of " << d.ToString();
        return x[0];
    }
  }

  Z3_ast Of(const Claim& c) {
    Z3_ast a = Of(c.lhs), b = Of(c.rhs);
    switch (c.relation) {
      case Relation::kEq:
        return Z3_mk_eq(context_, a, b);
      case Relation::kNe:
        return Z3_mk_not(context_, Z3_mk_eq(context_, a, b));
      case Relation::kLt:
        return Z3_mk_lt(context_, a, b);
      default:
        return Z3_mk_le(context_, a, b);
    }
  }

  Z3_context context_;
  Z3_sort integer_;
  Z3_solver solver_;
};

class Questions {
 public:
  Questions(uint64_t seed, Kind kind) : random_(seed, 3), kind_(kind) {}

  // Consistent facts: they hold for hidden values.
  void MakeFacts(DimContext* context, FactSet* facts) {
    symbols_.clear();
    hidden_.clear();
    shared_.clear();
    int count = static_cast<int>(random_.Int(1, 3));
    for (int i = 0; i < count; ++i) {
      symbols_.push_back(context->Symbol(std::string(1, static_cast<char>('a' + i))));
      bool is_signed = random_.Chance(30);
      int64_t magnitude = int64_t{1} << random_.Int(2, 40);
      if (kind_ == Kind::kProducts) magnitude = int64_t{1} << random_.Int(2, 20);
      hidden_.push_back(random_.Int(is_signed ? -magnitude : 0, magnitude));
      int64_t low =
          is_signed ? hidden_.back() - random_.Int(1, magnitude) : random_.Int(0, hidden_.back());
      if (is_signed) low = std::min<int64_t>(low, -1);
      bool bounded =
          kind_ != Kind::kUnboundedLinear && (kind_ == Kind::kBoundedLinear || random_.Chance(70));
      if (is_signed && !bounded) low = -(int64_t{1} << 55);
      if (is_signed || bounded) Add(facts, Dim(low) <= symbols_.back());
      if (bounded) Add(facts, symbols_.back() <= Dim(hidden_.back() + random_.Int(0, magnitude)));
    }
    int more = static_cast<int>(random_.Int(1, 4));
    for (int i = 0; i < more; ++i) {
      Dim e = Expression();
      shared_.push_back(e);
      int64_t v = *Evaluate(e, hidden_);
      int64_t slack = random_.Chance(50) ? 0 : random_.Int(0, 40);
      switch (random_.Int(0, 5)) {
        case 0:
          Add(facts, Eq(e, Dim(v)));
          break;
        case 1:
          Add(facts, Ne(e, Dim(v + 1 + slack)));
          break;
        case 2:
          if (kind_ == Kind::kDivision) {
            int64_t m = random_.Int(2, 16);
            Add(facts, Eq(Mod(e, Dim(m)), *Evaluate(Mod(e, Dim(m)), hidden_)));
            break;
          }
          [[fallthrough]];
        case 3:
          Add(facts, Dim(v - slack) <= e);
          break;
        default: {
          Dim f = Expression();
          int64_t w = *Evaluate(f, hidden_);
          Add(facts, v <= w ? e <= f : f <= e);
          shared_.push_back(f);
        }
      }
    }
  }

  Claim MakeClaim() {
    if (random_.Chance(60)) return LikelyClaim();
    Dim e = Expression(), f = random_.Chance(50) ? Expression() : Dim(random_.Int(-100, 1000));
    return Compare(e, f);
  }

 private:
  void Add(FactSet* facts, const Claim& c) {
    if (c.lhs.is_constant() && c.rhs.is_constant()) return;
    absl::StatusOr<FactId> id = facts->Add(c, Standing::kDeclared, {});
    ASSERT_TRUE(id.ok()) << id.status();
  }

  Dim Pick() {
    return symbols_[static_cast<size_t>(random_.Int(0, static_cast<int64_t>(symbols_.size()) - 1))];
  }

  Dim Sum() {
    Dim e = random_.Chance(50) ? 0 : random_.Int(-20, 20);
    for (Dim s : symbols_) {
      if (random_.Chance(65)) e += Dim(random_.Int(-6, 8)) * s;
    }
    return e == Dim(0) ? Pick() : e;
  }

  Dim Expression() {
    Dim e = Sum();
    switch (kind_) {
      case Kind::kDivision:
        for (int i = static_cast<int>(random_.Int(0, 2)); i > 0; --i) {
          Dim c = random_.Int(2, 16);
          e = random_.Chance(50) ? FloorDiv(e, c) : Mod(e, c);
          if (random_.Chance(40)) e = e * Dim(random_.Int(1, 8)) + Sum();
        }
        break;
      case Kind::kMinMax:
        if (random_.Chance(70)) e = random_.Chance(50) ? Min(e, Sum()) : Max(e, Sum());
        if (random_.Chance(40)) e = Dim(random_.Int(-3, 3)) * e + Sum();
        break;
      case Kind::kProducts:
        if (random_.Chance(70)) e += Dim(random_.Int(-4, 4)) * Pick() * Pick();
        break;
      default:
        break;
    }
    return e == Dim(0) ? Pick() : e;
  }

  Claim Compare(Dim e, Dim f) {
    switch (random_.Int(0, 6)) {
      case 0:
        return Eq(e, f);
      case 1:
        return Ne(e, f);
      case 2:
        if (kind_ == Kind::kDivision) return Eq(Mod(e, Dim(random_.Int(2, 8))), 0);
        [[fallthrough]];
      case 3:
        return f <= e;
      default:
        return e <= f;
    }
  }

  // A claim that tends to follow: from sums of the facts' expressions, or an identity.
  Claim LikelyClaim() {
    Dim e = 0;
    for (Dim s : shared_) {
      if (random_.Chance(50)) e += Dim(random_.Int(1, 3)) * s;
    }
    if (e == Dim(0) || random_.Chance(30)) e = Expression();
    int64_t v = *Evaluate(e, hidden_), slack = random_.Chance(30) ? 0 : random_.Int(0, 60);
    if (kind_ == Kind::kDivision && random_.Chance(40)) {
      Dim c = random_.Int(2, 12);
      switch (random_.Int(0, 3)) {
        case 0:
          return FloorDiv(e, c) * c + Mod(e, c) <= e;
        case 1:
          return FloorDiv(e + Dim(slack), c) * c <= e + Dim(slack);
        case 2:
          return FloorDiv(e, c) <= FloorDiv(e + Dim(slack), c);
        default:
          return e <= CeilDiv(e, c) * c;
      }
    }
    if (kind_ == Kind::kMinMax && random_.Chance(40)) {
      Dim f = Sum();
      return random_.Chance(50) ? Min(e, f) + Max(e, f) <= e + f + Dim(slack)
                                : Min(e, f) <= Max(e - Dim(slack), f);
    }
    return random_.Chance(20)   ? Ne(e, Dim(v + 1 + slack))
           : random_.Chance(50) ? Dim(v - slack) <= e
                                : e <= Dim(v + slack);
  }

  RandomDims random_;
  Kind kind_;
  std::vector<Dim> symbols_, shared_;
  std::vector<int64_t> hidden_;
};

class DecideTest : public testing::TestWithParam<Kind> {};

TEST_P(DecideTest, AgreesWithZ3AndDecidesMost) {
  Kind kind = GetParam();
  Questions questions(FuzzSeed(), kind);
  Oracle oracle(kind == Kind::kProducts || kind == Kind::kDivision ? 60000 : 400000);
  const bool full = std::getenv("LATHE_FULL") != nullptr;
  const int wanted = FuzzRounds(full ? 3000 : 400);
  int proved = 0, refuted = 0, true_unknown = 0, false_unknown = 0, open = 0, quickly = 0;
  std::vector<std::string> missed;
  for (int asked = 0; asked < wanted;) {
    DimContext context;
    FactSet facts(&context);
    ASSERT_NO_FATAL_FAILURE(questions.MakeFacts(&context, &facts));
    for (int i = 0; i < 4; ++i) {
      Claim claim = questions.MakeClaim();
      if (ToString({claim.lhs - claim.rhs}).size() > 400 || (claim.lhs - claim.rhs).is_constant()) {
        continue;
      }
      ++asked;
      Answer answer = facts.ProveWithoutTrying(claim);
      const Verdict quick = facts.ProveQuickly(claim).verdict;
      std::string text;
      for (const Fact& f : facts.facts()) text += f.claim.ToString() + "; ";
      text += " |- " + claim.ToString();
      oracle.Reset();
      for (const Fact& f : facts.facts()) oracle.Assert(f.claim, true);
      oracle.Assert(claim, false);
      for (SymbolId s = 0; s < static_cast<SymbolId>(context.num_symbols()); ++s) {
        if (facts.Range(context.SymbolDim(s)).min >= 0) oracle.NotNegative(s);
      }
      Z3_lbool breakable = oracle.Check();
      if (breakable == Z3_L_FALSE) {
        ASSERT_NE(answer.verdict, Verdict::kRefuted) << text;
        ASSERT_NE(quick, Verdict::kRefuted) << text;
        quickly += quick == Verdict::kProved ? 1 : 0;
        ++(answer.verdict == Verdict::kProved ? proved : true_unknown);
        if (answer.verdict != Verdict::kProved) missed.push_back(text);
        continue;
      }
      // Sizes that break it count only where nothing overflows.
      for (SymbolId s = 0; s < static_cast<SymbolId>(context.num_symbols()); ++s) {
        int64_t limit = int64_t{1} << (kind == Kind::kProducts ? 25 : 48);
        oracle.Within(s, -limit, limit);
      }
      if (breakable == Z3_L_TRUE) breakable = oracle.Check();
      if (breakable != Z3_L_TRUE) {
        ++open;
        continue;
      }
      ASSERT_NE(answer.verdict, Verdict::kProved) << text;
      ASSERT_NE(quick, Verdict::kProved) << text;
      quickly += quick == Verdict::kRefuted ? 1 : 0;
      ++(answer.verdict == Verdict::kRefuted ? refuted : false_unknown);
      if (answer.verdict != Verdict::kRefuted) missed.push_back("false: " + text);
    }
  }
  int decidable = proved + refuted + true_unknown + false_unknown;
  double share = 100.0 * (proved + refuted) / decidable, quick_share = 100.0 * quickly / decidable;
  std::cout << "| " << Name(kind) << " | " << decidable << " | " << proved << " of "
            << proved + true_unknown << " | " << refuted << " of " << refuted + false_unknown
            << " | " << std::fixed << std::setprecision(1) << share << " % | " << quick_share
            << " % |" << std::endl;
  RecordProperty("decided_percent", std::to_string(share));
  if (std::getenv("LATHE_SHOW_MISSED") != nullptr) {
    for (const std::string& text : missed) std::cout << text << "\n";
  }
  EXPECT_GT(proved + true_unknown, decidable / 5) << "too few true claims to measure";
  double bar = kind == Kind::kBoundedLinear || kind == Kind::kUnboundedLinear ? 95
               : kind == Kind::kProducts                                      ? 50
                                                                              : 70;
  EXPECT_GE(share, bar);
  EXPECT_GE(quick_share, bar);
}

std::string TestName(const testing::TestParamInfo<Kind>& kind) {
  static const char* names[] = {"BoundedLinear", "UnboundedLinear", "Division", "MinMax",
                                "Products"};
  return names[static_cast<int>(kind.param)];
}

INSTANTIATE_TEST_SUITE_P(Classes, DecideTest,
                         testing::Values(Kind::kBoundedLinear, Kind::kUnboundedLinear,
                                         Kind::kDivision, Kind::kMinMax, Kind::kProducts),
                         TestName);

}  // namespace
}  // namespace lathe::dim
