#include "ir/dim/constraint.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/dim/congruence.h"
#include "ir/dim/parse.h"

namespace lathe::dim {
namespace {

using Wide = __int128;

// The members of a residue class between two ends that are members themselves: exactly what the
// numbers of a constraint admit. `low > high`: nothing.
struct Progression {
  int64_t low = INT64_MIN, high = INT64_MAX;
  Congruence step;

  bool empty() const { return low > high; }

  static Progression None() { return {1, 0, {}}; }

  void Narrow(int64_t from, int64_t to) {
    if (empty()) return;
    *this = Tightened({std::max(low, from), std::min(high, to), step});
  }

  // OutOfRange if the least common multiple of the moduli passes int64.
  absl::Status Meet(Congruence c) {
    if (low >= high) {
      if (!empty() && !Contains(c, low)) *this = None();
      return absl::OkStatus();
    }
    const int64_t a = std::max<int64_t>(step.modulus, 1), b = c.modulus;
    Congruence both;
    if (!MeetCongruences(step, c, &both)) {
      *this = None();
      return absl::OkStatus();
    }
    if (both.modulus % a != 0 || both.modulus % b != 0) {
      return absl::OutOfRangeError(absl::StrCat("the least common multiple of the divisors ", a,
                                                " and ", b, " passes the limit of 2^63 - 1"));
    }
    *this = Tightened({low, high, both});
    return absl::OkStatus();
  }

  bool Inside(Congruence c) const {
    if (empty() || low == high) return empty() || Contains(c, low);
    return step.modulus % c.modulus == 0 && Contains(c, low);
  }

