#pragma once
// The state behind lathe::Function: entry plan, version table (swapped between calls), builder.
//
// Locks: `build_mutex_` is held while a version is built and while anything works on the graph's
// DimContext; it is taken before `mutex_`, which is held for moments only. Calls take `mutex_` when
// the table was replaced since their context's last call, and in `Call` for the pool of contexts.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "lathe/engine.h"
#include "runtime/context_state.h"
#include "runtime/engine_state.h"
#include "runtime/run_plan.h"
#include "runtime/version.h"

namespace lathe::rt {

class FunctionState {
 public:
  // `graph` is the optimised graph, kept for explain; `builder` makes versions of it. Functions
  // whose graphs share a DimContext share `build_mutex`; none: the function has its own.
  static absl::StatusOr<std::shared_ptr<FunctionState>> Make(
      std::shared_ptr<EngineState> engine, std::shared_ptr<const ir::Graph> graph,
      std::unique_ptr<VersionBuilder> builder, const CompileOptions& options,
      std::shared_ptr<std::mutex> build_mutex = nullptr);
  ~FunctionState();  // drops builds that wait, waits for the one under way

  // Builds the generic version if there is none, and posts the others to the background thread; a
  // second thread waits until the first has done both. With sizes, also waits until their versions
  // exist, and leaves a context in the pool of `Call` whose arena serves them all, its pages
  // touched; refuses sizes that need more memory than a call may use.
  absl::Status Prepare(absl::Span<const Sizes> sizes);
  // The same without the context.
  absl::Status PrepareVersions(absl::Span<const Sizes> sizes);
  void WaitForVersions();
  absl::Status CallInto(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                        ContextState& context);
  absl::StatusOr<std::vector<Tensor>> Call(absl::Span<const Tensor> inputs);
  // The same in a context of the caller's.
  absl::StatusOr<std::vector<Tensor>> CallIn(absl::Span<const Tensor> inputs,
                                             ContextState& context);
  // What a call checks of its inputs before it runs; leaves the context resolved.
  absl::Status CheckInputs(absl::Span<const Tensor> inputs, ContextState& context) const;
  absl::Status Reserve(ContextState& context, const Sizes& sizes);
  // A value for every symbol, in order; checked against the declared and required facts.
  absl::StatusOr<std::vector<int64_t>> SymbolValues(const Sizes& sizes) const;
  // Makes the context what a call with these symbols would find: version picked, slots evaluated.
  absl::Status ResolveSizes(ContextState& context, absl::Span<const int64_t> symbols) const;
  // Needs a resolved context: bytes of its arena, and of its outputs.
  static int64_t ArenaBytes(const ContextState& context);
  static int64_t OutputBytes(const ContextState& context);

  std::shared_ptr<const VersionTable> table() const;   // null before prepare
  std::shared_ptr<const Published> published() const;  // null before prepare
  // Grows when the table is replaced or a version is pinned; 0 before prepare.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  const EntryPlan& plan() const { return plan_; }
  const ir::Graph& graph() const { return *graph_; }
  const std::shared_ptr<EngineState>& engine() const { return engine_; }
  absl::Status Pin(const std::string& version_name);

  // What is known of each symbol alone, by the declared facts, and with those that ops require,
  // which each call checks as well; made once, because calls can't ask.
  struct Domain {
    dim::Interval range;
    dim::Congruence congruence;
    std::vector<int64_t> values;  // all, if they are few
  };
  const std::vector<Domain>& domains() const { return domains_; }
  const std::vector<Domain>& checked_domains() const { return checked_domains_; }
  // Runs `ask`, which may make Dims of the graph's context; waits for a build under way, which
  // isn't left at idle priority meanwhile.
  void WhileNothingBuilds(absl::FunctionRef<void()> ask) const;
  // What the program knows of its sizes, as text; made once, because the graph's dims may be in
  // use.
  struct FactText {
    std::string claim, standing, source;
  };
  const std::vector<FactText>& facts() const { return fact_texts_; }
  // Seconds after the engine's birth at which the version was published; builds that failed.
  double ReadySeconds(const Version* version) const;
  std::vector<std::string> BuildFailures() const;

