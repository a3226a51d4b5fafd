#pragma once
// Importer: turns the nodes of an ONNX model into a program, node by node in the file's order, by
// the mappings of node.h. Shape arithmetic becomes dims as it goes by; an `If` that sizes decide is
// decided before its branches have types; what depends on data becomes stages (scope.h).
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/onnx/dim_names.h"
#include "compiler/onnx/model.h"
#include "compiler/onnx/node.h"
#include "compiler/onnx/scope.h"
#include "lathe/onnx.h"

namespace lathe::onnx {

// The name of an item of a sequence that is an input or output: "x.0".
std::string ItemName(const std::string& sequence, size_t item);
// The integers of a tensor of any integer type or bool.
absl::StatusOr<std::vector<int64_t>> Integers(const Tensor& t);

class Importer {
 public:
  Importer(const ModelDef& model, const OnnxOptions& options);

  // One attempt, with the inputs of `fixed` as constants. Aborted, with `fixed` grown, if the
  // content of another input turned out to be needed.
  absl::Status Run(std::set<std::string>* fixed);
  Scope& root() { return *root_; }
  const OnnxOptions& options() const { return options_; }
  // Inputs of the program in order, and outputs: the model's names, those of the items of a
  // sequence with their number behind.
  const std::vector<std::string>& input_names() const { return input_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  // The model's name of a dim -> symbol.
  const std::map<std::string, std::string>& dim_names() const { return dim_names_.symbols(); }

  // "Conv" -> how often, sub-graphs and the functions that are called included.
  std::map<std::string, int> Operators() const;

  // -- for mappings
  Val Lookup(const std::string& name) const;
  // The dims that the integers of `v` are known to be without looking at data.
  std::optional<std::vector<Dim>> SizesOf(const Val& v);
  // The same; inputs of the model may become shape inputs, or fixed ones if their content is given
  // and has an element below `least`.
  absl::StatusOr<std::optional<std::vector<Dim>>> Dims(const Val& v, int64_t least = 0);
  // The elements of `v` if they follow from constants and contents of inputs.
  absl::StatusOr<std::optional<Tensor>> Content(const Val& v);
  // What the bool scalar `v` is, if sizes and constants decide it.
  std::optional<bool> Decided(const Val& v);
  // The claim on sizes that the bool scalar `v` stands for, if it is one.
  std::optional<Claim> ClaimOf(const Val& v);
  std::string Where(const NodeDef& node) const;
  // The attribute of the function call under way that a node inside refers to; null if it has none.
  const Attribute* AttributeOfCall(const std::string& name) const;
  // Symbols of sizes that change from step to step of a loop.
  std::set<dim::SymbolId>& changing() { return changing_; }
  int64_t OpsetOf(const std::string& domain) const;
  // Before so many items of sequences are copied: ResourceExhausted past the limit of an import.
  absl::Status TakeItems(int64_t count);

  // Imports a sub-graph in `scope`, its inputs being `inputs`: its outputs' values. Names inside
  // see those outside.
  absl::StatusOr<std::vector<Val>> ImportGraph(const GraphDef& graph, Scope& scope,
                                               const std::vector<Val>& inputs);
  // A call of a function of the model or of the standard, given as nodes.
  absl::StatusOr<std::vector<Val>> ImportFunction(const FunctionDef& function, const NodeDef& call,
                                                  Scope& scope, const std::vector<Val>& inputs);

 private:
  using Env = std::map<std::string, Val>;
  using Opsets = absl::flat_hash_map<std::string, int64_t>;  // domain -> version
  // What each call asks of a function by name.
  struct FunctionTables {
    Opsets opsets;  // empty: those of the caller
    absl::flat_hash_map<std::string, const Attribute*> defaults;
  };
  // Functions under way, innermost last.
  struct Call {
    const FunctionDef* function;
    const FunctionTables* tables;
    const NodeDef* node;
    const Call* outer;
  };
  absl::Status AddInputs();
  absl::Status CheckOptions() const;
  absl::StatusOr<Val> AddInput(const ValueInfo& input);
  // A tensor, or item `item` of a sequence.
  absl::StatusOr<Val> AddTensorInput(const std::string& name, const Type& type, int item = -1);
  absl::StatusOr<ir::ValueType> InputType(const std::string& name, const Type& type, int item);
  absl::StatusOr<Dim> InputDim(const std::string& input, size_t axis, const Dimension& d, int item);
  // The value of `v` from constants and, if `names` isn't null, contents of inputs, which it gets.
  // Nothing if it doesn't follow from these, or if finding it would pass the import's budget.
  std::optional<Tensor> Evaluate(const Val& v, std::set<std::string>* names);
  // False if the import has evaluated too much already, in units of about a nanosecond.
  bool Spend(double work);
  const FunctionDef* FindFunction(const NodeDef& node) const;
  // The functions that are called, and the nodes of these, of the graph and of all sub-graphs.
  struct Used {
    std::vector<const FunctionDef*> functions;
    std::vector<const NodeDef*> nodes;
  };
  Used InUse() const;
  static const Attribute* AttributeOf(const Call* call, const std::string& name);
  // Count what it costs to import something once more, beside the nodes: names and attributes gone
  // through, and bytes of the file that are copied. ResourceExhausted past a limit.
  absl::Status ChargeNode(const NodeDef& node);
  absl::Status ChargeGraph(const GraphDef& graph);
  absl::Status ChargeFunction(const FunctionDef& function);
  absl::Status ChargeCopies(const GraphDef& graph);  // of its initializers
  absl::Status ChargeParts(double parts);
  absl::Status ChargeBytes(double bytes);
  double CopiedBytes(const SparseTensorData& t) const;
  double CopiedBytes(const Attribute& a) const;
  absl::Status ImportNodes(const std::vector<NodeDef>& nodes, Scope& scope);
  absl::Status ImportNode(const NodeDef& node, Scope& scope);
  absl::Status CallsItself(const FunctionDef& function, const NodeDef& call) const;
  absl::Status CheckOpsets() const;
  absl::Status CheckOperators() const;
  void Bind(const std::string& name, Val v);
  absl::Status AddInitializers(const GraphDef& graph);

  const ModelDef& model_;
  const OnnxOptions& options_;
  std::unique_ptr<Scope> root_;
  std::vector<Env> env_;  // innermost last
  size_t env_base_ = 0;   // functions see nothing of their caller
  Opsets model_opsets_;
  const Opsets* opsets_ = nullptr;          // of the function under way, or of the model
  std::map<std::string, Tensor> contents_;  // of inputs and of items of sequences
  std::vector<std::string> input_names_, output_names_;
  DimNames dim_names_;
  TakenNames taken_;  // by inputs
  std::map<ir::ValueId, std::string> root_inputs_;
  std::set<dim::SymbolId> changing_;
  std::set<std::string>* fixed_ = nullptr;
  // [domain, name, overload]
  absl::flat_hash_map<std::vector<std::string>, const FunctionDef*> functions_;
  absl::flat_hash_map<const FunctionDef*, FunctionTables> tables_;
  std::map<const std::vector<NodeDef>*, std::vector<size_t>> orders_;  // that lists are imported in
  const Call* call_ = nullptr;
  int depth_ = 0;
  int64_t imported_ = 0;  // nodes, those of functions and steps as often as they are imported
  int64_t items_ = 0;     // TakeItems
  double parts_ = 0, copied_ = 0, work_ = 0;  // ChargeParts, ChargeBytes, Spend
  int remembered_ = 0;                        // small results of Evaluate
};

// load_onnx less the reading of the file.
absl::StatusOr<OnnxModel> ImportModel(const ModelDef& model, const OnnxOptions& options);

}  // namespace lathe::onnx
