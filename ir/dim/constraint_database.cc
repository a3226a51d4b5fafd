#include "ir/dim/constraint_database.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/dim/conflict.h"

namespace lathe::dim {
namespace {

bool DeclaresNegative(const Fact& f) {
  std::vector<SymbolId> negative;
  AppendNegative(f.claim, &negative);
  return !negative.empty();
}

// Adds facts until one is refused; true if all were taken.
bool AddAll(const std::vector<Fact>& from, FactSet* facts, Conflict* conflict) {
  for (const Fact& f : from) {
    if (!facts->Add(f.claim, f.standing, f.source, conflict).ok()) return false;
  }
  return true;
}

Verdict Impossible(const FactSet& facts, Answer* answer) {
  *answer = facts.Prove(Dim(0) < Dim(0));
  return answer->verdict;
}

bool CantHold(DimContext* context, const std::vector<Fact>& facts) {
  FactSet set(context);
  Answer answer;
  return !AddAll(facts, &set, nullptr) || Impossible(set, &answer) == Verdict::kProved;
}

}  // namespace

absl::Status ConstraintDatabase::Append(std::string_view symbol, const DimConstraint& c,
                                        Source source, bool replace) {
  const Dim d = context_->Symbol(symbol);
  if (!d.ok()) return d.status();
  if (absl::Status s = c.Validate(); !s.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the constraint on ", std::string(symbol), ": ", s.message()));
  }
  for (const std::vector<Dim>* list : {&c.equal_to, &c.multiple_of}) {
    for (Dim e : *list) {
      if (ContextOf(e) == nullptr || ContextOf(e) == context_) continue;
      return absl::InvalidArgumentError(absl::StrCat("the constraint on ", std::string(symbol),
                                                     ": ", e.ToString(), " is of another program"));
    }
  }
  if (replace) std::erase_if(rows_, [&](const Row& r) { return r.symbol == symbol; });
  if (source.what.empty()) source.what = absl::StrCat("constraint on ", std::string(symbol));
  rows_.push_back({std::string(symbol), c, {}, std::move(source)});
  return absl::OkStatus();
}

absl::Status ConstraintDatabase::Set(std::string_view symbol, const DimConstraint& c,
                                     Source source) {
  return Append(symbol, c, std::move(source), /*replace=*/true);
}

absl::Status ConstraintDatabase::Add(std::string_view symbol, const DimConstraint& c,
                                     Source source) {
  return Append(symbol, c, std::move(source), /*replace=*/false);
}

absl::StatusOr<DimConstraint> ConstraintDatabase::Get(std::string_view symbol) const {
  bool any = false;
  DimConstraint all;
  for (const Row& row : rows_) {
    if (row.symbol != symbol) continue;
    any = true;
    absl::StatusOr<DimConstraint> merged = all.Merge(row.constraint);
    if (!merged.ok()) {
      return absl::Status(merged.status().code(), absl::StrCat("constraints on ", row.symbol, ": ",
                                                               merged.status().message()));
    }
    all = *std::move(merged);
  }
  if (any) return all;
  return absl::NotFoundError(absl::StrCat("nothing is demanded of ", std::string(symbol)));
}

std::vector<std::string> ConstraintDatabase::Symbols() const {
  std::vector<std::string> names;
  for (const Row& row : rows_) {
    const bool known = std::find(names.begin(), names.end(), row.symbol) != names.end();
    if (!row.symbol.empty() && !known) names.push_back(row.symbol);
  }
  return names;
}

absl::Status ConstraintDatabase::AddClaim(const Claim& claim, Source source) {
  for (Dim d : {claim.lhs, claim.rhs}) {
    if (!d.ok()) return d.status();
    if (ContextOf(d) == nullptr || ContextOf(d) == context_) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(claim.ToString(), ": a claim about sizes of another program"));
  }
  rows_.push_back({"", {}, claim, std::move(source)});
  return absl::OkStatus();
}

