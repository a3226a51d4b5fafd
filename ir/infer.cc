// Running a row of the op table on a node: its attributes, its rules, the claims that they make.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/attr_text.h"
#include "ir/branch_facts.h"
#include "ir/hint.h"
#include "ir/shape_rules.h"

namespace lathe::ir {
namespace {

// 1 if the claim holds, else 0, as an expression that can't overflow where the sides don't.
Dim Truth(const Claim& claim) {
  const Dim gap = claim.rhs - claim.lhs;
  switch (claim.relation) {
    case Relation::kEq:
      return 1 - Min(1, Max(gap, -gap));
    case Relation::kNe:
      return Min(1, Max(gap, -gap));
    case Relation::kLt:
      return Min(1, Max(0, gap));
    case Relation::kLe:
      return Min(1, Max(0, gap + 1));
    case Relation::kIn: {
      Dim truth = 0;
      for (int64_t v : claim.set) truth += 1 - Min(1, Max(claim.lhs - v, v - claim.lhs));
      return truth;
    }
  }
  return 0;
}

// "If all conditions hold, then the claim." Where they don't hold, the claim's divisors may be 0,
// so it is stated without such; that the divisors of a taken side aren't 0 is a claim of its own.
Claim Implication(const std::vector<Claim>& conditions, const Claim& claim) {
  Dim taken = 1;
  for (const Claim& condition : conditions) taken *= Truth(condition);
  const Dim truth = Truth(claim);
  return Eq(taken * (1 - dim::WithoutZeroDivisors(truth)), 0);
}

std::string Text(const absl::Status& s) { return std::string(s.message()); }

bool IsProved(const dim::FactSet& facts, const Claim& claim) {
  return facts.Prove(claim, /*use_required=*/true).verdict == dim::Verdict::kProved;
}

bool AlwaysFalse(const InferContext& c, const Claim& claim) {
  if (claim.relation != Relation::kIn) return c.Known(Not(claim));
  for (int64_t v : claim.set) {
    if (!c.Known(Ne(claim.lhs, v))) return false;
  }
  return true;
}

absl::Status CheckAttrs(const InferContext& c) {
  const OpInfo& info = Info(c.node->op);
  const std::vector<std::string_view> set = SetAttrs(c.node->attrs);
  const auto names = [&] {
    return absl::StrJoin(info.attrs, ", ",
                         [](std::string* out, const AttrSpec& a) { out->append(a.name); });
  };
  for (std::string_view name : set) {
    const bool known = std::any_of(info.attrs.begin(), info.attrs.end(),
                                   [&](const AttrSpec& a) { return a.name == name; });
    if (!known) {
      return c.Error(absl::StrCat("has no attribute '", std::string(name), "'; wanted ",
                                  info.attrs.empty() ? "none" : names()));
    }
  }
  for (const AttrSpec& spec : info.attrs) {
    // Lists may rightly be empty at rank 0; the shape rule checks their length.
    const AttrField* const field = FindAttrField(spec.name);
    const bool is_list = field != nullptr && IsList(*field);
    if (!spec.required || is_list || std::find(set.begin(), set.end(), spec.name) != set.end())
      continue;
    const absl::Status error = c.Error(
        absl::StrCat("lacks the attribute '", std::string(spec.name), "'; wanted ", names()));
    const std::string value = spec.name == "dtype" ? "f32" : spec.name == "epsilon" ? "1e-5" : "0";
    return WithHint(error, {Hint::Kind::kAttr, std::string(spec.name), value});
  }
  return absl::OkStatus();
}

absl::Status CheckOperandCount(const InferContext& c) {
  const OpInfo& info = Info(c.node->op);
  const int count = static_cast<int>(c.node->operands.size());
  if (count < info.min_operands || count > info.max_operands) {
    const std::string wanted =
        info.min_operands == info.max_operands ? absl::StrCat(info.min_operands)
        : count < info.min_operands            ? absl::StrCat("at least ", info.min_operands)
                                               : absl::StrCat("at most ", info.max_operands);
    return c.Error(absl::StrCat("has ", count, " operands; wanted ", wanted));
  }
  for (ValueId v : c.node->operands) {
    if (v >= c.graph->num_nodes())
      return c.Error(absl::StrCat("operand ", c.graph->ValueName(v), " is no value of this graph"));
  }
  return absl::OkStatus();
}

// The parts in `seen` are required already. The depth is that of `d`.
absl::Status RequireDivisorsOf(InferContext& c, Dim d, absl::flat_hash_set<Dim>* seen) {
  if (d.is_constant() || !seen->insert(d).second) return absl::OkStatus();
  const dim::Expr e = dim::Decompose(d);
  const bool divides = e.kind == dim::ExprKind::kFloorDiv || e.kind == dim::ExprKind::kMod ||
                       e.kind == dim::ExprKind::kCeilDiv;
  if (divides && !e.operands[1].is_constant()) {
    absl::Status s =
        c.Require(Ne(e.operands[1], 0), absl::StrCat(d.ToString(), " may not divide by 0"));
    if (!s.ok()) return s;
  }
  for (Dim operand : e.operands)
    if (absl::Status s = RequireDivisorsOf(c, operand, seen); !s.ok()) return s;
  return absl::OkStatus();
}

}  // namespace

bool InferContext::Known(const Claim& claim) const {
  if (IsProved(graph->facts(), claim)) return true;
  if (side == nullptr) return false;
  return (side->facts && IsProved(*side->facts, claim)) ||
         IsProved(graph->facts(), Implication(side->conditions, claim));
}

absl::Status InferContext::Error(const std::string& message) const {
  return ErrorAt(*node, absl::StatusCode::kInvalidArgument, message);
}

absl::Status InferContext::Require(const Claim& claim, const std::string& why,
                                   const std::string& declare) {
  for (Dim d : {claim.lhs, claim.rhs}) {
    if (!d.ok()) {
      return ErrorAt(*node, absl::StatusCode::kOutOfRange,
                     absl::StrCat(why, ": ", Text(d.status())));
    }
  }
  if (Known(claim)) return absl::OkStatus();
  if (check_only) {
    return ErrorAt(*node, absl::StatusCode::kFailedPrecondition,
                   absl::StrCat(why, ": ", claim.ToString(), " is not among the facts"));
  }
  std::string what = absl::StrCat(std::string(Name(node->op)), ": ", why);
  if (side != nullptr) {
    absl::StrAppend(&what, ", where ",
                    absl::StrJoin(side->conditions, " and ", [](std::string* out, const Claim& c) {
                      out->append(c.ToString());
                    }));
  }
  const dim::Source source{what, node->location.ToString(), declare};
  if (AlwaysFalse(*this, claim)) return NeverHolds(claim, why, source);
  const Claim added = side == nullptr ? claim : Implication(side->conditions, claim);
  absl::StatusOr<dim::FactId> id = graph->facts().Add(added, dim::Standing::kRequired, source);
  if (id.ok()) return absl::OkStatus();
  return ErrorAt(*node, id.status().code(), absl::StrCat(why, ": ", Text(id.status())));
}

// What the facts, with the conditions of the sides around, say against the claim.
absl::Status InferContext::NeverHolds(const Claim& claim, const std::string& why,
                                      const dim::Source& source) const {
  const std::string never = absl::StrCat(why, ": ", claim.ToString(), " never holds");
  const bool constants = claim.lhs.is_constant() && claim.rhs.is_constant();
  if (constants && claim.relation == Relation::kEq) {
    return WithHint(Error(never), {Hint::Kind::kDims, claim.lhs.ToString(), claim.rhs.ToString()});
  }
  if (constants) return Error(never);
  dim::FactSet facts = side != nullptr && side->facts ? *side->facts : graph->facts();
  const absl::Status conflict = facts.Add(claim, dim::Standing::kRequired, source).status();
  const absl::Status error =
      Error(conflict.ok() ? never : absl::StrCat(never, "; ", Text(conflict)));
  if (side == nullptr) return error;
  return WithHint(error, {Hint::Kind::kCondition,
                          source.declare.empty() ? claim.ToString() : source.declare, ""});
}

Side SideOf(const Graph& graph, const Side* outer, const Claim& claim, bool then_side,
            const std::string& where) {
  Side side;
  if (outer != nullptr) side = *outer;
  if (!side.facts) side.facts = graph.facts();
  for (const Claim& condition : ClaimsOfSide(claim, then_side)) {
    side.conditions.push_back(condition);
    // A side that is never taken has a contradiction here; leaving it out only leaves less known.
    side.facts->Add(condition, dim::Standing::kDeclared, {"the condition of if", where})
        .IgnoreError();
  }
  return side;
}

absl::Status CheckAttrDims(const InferContext& c) {
  std::vector<Dim> dims;
  ForEachDim(c.node->attrs, [&](Dim d) { dims.push_back(d); });
  for (Dim d : dims) {
    if (!d.ok()) return ErrorAt(*c.node, absl::StatusCode::kOutOfRange, Text(d.status()));
    dim::DimContext* context = dim::ContextOf(d);
    if (context == nullptr || context == c.graph->dims()) continue;
    return c.Error(absl::StrCat("the dim ", d.ToString(), " is of another program"));
  }
  return absl::OkStatus();
}

std::vector<std::string_view> SetAttrs(const Attrs& a) {
  std::vector<std::string_view> names;
  for (const AttrField& field : AllAttrFields())
    if (IsSet(field, a)) names.push_back(field.name);
  return names;
}

absl::Status RequireDivisors(InferContext& c, Dim d) {
  absl::flat_hash_set<Dim> seen;
  return RequireDivisorsOf(c, d, &seen);
}

absl::Status Infer(InferContext& c, absl::flat_hash_set<Dim>* checked) {
  const OpInfo& info = Info(c.node->op);
  if (info.infer == nullptr) return c.Error("has no row in the op table");
  if (absl::Status s = CheckOperandCount(c); !s.ok()) return s;
  if (absl::Status s = CheckAttrs(c); !s.ok()) return s;
  if (absl::Status s = CheckAttrDims(c); !s.ok()) return s;
  if (absl::Status s = info.infer(c); !s.ok()) return s;
  if (info.require != nullptr) {
    if (absl::Status s = info.require(c); !s.ok()) return s;
  }
  // Sizes of a side that isn't taken are evaluated without divisors of 0, those of one that is
  // taken likewise: that none is 0 there is checked at entry.
  if (c.side != nullptr) {
    std::vector<Dim> dims = c.node->type.shape;
    ForEachDim(c.node->attrs, [&](Dim d) { dims.push_back(d); });
    for (Dim d : dims)
      if (absl::Status s = RequireDivisors(c, d); !s.ok()) return s;
  }
  return CheckType(c, c.node->type, checked);
}

}  // namespace lathe::ir
