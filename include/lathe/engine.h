#pragma once
// Engine and Function: compile a traced program once, call it with every size that its facts admit.
//
//   lathe::Engine engine;
//   absl::StatusOr<lathe::Function> f = engine.compile(trace.finish({y}));
//   f->prepare();                                  // generic version compiled, weights packed
//   absl::StatusOr<std::vector<lathe::Tensor>> out = f->call({x});
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lathe/dtype.h"
#include "lathe/tensor.h"

namespace lathe {

class Program;  // lathe/trace.h

namespace rt {
class FunctionState;
class ContextState;
class StagedState;
struct EngineState;
}  // namespace rt

// Sizes by symbol name: {{"batch", 4}, {"seq", 512}}.
using Sizes = std::map<std::string, int64_t>;

// Which versions may exist beside the generic one, which always serves meanwhile.
enum class Strategy {
  kAuto,          // ranges of sizes for which products have a schedule of their own
  kFullDynamic,   // none
  kBatchDynamic,  // the first symbol open, the others fixed as seen
  kSeqDynamic,    // the second symbol (or `open_symbol`) open, the others fixed as seen
  kFullStatic,    // exact sizes as seen, guard = the shape tuple
};

struct EngineOptions {
  int threads = 0;                              // 0: one per core
  int64_t max_code_bytes = int64_t{256} << 20;  // of the process artefact cache
  int64_t max_arena_bytes = int64_t{64}
                            << 30;  // a call that needs more is refused before it starts
  std::string cpu;                  // "" host, "avx2" narrower, for tests
  bool background_compiles = true;  // false: only the generic version exists
  bool poison_values = false;       // debug: each arena value in a poisoned block of its own
};

struct CompileOptions {
  Strategy strategy = Strategy::kAuto;
  std::string open_symbol;  // with kSeqDynamic alone: a symbol that inputs show
  std::vector<std::string> skip_passes;
  bool fast_math = false;  // rewrites may change NaN, infinities and -0 (docs/numerics.md)
  int64_t max_folded_bytes = int64_t{64} << 20;  // of one constant computed while compiling
  int max_versions = 6;
};

// What the engine's allocator and compilers counted.
struct EngineCounters {
  int64_t compiles = 0;                    // kernels compiled by ORC
  int64_t compiles_in_calls = 0;           // of these, on a thread inside a call: 0 after prepare
  int64_t live_bytes = 0, peak_bytes = 0;  // arenas and outputs made by the engine
  int64_t arena_growths = 0;               // calls that had to grow their arena
  int64_t packed_input_bytes = 0;          // copied because an input was strided
  int64_t poison_peak_bytes =
      0;  // with poison_values: most bytes of values and outputs live at a time
  int64_t cache_hits = 0, cache_misses = 0, cache_evictions = 0, code_bytes = 0;
  int64_t versions_built = 0, versions_swapped = 0;
};

// Whether any admitted call could need more than an amount of memory.
struct MemoryAnswer {
  enum class Verdict { kNo, kYes, kUnknown };
  Verdict verdict = Verdict::kUnknown;
  Sizes sizes;                     // yes: sizes at which it does
  int64_t peak_bytes = 0;          // yes: what a call of these sizes needs
  std::vector<std::string> facts;  // no: the facts that keep it below
  std::string hint;                // unknown: a fact that would decide it, if one is known
  std::string formula;             // arena and outputs of the generic version
};

// Memory for calls, reused between them. One thread at a time; cheap to keep one per thread.
class Context {
 public:
  Context();
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

 private:
  friend class Function;
  std::unique_ptr<rt::ContextState> state_;
};

// A compiled program. Thread-safe; copies share everything. One that was moved from answers
// FailedPrecondition, or nothing.
class Function {
 public:
  // Allocates outputs from the engine's allocator.
  absl::StatusOr<std::vector<Tensor>> call(absl::Span<const Tensor> inputs) const;
  // Writes into `outputs` (right dtype and shape, contiguous, overlapping no input). Allocates
  // nothing within context.reserve; otherwise the arena grows once, and that is counted.
  absl::Status call_into(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                         Context& context) const;
  // Makes the context's arena big enough for these sizes and touches its pages.
  absl::Status reserve(Context& context, const Sizes& sizes) const;

  // Blocks until the generic version is compiled and weights are packed; with sizes, also until the
  // best versions for them exist and the pool of `call` has an arena that serves them, its pages
  // touched (of a program in stages, the first call makes it). `engine.compile` returns before code
  // exists; only prepare builds it, and a call before it fails.
  absl::Status prepare(absl::Span<const Sizes> sizes = {}) const;
  // Blocks until the background thread has nothing more to do for this function.
  void wait_for_versions() const;

  absl::StatusOr<std::vector<std::vector<int64_t>>> output_shapes(const Sizes& sizes) const;
  // Bytes of arena, scratch and outputs for a call with these sizes by the version that would serve
  // it.
  absl::StatusOr<int64_t> peak_bytes(const Sizes& sizes) const;
  // The largest value of `symbol`, others given, whose peak stays within `bytes`.
  absl::StatusOr<int64_t> largest(const std::string& symbol, const Sizes& others,
                                  int64_t bytes) const;
  // "Could a call exceed this?" no with a proof, yes with sizes, or unknown. After prepare.
  absl::StatusOr<MemoryAnswer> could_exceed(int64_t bytes) const;
  // Version, facts, why the others lost, kernels, bytes of each value: for people, and as one JSON
  // object for programs.
  absl::StatusOr<std::string> explain(const Sizes& sizes) const;
  absl::StatusOr<std::string> explain_json(const Sizes& sizes) const;

  struct VersionInfo {
    std::string name, why;
    int64_t calls = 0;
    int kernels = 0;
    double build_seconds = 0, ready_seconds = 0;  // since the engine was made
    std::vector<std::string> kernel_labels, kernel_families, kernel_keys;
  };
  std::vector<VersionInfo> versions() const;
  // Only for tests and benches: all further calls use this version where its guard holds ("" lifts
  // it).
  absl::Status pin_version(const std::string& name) const;

  // The state behind it, for the tools of this repository: one of the two, the other is null.
  const std::shared_ptr<rt::FunctionState>& state() const { return state_; }
  const std::shared_ptr<rt::StagedState>& staged_state() const { return staged_; }
  explicit Function(std::shared_ptr<rt::FunctionState> state,
                    std::shared_ptr<rt::StagedState> staged = nullptr)
      : state_(std::move(state)), staged_(std::move(staged)) {}

 private:
  std::shared_ptr<rt::FunctionState> state_;
  std::shared_ptr<rt::StagedState> staged_;  // of a program in stages
};

class Engine {
 public:
  explicit Engine(EngineOptions options = {});
  ~Engine();  // waits for a compile under way; functions made by it stay callable
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Checks, optimises and plans the program; compiles nothing yet. An error of the trace comes back
  // here.
  absl::StatusOr<Function> compile(absl::StatusOr<Program> program, CompileOptions options = {});
  EngineCounters counters() const;
  void reset_peak();
  // Only for tests: while held, the background thread starts no compile.
  void hold_background(bool hold);

  const std::shared_ptr<rt::EngineState>& state() const { return state_; }

 private:
  std::shared_ptr<rt::EngineState> state_;
};

}  // namespace lathe
