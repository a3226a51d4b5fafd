// What the importer knows of a value without running anything: sizes, contents, conditions.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "compiler/passes/evaluate.h"
#include "ir/element_dims.h"
#include "ir/status_macros.h"
#include "ir/visit_dtype.h"

namespace lathe::onnx {

using ir::kNoValue;
using ir::ValueId;

namespace {

constexpr int64_t kMostIntegers = int64_t{1} << 20;  // of one tensor read as numbers

}  // namespace

std::string ItemName(const std::string& sequence, size_t item) {
  return absl::StrCat(sequence, ".", item);
}

absl::StatusOr<std::vector<int64_t>> Integers(const Tensor& t) {
  if (t.num_elements() > kMostIntegers)
    return absl::InvalidArgumentError(
        absl::StrCat("has ", t.num_elements(), " elements; wanted a few numbers"));
  if (IsFloat(t.dtype()))
    return absl::InvalidArgumentError(
        absl::StrCat("is of type ", Name(t.dtype()), "; wanted integers"));
  const Tensor flat = t.Contiguous();
  std::vector<int64_t> values;
  VisitDType(flat.dtype(), [&](auto type) {
    for (int64_t i = 0; i < flat.num_elements(); ++i)
      values.push_back(static_cast<int64_t>(flat.data<decltype(type)>()[i]));
  });
  return values;
}

std::optional<std::vector<Dim>> Importer::SizesOf(const Val& v) {
  if (v.kind != Val::Kind::kTensor) return std::nullopt;
  if (v.constant) {
    const absl::StatusOr<std::vector<int64_t>> numbers = Integers(*v.constant);
    if (!numbers.ok()) return std::nullopt;
    return std::vector<Dim>(numbers->begin(), numbers->end());
  }
  if (v.id == kNoValue) return std::nullopt;
  ir::Graph* graph = v.scope->GraphOf(v.stage);
  if (auto dims = KnownSizes(graph, v.id)) return dims;
  return std::nullopt;
}

absl::StatusOr<std::optional<std::vector<Dim>>> Importer::Dims(const Val& v, int64_t least) {
  if (auto dims = SizesOf(v)) return dims;
  if (v.id == kNoValue || v.kind != Val::Kind::kTensor) return std::optional<std::vector<Dim>>();
  std::set<std::string> names;
  const auto as_dims = [&]() -> absl::StatusOr<std::optional<std::vector<Dim>>> {
    LATHE_ASSIGN_OR_RETURN(const std::optional<Tensor> t, Content(v));
    if (!t) return std::optional<std::vector<Dim>>();
    LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, Integers(*t));
    return std::optional<std::vector<Dim>>(std::vector<Dim>(numbers.begin(), numbers.end()));
  };
  if (const std::optional<Tensor> t = Evaluate(v, &names)) {
    LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, Integers(*t));
    if (names.empty() ||
        std::any_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n < least; }))
      return as_dims();
  }
  if (auto dims = ir::ElementDims(v.scope->GraphOf(v.stage), v.id)) return dims;
  return as_dims();
}

