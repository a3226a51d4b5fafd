#pragma once
// The specializer: facts in, version out. It lowers the fused groups of one function under the
// declared facts and a version's guard, compiles what the artefact cache doesn't hold, and builds
// the host program.
//
// Which versions exist beside the generic one follows from the strategy (docs/architecture.md):
// `auto` takes the ranges at which a schedule changes; the others fix symbols to sizes that were
// seen.
#include <memory>
#include <optional>
#include <vector>

#include "codegen/llvm/llvm_target.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/micro.h"
#include "compiler/plan/weights.h"
#include "runtime/engine_state.h"
#include "runtime/version.h"

namespace lathe::compiler {

// What an engine's compiler owns.
class CompilerBackend : public rt::CompilerState {
 public:
  static absl::StatusOr<std::shared_ptr<CompilerBackend>> Create(const EngineOptions& options);
  void AddCounters(EngineCounters* c) const override;

  llvm_target::LlvmCompiler& llvm() { return *llvm_; }
  WeightStore& weights() { return weights_; }
  MicroKernels& micro() { return micro_; }
  const ScheduleTarget& target() const { return target_; }

 private:
  std::unique_ptr<llvm_target::LlvmCompiler> llvm_;
  WeightStore weights_;
  MicroKernels micro_;
  ScheduleTarget target_;
};

// InvalidArgument, with the symbols that inputs show, if options.open_symbol is none of them, or if
// the strategy leaves no named symbol open.
absl::Status CheckOpenSymbol(const ir::Graph& graph, const CompileOptions& options);

class Specializer : public rt::VersionBuilder {
 public:
  // `graph` is optimised and holds primitives only.
  Specializer(std::weak_ptr<rt::EngineState> engine, std::shared_ptr<CompilerBackend> backend,
              std::shared_ptr<const ir::Graph> graph, const CompileOptions& options);

  absl::StatusOr<std::shared_ptr<const rt::Version>> BuildGeneric() override;
  std::vector<rt::VersionRequest> Propose() override;
  bool ObservesSizes() const override;
  std::vector<rt::VersionRequest> ProposeFor(absl::Span<const int64_t> symbols) override;
  bool Observes(size_t symbol) const override;
  absl::StatusOr<std::shared_ptr<const rt::Version>> Build(
      const rt::VersionRequest& request) override;

  // The plan and the kernels of a version without compiling them, for tools and tests.
  const FusionPlan& plan();
  absl::StatusOr<LoweredKernel> Lower(const dim::FactSet& facts, const Group& group);

 private:
  // Those that the guards of ProposeFor fix, in order.
  std::vector<dim::SymbolId> FixedSymbols() const;
  absl::StatusOr<std::shared_ptr<const rt::Version>> BuildWith(const rt::VersionRequest& request,
                                                               std::string name);

  std::weak_ptr<rt::EngineState> engine_;
  std::shared_ptr<CompilerBackend> backend_;
  std::shared_ptr<const ir::Graph> graph_;
  CompileOptions options_;
  int num_symbols_;
  int next_order_ = 1;
  std::optional<FusionPlan> plan_;
};

}  // namespace lathe::compiler
