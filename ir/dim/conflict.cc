#include "ir/dim/conflict.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ir/dim/decide.h"
#include "ir/dim/facts.h"
#include "ir/dim/prove.h"

namespace lathe::dim {
namespace {

// Effort for the question whether a new fact clashes with the others.
constexpr DecideLimits kConflictLimits = {2500, 24, 40, 16};

class Explainer {
 public:
  Explainer(DimContext* context, absl::Span<const Fact> facts) : context_(context), facts_(facts) {
    for (const Fact& f : facts) {
      if (f.standing != Standing::kRequired) AppendNegative(f.claim, &negative_);
    }
  }

  Conflict Run(const Why& suspects) const {
    Conflict conflict;
    conflict.core = suspects;
    if (!Contradictory(Claims(conflict.core))) {  // the reasons lack something: start from all
      Why all;
      for (const Fact& f : facts_) all.push_back(f.id);
      if (Contradictory(Claims(all))) conflict.core = all;
    }
    // Again until nothing changes, since a smaller set may show what a larger one hid.
    const auto contradictory = [&](const Why& fewer, FactId) {
      return Contradictory(Claims(fewer));
    };
    const auto implies = [&](const Why& fewer, FactId dropped) { return Implies(fewer, dropped); };
    do {
      while (Reduce(&conflict.core, contradictory)) {
      }
    } while (Reduce(&conflict.core, implies));
    conflict.edit = Edit(conflict.core);
    return conflict;
  }

 private:
  // Leaves out facts without which the others still can't hold; whether there were any.
  static bool Reduce(Why* core, absl::FunctionRef<bool(const Why& fewer, FactId dropped)> clash) {
    bool changed = false;
    for (size_t i = 0; i < core->size();) {
      Why fewer = *core;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (clash(fewer, (*core)[i])) {
        *core = std::move(fewer);
        changed = true;
      } else {
        ++i;
      }
    }
    return changed;
  }

  // What implies a fact with which it can't hold, can't hold itself, though that wasn't seen.
  bool Implies(const Why& ids, FactId dropped) const {
    if (!negative_.empty()) return false;  // FactSet would take them for >= 0
    FactSet rest(context_);
    for (FactId id : ids)
      if (!rest.Add(Get(id).claim, Standing::kDeclared, {}).ok()) return false;
    return rest.Prove(Get(dropped).claim).verdict == Verdict::kProved;
  }

  const Fact& Get(FactId id) const { return facts_[static_cast<size_t>(id)]; }

  std::vector<Claim> Claims(const Why& ids) const {
    std::vector<Claim> claims;
    for (FactId id : ids) claims.push_back(Get(id).claim);
    return claims;
  }

  // `has_model`, if not null, gets whether sizes are known that satisfy all claims.
  bool Build(const std::vector<Claim>& claims, Theory* theory, bool* has_model = nullptr) const {
    for (SymbolId s : negative_) theory->AllowNegative(s);
    Why why;
    FactId id = 0;
    KeptModel model;
    for (const Claim& c : claims) {
      if (Clashes(*theory, c, &model, &why) || !theory->Add(id++, c, &why)) return false;
    }
    if (has_model != nullptr) *has_model = model.known();
    return true;
  }

  bool Contradictory(const std::vector<Claim>& claims) const {
    Theory theory(context_);
    return !Build(claims, &theory);
  }

  static std::string Quote(const Fact& f) {
    std::string text = absl::StrCat("\"", f.claim.ToString(), "\"");
    if (!f.source.what.empty()) absl::StrAppend(&text, " (", f.source.what, ")");
    return text;
  }

  // One change that lets the rest of the core hold: a moved bound if that works, else a removal.
  std::string Edit(const Why& core) const {
    for (size_t i = core.size(); i-- > 0;) {
      const Fact& f = Get(core[i]);
      if (f.standing == Standing::kRequired) continue;  // it is an op's
      std::vector<Claim> rest;
      for (FactId id : core) {
        if (id != f.id) rest.push_back(Get(id).claim);
      }
      Claim moved;
      if (!MoveBound(f.claim, rest, &moved)) continue;
      std::vector<Claim> mended = rest;
      mended.push_back(moved);
      // Only what is known to mend it is printed.
      Theory theory(context_);
      bool has_model = false;
      if (!Build(mended, &theory, &has_model) || !has_model) continue;
      return absl::StrCat("change ", Quote(f), " to \"", moved.ToString(), "\"");
    }
    if (core.size() == 1) {
      SymbolId s = 0;
      const Claim& c = Get(core[0]).claim;
      for (Dim d : {c.lhs, c.rhs}) {
        if (IsSymbol(d, &s)) {
          return absl::StrCat("a size is >= 0: change ", Quote(Get(core[0])),
                              ", or declare a lower bound below 0 for ", d.ToString());
        }
      }
    }
    for (size_t i = core.size(); i-- > 0;) {
      const Fact& f = Get(core[i]);
      if (f.standing != Standing::kRequired) return absl::StrCat("drop ", Quote(f));
    }
    return "";  // all of them are required by ops
  }

