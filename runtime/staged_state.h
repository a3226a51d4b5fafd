#pragma once
// StagedState: the state behind a lathe::Function whose program runs in stages (ir/staged.h).
//
// Each graph of the program is an ordinary function with versions of its own; a driver runs them
// one after the other and keeps what they give in slots. A slot's memory goes after its last use.
// All functions of a call share one arena, because no two of them run at a time, and one build
// mutex, because their graphs share a DimContext.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/staged.h"
#include "lathe/engine.h"
#include "runtime/function_state.h"
#include "runtime/staged_bounds.h"

namespace lathe::rt {

// What the compiler makes of a program: a function for each of its graphs.
struct StagedParts {
  struct EmptyScans {
    std::shared_ptr<FunctionState> function;
    std::vector<int> inputs;  // of the loop, which the function takes
  };
  std::shared_ptr<const ir::Staged> program;
  std::shared_ptr<FunctionState> entry;  // of ir::EntryGraph
  absl::flat_hash_map<const ir::Graph*, std::shared_ptr<FunctionState>> graphs;
  absl::flat_hash_map<const ir::Stage*, EmptyScans> empty_scans;  // of loops that scan
};

// How one program or body runs: its stages with what a run needs beside them.
struct StagedCode {
  struct Step {
    const ir::Stage* stage = nullptr;
    std::string text;               // of errors: "stage 3, loop 'encoder/Loop_3'"
    int function = -1;              // kGraph
    std::vector<int> bodies;        // numbers of codes
    int empty_scans = -1;           // kLoop: the function for no steps
    std::vector<int> empty_inputs;  // of it, as numbers of the loop's inputs
    std::vector<bool> moves;        // an input: this is the last use of the slot
    std::vector<ir::SlotId> dies;   // slots to free behind the step; those that move are not here
  };
  const ir::Staged* program = nullptr;
  std::vector<Step> steps;
  std::vector<ir::SlotId> unused_inputs;
};

// The memory of a call, reused by the next. One thread at a time.
struct StagedContext;

class StagedState {
 public:
  using Tensors = std::vector<Tensor>;

  // `parts.program` is verified and has a part for each graph and scanning loop.
  static std::shared_ptr<StagedState> Make(std::shared_ptr<EngineState> engine, StagedParts parts);

  absl::Status Prepare(absl::Span<const Sizes> sizes);
  void WaitForVersions();
  absl::StatusOr<Tensors> Call(absl::Span<const Tensor> inputs);
  // Runs as Call does and copies into `outputs`.
  absl::Status CallInto(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                        ContextState& context);
  // A version of that name in every function that has one; NotFound if none has.
  absl::Status Pin(const std::string& version_name);

  const ir::Staged& program() const { return *parts_.program; }
  const std::shared_ptr<EngineState>& engine() const { return engine_; }
  const FunctionState& entry() const { return *parts_.entry; }
  // Of every graph, in the order of ir::GraphsOf, then those of loops without steps.
  const std::vector<std::shared_ptr<FunctionState>>& functions() const { return functions_; }
  const std::vector<StagedCode>& codes() const { return codes_; }  // the program's own first
  // What `sizes` and the facts say of every symbol: sizes of the program's inputs, all that
  // aren't implied, and whatever else is known.
  absl::StatusOr<KnownSizes> Known(const Sizes& sizes) const;
  // The same without any size given.
  KnownSizes KnownByFacts() const;
  StagedContext& ContextOf(ContextState& context) const;

 private:
  StagedState() = default;
  void MakeCodes();
  StagedCode CodeOf(const ir::Staged& program,
                    const absl::flat_hash_map<const ir::Staged*, int>& numbers,
                    const absl::flat_hash_map<const FunctionState*, int>& functions) const;
  // For checked inputs. The outputs may share the memory of inputs and of each other.
  absl::StatusOr<Tensors> Run(absl::Span<const Tensor> inputs, StagedContext& context);
  absl::StatusOr<Tensors> Packed(absl::Span<const Tensor> inputs) const;
  absl::Status Detach(absl::Span<const Tensor> inputs, Tensors& outputs) const;
  absl::Status CheckOutputs(absl::Span<const Tensor> inputs,
                            absl::Span<const Tensor> outputs) const;

  std::shared_ptr<EngineState> engine_;
  StagedParts parts_;
  std::vector<std::shared_ptr<FunctionState>> functions_;
  std::vector<StagedCode> codes_;
  SizeBounds bounds_;
  const std::shared_ptr<const char> identity_ = std::make_shared<const char>();  // for contexts

  std::mutex contexts_mutex_;
  std::vector<std::shared_ptr<StagedContext>> free_contexts_;
};

// What checks a call's inputs before anything runs.
const FunctionState& EntryOf(const Function& f);

}  // namespace lathe::rt
