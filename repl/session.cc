#include "repl/session.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "ir/lexer.h"
#include "ir/mend.h"
#include "ir/status_macros.h"

namespace lathe::repl {
namespace {

constexpr int64_t kLeastMemory = int64_t{1} << 30;

int64_t MemoryFor(int64_t wanted) {
  if (wanted > 0) return wanted;
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return std::max(kLeastMemory, pages > 0 && page > 0 ? pages * page / 4 * 3 : 0);
}

const char* KindName(ir::StatementKind kind) {
  switch (kind) {
    case ir::StatementKind::kProgram:
      return "program";
    case ir::StatementKind::kDim:
      return "dim";
    case ir::StatementKind::kAssume:
      return "assume";
    case ir::StatementKind::kInput:
      return "input";
    case ir::StatementKind::kValue:
      return "value";
    case ir::StatementKind::kOutput:
      return "output";
  }
  return "?";
}

}  // namespace

Session::Session(const SessionOptions& options)
    : options_(options),
      functions_(options.threads, MemoryFor(options.memory_bytes)),
      history_(History()) {
  text_.emplace(&graph_, options.file);
}

void Session::Replace(ir::Graph graph) {
  functions_.Clear();
  history_.reset();
  text_.reset();
  graph_ = std::move(graph);
  text_.emplace(&graph_, options_.file);
}

absl::Status Session::Error(Place at, const std::string& message) const {
  return WithPlace(file(), at, absl::InvalidArgumentError(message));
}

std::variant<Answer, Fault> Session::Execute(const ir::StatementText& statement) {
  const bool is_command = !statement.text.empty() && statement.text[0] == ':';
  absl::StatusOr<Answer> answer =
      is_command ? RunCommandLine(CommandLine(statement)) : Statement(statement);
  if (answer.ok()) {
    if (!is_command && history_) history_->Add(statement);
    return *std::move(answer);
  }
  std::optional<ir::Edit> edit;
  if (is_command) {
    edit = EditOfCommand(statement, file(), answer.status());
  } else if (history_) {
    edit = ir::FindEdit(history_->With(statement), file(), answer.status());
  }
  return FaultOf(file(), WithEdit(answer.status(), edit), {statement.line, statement.column});
}

absl::StatusOr<Answer> Session::Statement(const ir::StatementText& statement) {
  const size_t facts = graph_.facts().facts().size();
  LATHE_ASSIGN_OR_RETURN(const ir::StatementResult result, text_->Execute(statement));
  Answer answer;
  answer.json["kind"] = KindName(result.kind);
  const std::string notes = Requirements(facts, &answer.json);
  if (result.value == ir::kNoValue) {
    if (!result.name.empty()) answer.json["name"] = result.name;
    return answer;
  }
  const std::string name = result.name.empty() ? graph_.ValueName(result.value) : result.name;
  const std::string type = graph_.type(result.value).ToString();
  answer.json["name"] = name;
  answer.json["type"] = type;
  const bool unnamed = result.kind == ir::StatementKind::kValue && result.name.empty();
  if (unnamed || options_.show_types) answer.text = absl::StrCat(name, ": ", type);
  if (options_.show_types) absl::StrAppend(&answer.text, notes);
  return answer;
}

std::string Session::Requirements(size_t first_fact, Json* json) const {
  std::string notes;
  Json list = Json::array();
  const std::vector<dim::Fact>& facts = graph_.facts().facts();
  for (size_t i = first_fact; i < facts.size(); ++i) {
    if (facts[i].standing != dim::Standing::kRequired) continue;
    const std::string claim = facts[i].claim.ToString();
    const std::string declare =
        absl::StrCat("assume ", facts[i].source.declare.empty() ? claim : facts[i].source.declare);
    list.push_back({{"claim", claim}, {"by", facts[i].source.what}, {"declare", declare}});
    absl::StrAppend(&notes, "\n  each call checks ", claim, " (", facts[i].source.what,
                    "); to have it known: ", declare);
  }
  if (!list.empty()) (*json)["requires"] = std::move(list);
  return notes;
}

absl::StatusOr<Answer> Session::RunCommandLine(const CommandLine& line) {
  const Command* command = FindCommand(line.name());
  if (command == nullptr) {
    std::vector<std::string_view> names;
    std::string known;
    for (const Command& row : Commands()) {
      names.push_back(row.name);
      absl::StrAppend(&known, known.empty() ? "; known: :" : " :", std::string(row.name));
    }
    const std::string near = ir::DidYouMean(line.name(), names);
    return Error(line.at(), absl::StrCat("there is no command ", Quoted(line.name()),
                                         near.empty() ? known : near));
  }
  return command->run(*this, line);
}

absl::StatusOr<ir::ValueId> Session::FindValue(const CommandLine::Word& word) const {
  if (word.text.size() > ir::kMaxNameBytes) {
    return Error(word.at, absl::StrCat("there is no value ", Quoted(word.text)));
  }
  const absl::StatusOr<ir::ValueId> found = text_->Find(word.text);
  if (found.ok()) return found;
  ir::ValueId number = 0;
  const char* const end = word.text.data() + word.text.size();
  if (word.text.size() > 1 && word.text[0] == '%') {
    const auto [at, error] = std::from_chars(word.text.data() + 1, end, number);
    const std::vector<ir::ValueId>& nodes = graph_.body.nodes;
    if (error == std::errc() && at == end &&
        std::find(nodes.begin(), nodes.end(), number) != nodes.end()) {
      return number;
    }
  }
  return WithPlace(file(), word.at, found.status());
}

std::string Session::ProgramName() const { return graph_.name.empty() ? "program" : graph_.name; }

absl::StatusOr<std::shared_ptr<const CompiledValue>> Session::Compile(
    const CommandLine::Word& word) {
  std::vector<NamedValue> outputs;
  if (word.text == "output") {
    for (size_t i = 0; i < graph_.body.results.size(); ++i) {
      outputs.push_back({graph_.output_names[i], graph_.body.results[i]});
    }
    if (outputs.empty()) return Error(word.at, "there is no output; declare one: output y");
  } else {
    LATHE_ASSIGN_OR_RETURN(const ir::ValueId value, FindValue(word));
    outputs.push_back({ir::IsPlainName(word.text) ? word.text : std::string("value"), value});
  }
  const std::string name = word.text == "output" ? ProgramName() : word.text;
  auto compiled = functions_.Get(graph_, name, outputs);
  if (!compiled.ok()) return WithPlace(file(), word.at, compiled.status());
  return compiled;
}

}  // namespace lathe::repl
