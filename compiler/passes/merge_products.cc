// Products of one left side with several constant matrices become one product with the matrices
// side by side; the old results are slices of it. Each element's sum keeps its order, so the bits
// stay. Where each product is only used by the addition of a constant row, the rows are merged as
// well.
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/structure.h"

namespace lathe::compiler {
namespace {

using ir::Attrs;
using ir::Node;
using ir::Op;
using ir::ValueId;

struct Product {
  ValueId matmul = ir::kNoValue;
  ValueId add = ir::kNoValue;  // its only use, if that adds a constant row
  ValueId row = ir::kNoValue;  // the row, a constant [n]
  int64_t columns = 0;
};

// Constants side by side along their last axis; each has `rows` rows.
Tensor SideBySide(const std::vector<Tensor>& parts, int64_t rows, std::vector<int64_t> shape) {
  Tensor merged(parts[0].dtype(), std::move(shape));
  if (!merged.ok()) return merged;
  const int64_t element = SizeOf(merged.dtype());
  char* to = merged.data<char>();
  for (int64_t r = 0; r < rows; ++r) {
    for (const Tensor& part : parts) {
      const size_t bytes = static_cast<size_t>(part.shape().back() * element);
      if (bytes > 0) std::memcpy(to, part.data<char>() + static_cast<size_t>(r) * bytes, bytes);
      to += bytes;
    }
  }
  return merged;
}

class Merger {
 public:
  explicit Merger(ir::Graph& graph) : graph_(graph), uses_(LiveUses(graph)) {
    replacement_.resize(graph.num_nodes());
    for (ValueId v = 0; v < replacement_.size(); ++v) replacement_[v] = v;
  }

  int Run() {
    Visit(graph_.body);
    if (merged_ > 0) {
      graph_.ReplaceUses(replacement_);
      graph_.RemoveDeadNodes();  // some use products that are gone
    }
    return merged_;
  }

 private:
  // Blocks nest to a bounded depth. Inner blocks first: merging the outer one moves nodes.
  void Visit(ir::Block& block) {
    for (size_t i = 0; i < block.nodes.size(); ++i) {
      std::vector<ir::Block> inner = std::move(graph_.node(block.nodes[i]).blocks);
      for (ir::Block& b : inner) Visit(b);
      graph_.node(block.nodes[i]).blocks = std::move(inner);
    }
    absl::flat_hash_map<ValueId, std::vector<Product>> groups = Groups(block);
    absl::erase_if(groups, [](const auto& entry) { return entry.second.size() < 2; });
    if (groups.empty()) return;
    std::vector<ValueId> old = std::exchange(block.nodes, {});
    for (ValueId v : old) {
      const Node& n = graph_.node(v);
      const auto group = n.op == Op::k_matmul ? groups.find(n.operands[0]) : groups.end();
      if (group != groups.end() && group->second[0].matmul == v) Merge(group->second, block.nodes);
      if (replacement_[v] == v && !gone_.contains(v)) block.nodes.push_back(v);
    }
  }

  // The products of the block by their left side, in order.
  absl::flat_hash_map<ValueId, std::vector<Product>> Groups(const ir::Block& block) const {
    absl::flat_hash_map<ValueId, std::vector<Product>> groups;
    absl::flat_hash_map<ValueId, std::pair<ValueId, size_t>> places;
    for (ValueId v : block.nodes) {
      const Node& n = graph_.node(v);
      if (uses_[v] == 0) continue;
      if (IsCandidate(n)) {
        std::vector<Product>& group = groups[n.operands[0]];
        places[v] = {n.operands[0], group.size()};
        group.push_back({v, ir::kNoValue, ir::kNoValue, n.type.shape.back().constant()});
      } else if (n.op == Op::k_add) {
        for (size_t i : {0, 1}) {
          const auto place = places.find(n.operands[i]);
          if (place == places.end() || uses_[n.operands[i]] != 1) continue;
          const std::optional<ValueId> row = ConstantRow(n, n.operands[1 - i]);
          if (!row) continue;
          Product& product = groups[place->second.first][place->second.second];
          product.add = v;
          product.row = *row;
        }
      }
    }
    return groups;
  }

  bool IsCandidate(const Node& n) const {
    if (n.op != Op::k_matmul || !IsFloat(n.type.dtype)) return false;
    const Node& rhs = graph_.node(n.operands[1]);
    return rhs.op == Op::k_constant && rhs.type.rank() == 2 && n.type.shape.back().is_constant();
  }