  // The claim with its constant bound moved to where the rest of the core lets it be.
  bool MoveBound(const Claim& c, const std::vector<Claim>& rest, Claim* moved) const {
    if (c.relation == Relation::kIn || c.relation == Relation::kNe) return false;
    if (c.lhs.is_constant() == c.rhs.is_constant()) return false;
    Theory theory(context_);
    if (!Build(rest, &theory)) return false;
    Dim e = c.lhs.is_constant() ? c.rhs : c.lhs;
    Probe probe(theory, nullptr);
    Interval r = Tighten(probe.Range(e), probe.CongruenceOf(e));
    bool upper = c.rhs.is_constant();
    int64_t bound = upper || c.relation == Relation::kEq ? r.min : r.max;
    if (r.empty() || bound == kUnboundedMin || bound == kUnboundedMax) return false;
    *moved = c;
    if (c.relation == Relation::kLt && __builtin_add_overflow(bound, upper ? 1 : -1, &bound)) {
      return false;
    }
    (upper ? moved->rhs : moved->lhs) = Dim(bound);
    return true;
  }

  DimContext* context_;
  absl::Span<const Fact> facts_;
  std::vector<SymbolId> negative_;
};

}  // namespace

void AppendNegative(const Claim& claim, std::vector<SymbolId>* symbols) {
  SymbolId s = 0;
  if (claim.relation == Relation::kIn) {
    if (!claim.set.empty() && claim.set.front() < 0 && IsSymbol(claim.lhs, &s)) {
      symbols->push_back(s);
    }
    return;
  }
  if (!claim.lhs.is_constant() || !IsSymbol(claim.rhs, &s)) return;
  bool below = claim.relation == Relation::kLe   ? claim.lhs.constant() < 0
               : claim.relation == Relation::kLt ? claim.lhs.constant() < -1
                                                 : false;
  if (below) symbols->push_back(s);
}

bool Clashes(const Theory& theory, const Claim& claim, KeptModel* model, Why* why) {
  int num_symbols = theory.context()->num_symbols();
  if (model->Admit(theory, claim, num_symbols)) return false;
  if (claim.relation != Relation::kIn) {
    Constraint negated = ToConstraint(Not(claim));
    Why reasons;
    if (negated.e.ok() && Prover(theory, &reasons).Holds(negated)) {
      Append(why, reasons);
      Canonicalize(why);
      return true;
    }
  }
  Decision d = Decide(theory, claim, /*deny=*/false, num_symbols, model->values(), model->known(),
                      kConflictLimits);
  switch (d.outcome) {
    case Decider::Outcome::kRefuted:
      *why = std::move(d.used);
      return true;
    case Decider::Outcome::kModel:
      model->Set(std::move(d.values));
      return false;
    case Decider::Outcome::kUnknown:
      break;
  }
  model->Lose();
  return false;
}

Conflict Explain(DimContext* context, absl::Span<const Fact> facts, const Why& suspects) {
  return Explainer(context, facts).Run(suspects);
}

std::string Conflict::ToString(const FactSet& facts) const {
  std::string text = "these facts about sizes can't hold together:";
  for (FactId id : core) {
    const Fact& f = facts.facts()[static_cast<size_t>(id)];
    absl::StrAppend(&text, "\n  ", f.claim.ToString(), "  [", Name(f.standing));
    if (!f.source.what.empty()) absl::StrAppend(&text, ": ", f.source.what);
    if (!f.source.where.empty()) absl::StrAppend(&text, " at ", f.source.where);
    text += "]";
  }
  if (!edit.empty()) absl::StrAppend(&text, "\nto mend it: ", edit);
  return text;
}

}  // namespace lathe::dim
