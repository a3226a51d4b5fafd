#include "ir/dim/facts.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ir/dim/conflict.h"
#include "ir/dim/decide.h"
#include "ir/dim/evaluate.h"
#include "ir/dim/parse.h"
#include "ir/dim/prove.h"
#include "ir/dim/search.h"

namespace lathe::dim {

const char* Name(Standing s) {
  static constexpr const char* kNames[] = {"declared", "required", "derived"};
  return kNames[static_cast<size_t>(s)];
}

const char* Name(Verdict v) {
  static constexpr const char* kNames[] = {"proved", "refuted", "unknown"};
  return kNames[static_cast<size_t>(v)];
}

namespace {

// What a question may cost.
struct Effort {
  DecideLimits decide;
  ModelFinder::Limits search;
  bool hint = true;  // whether `unknown` comes with one
};

// A theory and, made when first asked for, the models of it.
struct Side {
  explicit Side(DimContext* context) : theory(context) {}
  Side(const Side& other) : theory(other.theory) {}
  Side& operator=(const Side& other) {
    theory = other.theory;
    finder.reset();
    return *this;
  }

  ModelFinder& Finder() {
    if (finder == nullptr) finder = std::make_unique<ModelFinder>(&theory);
    return *finder;
  }

  Theory theory;
  std::unique_ptr<ModelFinder> finder;
};

// The first divisor inside `d` that may be 0, or the constant 1.
Dim DoubtfulDivisor(const Theory& theory, Dim d, int* steps) {
  if (d.is_constant() || (*steps)-- <= 0) return 1;
  for (Dim part : Decompose(d).operands) {
    Dim found = DoubtfulDivisor(theory, part, steps);
    if (found != Dim(1)) return found;
  }
  Expr e = Decompose(d);
  bool divides =
      e.kind == ExprKind::kFloorDiv || e.kind == ExprKind::kMod || e.kind == ExprKind::kCeilDiv;
  if (!divides || e.operands[1].is_constant()) return 1;
  Constraint nonzero = ToConstraint(Ne(e.operands[1], 0));
  return Prover(theory, nullptr).HoldsQuickly(nonzero) ? Dim(1) : e.operands[1];
}

std::string Hint(const Theory& theory, const Claim& claim) {
  int steps = 32;
  for (Dim d : {claim.lhs, claim.rhs}) {
    Dim divisor = DoubtfulDivisor(theory, d, &steps);
    if (divisor != Dim(1)) return (Dim(1) <= divisor).ToString();
  }
  return claim.ToString();
}

// If one of the theory's claims says the same as `c` in the same words: its id, else -1.
FactId Literal(const Theory& theory, const Constraint& c) {
  if (!c.e.ok() || c.sense == Sense::kIn || c.e.is_constant()) return -1;
  FactId found = -1;
  const Dim negated = c.sense == Sense::kGe ? c.e : -c.e;
  theory.ForEachClaim(FreeSymbols(c.e).back(), [&](int i) {
    const Constraint& other = theory.claim_constraints()[static_cast<size_t>(i)];
    if (other.sense != c.sense || other.sense == Sense::kIn) return true;
    bool same = other.e == c.e || other.e == negated;
    if (same) found = theory.ids()[static_cast<size_t>(i)];
    return !same;
  });
  return found;
}

}  // namespace

struct FactSet::Impl {
  explicit Impl(DimContext* c) : context(c), usable(c), all(c) {}

  Side& Of(bool use_required) { return use_required && has_required ? all : usable; }

  // Makes both sides anew from `facts`, after a fact was taken back.
  void Restore() {
    usable = Side(context);
    all = Side(context);
    for (const Fact& f : facts) Insert(f, nullptr);
  }

