// An `if` whose claim is decided by the declared facts becomes the nodes of the side that is taken.
#include <optional>

#include "compiler/passes/pass.h"
#include "compiler/passes/requirements.h"
#include "compiler/passes/rewriter.h"

namespace lathe::compiler {
namespace {

// That some sizes break the claim (`refuted`) doesn't make it false for all: the negation is
// proved.
bool AlwaysFalse(const dim::FactSet& facts, const Claim& claim) {
  if (claim.relation != Relation::kIn) return facts.Proves(Not(claim));
  for (int64_t member : claim.set) {
    if (!facts.Proves(Ne(claim.lhs, member))) return false;
  }
  return true;
}

std::optional<size_t> SideTaken(const dim::FactSet& facts, const Claim& claim) {
  if (facts.Proves(claim)) return 0;
  if (AlwaysFalse(facts, claim)) return 1;
  return std::nullopt;
}

}  // namespace

absl::Status ResolveIf(ir::Graph& graph, PassContext& context) {
  Rewriter rewriter(graph);
  int resolved = 0;
  rewriter.Run([&](ir::ValueId v) {
    const ir::Node& n = graph.node(v);
    if (n.op != ir::Op::k_if) return;
    const std::optional<size_t> side = SideTaken(graph.facts(), *n.attrs.claim);
    if (!side) return;
    rewriter.Inline(v, *side);
    ++resolved;
  });
  if (resolved == 0) return absl::OkStatus();
  context.Count("resolved if", resolved);
  // What was known inside a side by its condition is asked again without it.
  RestateRequirements(graph, [](ir::ValueId) { return true; });
  return absl::OkStatus();
}

}  // namespace lathe::compiler