 private:
  FunctionState() = default;

  // Every table that was ever current. They go with the last context that used one, so a context
  // may outlive its function, and no reader needs a lock: a function has few.
  struct Publications {
    std::vector<std::unique_ptr<const Published>> all;
  };

  // -- call path (call.cc), in this order
  absl::Status Enter(ContextState& context) const;
  absl::Status Bind(absl::Span<const Tensor> inputs, ContextState& context, bool* strided) const;
  absl::Status Resolve(const Tensor* inputs, ContextState& context) const;
  absl::Status CheckOutputs(absl::Span<const Tensor> outputs, const ContextState& context) const;
  absl::Status Place(absl::Span<const Tensor> inputs, bool strided, ContextState& context) const;
  absl::Status Execute(absl::Span<const Tensor> outputs, ContextState& context);
  // -- its cold side (call_cold.cc)
  absl::Status OutputError(absl::Span<const Tensor> outputs, const ContextState& context) const;
  absl::Status OverlapError(absl::Span<const Tensor> outputs, const ContextState& context) const;
  absl::Status Grow(ContextState& context, int64_t packed_bytes, bool counts) const;
  absl::Status PackInputs(absl::Span<const Tensor> inputs, ContextState& context) const;
  absl::Status CheckCallMemory(const ContextState& context) const;  // arena and outputs
  absl::StatusOr<std::vector<Tensor>> AllocateOutputs(const ContextState& context) const;
  absl::Status NotPrepared() const;

  // -- versions (function_state.cc)
  absl::Status Publish(std::vector<std::shared_ptr<const Version>> versions);  // build_mutex_ held
  void MakeCurrent(std::unique_ptr<Published> next);                           // mutex_ held
  std::unique_lock<std::mutex> LockBuilds() const;                             // of build_mutex_
  void Post(std::vector<VersionRequest> requests);
  void BuildInBackground(const VersionRequest& request);
  void Observe(absl::Span<const int64_t> symbols, bool may_wait);
  void NoteFailure(const std::string& what, const absl::Status& why);
  bool Full(const VersionTable& table) const;
  // As Reserve, for the pool of `Call`, which makes the outputs as well.
  absl::Status ReserveForCall(ContextState& context, const Sizes& sizes);
  std::unique_ptr<ContextState> TakeContext();
  void ReturnContext(std::unique_ptr<ContextState> context);

  std::shared_ptr<EngineState> engine_;
  std::shared_ptr<const ir::Graph> graph_;
  EntryPlan plan_;
  std::vector<uint32_t> input_headers_;  // HeaderOf each input
  std::vector<Domain> domains_, checked_domains_;
  std::vector<size_t> observed_symbols_;  // those that the builder looks at when it proposes
  std::vector<FactText> fact_texts_;
  CompileOptions options_;

  // One build at a time; guards up to the next blank line, as each below.
  std::shared_ptr<std::mutex> build_mutex_;
  std::unique_ptr<VersionBuilder> builder_;

  mutable std::mutex mutex_;
  std::string pinned_;
  std::map<const Version*, double> ready_;
  std::vector<std::string> failures_;
  std::vector<std::vector<int64_t>> observed_;  // symbols asked about

  std::mutex contexts_mutex_;
  std::vector<std::unique_ptr<ContextState>> free_contexts_;

  const std::shared_ptr<Publications> publications_ = std::make_shared<Publications>();
  std::atomic<const Published*> current_{nullptr};  // the last of publications_, or null
  std::atomic<uint64_t> generation_{0};
  std::atomic<bool> observing_{false};  // the builder wants to see sizes, and may get more
  std::atomic<bool> proposed_{false};   // the generic version is there and the others are posted
};

}  // namespace lathe::rt
