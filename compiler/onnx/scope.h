#pragma once
// Scope: a program (or the body of an if or loop) under construction as a sequence of stages
// (ir/staged.h). The importer appends to the current graph; where a size is known only from data,
// or a step depends on it, the graph is closed and another begins. A Val names a value of any graph
// of a scope or of one around it; Use brings it into the current graph, whatever that takes.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/builder.h"
#include "ir/graph.h"
#include "ir/staged.h"
#include "lathe/tensor.h"

namespace lathe::onnx {

class Scope;

// What a name of the model stands for.
struct Val {
  enum class Kind : uint8_t { kNone, kTensor, kSequence };
  Kind kind = Kind::kNone;
  // kTensor: a constant, or value `id` of stage `stage` of `scope`, or (id kNoValue) what lies in
  // `slot` of it from stage `stage` on.
  std::shared_ptr<const Tensor> constant;
  Scope* scope = nullptr;
  int stage = 0;
  ir::ValueId id = ir::kNoValue;
  ir::SlotId slot = ir::kNoSlot;
  // kSequence: never null. Shared, as the same list may have many names.
  std::shared_ptr<const std::vector<Val>> items;

  bool present() const { return kind != Kind::kNone; }
  static Val Constant(Tensor t);
  static Val Sequence(std::vector<Val> items);
};

// InvalidArgument unless the type has one element of `dtype`, as far as its rank tells.
absl::Status CheckOneElement(const ir::ValueType& type, DType dtype, const char* what);

class Scope {
 public:
  // The outermost one: it makes the DimContext. Its graphs and those of all scopes below it hold at
  // most `max_nodes` nodes together.
  Scope(std::string name, int64_t max_nodes, bool fast_math);
  // A body: it sees the values of `parent` as of now. `parent` outlives it.
  Scope(Scope* parent, std::string name);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  ir::Graph& graph() { return *stages_.back().graph; }
  ir::Graph* GraphOf(int stage) { return stages_[static_cast<size_t>(stage)].graph.get(); }
  ir::Builder& builder() { return *builders_.back(); }
  int stage() const { return static_cast<int>(stages_.size()) - 1; }
  bool is_single_graph() const { return stages_.size() == 1; }
  dim::DimContext* dims() const { return dims_.get(); }

  // An input of the program, or of the body in the order of the stage that runs it.
  absl::StatusOr<Val> AddInput(const std::string& name, ir::ValueType type);
  // The value in the current graph.
  absl::StatusOr<ir::ValueId> Use(const Val& v);
  Val Here(ir::ValueId id);
  ir::ValueType TypeOf(const Val& v) const;  // f32[] if it is no tensor

  // Counts what the current graph got; it may grow by what is left. ResourceExhausted if a limit of
  // the import was passed; if one more node was `refused`, also where just nothing is left.
  absl::Status CountNodes(bool refused = false);

  // Small constants that values turned out to be.
  const Tensor* Remembered(int stage, ir::ValueId id) const;
  void Remember(int stage, ir::ValueId id, Tensor t);

  // Closes the graph and opens the next, in which the elements of `v`, an i64 of rank 1 or less and
  // static shape, are the dims returned: fresh symbols named after `hint`, each with the facts
  // 0 <= s <= bounds[i], as far as bounds are given. Without bounds, elements that are dims already
  // stay as they are.
  absl::StatusOr<Shape> Cut(Val v, const std::string& hint, const std::vector<Dim>& bounds = {});

  // Closes the graph, appends the stage and opens the next. `stage` has its bodies, which are
  // children of this scope and finished; `condition`, `trips` and `inputs` are values of this
  // scope; the captures of the bodies are appended to `inputs`, all bodies being given the same.
  // Results are the outputs, of the types given.
  absl::StatusOr<std::vector<Val>> AppendStage(ir::Stage stage, const std::vector<Val>& inputs,
                                               const Val& condition, const Val& trips,
                                               const std::vector<Scope*>& bodies,
                                               std::vector<ir::ValueType> outputs);

