#include "ir/interpreter.h"

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/evaluate.h"
#include "ir/expand.h"

namespace lathe::ir {
namespace {

// What evaluators may read: contiguous and aligned to its element.
Tensor Readable(const Tensor& t) {
  const bool aligned =
      reinterpret_cast<uintptr_t>(t.raw()) % static_cast<uintptr_t>(SizeOf(t.dtype())) == 0;
  return aligned ? t.Contiguous() : t.Clone();
}

class Interpreter {
 public:
  Interpreter(const Graph& graph, std::vector<int64_t> symbols, const InterpretOptions& options)
      : graph_(graph),
        symbols_(std::move(symbols)),
        options_(options),
        values_(graph.num_nodes()),
        uses_(graph.CountUses()) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      values_[graph_.inputs[i]] = Held(Readable(inputs[i]));
    frames_.push_back({&graph_.body, 0, kNoValue});
    while (!frames_.empty()) {
      absl::Status status = Step();
      if (!status.ok()) return status;
    }
    std::vector<Tensor> outputs;
    for (ValueId v : graph_.body.results) {
      outputs.push_back(values_[v].Clone());
      if (!outputs.back().ok())
        return absl::ResourceExhaustedError("no memory for a copy of an output");
    }
    return outputs;
  }

 private:
  // A block under way; `owner` is the `if` that gets its result.
  struct Frame {
    const Block* block;
    size_t next;
    ValueId owner;
  };

  // Runs one node, or leaves a finished block.
  absl::Status Step() {
    Frame& frame = frames_.back();
    if (frame.next < frame.block->nodes.size()) return RunNode(frame.block->nodes[frame.next++]);
    if (frame.owner != kNoValue) {
      const ValueId result = frame.block->results.front();
      values_[frame.owner] = values_[result];
      Release(result);
    }
    frames_.pop_back();
    return absl::OkStatus();
  }

  absl::Status RunNode(ValueId v) {
    const Node& n = graph_.node(v);
    if (n.op == Op::k_input) return absl::OkStatus();
    if (n.op == Op::k_constant) {
      values_[v] = Held(Readable(n.attrs.tensor));
      return absl::OkStatus();
    }
    if (n.op == Op::k_if) {
      absl::StatusOr<bool> taken = dim::Evaluate(*n.attrs.claim, symbols_);
      if (!taken.ok()) return InNode(v, taken.status());
      frames_.push_back({&n.blocks[*taken ? 0 : 1], 0, v});
      return absl::OkStatus();
    }
    return Evaluate(v, n);
  }

  absl::Status Evaluate(ValueId v, const Node& n) {
    const OpInfo& info = Info(n.op);
    if (info.evaluate == nullptr)
      return InNode(v, absl::InternalError("the op has no reference evaluator"));
    std::vector<Tensor> operands;
    for (ValueId operand : n.operands) operands.push_back(values_[operand]);
    absl::StatusOr<std::vector<int64_t>> shape = ResultShape(n);
    if (!shape.ok()) return InNode(v, shape.status());
    EvalContext c{&graph_, &n, operands, symbols_, *std::move(shape), HeldType(n.type.dtype)};
    absl::StatusOr<Tensor> result = EvaluateOp(c);
    if (!result.ok()) return result.status();
    for (ValueId operand : n.operands) Release(operand);
    if (uses_[v] > 0) values_[v] = *std::move(result);
    return absl::OkStatus();
  }

  // The sizes of this call; refuses what passes a limit, before anything is allocated.
  absl::StatusOr<std::vector<int64_t>> ResultShape(const Node& n) {
    std::vector<int64_t> shape;
    bool empty = false;
    for (size_t axis = 0; axis < n.type.shape.size(); ++axis) {
      const Dim d = n.type.shape[axis];
      absl::StatusOr<int64_t> extent = Size(d);
      if (!extent.ok()) return extent.status();
      if (*extent < 0 || *extent > kMaxDim) {
        return absl::OutOfRangeError(absl::StrCat("axis ", axis, " is ", d.ToString(), " = ",
                                                  *extent, ", wanted 0..", kMaxDim));
      }
      empty |= *extent == 0;
      shape.push_back(*extent);
    }
    int64_t bytes = SizeOf(HeldType(n.type.dtype));
    for (int64_t extent : shape) {
      if (!empty && __builtin_mul_overflow(bytes, extent, &bytes)) {
        return absl::OutOfRangeError(absl::StrCat(n.type.ToString(), " = [",
                                                  absl::StrJoin(shape, ", "),
                                                  "]: the number of bytes passes 64 bits"));
      }
    }
    if (!empty && bytes > options_.max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(n.type.ToString(), " = [", absl::StrJoin(shape, ", "), "] takes ", bytes,
                       " bytes, the limit is ", options_.max_bytes));
    }
    return shape;
  }

  absl::StatusOr<int64_t> Size(Dim d) {
    if (d.is_constant()) return d.constant();
    auto [it, fresh] = sizes_.try_emplace(d, 0);
    if (!fresh) return it->second;
    absl::StatusOr<int64_t> value = dim::Evaluate(d, symbols_);
    if (!value.ok()) {
      sizes_.erase(it);
      return value;
    }
    return it->second = *value;
  }

  // The status with the node's op, name and place before its message.
  absl::Status InNode(ValueId v, const absl::Status& status) const {
    const Node& n = graph_.node(v);
    const std::string where = n.location.ToString();
    return absl::Status(status.code(),
                        absl::StrCat(std::string(Name(n.op)), " ", graph_.ValueName(v),
                                     where.empty() ? "" : " at ", where, ": ", status.message()));
  }

  void Release(ValueId v) {
    if (--uses_[v] == 0) values_[v] = Tensor();
  }

  DType HeldType(DType t) const { return options_.in_f64 && IsFloat(t) ? DType::kF64 : t; }
  Tensor Held(const Tensor& t) const {
    return HeldType(t.dtype()) == t.dtype() ? t : ConvertTo(t, f64);
  }

  const Graph& graph_;
  const std::vector<int64_t> symbols_;
  const InterpretOptions& options_;
  std::vector<Tensor> values_;  // by ValueId; dropped after the last use
  std::vector<int> uses_;       // still to come
  std::vector<Frame> frames_;
  absl::flat_hash_map<Dim, int64_t> sizes_;
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> Interpret(const Graph& graph, absl::Span<const Tensor> inputs,
                                              const InterpretOptions& options) {
  absl::StatusOr<std::vector<int64_t>> symbols = BindSymbols(graph, inputs);
  if (!symbols.ok()) return symbols.status();
  if (options.check_facts) {
    absl::Status facts = CheckFacts(graph, *symbols);
    if (!facts.ok()) return facts;
  }
  if (!HasComposites(graph)) return Interpreter(graph, *std::move(symbols), options).Run(inputs);
  Graph expanded = graph.Clone();
  absl::Status status = ExpandComposites(&expanded);
  if (!status.ok()) return status;
  return Interpreter(expanded, *std::move(symbols), options).Run(inputs);
}

}  // namespace lathe::ir
