#pragma once
// The state behind lathe::Function: entry plan, version table (swapped between calls), builder.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "ir/graph.h"
#include "lathe/engine.h"
#include "runtime/engine_state.h"
#include "runtime/version.h"

namespace lathe::rt {

class FunctionState : public std::enable_shared_from_this<FunctionState> {
 public:
  // `graph` is the optimised graph, kept for explain; `builder` makes versions of it.
  static absl::StatusOr<std::shared_ptr<FunctionState>> Make(
      std::shared_ptr<EngineState> engine, std::shared_ptr<const ir::Graph> graph,
      std::unique_ptr<VersionBuilder> builder, const CompileOptions& options);
  ~FunctionState();

  absl::Status Prepare(absl::Span<const Sizes> sizes);
  void WaitForVersions();
  absl::Status CallInto(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                        ContextState& context);
  absl::StatusOr<std::vector<Tensor>> Call(absl::Span<const Tensor> inputs);
  absl::Status Reserve(ContextState& context, const Sizes& sizes);
  absl::StatusOr<std::vector<int64_t>> SymbolValues(const Sizes& sizes) const;

  std::shared_ptr<const VersionTable> table() const;  // null before prepare
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  const EntryPlan& plan() const { return plan_; }
  const ir::Graph& graph() const { return *graph_; }
  const std::shared_ptr<EngineState>& engine() const { return engine_; }
  absl::Status Pin(const std::string& version_name);

 private:
  friend class lathe::Function;
  FunctionState() = default;
  std::shared_ptr<EngineState> engine_;
  std::shared_ptr<const ir::Graph> graph_;
  EntryPlan plan_;
  CompileOptions options_;
  std::unique_ptr<VersionBuilder> builder_;
  mutable absl::Mutex mutex_;                  // guards table_, pinned_, free contexts
  absl::Mutex build_mutex_;                    // one build at a time
  std::shared_ptr<const VersionTable> table_;
  std::string pinned_;
  std::atomic<uint64_t> generation_{0};        // grows when table_ or pinned_ changes
};

}  // namespace lathe::rt
