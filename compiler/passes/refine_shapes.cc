// Dims of types and attributes, simplified by what was declared. Inputs keep their types: those are
// what a call is checked against and what binds the symbols.
#include "absl/container/flat_hash_map.h"
#include "compiler/passes/pass.h"

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
    if (n.attrs.shape) Refine(*n.attrs.shape);
    Refine(n.attrs.starts);
    Refine(n.attrs.limits);
    Refine(n.attrs.low);
    Refine(n.attrs.high);
    if (n.attrs.dim) Refine(*n.attrs.dim);
    if (n.attrs.claim) Refine(n.attrs.claim->lhs), Refine(n.attrs.claim->rhs);
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
  for (ir::ValueId v = 0; v < graph.num_nodes(); ++v) refiner.Refine(graph.node(v));
  context.Count("refined dims", refiner.changes());
  return absl::OkStatus();
}

}  // namespace lathe::compiler
