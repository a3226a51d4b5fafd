#pragma once
// Questions about what computes a value: what the recognisers of exported forms share. Answers are
// about values, not bits: a recogniser says itself what it may change.
//
//   Finder find(graph);
//   if (auto x = find.SquareOf(v)) ...   // v is x * x
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/structure.h"
#include "ir/graph.h"

namespace lathe::compiler {

class Finder {
 public:
  explicit Finder(const ir::Graph& graph) : graph_(graph), uses_(LiveUses(graph)) {}

  const ir::Node& node(ir::ValueId v) const { return graph_.node(v); }
  const Shape& shape(ir::ValueId v) const { return graph_.type(v).shape; }
  bool Is(ir::ValueId v, ir::Op op) const { return graph_.node(v).op == op; }
  ir::ValueId arg(ir::ValueId v, size_t i) const { return graph_.node(v).operands[i]; }
  // By one operand of one node that an output needs, as the graph was when the Finder was made;
  // what a pass has inserted since then counts as used once.
  bool UsedOnce(ir::ValueId v) const { return v >= uses_.size() || uses_[v] == 1; }

  // The operands of a binary node both ways around: what commutes is looked for in each.
  std::vector<std::pair<ir::ValueId, ir::ValueId>> Orders(ir::ValueId v) const {
    const std::vector<ir::ValueId>& o = graph_.node(v).operands;
    return {{o[0], o[1]}, {o[1], o[0]}};
  }

  // The value of each element of a float constant of one element, however it is repeated.
  std::optional<double> Splat(ir::ValueId v) const;
  bool IsSplat(ir::ValueId v, double value) const { return Splat(v) == value; }

  // Below reshapes that only put in or take out axes of extent 1.
  ir::ValueId WithoutOnes(ir::ValueId v) const;
  // x, if v is x * x.
  std::optional<ir::ValueId> SquareOf(ir::ValueId v) const;
  // x, if v is the mean of x over its last axis, kept or not: by `mean`, or by a sum and the count.
  std::optional<ir::ValueId> MeanOverLast(ir::ValueId v) const;
  // The value with one element a row (the last axis is 1 or missing) that v repeats along the rows
  // of its shape.
  std::optional<ir::ValueId> RepeatedAlongRows(ir::ValueId v) const;
  // The value that v repeats over all axes but the last, whose extent it has; its other axes are 1.
  std::optional<ir::ValueId> RepeatedRow(ir::ValueId v) const;

 private:
  bool IsCount(ir::ValueId v, Dim count) const;

  const ir::Graph& graph_;
  const std::vector<int> uses_;
};

// The shape without its axes of extent 1.
Shape DropOnes(const Shape& shape);

}  // namespace lathe::compiler
