#pragma once
// Builder: appends nodes to a block of a graph, inferring types and collecting the claims about
// sizes that ops require. Used by the tracing DSL, the text parser, passes and tests.
//
//   Builder b(&graph);
//   ValueId x = *b.Input("x", {f32, {batch, seq}});
//   ValueId y = *b.Binary(Op::k_add, x, bias);            // numpy broadcasting
//   ValueId z = *b.Create(Op::k_softmax, {y}, {.axis = 1});
//   b.Output("z", z);
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ir/dim/facts.h"
#include "ir/graph.h"

namespace lathe::ir {

// The `if` sides that enclose a node: their conditions, and the graph's facts together with them.
struct Side {
  std::vector<Claim> conditions;  // all hold where the node runs
  std::optional<dim::FactSet> facts;
};

// What is known where one side of an `if` on `claim` runs; `outer` is the side around the `if`, or
// null. `where` is the place of the `if`.
Side SideOf(const Graph& graph, const Side* outer, const Claim& claim, bool then_side,
            const std::string& where = "");

struct InferContext {
  Graph* graph;
  Node* node;                  // attrs may be normalised; type is to be set
  const Side* side = nullptr;  // null at the top level
  bool check_only = false;     // verifier: claims must be known, none is added
  const ValueType& operand(size_t i) const { return graph->type(node->operands[i]); }
  // True if the declared and required facts prove the claim (and, in an `if`, its condition).
  bool Known(const Claim& claim) const;
  // Known: nothing happens. Never true: an error. Otherwise a fact of standing `required` is added,
  // checked at entry; inside an `if` it is weakened to "if the side is taken, then the claim".
  // `declare`, if not empty, is a simpler claim that the user might declare to have it known.
  absl::Status Require(const Claim& claim, const std::string& why, const std::string& declare = "");
  absl::Status Error(const std::string& message) const;  // prefixed with op, name and location

 private:
  absl::Status NeverHolds(const Claim& claim, const std::string& why,
                          const dim::Source& source) const;
};

// An op that fails leaves its graph as it was.
class Builder {
 public:
  explicit Builder(Graph* graph) : Builder(graph, &graph->body) {}
  // Appends to `block`, which outlives the builder. `side`: what is known where it runs, if it is
  // in a side of an `if`.
  Builder(Graph* graph, Block* block, const Side* side = nullptr) : graph_(graph) {
    stack_.push_back(block);
    if (side != nullptr) sides_.push_back(*side);
  }
  Graph* graph() const { return graph_; }
  void set_location(Location l) { location_ = std::move(l); }

  // As the op's row says, operands taken as they are: elementwise ones of one shape. Any op but
  // input, constant, if. Axes may be negative here.
  absl::StatusOr<ValueId> Create(Op op, std::vector<ValueId> operands, Attrs attrs = {});
  // `attrs` may say what sizes its elements give: `elements` or `offsets`.
  absl::StatusOr<ValueId> Input(const std::string& name, ValueType type, Attrs attrs = {});
  absl::StatusOr<ValueId> Constant(Tensor t);
  absl::StatusOr<ValueId> ScalarConstant(DType dtype, double value);  // rank 0
  absl::StatusOr<ValueId> IntConstant(DType dtype, int64_t value);    // rank 0, exact
  absl::Status Output(const std::string& name, ValueId v);
  void SetName(ValueId v, std::string name) { graph_->node(v).name = std::move(name); }

  // As people write it: like Create, after the conveniences below that the op has (broadcasting of
  // elementwise operands, MatMul, Reshape, Attention).
  absl::StatusOr<ValueId> Apply(Op op, std::vector<ValueId> operands, Attrs attrs = {});

  // Elementwise with numpy broadcasting of all operands to one shape.
  absl::StatusOr<ValueId> Elementwise(Op op, std::vector<ValueId> operands, Attrs attrs = {});
  absl::StatusOr<ValueId> Binary(Op op, ValueId a, ValueId b) { return Elementwise(op, {a, b}); }
  // numpy broadcast of `v` to `shape`, right-aligned; `v` itself if it has that shape.
  absl::StatusOr<ValueId> BroadcastTo(ValueId v, const Shape& shape);
  // Matmul of numpy's rules: rank 1 operands, broadcast batch dims.
  absl::StatusOr<ValueId> MatMul(ValueId a, ValueId b);
  // Attention whose batch dims and mask (kNoValue: none) are broadcast.
  absl::StatusOr<ValueId> Attention(ValueId q, ValueId k, ValueId v, ValueId mask, Attrs attrs);
  // Reshape; at most one entry of `target` is the constant -1.
  absl::StatusOr<ValueId> Reshape(ValueId v, Shape target);
  // One axis of a slice as in numpy: start/limit clamp, negatives count from the end.
  absl::StatusOr<ValueId> Slice(ValueId v, int64_t axis, Dim start, Dim limit, int64_t step = 1);
  // Position `index` of one axis, kept with extent 1; a negative number counts from the end. It
  // doesn't clamp: 0 <= index < extent is required.
  absl::StatusOr<ValueId> Index(ValueId v, int64_t axis, Dim index);

  // if: OpenIf, build the then-side, Else(), build the other, CloseIf. Inside a side its condition
  // (or the negation) counts as known.
  absl::Status OpenIf(const Claim& claim);
  absl::Status Else(ValueId then_result);
  absl::StatusOr<ValueId> CloseIf(ValueId else_result);

 private:
  // While an op is made: what it added goes again, unless its result is kept.
  class Attempt {
   public:
    explicit Attempt(Builder& b)
        : b_(b), facts_(b.graph_->facts().facts().size()), nodes_(b.stack_.back()->nodes.size()) {}
    ~Attempt();
    absl::StatusOr<ValueId> Kept(absl::StatusOr<ValueId> result) {
      kept_ = result.ok();
      return result;
    }

   private:
    Builder& b_;
    const size_t facts_, nodes_;
    bool kept_ = false;
  };
  // Names that a list of the graph has, for telling quickly whether one is there already.
  class Names {
   public:
    // `at(i)`: name i of the `count` in the list, which others may have changed since.
    bool Has(const std::string& name, size_t count,
             absl::FunctionRef<const std::string&(size_t)> at);
    void Add(const std::string& name);  // behind the others of the list

   private:
    absl::flat_hash_set<std::string> names_;
    std::string last_;
    bool is_first_ = true;
  };
  absl::StatusOr<ValueId> Append(Node n);
  InferContext Context(Node* n);
  Graph* graph_;
  std::vector<Block*> stack_;
  std::vector<Node> open_ifs_;
  std::vector<Side> sides_;                // around the block, then one an open if
  absl::flat_hash_set<Dim> checked_dims_;  // known to be >= 0 and of this graph
  Names input_names_, output_names_;
  Location location_;
};

// The shape that numpy broadcasting gives, and the claims that it needs: equal -> itself; 1 -> the
// other; one >= 2 or a constant -> that one, the other being 1 or equal; otherwise
// max(n, m) * min(1, n, m) with EqualOrOne(n, m) required.
absl::StatusOr<Shape> BroadcastShapes(InferContext& c, absl::Span<const Shape> shapes);

}  // namespace lathe::ir