  // Ends a body or the program with these results. The scope stays alive as long as its children's
  // stages are being made.
  absl::Status Finish(const std::vector<Val>& results, const std::vector<std::string>& names);
  // After Finish, and for a body after AppendStage.
  std::shared_ptr<const ir::Staged> staged() const { return staged_; }
  std::unique_ptr<ir::Graph> ReleaseGraph();  // of a single graph

 private:
  struct Slot {
    ir::ValueType type;
    int from_stage = -1;  // -1: an input of the scope
  };
  // Of all scopes of an import together.
  struct Total {
    int64_t max_nodes = 0, nodes = 0;
    int64_t stages = 0, known = 0;  // graphs that were opened; symbols and facts of each then
  };
  // A value as the key of a table: equal for the same value of the same graph, and for the same
  // slot: [scope, value, stage or slot].
  using Place = std::tuple<const Scope*, ir::ValueId, int>;
  static Place PlaceOf(const Val& v);
  void OpenGraph();
  absl::Status CheckTotal(int64_t more_nodes = 0) const;
  absl::Status ChargeNodes(int64_t count);  // made in another graph than the current one
  ir::SlotId NewSlot(ir::ValueType type, int from_stage);
  // The slot that holds the value, an output of its graph if need be.
  absl::StatusOr<ir::SlotId> SlotOf(const Val& v);
  // The slot of this scope for a value of a scope around it.
  ir::SlotId Capture(const Val& v);
  // What a caller fills: the inputs, then these captures.
  void SetInputs(const std::vector<Val>& shared);
  absl::StatusOr<ir::ValueId> InputFromSlot(ir::SlotId slot);
  void AddStageInput(ir::SlotId slot, ir::ValueId id);  // of the current graph
  // The elements of a small integer value as dims of the current graph's symbols.
  absl::StatusOr<ir::ValueId> FromDims(const std::vector<Dim>& dims, const ir::ValueType& type);
  // Gives every graph the symbols that it uses and its inputs don't show.
  absl::Status BindSymbols();
  absl::StatusOr<ir::SlotId> SlotOfSize(dim::SymbolId symbol, int before_stage);
  // Whether an input of the stage's graph tells the size.
  bool Shows(int stage, dim::SymbolId symbol);

  Scope* parent_ = nullptr;
  int parent_stage_ = 0;  // of the parent, when this body began
  std::string name_;
  std::shared_ptr<Total> total_;
  int64_t counted_ = 0;  // nodes of the current graph
  bool fast_math_;
  std::shared_ptr<dim::DimContext> dims_;
  std::deque<ir::Stage> stages_;
  std::deque<Slot> slots_;
  std::vector<ir::SlotId> inputs_;
  std::vector<std::string> input_names_;
  // Values of scopes around that the body takes behind its own inputs, in the order of their use.
  std::vector<Val> captures_;
  absl::flat_hash_map<Place, ir::SlotId> captured_;
  std::vector<std::unique_ptr<ir::Builder>> builders_;  // one a stage; null where it has no graph
  std::map<std::pair<int, ir::ValueId>, ir::SlotId> exports_;  // inputs of graphs included
  std::map<std::pair<int, ir::SlotId>, ir::ValueId> imports_;
  std::map<std::pair<int, std::pair<const void*, ir::ValueId>>, ir::ValueId> constants_;
  std::vector<std::shared_ptr<const Tensor>> kept_;  // whose addresses are keys of constants_
  absl::flat_hash_map<dim::SymbolId, ir::SlotId> size_slots_;
  // Symbols in the shapes of a stage's first inputs; in expressions only of the first stage.
  struct Shown {
    size_t num_inputs = 0;
    absl::flat_hash_set<dim::SymbolId> symbols;
  };
  std::map<int, Shown> shown_;
  absl::flat_hash_map<std::pair<int, ir::ValueId>, Tensor> remembered_;
  std::shared_ptr<ir::Staged> staged_;
};

}  // namespace lathe::onnx
