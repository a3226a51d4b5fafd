// Dims of types and attributes, simplified by what was declared. Inputs keep their types: those are
// what a call is checked against and what binds the symbols.
#include "absl/container/flat_hash_map.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/requirements.h"
#include "ir/attr_text.h"

namespace lathe::compiler {
namespace {

class Refiner {
 public:
  explicit Refiner(const dim::FactSet& facts) : facts_(facts) {}

  void Refine(Dim& d) {
    if (d.is_constant()) return;
    auto [it, is_new] = memo_.try_emplace(d, d);
    if (is_new) it->second = facts_.Simplify(d);
    if (it->second == d) return;
    d = it->second;
    ++changes_;
  }
  void Refine(std::vector<Dim>& dims) {
    for (Dim& d : dims) Refine(d);
  }
  void Refine(ir::Node& n) {
    if (n.op == ir::Op::k_input) return;
    Refine(n.type.shape);
    ir::ForEachDim(n.attrs, [this](Dim& d) { Refine(d); });
  }
  int changes() const { return changes_; }

 private:
  const dim::FactSet& facts_;
  absl::flat_hash_map<Dim, Dim> memo_;
  int changes_ = 0;
};

}  // namespace

absl::Status RefineShapes(ir::Graph& graph, PassContext& context) {
  Refiner refiner(graph.facts());
  std::vector<bool> refined(graph.num_nodes());
  for (ir::ValueId v = 0; v < graph.num_nodes(); ++v) {
    const int before = refiner.changes();
    refiner.Refine(graph.node(v));
    refined[v] = refiner.changes() > before;
  }
  if (refiner.changes() == 0) return absl::OkStatus();
  context.Count("refined dims", refiner.changes());
  RestateRequirements(graph, [&](ir::ValueId v) {
    bool concerned = refined[v];
    for (ir::ValueId operand : graph.node(v).operands) concerned |= refined[operand];
    return concerned;
  });
  return absl::OkStatus();
}

}  // namespace lathe::compiler