 private:
  static Progression Tightened(Progression p) {
    const Wide m = p.step.modulus;
    Wide up = (Wide{p.step.remainder} - p.low) % m, down = (Wide{p.high} - p.step.remainder) % m;
    if (up < 0) up += m;
    if (down < 0) down += m;
    if (p.low > p.high || p.low + up > p.high - down) return None();
    p.low += static_cast<int64_t>(up);
    p.high -= static_cast<int64_t>(down);
    return p;
  }
};

Congruence ClassOf(const DimConstraint& c) {
  return {c.divisible_by.value_or(1), c.remainder.value_or(0)};
}

// |d| of a number that must divide; 0 if there is no such divisor.
int64_t Divisor(Dim d) { return d.constant() == INT64_MIN ? 0 : std::abs(d.constant()); }

// What the numbers of a valid constraint admit.
absl::StatusOr<Progression> NumbersOf(const DimConstraint& c) {
  Progression p;
  if (absl::Status s = p.Meet(ClassOf(c)); !s.ok()) return s;
  p.Narrow(c.min.value_or(INT64_MIN), c.max.value_or(INT64_MAX));
  for (Dim d : c.equal_to) {
    if (d.is_constant()) p.Narrow(d.constant(), d.constant());
  }
  for (Dim d : c.multiple_of) {
    if (!d.is_constant()) continue;
    if (d == Dim(0)) {  // nothing is a multiple of 0 that `%` accepts
      p = Progression::None();
    } else if (d == Dim(INT64_MIN)) {
      return absl::OutOfRangeError("the divisor -2^63 has no magnitude within 64 bits");
    } else if (absl::Status s = p.Meet({Divisor(d), 0}); !s.ok()) {
      return s;
    }
  }
  return p;
}

bool HasRelations(const DimConstraint& c) {
  const auto open = [](Dim d) { return !d.is_constant(); };
  return std::any_of(c.equal_to.begin(), c.equal_to.end(), open) ||
         std::any_of(c.multiple_of.begin(), c.multiple_of.end(), open);
}

std::vector<Dim> Sorted(std::vector<Dim> dims) {
  std::erase_if(dims, [](Dim d) { return d.is_constant(); });
  std::sort(dims.begin(), dims.end(), [](Dim a, Dim b) { return Compare(a, b) < 0; });
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

// A constraint as facts about a symbol of its own, in a context that nobody else sees.
class Scratch {
 public:
  explicit Scratch(const DimConstraint& c) : value_(context_.Symbol("_")), facts_(&context_) {
    // Unless told otherwise the value may be negative.
    if (!c.min.has_value()) Add(Dim(-INT64_MAX) <= value_);
    for (const Claim& claim : Moved(c).Claims(value_)) Add(claim);
  }
  bool Impossible() const {
    return impossible_ || facts_.Prove(Dim(0) < Dim(0)).verdict == Verdict::kProved;
  }
  bool Proves(const DimConstraint& c) const {
    for (const Claim& claim : Moved(c).Claims(value_)) {
      if (!facts_.Proves(claim)) return false;
    }
    return true;
  }

 private:
  DimConstraint Moved(DimConstraint c) const {
    for (std::vector<Dim>* list : {&c.equal_to, &c.multiple_of}) {
      for (Dim& d : *list) d = Substitute(d, {}, &context_);
    }
    return c;
  }
  void Add(const Claim& claim) {
    const absl::Status s = facts_.Add(claim, Standing::kDeclared, {}).status();
    impossible_ = impossible_ || s.code() == absl::StatusCode::kFailedPrecondition;
  }

  mutable DimContext context_;
  Dim value_;
  FactSet facts_;
  bool impossible_ = false;
};

}  // namespace

absl::Status DimConstraint::Validate() const {
  if (divisible_by.has_value() && *divisible_by < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("divisible_by is ", *divisible_by, ", wanted 1 or more"));
  }
  if (remainder.has_value() && !divisible_by.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("remainder is ", *remainder, " but divisible_by isn't set"));
  }
  if (remainder.has_value() && (*remainder < 0 || *remainder >= *divisible_by)) {
    return absl::InvalidArgumentError(absl::StrCat("remainder is ", *remainder, ", wanted 0..",
                                                   *divisible_by - 1, ", below divisible_by"));
  }
  for (const std::vector<Dim>* list : {&equal_to, &multiple_of}) {
    for (Dim d : *list) {
      if (!d.ok()) return d.status();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DimConstraint> DimConstraint::Normalized() const {
  if (absl::Status s = Validate(); !s.ok()) return s;
  absl::StatusOr<Progression> p = NumbersOf(*this);
  if (!p.ok()) return p.status();
  DimConstraint out;
  if (p->empty()) {
    out.min = 1;
    out.max = 0;
    return out;
  }
  // An end that was found only because int64 ends there says nothing.
  const bool low_known = min.has_value() || p->low == p->high;
  const bool high_known = max.has_value() || p->low == p->high;
  if (low_known) out.min = p->low;
  if (high_known) out.max = p->high;
  if (p->step.modulus > 1 && p->low != p->high) {
    out.divisible_by = p->step.modulus;
    if (p->step.remainder != 0) out.remainder = p->step.remainder;
  }
  out.equal_to = Sorted(equal_to);
  out.multiple_of = Sorted(multiple_of);
  return out;
}

bool DimConstraint::Implies(const DimConstraint& other) const {
  if (!Validate().ok() || !other.Validate().ok()) return false;
  const absl::StatusOr<Progression> mine = NumbersOf(*this);
  if (!mine.ok()) return false;
  if (mine->empty()) return true;
  DimConstraint open;  // what the numbers don't show
  if (other.min.has_value() && mine->low < *other.min) open.min = other.min;
  if (other.max.has_value() && mine->high > *other.max) open.max = other.max;
  if (!mine->Inside(ClassOf(other))) {
    open.divisible_by = other.divisible_by;
    open.remainder = other.remainder;
  }
  const auto has = [](const std::vector<Dim>& list, Dim d) {
    return std::find(list.begin(), list.end(), d) != list.end();
  };
  for (Dim d : other.equal_to) {
    const bool shown = d.is_constant() ? mine->low == d.constant() && mine->high == d.constant()
                                       : has(equal_to, d);
    if (!shown) open.equal_to.push_back(d);
  }
  for (Dim d : other.multiple_of) {
    const bool shown =
        d.is_constant() && Divisor(d) != 0 ? mine->Inside({Divisor(d), 0}) : has(multiple_of, d);
    if (!shown) open.multiple_of.push_back(d);
  }
  if (open == DimConstraint()) return true;
  if (!HasRelations(*this) && !HasRelations(open)) return false;
  const Scratch scratch(*this);
  return scratch.Impossible() || scratch.Proves(open);
}

absl::StatusOr<DimConstraint> DimConstraint::Merge(const DimConstraint& other) const {
  absl::StatusOr<DimConstraint> a = Normalized(), b = other.Normalized();
  if (!a.ok()) return a;
  if (!b.ok()) return b;
  absl::StatusOr<Progression> p = NumbersOf(*a), q = NumbersOf(*b);
  if (!p.ok()) return p.status();
  if (!q.ok()) return q.status();
  // Numbers in the lists have become bounds and divisors by now.
  DimConstraint out;
  const auto tighter = [](const auto& x, const auto& y, auto pick) {
    return x.has_value() && y.has_value() ? std::optional<int64_t>(pick(*x, *y))
                                          : (x.has_value() ? x : y);
  };
  out.min = tighter(a->min, b->min, [](int64_t x, int64_t y) { return std::max(x, y); });
  out.max = tighter(a->max, b->max, [](int64_t x, int64_t y) { return std::min(x, y); });
  p->Narrow(out.min.value_or(INT64_MIN), out.max.value_or(INT64_MAX));
  if (absl::Status s = p->Meet(q->step); !s.ok()) return s;
  out.divisible_by = p->step.modulus;
  out.remainder = p->step.remainder;
  if (p->empty()) out = DimConstraint{.min = 1, .max = 0};
  out.equal_to = a->equal_to;
  out.equal_to.insert(out.equal_to.end(), b->equal_to.begin(), b->equal_to.end());
  out.multiple_of = a->multiple_of;
  out.multiple_of.insert(out.multiple_of.end(), b->multiple_of.begin(), b->multiple_of.end());
  return out.Normalized();
}

bool DimConstraint::IsFeasible() const {
  if (!Validate().ok()) return false;
  const absl::StatusOr<Progression> p = NumbersOf(*this);
  if (!p.ok()) return true;
  if (p->empty()) return false;
  return !HasRelations(*this) || !Scratch(*this).Impossible();
}

bool DimConstraint::Admits(int64_t value, absl::Span<const int64_t> symbols) const {
  if (!Validate().ok()) return false;
  for (const Claim& claim : Claims(value)) {
    const absl::StatusOr<bool> holds = Evaluate(claim, symbols);
    if (!holds.ok() || !*holds) return false;
  }
  return true;
}

std::vector<int64_t> DimConstraint::Values(size_t limit) const {
  std::vector<int64_t> values;
  const absl::StatusOr<Progression> p =
      Validate().ok() ? NumbersOf(*this) : absl::StatusOr<Progression>(Progression::None());
  if (!p.ok() || p->empty()) return values;
  const Wide step = p->step.modulus;
  if ((Wide{p->high} - p->low) / step >= static_cast<Wide>(limit)) return values;
  for (Wide v = p->low; v <= p->high; v += step) values.push_back(static_cast<int64_t>(v));
  return values;
}

std::vector<Claim> DimConstraint::Claims(Dim subject) const {
  std::vector<Claim> claims;
  if (min.has_value()) claims.push_back(Dim(*min) <= subject);
  if (max.has_value()) claims.push_back(subject <= Dim(*max));
  if (divisible_by.has_value() && *divisible_by != 1)
    claims.push_back(Eq(Mod(subject, *divisible_by), remainder.value_or(0)));
  for (Dim d : equal_to) claims.push_back(Eq(subject, d));
  for (Dim d : multiple_of) {
    claims.push_back(Eq(Mod(subject, d), 0));
    if (!d.is_constant()) claims.push_back(Ne(d, 0));
  }
  return claims;
}

DimConstraint DimConstraint::Of(const FactSet& facts, Dim subject) {
  DimConstraint c;
  const Interval range = facts.Range(subject);
  if (range.min != kUnboundedMin) c.min = range.min;
  if (range.max != kUnboundedMax) c.max = range.max;
  const Congruence residue = facts.CongruenceOf(subject);
  if (residue.modulus == 0) c.min = c.max = residue.remainder;
  if (residue.modulus > 1) {
    c.divisible_by = residue.modulus;
    if (residue.remainder != 0) c.remainder = residue.remainder;
  }
  const auto equal = [&](Dim d) {
    if (d != subject && d.ok() && !d.is_constant()) c.equal_to.push_back(d);
  };
  if (const Dim simple = facts.Simplify(subject); simple.ok()) equal(simple);
  for (const Fact& fact : facts.facts()) {
    if (fact.standing == Standing::kRequired || fact.claim.relation != Relation::kEq) continue;
    if (fact.claim.lhs == subject) equal(fact.claim.rhs);
    if (fact.claim.rhs == subject) equal(fact.claim.lhs);
    SymbolId symbol = 0;
    Dim coefficient, rest;
    if (IsSymbol(subject, &symbol) &&
        SplitAffine(fact.claim.lhs - fact.claim.rhs, symbol, &coefficient, &rest) &&
        (coefficient == Dim(1) || coefficient == Dim(-1))) {
      equal(coefficient == Dim(1) ? -rest : rest);
    }
    const Expr e = Decompose(fact.claim.lhs);
    const bool divides = e.kind == ExprKind::kMod && e.operands[0] == subject &&
                         fact.claim.rhs == Dim(0) && !e.operands[1].is_constant();
    if (divides) c.multiple_of.push_back(e.operands[1]);
  }
  c.equal_to = Sorted(c.equal_to);
  c.multiple_of = Sorted(c.multiple_of);
  return c;
}

std::string DimConstraint::ToString() const {
  std::vector<std::string> items;
  if (min.has_value() && max.has_value()) {
    items.push_back(absl::StrCat(*min, "..", *max));
  } else if (min.has_value()) {
    items.push_back(absl::StrCat(">= ", *min));
  } else if (max.has_value()) {
    items.push_back(absl::StrCat("<= ", *max));
  }
  if (divisible_by.has_value())
    items.push_back(absl::StrCat("% ", *divisible_by, " == ", remainder.value_or(0)));
  for (Dim d : equal_to) items.push_back(absl::StrCat("== ", d.ToString()));
  for (Dim d : multiple_of) {
    const std::string text = d.ToString();
    const bool plain = d.is_constant() || Decompose(d).kind == ExprKind::kSymbol;
    items.push_back(absl::StrCat("% ", plain ? text : absl::StrCat("(", text, ")"), " == 0"));
  }
  return items.empty() ? "?" : absl::StrJoin(items, ", ");
}

namespace {

// The field that says what `claim` says of `subject`, alone in a constraint.
absl::StatusOr<DimConstraint> FromClaim(Claim claim, Dim subject) {
  const auto fail = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", claim.ToString(), "\" (_ is the size itself) is no bound, residue, ",
                     "equality or divisibility of one size"));
  };
  DimConstraint c;
  if (claim.relation == Relation::kIn) {
    const std::vector<int64_t>& set = claim.set;
    if (claim.lhs != subject) return fail();
    if (set.empty()) return DimConstraint{.min = 1, .max = 0};
    c.min = set.front();
    c.max = set.back();
    if (set.size() < 2) return c;
    const Wide step = Wide{set[1]} - set[0];
    for (size_t i = 1; i < set.size(); ++i) {
      if (Wide{set[i]} - set[i - 1] != step || step > INT64_MAX) return fail();
    }
    c.divisible_by = static_cast<int64_t>(step);
    const int64_t r = set[0] % *c.divisible_by;
    c.remainder = r < 0 ? r + *c.divisible_by : r;
    return c;
  }
  if (claim.relation == Relation::kEq) {
    if (claim.lhs == subject || claim.rhs == subject) {
      const Dim other = claim.lhs == subject ? claim.rhs : claim.lhs;
      if (!other.is_constant() && DependsOn(other, FreeSymbols(subject)[0])) return fail();
      c.equal_to.push_back(other);
      return c;
    }
    if (Decompose(claim.lhs).kind != ExprKind::kMod) std::swap(claim.lhs, claim.rhs);
    const Expr e = Decompose(claim.lhs);
    if (e.kind != ExprKind::kMod || e.operands[0] != subject || !claim.rhs.is_constant())
      return fail();
    const Dim divisor = e.operands[1];
    if (!divisor.is_constant()) {
      if (claim.rhs != Dim(0)) return fail();
      c.multiple_of.push_back(divisor);
      return c;
    }
    c.divisible_by = divisor.constant();
    c.remainder = claim.rhs.constant();
    const absl::Status valid = c.Validate();
    if (!valid.ok()) return valid;
    return c;
  }
  const int64_t strict = claim.relation == Relation::kLt ? 1 : 0;
  if (claim.relation == Relation::kNe) return fail();
  int64_t bound = 0;
  if (claim.lhs == subject && claim.rhs.is_constant()) {
    if (__builtin_sub_overflow(claim.rhs.constant(), strict, &bound)) return fail();
    c.max = bound;
  } else if (claim.rhs == subject && claim.lhs.is_constant()) {
    if (__builtin_add_overflow(claim.lhs.constant(), strict, &bound)) return fail();
    c.min = bound;
  } else {
    return fail();
  }
  return c;
}

}  // namespace

absl::StatusOr<DimConstraint> DimConstraint::Parse(std::string_view spec, DimContext* context) {
  DimContext scratch;
  const Dim subject = scratch.Symbol("_");
  std::vector<Claim> claims;
  Parser parser(spec, &scratch, /*make_symbols=*/true);
  for (bool more = !parser.AtEnd(); more;) {
    if (absl::Status s = parser.AppendSpecItem(subject, &claims); !s.ok()) return s;
    absl::StatusOr<bool> comma = parser.Comma();
    if (!comma.ok()) return comma.status();
    more = *comma;
  }
  DimConstraint out;
  for (const Claim& claim : claims) {
    absl::StatusOr<DimConstraint> one = FromClaim(claim, subject);
    if (!one.ok()) return one;
    for (std::vector<Dim>* list : {&one->equal_to, &one->multiple_of}) {
      for (Dim& d : *list) d = Substitute(d, {}, context);
    }
    absl::StatusOr<DimConstraint> merged = out.Merge(*one);
    if (!merged.ok()) return merged;
    out = *std::move(merged);
  }
  return out;
}

}  // namespace lathe::dim
