#include "ir/graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/input_data.h"

namespace lathe::ir {

std::string ValueType::ToString() const {
  return absl::StrCat(lathe::Name(dtype), lathe::ToString(shape));
}

std::string Location::ToString() const {
  if (file.empty() && line == 0) return "";
  std::string text = file;
  if (line > 0) absl::StrAppend(&text, text.empty() ? "line " : ":", line);
  if (line > 0 && column > 0) absl::StrAppend(&text, ":", column);
  return text;
}

Graph::Graph() : Graph(std::make_shared<dim::DimContext>()) {}

Graph::Graph(std::shared_ptr<dim::DimContext> context)
    : context_(std::move(context)), facts_(std::make_unique<dim::FactSet>(context_.get())) {}

Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

Graph Graph::Clone() const {
  Graph copy(context_);
  *copy.facts_ = *facts_;
  copy.name = name;
  copy.max_nodes = max_nodes;
  copy.fast_math = fast_math;
  copy.body = body;
  copy.inputs = inputs;
  copy.output_names = output_names;
  copy.nodes_ = nodes_;
  return copy;
}

ValueId Graph::AppendNode(Node n) {
  nodes_.push_back(std::move(n));
  return static_cast<ValueId>(nodes_.size() - 1);
}

std::string Graph::ValueName(ValueId v) const {
  if (v < nodes_.size()) {
    const Node& n = nodes_[v];
    if (!n.name.empty()) return n.name;
    if (n.op == Op::k_input && !n.attrs.name.empty()) return n.attrs.name;
  }
  return v == kNoValue ? "%none" : absl::StrCat("%", v);
}

namespace {

// Where `v` ends up when replacements are followed; cyclic ones end after as many steps as there
// are values.
ValueId Follow(absl::Span<const ValueId> replacement, ValueId v) {
  for (size_t steps = 0; steps < replacement.size(); ++steps) {
    if (v >= replacement.size() || replacement[v] == v) break;
    v = replacement[v];
  }
  return v;
}

// What is alive, found from the last node of a block to the first: every use of a value comes later
// than the value, in its block or in one nested further on.
class Liveness {
 public:
  explicit Liveness(Graph& graph) : graph_(graph), live_(graph.num_nodes(), false) {}

  // Depth is bounded by kMaxBlockDepth, here and in MayFail.
  void Sweep(Block& block) {
    for (ValueId v : block.results) Mark(v);
    for (size_t i = block.nodes.size(); i-- > 0;) {
      const ValueId v = block.nodes[i];
      Node& n = graph_.node(v);
      if (n.op == Op::k_input || MayFail(n)) Mark(v);
      if (!live_[v]) continue;
      for (Block& b : n.blocks) Sweep(b);
      for (ValueId operand : n.operands) Mark(operand);
    }
    std::erase_if(block.nodes, [&](ValueId v) { return !live_[v]; });
  }

 private:
  void Mark(ValueId v) {
    if (v < live_.size()) live_[v] = true;
  }
  bool MayFail(const Node& n) const {
    if (Info(n.op).traits & kMayFail) return !n.attrs.unchecked && !GathersInside(n);
    for (const Block& b : n.blocks) {
      for (ValueId v : b.nodes) {
        if (MayFail(graph_.node(v))) return true;
      }
    }
    return false;
  }

  // Constant indices into a constant extent, all inside: what shape arithmetic is made of.
  bool GathersInside(const Node& n) const {
    if (n.op != Op::k_gather) return false;
    const Node& indices = graph_.node(n.operands[1]);
    const Dim extent = graph_.type(n.operands[0]).shape[static_cast<size_t>(*n.attrs.axis)];
    constexpr int64_t kFew = 256;
    if (indices.op != Op::k_constant || !extent.is_constant()) return false;
    const Tensor& t = indices.attrs.tensor;
    if (t.num_elements() > kFew) return false;
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      const int64_t index = IntegerElement(t, i);
      if (index < -extent.constant() || index >= extent.constant()) return false;
    }
    return true;
  }

  Graph& graph_;
  std::vector<bool> live_;
};

void CountBlock(const Graph& graph, const Block& block, std::vector<int>& uses) {
  for (ValueId v : block.nodes) {
    const Node& n = graph.node(v);
    for (ValueId operand : n.operands) ++uses[operand];
    for (const Block& b : n.blocks) CountBlock(graph, b, uses);
  }
  for (ValueId v : block.results) ++uses[v];
}

}  // namespace

void Graph::ReplaceUses(absl::Span<const ValueId> replacement) {
  for (Node& n : nodes_) {
    for (ValueId& v : n.operands) v = Follow(replacement, v);
    for (Block& b : n.blocks) {
      for (ValueId& v : b.results) v = Follow(replacement, v);
    }
  }
  for (ValueId& v : body.results) v = Follow(replacement, v);
}

void Graph::RemoveDeadNodes() { Liveness(*this).Sweep(body); }

std::vector<int> Graph::CountUses() const {
  std::vector<int> uses(nodes_.size(), 0);
  CountBlock(*this, body, uses);
  return uses;
}

}  // namespace lathe::ir
