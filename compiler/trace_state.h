#pragma once
// What stands behind a Trace and its Values: the graph under construction and the first error.
// Every function of the DSL goes through `TraceState::Op`, which carries the caller's line into the
// graph and turns a failure into a poisoned Value. Internal to compiler/trace*.cc.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/builder.h"
#include "ir/graph.h"
#include "lathe/trace.h"

namespace lathe {

class TraceState {
 public:
  using Ids = std::vector<ir::ValueId>;
  // Appends the op's nodes; the ids are those of the operands, all valid.
  using Build = absl::FunctionRef<absl::StatusOr<ir::ValueId>(ir::Builder&, const Ids&)>;

  explicit TraceState(const std::string& name);
  TraceState(const TraceState&) = delete;
  TraceState& operator=(const TraceState&) = delete;

  // One op on values: poison in, poison out; a failure is recorded as "what at file:line: message".
  static Value Op(std::string_view what, absl::Span<const Value> operands, Loc loc, Build build);
  // The same for operands among which numbers may be. A number takes the element type of the first
  // value from operand `first` on; operands before it are bool.
  static Value Elementwise(ir::Op op, absl::Span<const Operand> operands, size_t first = 0);
  // An op without operands.
  Value Source(std::string_view what, Loc loc, Build build);
  // Records the error unless there is one already, and gives a poisoned value.
  Value Fail(std::string_view what, Loc loc, const absl::Status& status);
  // The same, of the trace that `v` belongs to (if any).
  static Value Fail(const Value& v, std::string_view what, Loc loc, const std::string& message);

  Value If(const Claim& condition, const std::function<Value()>& then,
           const std::function<Value()>& otherwise, Loc loc);
  absl::StatusOr<Program> Finish(const std::vector<Value>& outputs,
                                 const std::vector<std::string>& names);

  static TraceState* Of(const Value& v) { return v.state_; }
  // Null once poisoned or finished.
  static const ir::Node* NodeOf(const Value& v);
  ir::Graph* graph() { return graph_.get(); }
  const absl::Status& status() const { return status_; }
  // FailedPrecondition once the program was taken out by Finish.
  absl::Status CheckOpen() const;

 private:
  friend class Value;
  Value Wrap(ir::ValueId id);
  Value Poisoned();
  Value Run(std::string_view what, const Ids& ids, Loc loc, Build build);
  absl::Status CheckVisible(ir::ValueId id) const;
  absl::StatusOr<ir::ValueId> Side(const std::function<Value()>& side, const char* name);

  std::unique_ptr<ir::Graph> graph_;
  ir::Builder builder_;
  absl::Status status_;
  // Sides of `if_` that are open, the body (0) first; and the side in which each value was traced.
  std::vector<int> open_sides_{0};
  std::vector<int> side_of_;
  int num_sides_ = 1;
};

// "file:line" with the file's last path component.
ir::Location LocationOf(const Loc& loc);

std::vector<int64_t> ToInt64(const std::vector<int>& v);

}  // namespace lathe
