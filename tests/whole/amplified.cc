#include "tests/whole/amplified.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "ir/evaluate.h"
#include "ir/interpreter.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

using ir::ValueId;

constexpr uint64_t kEachApart = 5;  // the first pattern in which elements move apart

bool IsInexact(const ir::Node& n) {
  if (!IsFloat(n.type.dtype) || n.op == ir::Op::k_cast) return false;
  return n.op == ir::Op::k_random || ir::Info(n.op).bound != "exact";
}

class Nudger {
 public:
  Nudger(const ir::Graph& graph, uint64_t pattern)
      : graph_(graph), each_(pattern >= kEachApart), pattern_(pattern) {}

  ir::Graph Run() {
    nudged_.body.nodes = NudgeAll(graph_.body);
    for (ValueId v = 0; v < graph_.num_nodes(); ++v) {
      for (size_t side = 0; side < graph_.node(v).blocks.size(); ++side) {
        std::vector<ValueId> nodes = NudgeAll(graph_.node(v).blocks[side]);
        nudged_.node(v).blocks[side].nodes = std::move(nodes);
      }
    }
    std::vector<ValueId> replacement(nudged_.num_nodes());
    for (ValueId v = 0; v < replacement.size(); ++v) replacement[v] = v;
    for (const Move& m : moves_) replacement[m.v] = m.sum;
    nudged_.ReplaceUses(replacement);
    for (const Move& m : moves_) {
      nudged_.node(m.sum).operands[0] = m.v;
      if (m.of == m.v) nudged_.node(m.move).operands[0] = m.v;
    }
    return std::move(nudged_);
  }

 private:
  std::vector<ValueId> NudgeAll(const ir::Block& block) {
    std::vector<ValueId> nodes;
    for (ValueId v : block.nodes) {
      nodes.push_back(v);
      if (IsInexact(graph_.node(v))) Nudge(v, &nodes);
    }
    return nodes;
  }

  // v becomes v + scale * (v or, where its op's bound is of another size, what has that size).
  void Nudge(ValueId v, std::vector<ValueId>* nodes) {
    const ir::Node& n = graph_.node(v);
    const auto append = [&](ir::Node node) {
      nodes->push_back(nudged_.AppendNode(std::move(node)));
      return nodes->back();
    };
    const auto constant = [&](double value) {
      ir::Node node{.op = ir::Op::k_constant, .type = {n.type.dtype, {}}};
      node.attrs.tensor = ir::ConvertTo(Tensor::Scalar(value), n.type.dtype);
      return append(std::move(node));
    };
    pattern_ = pattern_ * 6364136223846793005u + 1442695040888963407u;
    const DType t = n.type.dtype;
    const double unit = t == f64 ? 0x1p-50 : t == f32 ? 0x1p-21 : t == f16 ? 0x1p-10 : 0x1p-7;
    ValueId scale = constant((pattern_ >> 63) != 0 ? unit : -unit);
    ValueId of = n.op == ir::Op::k_gelu ? n.operands[0] : v;
    if (n.op == ir::Op::k_matmul && (t == f32 || t == f64)) {
      // k * eps * sum |terms|, of which the comparison allows 8 times an eighth.
      const auto scalar = [&](ir::Op op, ValueId a, ValueId b) {
        return append({.op = op, .operands = {a, b}, .type = {t, {}}});
      };
      ir::Node size{.op = ir::Op::k_size, .type = {i64, {}}};
      size.attrs.dim = graph_.type(n.operands[0]).shape.back();
      ir::Node cast{.op = ir::Op::k_cast, .operands = {append(std::move(size))}, .type = {t, {}}};
      cast.attrs.dtype = t;
      const ValueId depth = scalar(ir::Op::k_mul, append(std::move(cast)), constant(1.0 / 32));
      scale = scalar(ir::Op::k_mul, scale, scalar(ir::Op::k_add, depth, constant(1)));
      std::vector<ValueId> sizes;
      for (ValueId o : n.operands)
        sizes.push_back(append({.op = ir::Op::k_abs, .operands = {o}, .type = graph_.type(o)}));
      of = append({.op = n.op, .operands = sizes, .type = n.type});
    }
    if (n.op == ir::Op::k_attention) {  // the values may cancel
      ir::Node sizes{.op = n.op, .operands = n.operands, .type = n.type};
      sizes.attrs = n.attrs;
      const ValueId values = n.operands[2];
      sizes.operands[2] =
          append({.op = ir::Op::k_abs, .operands = {values}, .type = graph_.type(values)});
      of = append(std::move(sizes));
    }
    const auto wide = [&](ValueId scalar) {
      ir::Node node{.op = ir::Op::k_broadcast, .operands = {scalar}, .type = n.type};
      node.attrs.shape = n.type.shape;
      return append(std::move(node));
    };
    ValueId factor = wide(scale);
    if (each_ && (t == f32 || t == f64)) {  // what is equal but for rounding moves apart
      ir::Node random{.op = ir::Op::k_random, .type = n.type};
      random.attrs.shape = n.type.shape;
      random.attrs.dtype = t;
      random.attrs.distribution = "uniform";
      random.attrs.seed = static_cast<int64_t>(pattern_ >> 1);
      const ValueId up = append({.op = ir::Op::k_lt,
                                 .operands = {append(std::move(random)), wide(constant(0.5))},
                                 .type = {bool_, n.type.shape}});
      const ValueId down = append({.op = ir::Op::k_neg, .operands = {factor}, .type = n.type});
      factor = append({.op = ir::Op::k_select, .operands = {up, factor, down}, .type = n.type});
    }
    const ValueId move = append({.op = ir::Op::k_mul, .operands = {of, factor}, .type = n.type});
    const ValueId sum = append({.op = ir::Op::k_add, .operands = {v, move}, .type = n.type});
    moves_.push_back({v, of, move, sum});
  }

