#include "compiler/passes/structure.h"

#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace lathe::compiler {
namespace {

// By bits, so that 0 and -0 differ and a NaN equals itself.
std::optional<uint64_t> Bits(const std::optional<double>& v) {
  if (!v) return std::nullopt;
  return std::bit_cast<uint64_t>(*v);
}

uint64_t HashBits(const std::optional<double>& v) { return Bits(v).value_or(1); }

bool ByContent(const Tensor& t) { return t.num_bytes() <= kCompareBytes && t.is_contiguous(); }

absl::string_view Bytes(const Tensor& t) {
  return {static_cast<const char*>(t.raw()), static_cast<size_t>(t.num_bytes())};
}

bool SameTensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.raw() == b.raw() && a.strides() == b.strides()) return true;
  return ByContent(a) && ByContent(b) && Bytes(a) == Bytes(b);
}

bool SameAttrs(const ir::Attrs& a, const ir::Attrs& b) {
  return a.axis == b.axis && a.axes == b.axes && a.shape == b.shape && a.starts == b.starts &&
         a.limits == b.limits && a.steps == b.steps && a.low == b.low && a.high == b.high &&
         a.sizes == b.sizes && a.dilations == b.dilations && a.dim == b.dim && a.dtype == b.dtype &&
         Bits(a.value) == Bits(b.value) && Bits(a.epsilon) == Bits(b.epsilon) &&
         Bits(a.scale) == Bits(b.scale) && a.seed == b.seed && a.distribution == b.distribution &&
         a.reduction == b.reduction && a.keep_dims == b.keep_dims && a.last == b.last &&
         a.descending == b.descending && a.exclusive == b.exclusive && a.reverse == b.reverse &&
         a.unchecked == b.unchecked && a.causal == b.causal && a.empty_row_nan == b.empty_row_nan;
}

bool Swappable(const ir::Node& n) {
  return n.operands.size() == 2 && (ir::Info(n.op).traits & ir::kCommutative) != 0;
}

std::vector<ir::ValueId> SortedOperands(const ir::Node& n) {
  std::vector<ir::ValueId> operands = n.operands;
  if (Swappable(n) && operands[0] > operands[1]) std::swap(operands[0], operands[1]);
  return operands;
}

// From the back, so that all users of a node are known before it; blocks nest to a bounded depth.
void CountLive(const ir::Graph& graph, const ir::Block& block, std::vector<int>* uses) {
  for (ir::ValueId v : block.results) ++(*uses)[v];
  for (size_t i = block.nodes.size(); i-- > 0;) {
    const ir::Node& n = graph.node(block.nodes[i]);
    bool needed = (*uses)[block.nodes[i]] > 0 || (ir::Info(n.op).traits & ir::kMayFail) != 0;
    needed |= !n.blocks.empty();  // what is inside may fail
    if (!needed) continue;
    for (ir::ValueId v : n.operands) ++(*uses)[v];
    for (const ir::Block& inner : n.blocks) CountLive(graph, inner, uses);
  }
}

}  // namespace

std::vector<int> LiveUses(const ir::Graph& graph) {
  std::vector<int> uses(graph.num_nodes());
  CountLive(graph, graph.body, &uses);
  return uses;
}

bool SameValue(const ir::Node& a, const ir::Node& b) {
  if (&a == &b) return true;
  if (a.op != b.op || a.op == ir::Op::k_input || !a.blocks.empty()) return false;
  if (!(a.type == b.type) || SortedOperands(a) != SortedOperands(b)) return false;
  if (!SameAttrs(a.attrs, b.attrs)) return false;
  return a.op != ir::Op::k_constant || SameTensor(a.attrs.tensor, b.attrs.tensor);
}

size_t HashValue(const ir::Node& n) {
  const ir::Attrs& a = n.attrs;
  size_t hash = absl::HashOf(n.op, SortedOperands(n), n.type.dtype, n.type.shape);
  hash = absl::HashOf(hash, a.axis.value_or(-1), a.axes, a.starts, a.limits, a.steps, a.low, a.high,
                      a.sizes, a.dilations, a.dim.value_or(Dim()));
  hash = absl::HashOf(hash, HashBits(a.value), HashBits(a.epsilon), HashBits(a.scale),
                      a.seed.value_or(0), a.distribution, a.reduction, a.keep_dims, a.last,
                      a.descending, a.exclusive, a.reverse, a.unchecked);
  if (n.op == ir::Op::k_constant)
    hash = ByContent(a.tensor) ? absl::HashOf(hash, Bytes(a.tensor))
                               : absl::HashOf(hash, a.tensor.raw());
  return hash;
}

}  // namespace lathe::compiler
