#pragma once
// Rewrite rules, a line each, in files by theme. `canonicalize` applies them all, `sink_views`
// those of views.
//
// Discipline. A rule
//   - keeps every bit of the result for all sizes and all values: NaN stays NaN (any NaN equals any
//     NaN), infinities, -0 and wrapping included. x + 0 is not x (-0 + 0 is 0), x - 0 is;
//   - keeps the node's type as it stands, dim for dim;
//   - ends: it makes the node smaller (fewer operations, fewer index maps), or moves it one way
//     along an order that no other rule goes back (constant operands last, div to mul, views
//     outwards of constants);
//   - needs nothing that the verifier couldn't prove again from the graph's facts;
//   - never duplicates work and never drops an op that may fail on data.
// A rule about `//` or `%` of elements needs a proof beside it; there is none so far.
#include <optional>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/rewriter.h"
#include "ir/graph.h"

namespace lathe::compiler {

// The node that a rule looks at, and what a rule may do with it. What changes the node returns true
// if it did; a rule returns that.
class Match {
 public:
  Match(ir::Graph& graph, Rewriter& rewriter, ir::ValueId v)
      : graph_(graph), rewriter_(rewriter), v_(v) {}

  const ir::Node& node() const { return graph_.node(v_); }
  ir::ValueId arg(size_t i) const { return node().operands[i]; }
  const ir::Node& in(size_t i) const { return graph_.node(arg(i)); }
  const ir::Node& at(ir::ValueId v) const { return graph_.node(v); }
  bool Is(size_t i, ir::Op op) const { return in(i).op == op; }
  // Operand i has that value in each element, exactly (0 and -0 differ), by way of a constant.
  bool IsAll(size_t i, double value) const;
  // The value of all elements of operand i, if it is a one-element float constant or a broadcast.
  bool AllFloat(size_t i, double* value) const;
  bool IsConstant(size_t i) const;  // a constant or a broadcast of one
  // Known for all admitted sizes, required facts included.
  bool Known(const Claim& claim) const;

  // The node is the value `with`, if that has its type.
  bool Replace(ir::ValueId with);
  // The node is computed by another op, in place. The type stays.
  bool Become(ir::Op op, std::vector<ir::ValueId> operands, ir::Attrs attrs = {});
  // A node before this one, with this one's location; invalidates references.
  ir::ValueId Insert(ir::Op op, std::vector<ir::ValueId> operands, ir::Attrs attrs,
                     ir::ValueType type);
  // What the node, an elementwise op, gives for these scalars.
  std::optional<Tensor> EvaluateAsScalar(const std::vector<Tensor>& scalars) const;
  bool replaced() const { return replaced_; }

 private:
  const Tensor* OneElement(size_t i) const;
  ir::Graph& graph_;
  Rewriter& rewriter_;
  ir::ValueId v_;
  bool replaced_ = false;
};

struct Rule {
  std::string_view name;    // as maths: "neg(neg(x)) = x"
  std::vector<ir::Op> ops;  // that the node may be; empty: any
  bool (*apply)(Match& m);
};

// Rules by the ops that they are for, in order.
class RuleTable {
 public:
  explicit RuleTable(std::vector<Rule> rules);
  // Applies rules to the node that `rewriter` visits until none fits. True if it was replaced.
  bool Apply(ir::Graph& graph, Rewriter& rewriter, ir::ValueId v, PassContext& context) const;

 private:
  std::vector<std::vector<Rule>> by_op_;
};

std::vector<Rule> ViewRules();
std::vector<Rule> ArithmeticRules();
std::vector<Rule> CastRules();

}  // namespace lathe::compiler