std::optional<Tensor> Importer::Evaluate(const Val& v, std::set<std::string>* names) {
  if (v.kind != Val::Kind::kTensor) return std::nullopt;
  if (v.constant) return *v.constant;
  if (v.id == kNoValue) return std::nullopt;
  const ir::Graph& graph = *v.scope->GraphOf(v.stage);
  constexpr size_t kMostValues = 4096;
  absl::flat_hash_map<ValueId, Tensor> known;
  std::vector<std::pair<ValueId, bool>> stack = {{v.id, false}};
  while (!stack.empty()) {
    const auto [at, ready] = stack.back();
    stack.pop_back();
    if (known.contains(at)) continue;
    const ir::Node& n = graph.node(at);
    if (n.op == ir::Op::k_constant) {
      known[at] = n.attrs.tensor;
      continue;
    }
    if (n.op == ir::Op::k_input) {
      const auto name = root_inputs_.find(at);
      if (names == nullptr || v.scope != root_.get() || v.stage != 0 || name == root_inputs_.end())
        return std::nullopt;
      const auto content = contents_.find(name->second);
      if (content == contents_.end()) return std::nullopt;
      names->insert(name->second);
      known[at] = content->second.Contiguous();
      continue;
    }
    if (n.op == ir::Op::k_shape_of) {
      const Shape& shape = graph.type(n.operands[0]).shape;
      std::vector<int64_t> numbers;
      for (Dim d : shape) {
        if (!d.is_constant()) return std::nullopt;
        numbers.push_back(d.constant());
      }
      known[at] = Tensor::FromVector<int64_t>({static_cast<int64_t>(numbers.size())}, numbers);
      continue;
    }
    if (!compiler::HasConstantDims(n) || n.op == ir::Op::k_random || known.size() > kMostValues)
      return std::nullopt;
    if (!ready) {
      int64_t bytes = SizeOf(n.type.dtype);
      for (Dim d : n.type.shape)
        if (__builtin_mul_overflow(bytes, d.constant(), &bytes)) return std::nullopt;
      if (bytes > options_.max_folded_bytes) return std::nullopt;
      stack.push_back({at, true});
      for (ValueId o : n.operands) stack.push_back({o, false});
      continue;
    }
    std::vector<Tensor> operands;
    for (ValueId o : n.operands) operands.push_back(known[o]);
    std::optional<Tensor> result = compiler::EvaluateNode(graph, n, operands);
    if (!result) return std::nullopt;
    known[at] = *std::move(result);
  }
  return known[v.id];
}

absl::StatusOr<std::optional<Tensor>> Importer::Content(const Val& v) {
  std::set<std::string> names;
  std::optional<Tensor> t = Evaluate(v, &names);
  if (!t || names.empty()) return t;
  fixed_->insert(names.begin(), names.end());
  return absl::AbortedError("an input has to be a constant");
}

std::optional<bool> Importer::Decided(const Val& v) {
  if (v.kind != Val::Kind::kTensor) return std::nullopt;
  if (const std::optional<Tensor> t = Evaluate(v, nullptr)) {
    const absl::StatusOr<std::vector<int64_t>> numbers = Integers(*t);
    if (numbers.ok() && numbers->size() == 1) return (*numbers)[0] != 0;
    return std::nullopt;
  }
  if (v.id == kNoValue) return std::nullopt;
  return KnownFlag(v.scope->GraphOf(v.stage), v.id);
}

std::optional<Claim> Importer::ClaimOf(const Val& v) {
  if (v.kind != Val::Kind::kTensor || v.id == kNoValue) return std::nullopt;
  ir::Graph* graph = v.scope->GraphOf(v.stage);
  ValueId at = v.id;
  bool negated = false;
  for (;;) {  // down to a comparison
    const ir::Node& n = graph->node(at);
    if (n.op == ir::Op::k_not) {
      negated = !negated;
    } else if (n.op != ir::Op::k_reshape && n.op != ir::Op::k_cast) {
      break;
    }
    at = n.operands[0];
  }
  const ir::Node& n = graph->node(at);
  if (n.operands.size() != 2) return std::nullopt;
  const ir::Op op = n.op;
  const ValueId left = n.operands[0], right = n.operands[1];
  const auto a = KnownSizes(graph, left), b = KnownSizes(graph, right);
  if (!a || !b || a->size() != 1 || b->size() != 1) return std::nullopt;
  const Dim x = (*a)[0], y = (*b)[0];
  Claim claim;
  switch (op) {
    case ir::Op::k_eq:
      claim = Eq(x, y);
      break;
    case ir::Op::k_ne:
      claim = Ne(x, y);
      break;
    case ir::Op::k_lt:
      claim = x < y;
      break;
    case ir::Op::k_le:
      claim = x <= y;
      break;
    case ir::Op::k_gt:
      claim = x > y;
      break;
    case ir::Op::k_ge:
      claim = x >= y;
      break;
    default:
      return std::nullopt;
  }
  return negated ? Not(claim) : claim;
}

}  // namespace lathe::onnx