  // False on a conflict seen while adding; the sides must then be restored.
  bool Insert(const Fact& f, Why* why) {
    Why ignored;
    if (why == nullptr) why = &ignored;
    bool required = f.standing == Standing::kRequired;
    if (required && !has_required) {
      has_required = true;
      all = usable;
    }
    if (!required) {
      std::vector<SymbolId> negative;
      AppendNegative(f.claim, &negative);
      for (SymbolId s : negative) {
        for (Side* side : {&usable, &all}) {
          if (side->theory.MayBeNegative(s)) continue;
          side->theory.AllowNegative(s);
          if (!side->theory.Rebuild(why)) return false;
        }
      }
    }
    bool ok = true;
    for (Side* side : {&usable, &all}) {
      if (side == &usable ? required : !has_required) continue;
      side->finder.reset();
      ok = ok && side->theory.Add(f.id, f.claim, why);
    }
    return ok;
  }

  bool Clashes(const Claim& claim, Why* why) {
    return dim::Clashes(Of(true).theory, claim, &model, why);
  }

  Answer Prove(const Claim& claim, bool use_required, const Effort& effort);

  DimContext* context;
  std::vector<Fact> facts;
  KeptModel model;  // of all facts
  bool has_required = false;
  Side usable;  // without the required facts
  Side all;     // kept only if has_required
};

FactSet::FactSet(DimContext* context) : impl_(std::make_unique<Impl>(context)) {}
FactSet::FactSet(const FactSet& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
FactSet& FactSet::operator=(const FactSet& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
FactSet::~FactSet() = default;

void FactSet::KeepFirst(size_t count) {
  if (count >= impl_->facts.size()) return;
  impl_->facts.resize(count);
  impl_->Restore();
}

const std::vector<Fact>& FactSet::facts() const { return impl_->facts; }
DimContext* FactSet::context() const { return impl_->context; }

absl::StatusOr<FactId> FactSet::Add(const Claim& claim, Standing standing, Source source,
                                    Conflict* conflict) {
  for (Dim d : {claim.lhs, claim.rhs}) {
    if (!d.ok()) return absl::InvalidArgumentError(d.status().message());
    if (ContextOf(d) != nullptr && ContextOf(d) != impl_->context) {
      return absl::InvalidArgumentError(
          absl::StrCat(claim.ToString(), ": a fact about sizes of another program"));
    }
  }
  if (claim.relation != Relation::kIn && !ToConstraint(claim).e.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        claim.ToString(), ": ", std::string(ToConstraint(claim).e.status().message())));
  }
  Fact fact;
  fact.id = static_cast<FactId>(impl_->facts.size());
  fact.claim = claim;
  std::sort(fact.claim.set.begin(), fact.claim.set.end());
  fact.standing = standing;
  fact.source = std::move(source);
  if (standing == Standing::kDerived) {
    Why why;
    Constraint c = ToConstraint(claim);
    if (Prover(impl_->usable.theory, &why).Holds(c)) {
      Canonicalize(&why);
      fact.from = std::move(why);
    }
  }
  // A claim that makes its symbol signed speaks before the implicit bound does.
  std::vector<SymbolId> negative;
  if (standing != Standing::kRequired) AppendNegative(claim, &negative);
  Why why;
  bool had_model = impl_->model.known();
  bool known = negative.empty() && impl_->Clashes(fact.claim, &why);
  if (known) why.push_back(fact.id);
  bool inserted = !known && impl_->Insert(fact, &why);
  bool clashes = inserted && !negative.empty() && impl_->Clashes(fact.claim, &why);
  if (inserted && !clashes) {
    impl_->facts.push_back(std::move(fact));
    return impl_->facts.back().id;
  }
  Canonicalize(&why);
  impl_->facts.push_back(std::move(fact));
  Conflict found = Explain(impl_->context, impl_->facts, why);
  std::string text = found.ToString(*this);
  impl_->facts.pop_back();
  if (!known) impl_->Restore();
  if (had_model) impl_->model.Regain();
  if (conflict != nullptr) *conflict = std::move(found);
  return absl::FailedPreconditionError(text);
}

Interval FactSet::Range(Dim d, bool use_required) const {
  if (!d.ok()) return {};
  const Theory& theory = impl_->Of(use_required).theory;
  Probe probe(theory, nullptr);
  Interval r = probe.Range(d);
  if (d.is_constant() || d.node()->kind == NodeKind::kSymbol) return r;
  Dim resolved = theory.Resolve(d, nullptr);
  if (!resolved.ok()) resolved = d;
  if (resolved != d) r = Intersect(r, probe.Range(resolved));
  if (Dim open = Linearize(resolved); open != resolved) r = Intersect(r, probe.Range(open));
  return Tighten(r, probe.CongruenceOf(resolved));
}

Congruence FactSet::CongruenceOf(Dim d, bool use_required) const {
  if (!d.ok()) return {};
  const Theory& theory = impl_->Of(use_required).theory;
  Probe probe(theory, nullptr);
  Congruence c = probe.CongruenceOf(d), met;
  Dim resolved = theory.Resolve(d, nullptr);
  if (!resolved.ok()) return c;
  for (Dim other : {resolved, Linearize(resolved)}) {
    if (other != d && MeetCongruences(c, probe.CongruenceOf(other), &met)) c = met;
  }
  return c;
}

std::vector<int64_t> FactSet::Values(Dim d, bool use_required) const {
  if (!d.ok()) return {};
  std::vector<int64_t> values = impl_->Of(use_required).Finder().ValuesOf(d, nullptr);
  if (!values.empty()) return values;
  Interval r = Range(d, use_required);
  Congruence c = CongruenceOf(d, use_required);
  if (r.empty() || r.min == kUnboundedMin || r.max == kUnboundedMax) return {};
  __int128 step = std::max<int64_t>(c.modulus, 1);
  if ((static_cast<__int128>(r.max) - r.min) / step >= static_cast<__int128>(kSetLimit)) return {};
  r = Tighten(r, c);
  for (__int128 v = r.min; v <= r.max; v += step) values.push_back(static_cast<int64_t>(v));
  return values;
}

Answer FactSet::Prove(const Claim& claim, bool use_required) const {
  return impl_->Prove(claim, use_required, Effort());
}

Answer FactSet::ProveQuickly(const Claim& claim) const {
  Effort quick;
  quick.decide.steps = 60;
  quick.search = {.enumeration = 512, .strategies = 1};
  quick.hint = false;
  return impl_->Prove(claim, /*use_required=*/false, quick);
}

Answer FactSet::ProveWithoutTrying(const Claim& claim, bool use_required) const {
  Effort untried;
  untried.search.enumeration = 0;
  return impl_->Prove(claim, use_required, untried);
}

// The quick road first, then known models, then ever more costly ones.
Answer FactSet::Impl::Prove(const Claim& claim, bool use_required, const Effort& effort) {
  Answer answer;
  for (Dim d : {claim.lhs, claim.rhs}) {
    if (d.ok() && (ContextOf(d) == nullptr || ContextOf(d) == context)) continue;
    answer.hint =
        d.ok() ? "the claim is about sizes of another program" : std::string(d.status().message());
    return answer;
  }
  Side& side = Of(use_required);
  Constraint c = ToConstraint(claim);
  if (c.sense == Sense::kIn) std::sort(c.set.begin(), c.set.end());
  auto proved = [&](Why used) {
    answer.verdict = Verdict::kProved;
    answer.used = std::move(used);
    Canonicalize(&answer.used);
    return answer;
  };
  auto refuted = [&](dim::Values values) {
    answer.verdict = Verdict::kRefuted;
    answer.witness = std::move(values);
    return answer;
  };
  Why why;
  Prover prover(side.theory, &why);
  if (c.e.ok() && prover.HoldsQuickly(c)) return proved(std::move(why));
  int num_symbols = context->num_symbols();
  Claim sorted = claim;
  sorted.set = c.set;
  const dim::Values* kept = model.Values(num_symbols);
  if (kept != nullptr && TryEvaluate(sorted, *kept) == Truth::kFalse) return refuted(*kept);
  if (FactId id = Literal(side.theory, c); id >= 0) return proved({id});
  for (int i = 0; i < ModelFinder::kModels; ++i) {
    const dim::Values* found = side.Finder().Model(i, num_symbols);
    if (found != nullptr && TryEvaluate(sorted, *found) == Truth::kFalse) return refuted(*found);
  }
  if (effort.search.enumeration > 0 && !side.Finder().Contradiction().empty()) {
    return proved(side.Finder().Contradiction());
  }
  why.clear();
  if (c.e.ok() && prover.Holds(c)) return proved(std::move(why));
  Decision d = Decide(side.theory, sorted, /*deny=*/true, num_symbols, model.values(),
                      model.known(), effort.decide);
  if (d.outcome == Decider::Outcome::kRefuted) return proved(std::move(d.used));
  if (d.outcome == Decider::Outcome::kModel) return refuted(std::move(d.values));
  why.clear();
  dim::Values values;
  switch (side.Finder().Break(sorted, num_symbols, effort.search, &values, &why)) {
    case ModelFinder::Outcome::kFound:
      return refuted(std::move(values));
    case ModelFinder::Outcome::kNone:
      return proved(std::move(why));
    case ModelFinder::Outcome::kGaveUp:
      break;
  }
  if (effort.hint) answer.hint = Hint(side.theory, claim);
  return answer;
}

Dim FactSet::Simplify(Dim d) const {
  // What became simpler may match another rule. Rules never make it larger, so this ends early.
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    Dim next = Simplifier(impl_->usable.theory, nullptr).Run(d);
    if (next == d) break;
    d = next;
  }
  return d;
}

