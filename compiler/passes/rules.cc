#include "compiler/passes/rules.h"

#include <bit>
#include <cmath>
#include <utility>

#include "compiler/passes/evaluate.h"
#include "ir/visit_dtype.h"

namespace lathe::compiler {
namespace {

using ir::Op;
using ir::ValueId;

// More steps on one node than any chain of rules takes; what is left then is right, only not
// minimal.
constexpr int kMaxSteps = 64;

double ElementAsDouble(const Tensor& t) {
  if (t.dtype() == DType::kBool) return *t.data<uint8_t>() != 0;
  return VisitDType(t.dtype(),
                    [&](auto type) { return static_cast<double>(*t.data<decltype(type)>()); });
}

}  // namespace

const Tensor* Match::OneElement(size_t i) const {
  const ir::Node* n = &in(i);
  for (int steps = 0; n->op == Op::k_broadcast && steps < kMaxSteps; ++steps)
    n = &graph_.node(n->operands[0]);
  if (n->op != Op::k_constant || n->attrs.tensor.num_elements() != 1) return nullptr;
  return &n->attrs.tensor;
}

bool Match::AllFloat(size_t i, double* value) const {
  const Tensor* t = OneElement(i);
  if (t == nullptr || !IsFloat(t->dtype())) return false;
  *value = ElementAsDouble(*t);
  return true;
}

bool Match::IsAll(size_t i, double value) const {
  const Tensor* t = OneElement(i);
  if (t == nullptr) return false;
  if (IsInt(t->dtype())) {
    return VisitDType(t->dtype(), [&](auto type) {
      using T = decltype(type);
      return *t->data<T>() == static_cast<T>(static_cast<int64_t>(value));
    });
  }
  const double found = ElementAsDouble(*t);
  if (!IsFloat(t->dtype())) return found == value;
  return std::bit_cast<uint64_t>(found) == std::bit_cast<uint64_t>(value);
}

bool Match::IsConstant(size_t i) const {
  const ir::Node* n = &in(i);
  for (int steps = 0; n->op == Op::k_broadcast && steps < kMaxSteps; ++steps)
    n = &graph_.node(n->operands[0]);
  return n->op == Op::k_constant;
}

bool Match::Known(const Claim& claim) const {
  return graph_.facts().Prove(claim, /*use_required=*/true).verdict == dim::Verdict::kProved;
}

bool Match::Replace(ValueId with) {
  if (!(graph_.type(with) == node().type)) return false;
  rewriter_.Replace(v_, with);
  replaced_ = true;
  return true;
}

bool Match::Become(Op op, std::vector<ValueId> operands, ir::Attrs attrs) {
  rewriter_.Become(v_, op, std::move(operands), std::move(attrs));
  return true;
}

ValueId Match::Insert(Op op, std::vector<ValueId> operands, ir::Attrs attrs, ir::ValueType type) {
  return rewriter_.Insert(op, std::move(operands), std::move(attrs), std::move(type), v_);
}

std::optional<Tensor> Match::EvaluateAsScalar(const std::vector<Tensor>& scalars) const {
  ir::Node n;
  n.op = node().op;
  n.attrs = node().attrs;
  n.type.dtype = node().type.dtype;
  return EvaluateNode(graph_, n, scalars);
}

RuleTable::RuleTable(std::vector<Rule> rules) : by_op_(ir::kNumOps) {
  for (const Rule& rule : rules) {
    for (int op = 0; op < ir::kNumOps; ++op) {
      bool fits = rule.ops.empty();
      for (Op wanted : rule.ops) fits |= static_cast<int>(wanted) == op;
      if (fits) by_op_[static_cast<size_t>(op)].push_back(rule);
    }
  }
}

bool RuleTable::Apply(ir::Graph& graph, Rewriter& rewriter, ValueId v, PassContext& context) const {
  Match m(graph, rewriter, v);
  for (int steps = 0; steps < kMaxSteps && !m.replaced(); ++steps) {
    const Rule* applied = nullptr;
    for (const Rule& rule : by_op_[static_cast<size_t>(graph.node(v).op)]) {
      if (!rule.apply(m)) continue;
      applied = &rule;
      break;
    }
    if (applied == nullptr) break;
    context.Count(applied->name);
  }
  return m.replaced();
}

}  // namespace lathe::compiler
