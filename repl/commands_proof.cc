// :proof.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/dim/certificate.h"
#include "ir/dim/check/check.h"
#include "ir/status_macros.h"
#include "repl/command.h"
#include "repl/session.h"
#include "repl/target.h"

namespace lathe::repl {

absl::StatusOr<Answer> ProofCommand(Session& session, const CommandLine& line) {
  const absl::StatusOr<std::vector<Claim>> claims = session.text().ParseClaims(line.rest());
  if (line.rest().empty() || !claims.ok() || claims->size() != 1) {
    if (!line.rest().empty() && !claims.ok()) return InArgument(session, line, claims.status());
    return session.Error(line.at(), "wanted :proof and one claim, as in :proof seq * 2 >= 2");
  }
  const absl::StatusOr<dim::Proof> proof =
      dim::Certify(session.graph().facts(), claims->front(), /*use_required=*/false);
  if (!proof.ok()) return session.Error(line.rest_at(), std::string(proof.status().message()));
  LATHE_RETURN_IF_ERROR(dim::check::Check(proof->problem, proof->certificate));
  Answer answer;
  answer.text = dim::check::ToString(proof->problem, proof->certificate);
  Json steps = Json::array();
  for (absl::string_view step : absl::StrSplit(answer.text, '\n', absl::SkipEmpty())) {
    steps.push_back(std::string(step));
  }
  answer.json = {{"answer", "proved"}, {"steps", std::move(steps)}, {"checked", true}};
  if (!answer.text.empty() && answer.text.back() != '\n') answer.text += "\n";
  answer.text += "checked";
  return answer;
}

}  // namespace lathe::repl
