#include "ir/branch_facts.h"

#include "absl/strings/str_cat.h"

namespace lathe::ir {
namespace {

// Recursion is as deep as the ifs: kMaxBlockDepth.
void AppendFacts(const Graph& graph, const Block& block, std::vector<BranchFact>* out) {
  for (const ValueId v : block.nodes) {
    const Node& n = graph.node(v);
    if (n.op != Op::k_if) continue;
    const std::string where = n.location.ToString();
    for (const bool then_side : {true, false}) {
      for (const Claim& claim : ClaimsOfSide(*n.attrs.claim, then_side)) {
        out->push_back({claim, absl::StrCat(claim.ToString(), "  [where the ",
                                            then_side ? "then-side" : "other side", " of if",
                                            where.empty() ? "" : " at ", where, " runs]")});
      }
    }
    for (const Block& side : n.blocks) AppendFacts(graph, side, out);
  }
}

}  // namespace

std::vector<BranchFact> BranchFactsOf(const Graph& graph) {
  std::vector<BranchFact> facts;
  AppendFacts(graph, graph.body, &facts);
  return facts;
}

std::vector<Claim> ClaimsOfSide(const Claim& claim, bool then_side) {
  if (then_side) return {claim};
  if (claim.relation != Relation::kIn) return {Not(claim)};
  std::vector<Claim> claims;
  for (int64_t v : claim.set) claims.push_back(Ne(claim.lhs, v));
  return claims;
}

}  // namespace lathe::ir
