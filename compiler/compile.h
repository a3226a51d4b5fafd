#pragma once
// From a program to functions without code: what Engine::compile does, graph by graph.
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/staged.h"
#include "runtime/function_state.h"
#include "runtime/staged_state.h"

namespace lathe::compiler {

// Verifies the graph, runs the passes and expands composites.
absl::Status Optimise(ir::Graph& graph, const CompileOptions& options);

// A function of an optimised graph. Functions of one DimContext share `build_mutex`, and all its
// graphs are optimised before the first function is made, because a function counts the symbols.
absl::StatusOr<std::shared_ptr<rt::FunctionState>> MakeFunction(
    const std::shared_ptr<rt::EngineState>& engine, std::shared_ptr<ir::Graph> graph,
    const CompileOptions& options, std::shared_ptr<std::mutex> build_mutex = nullptr);

// A program in stages: a function for each graph.
absl::StatusOr<std::shared_ptr<rt::StagedState>> CompileStaged(
    const std::shared_ptr<rt::EngineState>& engine, std::unique_ptr<ir::Staged> program,
    const CompileOptions& options);

}  // namespace lathe::compiler