  struct Move {
    ValueId v, of, move, sum;
  };

  const ir::Graph& graph_;
  ir::Graph nudged_ = graph_.Clone();
  const bool each_;
  uint64_t pattern_;
  std::vector<Move> moves_;
};

// Moves `widest` (wanted, displaced by the widest move so far) where `other` is farther away.
void Widen(const Tensor& wanted, const Tensor& other, Tensor* widest) {
  for (int64_t i = 0; i < wanted.num_elements(); ++i) {
    const double w = At(wanted, i), o = At(other, i);
    if (w == o || (std::isnan(w) && std::isnan(o))) continue;
    double& at = widest->data<double>()[i];
    const double move = std::abs(w - o);
    if (!std::isfinite(move)) at = std::numeric_limits<double>::infinity();
    if (move > std::abs(at - w)) at = w + move;
  }
}

}  // namespace

ir::Graph Nudged(const ir::Graph& graph, uint64_t pattern) { return Nudger(graph, pattern).Run(); }

absl::Status CheckAmplified(const Function& function, const ir::Graph& graph,
                            absl::Span<const Tensor> inputs, bool with_evaluator) {
  absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(graph, inputs);
  absl::StatusOr<std::vector<Tensor>> found = function.call(inputs);
  if (!wanted.ok() || !found.ok())
    return CheckCall(function, graph, inputs, /*exact=*/false, with_evaluator);
  std::vector<std::vector<Tensor>> moved;
  for (uint64_t pattern : {1, 2, 3, 4, 5, 6, 7, 8}) {
    absl::StatusOr<std::vector<Tensor>> run = ir::Interpret(Nudged(graph, pattern), inputs);
    // A move may turn an index that is computed into one that is refused.
    if (run.ok()) moved.push_back(*std::move(run));
  }
  if (absl::StatusOr<std::vector<Tensor>> run = ir::Interpret(graph, inputs, {.in_f64 = true});
      run.ok())
    moved.push_back(*std::move(run));
  for (size_t i = 0; i < wanted->size(); ++i) {
    const Tensor& w = (*wanted)[i];
    absl::Status s;
    if (IsFloat(w.dtype())) {
      Tensor widest(f64, w.shape());
      for (int64_t e = 0; e < w.num_elements(); ++e) widest.data<double>()[e] = At(w, e);
      for (const std::vector<Tensor>& run : moved) Widen(w, run[i], &widest);
      s = WithinBound((*found)[i], w, widest, /*exact=*/false);
    } else {
      bool settled = true;
      for (const std::vector<Tensor>& run : moved) settled &= ir::SameBits(run[i], w).ok();
      if (settled) s = ir::SameBits((*found)[i], w);
    }
    if (!s.ok()) return absl::InternalError(absl::StrCat("output ", i, ": ", s.message()));
  }
  return with_evaluator ? SameAsEvaluator(function, inputs, *found) : absl::OkStatus();
}

}  // namespace lathe::whole
