// What the importer knows of a value without running anything: sizes, contents, conditions.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "compiler/onnx/known_sizes.h"
#include "compiler/passes/evaluate.h"
#include "ir/element_dims.h"
#include "ir/status_macros.h"
#include "ir/visit_dtype.h"

namespace lathe::onnx {

using ir::kNoValue;
using ir::ValueId;

namespace {

constexpr int64_t kMostIntegers = int64_t{1} << 20;  // of one tensor read as numbers

// What an import may evaluate, in units of about a nanosecond of the reference evaluators. It
// bounds the elements that are made, too.
constexpr double kMostWork = 0x1p30;
constexpr double kWorkPerNode = 64, kWorkPerElement = 8;
constexpr double kWorkPerIndex = 64;  // where each element's index is made as a list
// Small results are kept: shape arithmetic is asked for again with each step that it grows by.
constexpr int64_t kRememberedBytes = 256;
constexpr int kMostRemembered = 1 << 16;

// Of the node's result, or INT64_MAX. Its dims are constants.
int64_t BytesOf(const ir::Node& n) {
  int64_t bytes = SizeOf(n.type.dtype);
  for (Dim d : n.type.shape)
    if (__builtin_mul_overflow(bytes, d.constant(), &bytes)) return INT64_MAX;
  return bytes;
}

double Product(const std::vector<double>& extents) {
  double product = 1;
  for (double n : extents) product *= n;
  return product;
}

// Of evaluating `n`; what isn't in `known` has constant dims.
double WorkOf(const ir::Graph& graph, const ir::Node& n,
              const absl::flat_hash_map<ValueId, Tensor>& known) {
  std::vector<double> result;
  for (Dim d : n.type.shape) result.push_back(static_cast<double>(d.constant()));
  std::vector<std::vector<double>> operands;
  double elements = Product(result);
  for (ValueId o : n.operands) {
    std::vector<double>& extents = operands.emplace_back();
    if (const auto found = known.find(o); found != known.end()) {
      for (int64_t d : found->second.shape()) extents.push_back(static_cast<double>(d));
    } else {
      for (Dim d : graph.type(o).shape) extents.push_back(static_cast<double>(d.constant()));
    }
    elements += Product(extents);
  }
  switch (n.op) {
    case ir::Op::k_matmul:
      return kWorkPerElement * elements + Product(result) * operands[0].back();
    case ir::Op::k_attention: {
      const double depth = operands[0].back(), width = result.back();
      result.back() = operands[1][operands[1].size() - 2];  // a score for each key
      return kWorkPerElement * (elements + Product(result)) + Product(result) * (depth + width);
    }
    case ir::Op::k_windows:
    case ir::Op::k_cumsum:
    case ir::Op::k_cumprod:
      return kWorkPerIndex * elements;
    case ir::Op::k_argsort:
      return kWorkPerElement * elements * std::log2(2 + elements);
    default:
      return kWorkPerElement * elements;
  }
}

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

bool Importer::Spend(double work) {
  if (work_ + work > kMostWork) return false;
  work_ += work;
  return true;
}

std::optional<Tensor> Importer::Evaluate(const Val& v, std::set<std::string>* names) {
  if (v.kind != Val::Kind::kTensor) return std::nullopt;
  if (v.constant) return *v.constant;
  if (v.id == kNoValue) return std::nullopt;
  const ir::Graph& graph = *v.scope->GraphOf(v.stage);
  constexpr size_t kMostValues = 4096;
  bool of_inputs = false;
  absl::flat_hash_map<ValueId, Tensor> known;
  absl::flat_hash_map<ValueId, int> uses;  // of what is to be evaluated, by others of it
  std::vector<ValueId> order;              // of what is to be evaluated, operands first
  double work = 0;
  std::vector<std::pair<ValueId, bool>> stack = {{v.id, false}};
  while (!stack.empty()) {
    const auto [at, ready] = stack.back();
    stack.pop_back();
    const ir::Node& n = graph.node(at);
    if (ready) {
      work += WorkOf(graph, n, known);
      order.push_back(at);
      continue;
    }
    if (known.contains(at) || uses.contains(at)) continue;
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
      of_inputs = true;
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
    if (const Tensor* before = v.scope->Remembered(v.stage, at)) {
      known[at] = *before;
      continue;
    }
    if (!compiler::HasConstantDims(n) || n.op == ir::Op::k_random ||
        known.size() + uses.size() > kMostValues || BytesOf(n) > options_.max_folded_bytes ||
        !Spend(kWorkPerNode + kWorkPerElement * static_cast<double>(n.operands.size())))
      return std::nullopt;
    uses[at] = 0;
    stack.push_back({at, true});
    for (ValueId o : n.operands) stack.push_back({o, false});
  }
  for (ValueId at : order)
    for (ValueId o : graph.node(at).operands)
      if (const auto found = uses.find(o); found != uses.end()) ++found->second;
  if (!Spend(work)) return std::nullopt;
  for (ValueId at : order) {
    const ir::Node& n = graph.node(at);
    std::vector<Tensor> operands;
    for (ValueId o : n.operands) operands.push_back(known[o]);
    std::optional<Tensor> result = compiler::EvaluateNode(graph, n, operands);
    if (!result) return std::nullopt;
    if (!of_inputs && result->num_bytes() <= kRememberedBytes && remembered_ < kMostRemembered) {
      v.scope->Remember(v.stage, at, *result);
      ++remembered_;
    }
    known[at] = *std::move(result);
    for (ValueId o : n.operands)
      if (const auto found = uses.find(o); found != uses.end() && --found->second == 0)
        known.erase(o);
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
