#include "ir/bounds.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_rules.h"

namespace lathe::ir {
namespace {

using Bound = std::optional<int64_t>;

Bound Sum(Bound a, Bound b) {
  int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

Bound Larger(Bound a, Bound b) {
  if (!a || !b) return std::nullopt;
  return std::max(*a, *b);
}

bool IsCallers(Op op) { return op == Op::k_input || op == Op::k_constant; }

// One walk; equal formulas are asked about once.
class Walker {
 public:
  explicit Walker(const Graph& graph) : graph_(graph) {}

  ValueBounds Of(ValueId value) {
    const ValueType& type = graph_.type(value);
    ValueBounds b;
    b.elements = Volume(type.shape);
    b.bytes = b.elements * SizeOf(type.dtype);
    b.max_elements = Largest(b.elements);
    b.max_bytes = Largest(b.bytes);
    return b;
  }

  GraphBounds All() {
    last_use_.assign(graph_.num_nodes(), 0);
    for (const ValueId v : graph_.inputs) {
      if (seen_inputs_.insert(v).second) bounds_.rows.push_back({v, Of(v)});
    }
    Collect(graph_.body, 0);
    const int end = static_cast<int>(steps_.size());
    for (const ValueId v : graph_.body.results) last_use_[v] = end;
    bounds_.max_total_bytes = 0;
    // Bytes that appear at a step and go after one.
    std::vector<Bound> born(steps_.size() + 2, Bound(0)), gone(steps_.size() + 2, Bound(0));
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Node& n = graph_.node(steps_[i]);
      if (IsCallers(n.op)) continue;
      const Bound bytes = bounds_.rows[rows_[i]].bounds.max_bytes;
      bounds_.max_total_bytes = Sum(bounds_.max_total_bytes, bytes);
      const size_t last = std::max(i, static_cast<size_t>(last_use_[steps_[i]]));
      born[i] = Sum(born[i], bytes);
      gone[last] = Sum(gone[last], bytes);
    }
    Bound live = 0, peak = 0;
    for (size_t i = 0; i < born.size(); ++i) {
      live = Sum(live, born[i]);
      peak = Larger(peak, live);
      if (live && gone[i]) *live -= *gone[i];
    }
    bounds_.max_peak_bytes = peak;
    return std::move(bounds_);
  }

 private:
  Bound Largest(Dim d) {
    if (!d.ok()) return std::nullopt;
    if (d.is_constant()) return d.constant();
    const auto [it, is_new] = largest_.try_emplace(d);
    if (is_new) {
      const int64_t most = graph_.facts().Range(d).max;
      if (most != dim::kUnboundedMax) it->second = std::max<int64_t>(most, 0);
    }
    return it->second;
  }

  // The nesting of blocks is bounded by kMaxBlockDepth. A use inside a block counts where the whole
  // `if` ends, since either side may run.
  void Collect(const Block& block, int depth) {
    for (const ValueId v : block.nodes) {
      const Node& n = graph_.node(v);
      for (const Block& side : n.blocks) Collect(side, depth + 1);
      const int step = static_cast<int>(steps_.size());
      for (const ValueId operand : n.operands) last_use_[operand] = step;
      for (const Block& side : n.blocks) {
        for (const ValueId result : side.results) last_use_[result] = step;
        Extend(side, step);
      }
      if (n.op == Op::k_input && !seen_inputs_.insert(v).second) continue;
      steps_.push_back(v);
      rows_.push_back(bounds_.rows.size());
      bounds_.rows.push_back({v, Of(v)});
    }
  }

  void Extend(const Block& block, int step) {
    for (const ValueId v : block.nodes) {
      for (const ValueId operand : graph_.node(v).operands) last_use_[operand] = step;
      for (const Block& side : graph_.node(v).blocks) Extend(side, step);
    }
  }

  const Graph& graph_;
  GraphBounds bounds_;
  std::vector<ValueId> steps_;  // what runs, in order
  std::vector<size_t> rows_;    // of the steps
  std::vector<int> last_use_;   // by value: a step
  absl::flat_hash_set<ValueId> seen_inputs_;
  absl::flat_hash_map<Dim, Bound> largest_;
};

}  // namespace

ValueBounds BoundsOf(const Graph& graph, ValueId value) { return Walker(graph).Of(value); }

GraphBounds BoundsOf(const Graph& graph) { return Walker(graph).All(); }

std::string SizesText(const Graph& graph, ValueId value) {
  std::string text;
  std::vector<Dim> seen;
  for (Dim d : graph.type(value).shape) {
    if (d.is_constant() || std::find(seen.begin(), seen.end(), d) != seen.end()) continue;
    seen.push_back(d);
    const dim::Interval range = graph.facts().Range(d);
    const dim::Congruence residue = graph.facts().CongruenceOf(d);
    absl::StrAppend(&text, text.empty() ? "" : ", ", d.ToString(), " ",
                    range.min == dim::kUnboundedMin ? "" : absl::StrCat(range.min), "..",
                    range.max == dim::kUnboundedMax ? "" : absl::StrCat(range.max));
    if (residue.modulus > 1) {
      absl::StrAppend(&text, " % ", residue.modulus,
                      residue.remainder == 0 ? "" : absl::StrCat(" == ", residue.remainder));
    }
  }
  if (text.empty()) return text;
  const ValueBounds bounds = BoundsOf(graph, value);
  absl::StrAppend(&text, "; ",
                  bounds.max_bytes ? absl::StrCat("at most ", *bounds.max_bytes) : "unknown",
                  " bytes");
  return text;
}

dim::Answer CouldExceed(const Graph& graph, ValueId value, int64_t bytes) {
  const ValueType& type = graph.type(value);
  return graph.facts().Prove(Volume(type.shape) * SizeOf(type.dtype) <= Dim(bytes));
}

}  // namespace lathe::ir
