#include "compiler/compile.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/passes/pass.h"
#include "compiler/specialize/specializer.h"
#include "ir/hint.h"
#include "ir/status_macros.h"
#include "ir/used_symbols.h"
#include "runtime/engine_state.h"

namespace lathe::compiler {
namespace {

// Takes away the facts about sizes that this graph has nothing of: its calls couldn't check them.
// Another graph of the program may have them.
void DropForeignFacts(ir::Graph& graph) {
  const std::vector<bool> used = ir::UsedSymbols(graph);
  const auto own = [&](Dim d) {
    const std::vector<dim::SymbolId> symbols = dim::FreeSymbols(d);
    return std::all_of(symbols.begin(), symbols.end(), [&](dim::SymbolId s) { return used[s]; });
  };
  const auto foreign = [&](const dim::Fact& f) { return !own(f.claim.lhs) || !own(f.claim.rhs); };
  const std::vector<dim::Fact>& facts = graph.facts().facts();
  if (std::none_of(facts.begin(), facts.end(), foreign)) return;
  dim::FactSet kept(graph.dims());
  for (const dim::Fact& fact : facts) {
    if (fact.standing == dim::Standing::kDerived || foreign(fact)) continue;
    // Part of a set without contradictions has none.
    kept.Add(fact.claim, fact.standing, fact.source).IgnoreError();
  }
  graph.facts() = kept;
}

absl::Status InGraph(const ir::Graph& graph, const absl::Status& status) {
  return ir::WithPrefix(status, absl::StrCat("graph '", graph.name, "'"));
}

// Gives each graph a name: its own, or that of its stage.
void NameGraphs(const ir::Staged& program) {
  for (const ir::Staged* p : ir::ProgramsOf(program)) {
    for (size_t i = 0; i < p->stages.size(); ++i) {
      const std::shared_ptr<ir::Graph>& graph = p->stages[i].graph;
      if (graph != nullptr && graph->name.empty()) graph->name = ir::StageText(*p, i);
    }
  }
}

}  // namespace

absl::Status Optimise(ir::Graph& graph, const CompileOptions& options) {
  LATHE_RETURN_IF_ERROR(ir::Verify(graph));
  PassContext passes;
  passes.skip = options.skip_passes;
  passes.fold_bytes = options.max_folded_bytes;
  graph.fast_math |= options.fast_math;
  return RunPipeline(graph, passes);
}

absl::StatusOr<std::shared_ptr<rt::FunctionState>> MakeFunction(
    const std::shared_ptr<rt::EngineState>& engine, std::shared_ptr<ir::Graph> graph,
    const CompileOptions& options, std::shared_ptr<std::mutex> build_mutex) {
  auto backend = std::static_pointer_cast<CompilerBackend>(engine->compiler);
  auto builder = std::make_unique<Specializer>(engine, std::move(backend), graph, options);
  return rt::FunctionState::Make(engine, std::move(graph), std::move(builder), options,
                                 std::move(build_mutex));
}

absl::StatusOr<std::shared_ptr<rt::StagedState>> CompileStaged(
    const std::shared_ptr<rt::EngineState>& engine, std::unique_ptr<ir::Staged> program,
    const CompileOptions& options) {
  LATHE_RETURN_IF_ERROR(ir::Verify(*program));
  NameGraphs(*program);
  LATHE_ASSIGN_OR_RETURN(ir::Graph entry, ir::EntryGraph(*program));
  LATHE_RETURN_IF_ERROR(CheckOpenSymbol(entry, options));
  auto entry_graph = std::make_shared<ir::Graph>(std::move(entry));
  const std::vector<std::shared_ptr<ir::Graph>> graphs = ir::GraphsOf(*program);
  struct Empty {
    const ir::Stage* loop;
    std::shared_ptr<ir::Graph> graph;
    std::vector<int> inputs;
  };
  std::vector<Empty> empties;
  for (const ir::Staged* p : ir::ProgramsOf(*program)) {
    for (const ir::Stage& stage : p->stages) {
      if (stage.scanned.empty()) continue;
      LATHE_ASSIGN_OR_RETURN(ir::EmptyScans scans, ir::MakeEmptyScans(*stage.bodies[0], stage));
      empties.push_back(
          {&stage, std::make_shared<ir::Graph>(std::move(scans.graph)), std::move(scans.inputs)});
    }
  }
  // Everything that makes symbols first: functions count them.
  for (const std::shared_ptr<ir::Graph>& graph : graphs) {
    DropForeignFacts(*graph);
    if (absl::Status s = Optimise(*graph, options); !s.ok()) return InGraph(*graph, s);
    DropForeignFacts(*graph);  // what the passes found to be dead may have had more of them
  }
  for (const Empty& e : empties) LATHE_RETURN_IF_ERROR(Optimise(*e.graph, options));

  const auto build_mutex = std::make_shared<std::mutex>();
  rt::StagedParts parts;
  const auto make = [&](const std::shared_ptr<ir::Graph>& graph) {
    return MakeFunction(engine, graph, options, build_mutex);
  };
  LATHE_ASSIGN_OR_RETURN(parts.entry, make(entry_graph));
  for (const std::shared_ptr<ir::Graph>& graph : graphs) {
    auto function = make(graph);
    if (!function.ok()) return InGraph(*graph, function.status());
    parts.graphs[graph.get()] = *std::move(function);
  }
  for (Empty& e : empties) {
    LATHE_ASSIGN_OR_RETURN(parts.empty_scans[e.loop].function, make(e.graph));
    parts.empty_scans[e.loop].inputs = std::move(e.inputs);
  }
  parts.program = std::move(program);
  return rt::StagedState::Make(engine, std::move(parts));
}

}  // namespace lathe::compiler
