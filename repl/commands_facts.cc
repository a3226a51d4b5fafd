// :shape, :facts, :prove.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/dim/facts.h"
#include "ir/status_macros.h"
#include "repl/command.h"
#include "repl/session.h"

namespace lathe::repl {
namespace {

// Puts the place that an error inside the command's argument has into the whole text.
absl::Status InArgument(const Session& session, const CommandLine& line, const absl::Status& s) {
  std::string message(s.message());
  Place at;
  if (!TakePlace(session.file(), &message, &at)) at.column = 1;
  return WithPlace(session.file(), {line.rest_at().line, line.rest_at().column + at.column - 1},
                   absl::Status(s.code(), message));
}

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
  if (line.rest().empty()) {
    for (const dim::Fact& fact : session.graph().facts().facts()) text += FactText(fact);
  } else {
    const absl::StatusOr<Dim> d = session.text().ParseDim(line.rest());
    if (!d.ok()) return InArgument(session, line, d.status());
    text = session.graph().facts().Describe(*d);
  }
  Json lines = LinesOf(text);
  if (text.empty()) text = "nothing is known";
  return Answer{text, {{"facts", std::move(lines)}}};
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