absl::Status ConstraintDatabase::AddClaims(std::string_view text, Source source) {
  absl::StatusOr<std::vector<Claim>> claims = ParseClaims(text, context_, /*make_symbols=*/false);
  if (!claims.ok()) return claims.status();
  for (const Claim& claim : *claims) rows_.push_back({"", {}, claim, source});
  return absl::OkStatus();
}

// Lower ends below 0 come first: they make their symbols signed.
std::vector<Fact> ConstraintDatabase::AllFacts() const {
  std::vector<Fact> facts;
  for (const Row& row : rows_) {
    std::vector<Claim> claims = {row.claim};
    if (!row.symbol.empty()) claims = row.constraint.Claims(context_->Symbol(row.symbol));
    for (const Claim& claim : claims)
      facts.push_back({.claim = claim, .standing = Standing::kDeclared, .source = row.source});
  }
  std::stable_partition(facts.begin(), facts.end(), DeclaresNegative);
  return facts;
}

absl::StatusOr<FactSet> ConstraintDatabase::Facts() const {
  FactSet facts(context_);
  for (const Fact& f : AllFacts()) {
    absl::StatusOr<FactId> id = facts.Add(f.claim, f.standing, f.source);
    if (!id.ok()) return id.status();
  }
  return facts;
}

absl::StatusOr<DimConstraint> ConstraintDatabase::Derived(std::string_view symbol) const {
  absl::StatusOr<Dim> d = context_->Find(symbol);
  if (!d.ok()) return d.status();
  absl::StatusOr<FactSet> facts = Facts();
  if (!facts.ok()) return facts.status();
  return DimConstraint::Of(*facts, *d);
}

Feasibility ConstraintDatabase::Check() const {
  Feasibility out;
  const std::vector<Fact> all = AllFacts();
  FactSet facts(context_);
  Conflict conflict;
  std::vector<Fact> core;
  if (!AddAll(all, &facts, &conflict)) {
    // Ids are positions in `all`, the refused fact included.
    for (FactId id : conflict.core) core.push_back(all[static_cast<size_t>(id)]);
    out.edit = conflict.edit;
  } else {
    Answer answer;
    switch (Impossible(facts, &answer)) {
      case Verdict::kUnknown:
        return out;
      case Verdict::kRefuted:
        out.answer = Feasible::kYes;
        for (size_t s = 0; s < answer.witness.size(); ++s) {
          out.witness.emplace_back(context_->SymbolName(static_cast<SymbolId>(s)),
                                   answer.witness[s]);
        }
        return out;
      case Verdict::kProved:
        core = all;
        break;
    }
  }
  out.answer = Feasible::kNo;
  for (size_t i = 0; i < core.size();) {
    std::vector<Fact> fewer = core;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (CantHold(context_, fewer)) {
      core = std::move(fewer);
      i = 0;  // a smaller set may show what a larger one hid
    } else {
      ++i;
    }
  }
  out.conflict = std::move(core);
  return out;
}

std::string Feasibility::ToString() const {
  if (answer == Feasible::kUnknown) return "unknown";
  std::string text;
  if (answer == Feasible::kYes) {
    for (const auto& [name, value] : witness)
      absl::StrAppend(&text, text.empty() ? "feasible: " : ", ", name, " = ", value);
    return text.empty() ? "feasible" : text;
  }
  text = "these facts about sizes can't hold together:";
  for (const Fact& f : conflict) {
    absl::StrAppend(&text, "\n  ", f.claim.ToString());
    if (!f.source.what.empty()) absl::StrAppend(&text, "  [", f.source.what);
    if (!f.source.where.empty()) absl::StrAppend(&text, " at ", f.source.where);
    if (!f.source.what.empty()) text += "]";
  }
  if (!edit.empty()) absl::StrAppend(&text, "\nto mend it: ", edit);
  return text;
}

}  // namespace lathe::dim
