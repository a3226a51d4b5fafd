#include "ir/widen.h"

#include <utility>
#include <vector>

#include "ir/op.h"

namespace lathe::ir {
namespace {

// The op takes elements as they are.
bool OnlyMoves(const Node& n) {
  switch (n.op) {
    case Op::k_input:
    case Op::k_constant:
    case Op::k_cast:
    case Op::k_select:
    case Op::k_shape_of:
    case Op::k_to_padded:
      return true;
    case Op::k_scatter:
      return n.attrs.reduction.empty();
    default:
      break;
  }
  const Emission emission = Info(n.op).emission;
  return emission == Emission::kView || emission == Emission::kGather ||
         emission == Emission::kControl;
}

class Widener {
 public:
  explicit Widener(Graph* graph) : graph_(graph) {}

  bool Run() {
    std::vector<ValueId> owners = {kNoValue};  // of blocks; kNoValue: the body
    while (!owners.empty()) {
      const ValueId owner = owners.back();
      owners.pop_back();
      const size_t count = owner == kNoValue ? 1 : graph_->node(owner).blocks.size();
      for (size_t i = 0; i < count; ++i) {
        std::vector<ValueId> nodes;
        for (ValueId v : At(owner, i).nodes) {
          if (!graph_->node(v).blocks.empty()) owners.push_back(v);
          Visit(v, &nodes);
        }
        At(owner, i).nodes = std::move(nodes);
      }
    }
    return changed_;
  }

 private:
  Block& At(ValueId owner, size_t i) {
    return owner == kNoValue ? graph_->body : graph_->node(owner).blocks[i];
  }

  bool IsNarrow(ValueId v) const { return IsNarrowFloat(graph_->type(v).dtype); }

  ValueId Add(Node n, std::vector<ValueId>* nodes) {
    const ValueId v = graph_->AppendNode(std::move(n));
    nodes->push_back(v);
    return v;
  }

  // Appends `v` to `nodes`, behind the casts that it needs. If its result is narrow, another node
  // computes it in f32, and `v` is the cast of that.
  void Visit(ValueId v, std::vector<ValueId>* nodes) {
    bool narrow = IsNarrow(v);
    for (ValueId o : graph_->node(v).operands) narrow = narrow || IsNarrow(o);
    if (!narrow || OnlyMoves(graph_->node(v))) {
      nodes->push_back(v);
      return;
    }
    changed_ = true;
    std::vector<ValueId> operands = graph_->node(v).operands;
    for (ValueId& o : operands) {
      if (!IsNarrow(o)) continue;
      Node cast{.op = Op::k_cast, .operands = {o}};
      cast.attrs.dtype = f32;
      cast.type = {f32, graph_->type(o).shape};
      cast.location = graph_->node(v).location;
      o = Add(std::move(cast), nodes);
    }
    if (!IsNarrow(v)) {
      graph_->node(v).operands = std::move(operands);
      nodes->push_back(v);
      return;
    }
    Node wide{.op = graph_->node(v).op, .operands = std::move(operands)};
    wide.attrs = std::move(graph_->node(v).attrs);
    wide.location = graph_->node(v).location;
    wide.type = {f32, graph_->type(v).shape};
    if (wide.attrs.dtype) wide.attrs.dtype = f32;
    const ValueId computed = Add(std::move(wide), nodes);
    Node& n = graph_->node(v);
    n.op = Op::k_cast;
    n.operands = {computed};
    n.attrs = {};
    n.attrs.dtype = n.type.dtype;
    nodes->push_back(v);
  }

  Graph* graph_;
  bool changed_ = false;
};

}  // namespace

bool WidenNarrowFloats(Graph* graph) { return Widener(graph).Run(); }

}  // namespace lathe::ir
