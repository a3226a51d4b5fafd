// Applies the rewrite rules to each node until none fits.
#include "compiler/passes/pass.h"
#include "compiler/passes/rules.h"

namespace lathe::compiler {

absl::Status Canonicalize(ir::Graph& graph, PassContext& context) {
  std::vector<Rule> rules;
  for (auto list : {ViewRules, CastRules, ArithmeticRules}) {
    const std::vector<Rule> more = list();
    rules.insert(rules.end(), more.begin(), more.end());
  }
  const RuleTable table(std::move(rules));
  Rewriter rewriter(graph);
  rewriter.Run([&](ir::ValueId v) { table.Apply(graph, rewriter, v, context); });
  return absl::OkStatus();
}

}  // namespace lathe::compiler