std::string FactSet::Describe(Dim d) const {
  std::vector<SymbolId> mine = FreeSymbols(d);
  std::string text;
  auto mentions = [&](Dim x) {
    return std::any_of(mine.begin(), mine.end(), [&](SymbolId s) { return DependsOn(x, s); });
  };
  for (const Fact& f : impl_->facts) {
    if (!mentions(f.claim.lhs) && !mentions(f.claim.rhs)) continue;
    absl::StrAppend(&text, f.claim.ToString(), "  [", Name(f.standing));
    if (!f.source.what.empty()) absl::StrAppend(&text, ": ", f.source.what);
    if (!f.source.where.empty()) absl::StrAppend(&text, " at ", f.source.where);
    text += "]\n";
  }
  Interval r = Range(d);
  std::string name = d.ToString();
  if (r.min != kUnboundedMin || r.max != kUnboundedMax) {
    if (r.min != kUnboundedMin) absl::StrAppend(&text, r.min, " <= ");
    text += name;
    if (r.max != kUnboundedMax) absl::StrAppend(&text, " <= ", r.max);
    text += "  [derived]\n";
  }
  Congruence c = CongruenceOf(d);
  if (c.modulus > 1 && !Mod(d, Dim(c.modulus)).is_constant()) {
    absl::StrAppend(&text,
                    (Claim{Relation::kEq, Mod(d, Dim(c.modulus)), Dim(c.remainder), {}}).ToString(),
                    "  [derived]\n");
  }
  if (Dim simple = Simplify(d); simple != d) {
    absl::StrAppend(&text, name, " == ", simple.ToString(), "  [derived]\n");
  }
  return text;
}

absl::Status FactSet::AddSpec(const Dim* subject, std::string_view spec, Source source) {
  std::vector<Claim> claims;
  Parser parser(spec, impl_->context, /*make_symbols=*/false);
  for (bool more = !parser.AtEnd(); more;) {
    absl::Status item =
        subject == nullptr ? parser.AppendClaim(&claims) : parser.AppendSpecItem(*subject, &claims);
    if (!item.ok()) return item;
    absl::StatusOr<bool> comma = parser.Comma();
    if (!comma.ok()) return comma.status();
    more = *comma;
  }
  // All or nothing: a spec that fails half-way leaves no facts behind.
  FactSet before = *this;
  for (const Claim& c : claims) {
    absl::StatusOr<FactId> id = Add(c, Standing::kDeclared, source);
    if (id.ok()) continue;
    *this = before;
    return id.status();
  }
  return absl::OkStatus();
}

}  // namespace lathe::dim
