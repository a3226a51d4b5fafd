// :import.
#include <memory>

#include "absl/strings/str_cat.h"
#include "ir/lexer.h"
#include "ir/staged.h"
#include "lathe/onnx.h"
#include "repl/command.h"
#include "repl/session.h"

namespace lathe::repl {
namespace {

// The graph knows outputs by number; a session asks for them by name.
void NameOutputs(ir::Graph& graph) {
  for (size_t i = 0; i < graph.output_names.size(); ++i) {
    ir::Node& n = graph.node(graph.body.results[i]);
    if (n.name.empty() && ir::IsPlainName(graph.output_names[i])) n.name = graph.output_names[i];
  }
}

Json ValuesJson(const ir::Graph& graph, const std::vector<std::string>& names,
                const std::vector<ir::ValueId>& values, const std::string& label, Answer* answer) {
  Json list = Json::array();
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string type = graph.type(values[i]).ToString();
    list.push_back({{"name", names[i]}, {"type", type}});
    absl::StrAppend(&answer->text, answer->text.empty() ? "" : "\n", label, " ", names[i], ": ",
                    type);
  }
  return list;
}

}  // namespace

absl::StatusOr<Answer> ImportCommand(Session& session, const CommandLine& line) {
  if (line.rest().empty())
    return session.Error(line.at(), ":import needs a file: :import model.onnx");
  absl::StatusOr<OnnxModel> model = load_onnx(std::string(line.rest()));
  if (!model.ok()) return WithPlace(session.file(), line.rest_at(), model.status());
  if (model->program.is_staged()) {
    return WithPlace(session.file(), line.rest_at(),
                     absl::UnimplementedError(absl::StrCat(
                         "sizes or steps of this model depend on data, so it runs in ",
                         model->program.staged().stages.size(),
                         " stages; a session holds one graph: use jit-repl inspect or run")));
  }
  const std::unique_ptr<ir::Graph> graph = model->program.release();
  NameOutputs(*graph);
  Answer answer;
  answer.json["inputs"] = ValuesJson(*graph, model->inputs, graph->inputs, "input", &answer);
  answer.json["outputs"] =
      ValuesJson(*graph, graph->output_names, graph->body.results, "output", &answer);
  answer.json["dims"] = model->dims;
  session.Replace(std::move(*graph));
  return answer;
}

}  // namespace lathe::repl
