#pragma once
// What an `if` on sizes teaches inside its sides, for people: jit-repl's :facts lists it beside the
// facts that hold everywhere.
#include <string>
#include <vector>

#include "ir/graph.h"

namespace lathe::ir {

struct BranchFact {
  Claim claim;
  std::string text;  // "8 <= n  [where the then-side of if at demo.lathe:3:5 runs]"
};

// In execution order; those of nested ifs after the one around them.
std::vector<BranchFact> BranchFactsOf(const Graph& graph);

// The claims that hold in one side of an `if` on `claim`.
std::vector<Claim> ClaimsOfSide(const Claim& claim, bool then_side);

}  // namespace lathe::ir
