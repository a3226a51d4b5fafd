#pragma once
// Graph: SSA values with an element type and a shape of Dims, in blocks. Who makes one: the tracing
// DSL, the text parser. Who reads it: passes, interpreter, lowering. One node has one result; the
// node's index is the value's id. Blocks list nodes in a topological order; blocks of an `if` may
// use values of enclosing blocks.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/dim/context.h"
#include "ir/dim/facts.h"
#include "ir/op.h"
#include "lathe/tensor.h"

namespace lathe::ir {

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;
inline constexpr int kMaxRank = 16;
inline constexpr int64_t kMaxNodes = 1'000'000;
inline constexpr int64_t kMaxDim = int64_t{1} << 40;
inline constexpr int kMaxBlockDepth = 32;

struct ValueType {
  DType dtype = DType::kF32;
  Shape shape;
  int rank() const { return static_cast<int>(shape.size()); }
  std::string ToString() const;  // "f32[batch, 768]"
  friend bool operator==(const ValueType& a, const ValueType& b) {
    return a.dtype == b.dtype && a.shape == b.shape;
  }
};

// All attributes that any op has; an op's row names the ones that it reads. Axes are stored
// normalised (>= 0).
struct Attrs {
  std::optional<int64_t> axis;      // gather, concat, argmax, argmin, softmax, iota
  std::vector<int64_t> axes;        // reductions; broadcast: result axis of each operand axis;
                                    // permute: source axis of each result axis
  std::optional<Shape> shape;       // broadcast, reshape, iota, random, (input, constant: own)
  std::vector<Dim> starts, limits;  // slice: begin (inclusive), end, already clamped to the extent
  std::vector<int64_t> steps;  // slice: never 0; negative walks down from `starts`; windows: >= 1
  std::vector<Dim> low, high;  // pad, windows: elements added before and after each axis
  std::vector<Dim> sizes;      // windows: extent of a window along each of the last axes
  std::vector<int64_t> dilations;  // windows: from one element of a window to the next, >= 1
  std::optional<Dim> dim;          // size: the Dim whose value it is; check_index: the bound
  std::optional<Claim> claim;      // if: the condition on sizes
  std::optional<DType> dtype;      // cast, iota, random, size
  std::optional<double> value;     // pad, windows: the fill
  std::optional<double> epsilon;   // norms
  std::optional<double> scale;     // attention: factor of q.k
  std::optional<int64_t> seed;     // random
  std::string distribution;        // random: "uniform" in [0,1), "normal"
  std::string reduction;           // scatter: "" (the last wins), "add", "mul", "max", "min"
  bool keep_dims = false;          // reductions
  bool last = false;               // argmax, argmin: of equal elements the last, not the first
  bool descending = false;         // argsort
  bool exclusive = false;          // cumsum, cumprod: without the element itself
  bool reverse = false;            // cumsum, cumprod: from the end
  bool unchecked = false;          // gather: an index outside gives 0 instead of an error
  bool causal = false;             // attention, aligned bottom-right
  bool empty_row_nan = false;      // attention: NaN instead of 0 for a row with nothing to see
  std::string name;                // input
  std::optional<Shape> elements;   // input: symbols that its elements give, row-major
  std::optional<Shape> offsets;    // input: the offsets of a ragged dim: {total, max} (ragged.h)
  Tensor tensor;                   // constant
};

struct Block {
  std::vector<ValueId> nodes;  // in execution order
  std::vector<ValueId> results;
};

struct Location {
  std::string file;
  int line = 0, column = 0;
  std::string ToString() const;  // "file:line" or "file:line:column", "" if unknown
};

struct Node {
  Op op;
  std::vector<ValueId> operands;
  Attrs attrs;
  ValueType type;
  Location location;
  std::string name;           // the user's name for the value, or empty
  std::vector<Block> blocks;  // if: then, else; each with one result
};

class Graph {
 public:
  Graph();
  explicit Graph(std::shared_ptr<dim::DimContext> context);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph Clone() const;  // shares the DimContext

  std::string name;
  int64_t max_nodes = kMaxNodes;          // more are refused by the builder
  bool fast_math = false;                 // rewrites may change NaN, infinities and -0
  Block body;                             // results = outputs
  std::vector<ValueId> inputs;            // nodes of op `input`, in call order
  std::vector<std::string> output_names;  // one per result

  dim::DimContext* dims() const { return context_.get(); }
  const std::shared_ptr<dim::DimContext>& shared_dims() const { return context_; }
  dim::FactSet& facts() { return *facts_; }
  const dim::FactSet& facts() const { return *facts_; }

  Node& node(ValueId v) { return nodes_[v]; }
  const Node& node(ValueId v) const { return nodes_[v]; }
  const ValueType& type(ValueId v) const { return nodes_[v].type; }
  size_t num_nodes() const { return nodes_.size(); }
  ValueId AppendNode(Node n);  // doesn't place it in a block

  // "x", or "%7" for values without a name.
  std::string ValueName(ValueId v) const;

  // Puts `with` in place of `what` in every operand and result.
  void ReplaceUses(absl::Span<const ValueId> replacement);  // replacement[v]: v itself if kept
  // Drops from the blocks what no output needs; nodes that may fail stay.
  void RemoveDeadNodes();
  // For each value the number of uses as an operand or a result, blocks included.
  std::vector<int> CountUses() const;

 private:
  std::shared_ptr<dim::DimContext> context_;
  std::unique_ptr<dim::FactSet> facts_;
  std::vector<Node> nodes_;
};

// Checks the invariants that are numbered in verifier.cc; the error names the node and the number.
absl::Status Verify(const Graph& graph);

// Text form; Parse(Print(g)) prints the same. See docs/text_form.md for the grammar.
std::string Print(const Graph& graph);
// The same with `comment(v)` behind the line of each value, if it isn't empty.
std::string Print(const Graph& graph, const std::function<std::string(ValueId)>& comment);
absl::StatusOr<Graph> Parse(std::string_view text, std::string_view file_name = "");

// Structural equality up to value numbering (names, types, attributes, constants' contents).
bool Equal(const Graph& a, const Graph& b);

}  // namespace lathe::ir
