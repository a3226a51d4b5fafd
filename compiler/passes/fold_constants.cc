// Ops whose operands are all known are evaluated while compiling, within a budget of bytes and
// work. A broadcast of a constant stays one (it is cheaper than the elements and merge_products
// looks for it) but counts as known. An evaluation that fails is left to the call. What is computed
// twice from the same weights (a transposed matrix that two products share) is stored once.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/passes/evaluate.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/rewriter.h"
#include "compiler/passes/structure.h"

namespace lathe::compiler {
namespace {

using ir::Node;
using ir::Op;
using ir::ValueId;

constexpr int64_t kAlwaysSmall = 4 << 10;  // bytes that a result may have whatever its operands are

constexpr int64_t kSeeded = 16 << 20;  // the same for seeded weights

// What one run may compute in all: so often the bytes of the constants that it starts from, and the
// bytes that one constant may have. A weight is cast, transposed and scaled; a thousand functions
// of it, one after the other, are left to the calls.
constexpr int64_t kGrowth = 4;

bool Constant(const std::vector<Dim>& dims) {
  for (Dim d : dims) {
    if (!d.is_constant()) return false;
  }
  return true;
}

// Whether the node could be evaluated without any symbol, its operands given.
bool IsClosed(const Node& n) {
  if (n.op == Op::k_constant || n.op == Op::k_iota) return false;
  if (n.op == Op::k_random) return Constant(n.type.shape);  // seeded weights are constants
  if (n.op == Op::k_size) return n.attrs.dim->is_constant();
  return !n.operands.empty() && ir::Info(n.op).evaluate != nullptr && HasConstantDims(n);
}

// Elements of a shape of constants, or nothing if they overflow.
std::optional<int64_t> Elements(const Shape& shape) {
  int64_t count = 1;
  for (Dim d : shape) {
    if (__builtin_mul_overflow(count, d.constant(), &count)) return std::nullopt;
  }
  return count;
}

class Folder {
 public:
  Folder(ir::Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), bytes_left_(context.fold_bytes) {
    for (ValueId v = 0; v < graph.num_nodes(); ++v) {
      const Node& n = graph.node(v);
      if (n.op == Op::k_constant) Allow(kGrowth * n.attrs.tensor.num_bytes());
      if (n.op == Op::k_random) Allow(kSeeded);
    }
  }

  // The node's value, if it is known and small enough.
  std::optional<Tensor> Fold(const Node& n) {
    if (n.op == Op::k_broadcast || !IsClosed(n)) return std::nullopt;
    int64_t operand_bytes = 0;
    std::vector<const Node*> known;
    for (ValueId v : n.operands) {
      known.push_back(&graph_.node(v));
      const std::optional<int64_t> bytes = KnownBytes(*known.back());
      if (!bytes) return std::nullopt;
      operand_bytes += *bytes;
    }
    if (!Affordable(n, operand_bytes)) return std::nullopt;
    if (operand_bytes <= kCompareBytes) return Evaluate(n, known);
    // Smaller results are compared by content later; these by their buffer.
    Node key = n;
    for (ValueId& v : key.operands) v = FirstWithBuffer(v);
    std::vector<std::pair<Node, Tensor>>& same = folded_[HashValue(key)];
    for (const auto& [other, value] : same) {
      if (SameValue(other, key)) return value;
    }
    std::optional<Tensor> value = Evaluate(n, known);
    if (value) same.emplace_back(std::move(key), *value);
    return value;
  }

 private:
  void Allow(int64_t bytes) {
    if (__builtin_add_overflow(bytes_left_, bytes, &bytes_left_)) bytes_left_ = INT64_MAX;
  }

  // The first constant seen that shares the buffer and the type, or v itself.
  ValueId FirstWithBuffer(ValueId v) {
    const Node& n = graph_.node(v);
    if (n.op != Op::k_constant) return v;
    const auto [it, is_new] = by_buffer_.try_emplace(n.attrs.tensor.raw(), v);
    return SameValue(graph_.node(it->second), n) ? it->second : v;
  }

  std::optional<Tensor> Evaluate(const Node& n, const std::vector<const Node*>& known) {
    std::vector<Tensor> operands;
    for (const Node* operand : known) {
      std::optional<Tensor> t = ValueOf(*operand);
      if (!t) return std::nullopt;
      operands.push_back(*std::move(t));
    }
    std::optional<Tensor> result = EvaluateNode(graph_, n, operands);
    if (result && result->num_bytes() > kAlwaysSmall) bytes_left_ -= result->num_bytes();
    return result;
  }

  // Bytes of memory behind a constant or a broadcast of one.
  std::optional<int64_t> KnownBytes(const Node& n) const {
    const Node& source = n.op == Op::k_broadcast ? graph_.node(n.operands[0]) : n;
    if (source.op != Op::k_constant || !Constant(n.type.shape)) return std::nullopt;
    return source.attrs.tensor.num_bytes();
  }

  bool Affordable(const Node& n, int64_t operand_bytes) const {
    const std::optional<int64_t> count = Elements(n.type.shape);
    // Weights of a narrow type are kept as f32, which products compute in.
    const int64_t least = n.op == Op::k_random ? kSeeded
                          : n.op == Op::k_cast ? 2 * operand_bytes
                                               : kAlwaysSmall;
    const int64_t most =
        std::min(context_.fold_bytes, std::max({kAlwaysSmall, least, operand_bytes}));
    if (!count || *count > most / SizeOf(n.type.dtype)) return false;
    const int64_t bytes = *count * SizeOf(n.type.dtype);
    if (bytes > kAlwaysSmall && bytes > bytes_left_) return false;
    // A broadcast operand is made whole for the evaluation.
    for (ValueId v : n.operands) {
      const std::optional<int64_t> wide = Elements(graph_.type(v).shape);
      if (!wide || *wide > context_.fold_bytes / SizeOf(graph_.type(v).dtype)) return false;
    }
    if (n.op == Op::k_attention) return false;
    if (n.op != Op::k_matmul) return true;
    const Dim k = graph_.type(n.operands[0]).shape.back();
    return *count <= context_.fold_work / std::max<int64_t>(1, k.constant());
  }

  std::optional<Tensor> ValueOf(const Node& n) const {
    if (n.op == Op::k_constant) return n.attrs.tensor.Contiguous();
    return EvaluateNode(graph_, n, {graph_.node(n.operands[0]).attrs.tensor.Contiguous()});
  }

  ir::Graph& graph_;
  const PassContext& context_;
  int64_t bytes_left_;
  absl::flat_hash_map<const void*, ValueId> by_buffer_;
  absl::flat_hash_map<size_t, std::vector<std::pair<Node, Tensor>>> folded_;  // by hash
};

}  // namespace

absl::Status FoldConstants(ir::Graph& graph, PassContext& context) {
  Rewriter rewriter(graph);
  Folder folder(graph, context);
  rewriter.Run([&](ValueId v) {
    std::optional<Tensor> value = folder.Fold(graph.node(v));
    if (!value) return;
    ir::Attrs attrs;
    attrs.tensor = *std::move(value);
    rewriter.Become(v, Op::k_constant, {}, std::move(attrs));
    context.Count("folded");
  });
  return absl::OkStatus();
}

}  // namespace lathe::compiler
