#pragma once
// Runs single ops through builder and interpreter, for tests.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/builder.h"
#include "ir/interpreter.h"

namespace lathe::ir {

// Vectors of f32, i32 and i64.
inline Tensor F(std::vector<float> v) {
  return Tensor::FromVector<float>({static_cast<int64_t>(v.size())}, v);
}
inline Tensor I(std::vector<int32_t> v) {
  return Tensor::FromVector<int32_t>({static_cast<int64_t>(v.size())}, v);
}
inline Tensor L(std::vector<int64_t> v) {
  return Tensor::FromVector<int64_t>({static_cast<int64_t>(v.size())}, v);
}

struct RunOptions {
  bool symbolic =
      false;  // every dim of every operand is a symbol of its own extent: equal extents share
  InterpretOptions interpret;
};

// A graph with one input for each operand, and the op. Elementwise operands are broadcast.
inline absl::StatusOr<Graph> GraphOf(Op op, const std::vector<Tensor>& operands, Attrs attrs = {},
                                     bool symbolic = false) {
  Graph graph;
  Builder b(&graph);
  std::vector<ValueId> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    ValueType type{operands[i].dtype(), {}};
    for (int64_t extent : operands[i].shape())
      type.shape.push_back(symbolic ? graph.dims()->Symbol(absl::StrCat("n", extent)) : extent);
    absl::StatusOr<ValueId> v = b.Input(absl::StrCat("x", i), type);
    if (!v.ok()) return v.status();
    values.push_back(*v);
  }
  absl::StatusOr<ValueId> y = b.Apply(op, values, std::move(attrs));
  if (!y.ok()) return y.status();
  absl::Status status = b.Output("y", *y);
  if (!status.ok()) return status;
  return graph;
}

inline absl::StatusOr<Tensor> RunOp(Op op, const std::vector<Tensor>& operands, Attrs attrs = {},
                                    const RunOptions& options = {}) {
  absl::StatusOr<Graph> graph = GraphOf(op, operands, std::move(attrs), options.symbolic);
  if (!graph.ok()) return graph.status();
  absl::StatusOr<std::vector<Tensor>> out = Interpret(*graph, operands, options.interpret);
  if (!out.ok()) return out.status();
  return out->front();
}

// The result as text, or the error.
inline std::string RunText(Op op, const std::vector<Tensor>& operands, Attrs attrs = {},
                           const RunOptions& options = {}) {
  absl::StatusOr<Tensor> y = RunOp(op, operands, std::move(attrs), options);
  return y.ok() ? y->ToString() : std::string(y.status().message());
}

}  // namespace lathe::ir
