#include "repl/functions.h"

#include <algorithm>
#include <utility>

#include "ir/status_macros.h"
#include "lathe/trace.h"

namespace lathe::repl {
namespace {

size_t CountDeclared(const ir::Graph& graph) {
  const std::vector<dim::Fact>& facts = graph.facts().facts();
  return static_cast<size_t>(std::count_if(facts.begin(), facts.end(), [](const dim::Fact& f) {
    return f.standing == dim::Standing::kDeclared;
  }));
}

}  // namespace

Engine& Functions::engine() {
  if (engine_ == nullptr) {
    EngineOptions options;
    options.threads = threads_;
    options.max_arena_bytes = max_bytes_;
    engine_ = std::make_unique<Engine>(options);
  }
  return *engine_;
}

absl::StatusOr<std::shared_ptr<const CompiledValue>> Functions::Get(
    const ir::Graph& session, const std::string& name, absl::Span<const NamedValue> outputs) {
  const size_t declared = CountDeclared(session);
  if (declared != declared_) compiled_.clear();
  declared_ = declared;

  std::vector<ir::ValueId> values;
  for (const NamedValue& output : outputs) values.push_back(output.value);
  for (auto it = compiled_.begin(); it != compiled_.end(); ++it) {
    if ((*it)->values != values || (*it)->name != name) continue;
    compiled_.splice(compiled_.begin(), compiled_, it);
    return compiled_.front();
  }
  LATHE_ASSIGN_OR_RETURN(std::unique_ptr<ir::Graph> graph, Extract(session, outputs));
  graph->name = name;
  auto traced = std::make_unique<const ir::Graph>(graph->Clone());
  LATHE_ASSIGN_OR_RETURN(Function function, engine().compile(Program(std::move(graph))));
  LATHE_RETURN_IF_ERROR(function.prepare());
  function.wait_for_versions();
  compiled_.push_front(std::make_shared<const CompiledValue>(
      CompiledValue{name, std::move(values), std::move(traced), std::move(function)}));
  if (compiled_.size() > kMostKept) compiled_.pop_back();
  return compiled_.front();
}

}  // namespace lathe::repl
