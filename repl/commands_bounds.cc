// :bounds, :exceeds.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/bounds.h"
#include "ir/status_macros.h"
#include "repl/command.h"
#include "repl/memory_size.h"
#include "repl/session.h"
#include "repl/target.h"

namespace lathe::repl {
namespace {

std::string AtMost(std::optional<int64_t> bytes) {
  return bytes ? absl::StrCat("at most ", *bytes, " bytes", ReadableBytes(*bytes)) : "unknown";
}

Json OrNull(std::optional<int64_t> number) { return number ? Json(*number) : Json(nullptr); }

std::string FormulaOf(Dim d) { return d.ok() ? d.ToString() : "too large for 64 bits"; }

Json RowJson(const ir::Graph& graph, ir::ValueId v, const ir::ValueBounds& b) {
  return {{"value", graph.ValueName(v)},
          {"type", graph.type(v).ToString()},
          {"elements", FormulaOf(b.elements)},
          {"max_elements", OrNull(b.max_elements)},
          {"max_bytes", OrNull(b.max_bytes)}};
}

std::string RowText(const ir::Graph& graph, ir::ValueId v, const ir::ValueBounds& b) {
  return absl::StrCat(graph.ValueName(v), ": ", graph.type(v).ToString(), "  ",
                      FormulaOf(b.elements), " elements, ", AtMost(b.max_bytes));
}

}  // namespace

absl::StatusOr<Answer> BoundsCommand(Session& session, const CommandLine& line) {
  const ir::Graph& graph = session.graph();
  if (!line.words().empty()) {
    if (line.words().size() != 1 || line.words()[0].value) {
      return session.Error(line.at(), "wanted :bounds y, or :bounds alone");
    }
    LATHE_ASSIGN_OR_RETURN(const ir::ValueId value, session.FindValue(line.words()[0]));
    const ir::ValueBounds bounds = ir::BoundsOf(graph, value);
    return Answer{RowText(graph, value, bounds), RowJson(graph, value, bounds)};
  }
  const ir::GraphBounds bounds = ir::BoundsOf(graph);
  Answer answer;
  Json rows = Json::array();
  for (const ir::GraphBounds::Row& row : bounds.rows) {
    absl::StrAppend(&answer.text, RowText(graph, row.value, row.bounds), "\n");
    rows.push_back(RowJson(graph, row.value, row.bounds));
  }
  absl::StrAppend(&answer.text, "all results of ops: ", AtMost(bounds.max_total_bytes),
                  "; at a time, unfused: ", AtMost(bounds.max_peak_bytes));
  answer.json = {{"values", std::move(rows)},
                 {"max_total_bytes", OrNull(bounds.max_total_bytes)},
                 {"max_peak_bytes", OrNull(bounds.max_peak_bytes)}};
  return answer;
}

absl::StatusOr<Answer> ExceedsCommand(Session& session, const CommandLine& line) {
  LATHE_ASSIGN_OR_RETURN(const Target target, ReadTarget(session, line, {.others = 1}));
  if (target.others.size() != 1 || target.has_sizes) {
    return session.Error(line.at(), "wanted :exceeds y 8GiB");
  }
  LATHE_ASSIGN_OR_RETURN(const int64_t bytes, ReadBytes(session, target.others[0]));
  LATHE_ASSIGN_OR_RETURN(const MemoryAnswer found, target.compiled->function.could_exceed(bytes));
  Answer answer;
  answer.json["formula"] = found.formula;
  switch (found.verdict) {
    case MemoryAnswer::Verdict::kNo:
      answer.text = absl::StrCat("no, for no admitted size: ", found.formula, " <= ", bytes);
      for (const std::string& fact : found.facts) absl::StrAppend(&answer.text, "\n  by ", fact);
      answer.json["answer"] = "no";
      answer.json["used"] = found.facts;
      return answer;
    case MemoryAnswer::Verdict::kYes:
      answer.text =
          absl::StrCat("yes: ", found.peak_bytes, " bytes", ReadableBytes(found.peak_bytes), " at ",
                       absl::StrJoin(found.sizes, ", ", absl::PairFormatter(" = ")));
      answer.json["answer"] = "yes";
      answer.json["bytes"] = found.peak_bytes;
      answer.json["witness"] = found.sizes;
      return answer;
    case MemoryAnswer::Verdict::kUnknown:
      break;
  }
  answer.text = "unknown";
  if (!found.hint.empty()) absl::StrAppend(&answer.text, "; it would follow from ", found.hint);
  answer.json["answer"] = "unknown";
  answer.json["hint"] = found.hint;
  return answer;
}

}  // namespace lathe::repl
