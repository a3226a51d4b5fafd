// :shape, :facts, :prove.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/branch_facts.h"
#include "ir/dim/facts.h"
#include "ir/provenance.h"
#include "ir/status_macros.h"
#include "repl/command.h"
#include "repl/session.h"
#include "repl/target.h"

namespace lathe::repl {
namespace {

Json LinesOf(const std::string& text) {
  Json lines = Json::array();
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(std::string(line));
  }
  return lines;
}

std::string FactText(const dim::Fact& f) {
  return absl::StrCat(f.claim.ToString(), "  [", dim::Name(f.standing),
                      f.source.what.empty() ? "" : ": ", f.source.what,
                      f.source.where.empty() ? "" : " at ", f.source.where, "]\n");
}

// What holds inside the sides of ifs; of claims that share a symbol with `about`, if that is given.
std::string BranchText(const ir::Graph& graph, std::optional<Dim> about) {
  std::string text;
  for (const ir::BranchFact& fact : ir::BranchFactsOf(graph)) {
    bool shares = !about;
    for (Dim side : {fact.claim.lhs, fact.claim.rhs}) {
      for (dim::SymbolId s : dim::FreeSymbols(side)) shares |= about && dim::DependsOn(*about, s);
    }
    if (shares) absl::StrAppend(&text, fact.text, "\n");
  }
  return text;
}

// A value for every declared dim.
Json WitnessOf(const Session& session, const dim::DimContext& dims,
               const std::vector<int64_t>& values) {
  const std::vector<std::string> declared = session.text().DimNames();
  Json witness = Json::object();
  for (size_t s = 0; s < values.size(); ++s) {
    const std::string& name = dims.SymbolName(static_cast<dim::SymbolId>(s));
    if (std::binary_search(declared.begin(), declared.end(), name)) witness[name] = values[s];
  }
  return witness;
}

// Of several claims: proved if all are, refuted if one is.
dim::Answer ProveAll(const dim::FactSet& facts, const std::vector<Claim>& claims,
                     bool use_required) {
  dim::Answer all{.verdict = dim::Verdict::kProved};
  for (const Claim& claim : claims) {
    dim::Answer answer = facts.Prove(claim, use_required);
    if (answer.verdict == dim::Verdict::kRefuted) return answer;
    if (answer.verdict == dim::Verdict::kUnknown) all.verdict = dim::Verdict::kUnknown;
    if (all.hint.empty()) all.hint = answer.hint;
    all.used.insert(all.used.end(), answer.used.begin(), answer.used.end());
  }
  std::sort(all.used.begin(), all.used.end());
  all.used.erase(std::unique(all.used.begin(), all.used.end()), all.used.end());
  return all;
}

// "y.1": a value and one of its axes.
struct AxisOf {
  ir::ValueId value = 0;
  int axis = 0;
};

// Nothing if the word isn't of that form, or names no value.
absl::StatusOr<std::optional<AxisOf>> ReadAxis(Session& session, const CommandLine::Word& word,
                                               std::string_view rest) {
  const size_t dot = rest.rfind('.');
  int64_t axis = 0;
  if (dot == rest.npos || !ReadInteger(rest.substr(dot + 1), &axis)) return std::nullopt;
  CommandLine::Word name{std::string(rest.substr(0, dot)), std::nullopt, word.at};
  const absl::StatusOr<ir::ValueId> value = session.FindValue(name);
  if (!value.ok()) return std::nullopt;
  const int rank = session.graph().type(*value).rank();
  if (axis < -rank || axis >= rank) {
    return session.Error(word.at, absl::StrCat(name.text, " has ", rank, " axes; found ", axis));
  }
  return AxisOf{*value, static_cast<int>(axis < 0 ? axis + rank : axis)};
}

std::string OriginsText(const ir::Graph& graph, const AxisOf& of) {
  std::string text;
  for (const ir::DimOrigin& origin : ir::OriginsOf(graph, of.value, of.axis)) {
    absl::StrAppend(&text, std::string(2 * static_cast<size_t>(origin.depth), ' '), origin.text,
                    "\n");
  }
  return text;
}

// Each bound of a size with the facts that it follows from.
std::string ReasonsText(const dim::FactSet& facts, Dim d) {
  std::vector<Claim> known;
  const dim::Interval range = facts.Range(d);
  if (range.min != dim::kUnboundedMin) known.push_back(Dim(range.min) <= d);
  if (range.max != dim::kUnboundedMax) known.push_back(d <= Dim(range.max));
  const dim::Congruence residue = facts.CongruenceOf(d);
  if (residue.modulus > 1) known.push_back(Eq(Mod(d, residue.modulus), residue.remainder));
  std::string text;
  for (const Claim& claim : known) {
    if (claim.lhs.is_constant() && claim.rhs.is_constant()) continue;  // 8*n % 8 is 0 by itself
    const dim::Answer answer = facts.Prove(claim);
    if (answer.verdict != dim::Verdict::kProved) continue;
    absl::StrAppend(&text, claim.ToString(), answer.used.empty() ? ", a size is >= 0\n" : " by\n");
    for (const dim::FactId id : answer.used) {
      absl::StrAppend(&text, "  ", FactText(facts.facts()[static_cast<size_t>(id)]));
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<Answer> ShapeCommand(Session& session, const CommandLine& line) {
  const auto& words = line.words();
  if (words.size() != 1 || words[0].value) return session.Error(line.at(), "wanted :shape y");
  LATHE_ASSIGN_OR_RETURN(const ir::ValueId value, session.FindValue(words[0]));
  const ir::ValueType& type = session.graph().type(value);
  Json dims = Json::array();
  for (Dim d : type.shape)
    dims.push_back(d.is_constant() ? Json(d.constant()) : Json(d.ToString()));
  return Answer{type.ToString(),
                {{"shape", type.ToString()}, {"dtype", Name(type.dtype)}, {"dims", dims}}};
}

absl::StatusOr<Answer> FactsCommand(Session& session, const CommandLine& line) {
  std::string text;
  Json json = Json::object();
  const dim::FactSet& facts = session.graph().facts();
  std::string_view rest = line.rest();
  const bool why = line.words().size() > 1 && line.words().back().text == "why";
  if (why) rest = rest.substr(0, rest.find_last_not_of(" \t,", rest.size() - 4) + 1);
  if (rest.empty()) {
    for (const dim::Fact& fact : facts.facts()) text += FactText(fact);
    text += BranchText(session.graph(), std::nullopt);
  } else {
    absl::StatusOr<Dim> d = session.text().ParseDim(rest);
    std::optional<AxisOf> axis;
    if (!d.ok()) {
      LATHE_ASSIGN_OR_RETURN(axis, ReadAxis(session, line.words()[0], rest));
    }
    if (!d.ok() && !axis) return InArgument(session, line, d.status());
    if (axis) d = session.graph().type(axis->value).shape[static_cast<size_t>(axis->axis)];
    if (axis || why) json["dim"] = d->ToString();
    if (axis) text = absl::StrCat(std::string(rest), " = ", d->ToString(), "\n");
    text += facts.Describe(*d);
    text += BranchText(session.graph(), *d);
    if (why) {
      std::string reasons = axis ? OriginsText(session.graph(), *axis) : "";
      reasons += ReasonsText(facts, *d);
      json["why"] = LinesOf(reasons);
      text += reasons;
    }
  }
  json["facts"] = LinesOf(text);
  if (text.empty()) text = "nothing is known";
  return Answer{text, std::move(json)};
}

absl::StatusOr<Answer> ProveCommand(Session& session, const CommandLine& line) {
  if (line.rest().empty()) return session.Error(line.at(), "wanted :prove seq * 2 >= 2");
  const absl::StatusOr<std::vector<Claim>> claims = session.text().ParseClaims(line.rest());
  if (!claims.ok()) return InArgument(session, line, claims.status());
  const dim::FactSet& facts = session.graph().facts();
  const dim::Answer answer = ProveAll(facts, *claims, /*use_required=*/false);
  Answer result{dim::Name(answer.verdict), {{"answer", dim::Name(answer.verdict)}}};
  if (answer.verdict == dim::Verdict::kProved) {
    Json used = Json::array();
    for (dim::FactId id : answer.used) {
      const dim::Fact& fact = facts.facts()[static_cast<size_t>(id)];
      used.push_back(fact.claim.ToString());
      absl::StrAppend(&result.text, "\n  by ", FactText(fact));
      result.text.pop_back();
    }
    result.json["used"] = std::move(used);
    return result;
  }
  if (answer.verdict == dim::Verdict::kRefuted) {
    const Json witness = WitnessOf(session, *session.graph().dims(), answer.witness);
    std::string sizes;
    for (const auto& [name, value] : witness.items()) {
      absl::StrAppend(&sizes, sizes.empty() ? ": " : ", ", name, " = ", value.get<int64_t>());
    }
    result.text += sizes;
    result.json["witness"] = witness;
  } else if (!answer.hint.empty()) {
    absl::StrAppend(&result.text, "; it would follow from ", answer.hint);
    result.json["hint"] = answer.hint;
  }
  if (ProveAll(facts, *claims, /*use_required=*/true).verdict == dim::Verdict::kProved) {
    result.text += "; proved for the sizes that pass the checks which ops require";
    result.json["after_checks"] = dim::Name(dim::Verdict::kProved);
  }
  return result;
}

}  // namespace lathe::repl
