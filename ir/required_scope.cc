#include "ir/required_scope.h"

#include <algorithm>

namespace lathe::ir {
namespace {

// By node: whether one of `named` depends on it.
std::vector<bool> ConeOf(const Graph& graph, absl::Span<const ValueId> named) {
  std::vector<bool> cone(graph.num_nodes());
  std::vector<ValueId> stack(named.begin(), named.end());
  while (!stack.empty()) {
    const ValueId v = stack.back();
    stack.pop_back();
    if (v >= cone.size() || cone[v]) continue;
    cone[v] = true;
    const Node& n = graph.node(v);
    stack.insert(stack.end(), n.operands.begin(), n.operands.end());
    for (const Block& block : n.blocks) {
      stack.insert(stack.end(), block.nodes.begin(), block.nodes.end());
      stack.insert(stack.end(), block.results.begin(), block.results.end());
    }
  }
  return cone;
}

}  // namespace

void RequiredScope::Record(const Graph& graph, size_t first_fact, ValueId first_node) {
  const std::vector<dim::Fact>& facts = graph.facts().facts();
  const bool required =
      std::any_of(facts.begin() + static_cast<std::ptrdiff_t>(first_fact), facts.end(),
                  [](const dim::Fact& f) { return f.standing == dim::Standing::kRequired; });
  if (!required) return;
  ranges_.push_back(
      {first_fact, facts.size(), first_node, static_cast<ValueId>(graph.num_nodes())});
}

std::optional<dim::FactSet> RequiredScope::FactsFor(const Graph& graph,
                                                    absl::Span<const ValueId> named) {
  if (ranges_.empty()) return std::nullopt;
  const std::vector<bool> cone = ConeOf(graph, named);
  std::vector<bool> counts;
  for (const Range& range : ranges_) {
    const auto first = cone.begin() + range.first_node, last = cone.begin() + range.last_node;
    counts.push_back(std::find(first, last, true) != last);
  }
  if (std::find(counts.begin(), counts.end(), false) == counts.end()) return std::nullopt;
  const std::vector<dim::Fact>& facts = graph.facts().facts();
  if (last_ && last_size_ == facts.size() && last_counts_ == counts) return last_;
  dim::FactSet scoped(graph.dims());
  size_t next = 0;  // the range that may hold the fact
  for (const dim::Fact& fact : facts) {
    const size_t id = static_cast<size_t>(fact.id);
    while (next < ranges_.size() && ranges_[next].last_fact <= id) ++next;
    const bool owned = next < ranges_.size() && ranges_[next].first_fact <= id;
    if (fact.standing == dim::Standing::kRequired && owned && !counts[next]) continue;
    // What contradicts another op's requirement isn't among these.
    scoped.Add(fact.claim, fact.standing, fact.source).IgnoreError();
  }
  last_counts_ = std::move(counts);
  last_size_ = facts.size();
  last_ = scoped;
  return scoped;
}

}  // namespace lathe::ir
