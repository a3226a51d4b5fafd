#include "lathe/engine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/passes/pass.h"
#include "compiler/specialize/specializer.h"
#include "ir/expand.h"
#include "ir/graph.h"
#include "lathe/trace.h"
#include "runtime/engine_state.h"
#include "runtime/function_state.h"

namespace lathe {

Engine::Engine(EngineOptions options) : state_(std::make_shared<rt::EngineState>(options)) {
  if (options.threads < 0) {
    state_->broken = absl::InvalidArgumentError(
        absl::StrCat("EngineOptions::threads is ", options.threads, "; wanted 0 or more"));
    return;
  }
  absl::StatusOr<std::shared_ptr<compiler::CompilerBackend>> backend =
      compiler::CompilerBackend::Create(options);
  if (backend.ok()) {
    state_->compiler = *std::move(backend);
  } else {
    state_->broken = backend.status();
  }
}

Engine::~Engine() { state_->background.Stop(); }

EngineCounters Engine::counters() const { return state_->Counters(); }
void Engine::reset_peak() { state_->ResetPeak(); }
void Engine::hold_background(bool hold) { state_->background.Hold(hold); }

absl::StatusOr<Function> Engine::compile(absl::StatusOr<Program> program, CompileOptions options) {
  if (!program.ok()) return program.status();
  if (!state_->broken.ok()) return state_->broken;
  std::shared_ptr<ir::Graph> graph(program->release());
  if (absl::Status s = ir::Verify(*graph); !s.ok()) return s;
  for (ir::ValueId v = 0; v < graph->num_nodes(); ++v) {
    const DType t = graph->type(v).dtype;
    if (t <= DType::kF64) continue;
    return absl::UnimplementedError(
        absl::StrCat(graph->ValueName(v), " is ", graph->type(v).ToString(),
                     ": there is no compiled code of type ", lathe::Name(t), " yet"));
  }
  compiler::PassContext passes;
  passes.skip = options.skip_passes;
  if (absl::Status s = compiler::RunPasses(*graph, passes); !s.ok()) return s;
  if (absl::Status s = ir::ExpandComposites(graph.get()); !s.ok()) return s;
  auto backend = std::static_pointer_cast<compiler::CompilerBackend>(state_->compiler);
  auto builder =
      std::make_unique<compiler::Specializer>(state_, std::move(backend), graph, options);
  absl::StatusOr<std::shared_ptr<rt::FunctionState>> function =
      rt::FunctionState::Make(state_, graph, std::move(builder), options);
  if (!function.ok()) return function.status();
  return Function(*std::move(function));
}

}  // namespace lathe