  // The constant [n] that is repeated to the shape of the sum.
  std::optional<ValueId> ConstantRow(const Node& add, ValueId v) const {
    const Node& wide = graph_.node(v);
    const Node& row = wide.op == Op::k_broadcast ? graph_.node(wide.operands[0]) : wide;
    if (wide.op != Op::k_broadcast || row.op != Op::k_constant || row.type.rank() != 1 ||
        wide.attrs.axes[0] != add.type.rank() - 1 || row.type.shape[0] != add.type.shape.back())
      return std::nullopt;
    return wide.operands[0];
  }

  ValueId Append(std::vector<ValueId>& nodes, const Node& like, Op op,
                 std::vector<ValueId> operands, Attrs attrs, ir::ValueType type) {
    Node n;
    n.op = op;
    n.operands = std::move(operands);
    n.attrs = std::move(attrs);
    n.type = std::move(type);
    n.location = like.location;
    const ValueId v = graph_.AppendNode(std::move(n));
    nodes.push_back(v);
    return v;
  }

  ValueId AppendConstant(std::vector<ValueId>& nodes, const Node& like, Tensor t) {
    ir::ValueType type{t.dtype(), Shape(t.shape().begin(), t.shape().end())};
    Attrs attrs;
    attrs.tensor = std::move(t);
    return Append(nodes, like, Op::k_constant, {}, std::move(attrs), std::move(type));
  }

  void Merge(const std::vector<Product>& group, std::vector<ValueId>& nodes) {
    const Node first = graph_.node(group[0].matmul);
    int64_t columns = 0;
    bool with_rows = true;
    std::vector<Tensor> matrices, rows;
    for (const Product& p : group) {
      columns += p.columns;
      with_rows &= p.add != ir::kNoValue;
      matrices.push_back(graph_.node(graph_.node(p.matmul).operands[1]).attrs.tensor.Contiguous());
    }
    const int64_t k = matrices[0].shape()[0];
    Tensor matrix = SideBySide(matrices, k, {k, columns});
    if (!matrix.ok()) return;  // no memory for it: the products stay as they are
    ir::ValueType type = first.type;
    type.shape.back() = columns;
    const ValueId rhs = AppendConstant(nodes, first, std::move(matrix));
    ValueId wide = Append(nodes, first, Op::k_matmul, {first.operands[0], rhs}, {}, type);
    if (with_rows) {
      for (const Product& p : group) rows.push_back(graph_.node(p.row).attrs.tensor.Contiguous());
      const ValueId row = AppendConstant(nodes, first, SideBySide(rows, 1, {columns}));
      Attrs attrs;
      attrs.shape = type.shape;
      attrs.axes = {type.rank() - 1};
      const ValueId repeated = Append(nodes, first, Op::k_broadcast, {row}, std::move(attrs), type);
      wide = Append(nodes, first, Op::k_add, {wide, repeated}, {}, type);
    }
    Cut(group, with_rows, wide, nodes);
    merged_ += static_cast<int>(group.size());
  }

  // Puts slices of the wide result in the place of the products, or of their additions.
  void Cut(const std::vector<Product>& group, bool with_rows, ValueId wide,
           std::vector<ValueId>& nodes) {
    int64_t start = 0;
    for (const Product& p : group) {
      const ValueId old = with_rows ? p.add : p.matmul;
      const Node like = graph_.node(old);
      Attrs attrs;
      attrs.starts.assign(like.type.shape.size(), 0);
      attrs.limits = graph_.type(wide).shape;
      attrs.steps.assign(like.type.shape.size(), 1);
      attrs.starts.back() = start;
      attrs.limits.back() = start += p.columns;
      const ValueId part = Append(nodes, like, Op::k_slice, {wide}, std::move(attrs), like.type);
      graph_.node(part).name = like.name;
      replacement_[old] = part;
      gone_.insert(p.matmul);
    }
  }

  ir::Graph& graph_;
  std::vector<int> uses_;
  std::vector<ValueId> replacement_;
  absl::flat_hash_set<ValueId> gone_;  // products that went into a wide one
  int merged_ = 0;
};

}  // namespace

absl::Status MergeProducts(ir::Graph& graph, PassContext& context) {
  context.Count("merged products", Merger(graph).Run());
  return absl::OkStatus();
}

}  // namespace lathe::compiler
