#include "lathe/engine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/compile.h"
#include "compiler/specialize/specializer.h"
#include "ir/graph.h"
#include "ir/staged.h"
#include "lathe/trace.h"
#include "runtime/control_word.h"
#include "runtime/engine_state.h"
#include "runtime/function_state.h"
#include "runtime/staged_state.h"

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
  const rt::ControlWordScope control_word;  // passes compute constants
  if (!program.ok()) return program.status();
  if (!state_->broken.ok()) return state_->broken;
  if (program->is_staged()) {
    auto staged = compiler::CompileStaged(state_, program->release_staged(), options);
    if (!staged.ok()) return staged.status();
    return Function(nullptr, *std::move(staged));
  }
  std::shared_ptr<ir::Graph> graph(program->release());
  if (graph == nullptr) {
    return absl::FailedPreconditionError(
        "the program was moved from or released: it has no graph to compile");
  }
  if (absl::Status s = compiler::CheckOpenSymbol(*graph, options); !s.ok()) return s;
  if (absl::Status s = compiler::Optimise(*graph, options); !s.ok()) return s;
  auto function = compiler::MakeFunction(state_, std::move(graph), options);
  if (!function.ok()) return function.status();
  return Function(*std::move(function));
}

}  // namespace lathe
