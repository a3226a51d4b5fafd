#pragma once
// The functions of a session: what a value compiles to, made when a command first asks for it and
// kept until the declared facts change. Values never change once they are named, so later
// statements leave compiled functions alone.
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "lathe/engine.h"
#include "repl/extract.h"

namespace lathe::repl {

struct CompiledValue {
  std::string name;                         // as asked for
  std::vector<ir::ValueId> values;          // the outputs
  std::unique_ptr<const ir::Graph> traced;  // before passes
  Function function;                        // prepared, with all its versions
};

class Functions {
 public:
  Functions(int threads, int64_t max_bytes) : threads_(threads), max_bytes_(max_bytes) {}

  // Waits for all versions, so that what a command reports doesn't depend on a background thread.
  absl::StatusOr<std::shared_ptr<const CompiledValue>> Get(const ir::Graph& session,
                                                           const std::string& name,
                                                           absl::Span<const NamedValue> outputs);
  // For a session whose graph is replaced.
  void Clear() { compiled_.clear(); }
  // The engine is made by the first Get.
  Engine& engine();
  bool has_engine() const { return engine_ != nullptr; }
  int64_t max_bytes() const { return max_bytes_; }
  const std::list<std::shared_ptr<const CompiledValue>>& all() const { return compiled_; }

 private:
  static constexpr size_t kMostKept = 64;

  int threads_;
  int64_t max_bytes_;
  std::unique_ptr<Engine> engine_;
  std::list<std::shared_ptr<const CompiledValue>> compiled_;  // last used first
  size_t declared_ = 0;  // number of declared facts when they were made
};

}  // namespace lathe::repl
