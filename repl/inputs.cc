#include "repl/inputs.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/dim/context.h"
#include "ir/philox.h"
#include "ir/samples.h"
#include "ir/status_macros.h"
#include "ir/visit_dtype.h"
#include "runtime/function_state.h"

namespace lathe::repl {
namespace {

constexpr int64_t kLargestInteger = 7;

// The largest integer that indexes every axis that something gathers from; at least 0.
int64_t LargestIndex(const ir::Graph& graph, const std::vector<int64_t>& symbols) {
  int64_t largest = kLargestInteger;
  for (ir::ValueId v = 0; v < graph.num_nodes(); ++v) {
    const ir::Node& n = graph.node(v);
    const bool checks = n.op == ir::Op::k_check_index;
    if (n.op != ir::Op::k_gather && n.op != ir::Op::k_embedding && !checks) continue;
    const size_t axis =
        n.op == ir::Op::k_gather ? static_cast<size_t>(n.attrs.axis.value_or(0)) : 0;
    const absl::StatusOr<int64_t> rows =
        dim::Evaluate(checks ? *n.attrs.dim : graph.type(n.operands[0]).shape[axis], symbols);
    if (rows.ok()) largest = std::min(largest, *rows - 1);
  }
  return std::max<int64_t>(largest, 0);
}

void Fill(uint64_t seed, int64_t largest, Tensor* t) {
  const int64_t count = t->num_elements();
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t at = static_cast<uint64_t>(i);
    VisitDType(t->dtype(), [&](auto type) {
      using T = decltype(type);
      T& to = t->data<T>()[i];
      if constexpr (std::is_same_v<T, double>) {
        to = ir::PhiloxNormalF64(seed, at);
      } else if constexpr (std::is_integral_v<T>) {
        to = static_cast<T>(ir::PhiloxInteger(seed, at, 0, std::is_same_v<T, bool> ? 1 : largest));
      } else {
        to = static_cast<T>(ir::PhiloxNormal(seed, at));
      }
    });
  }
}

// The number of the session's input of that name; sizes' own inputs have no elements.
uint64_t StreamOf(const ir::Graph& session, const std::string& name) {
  for (size_t k = 0; k < session.inputs.size(); ++k) {
    if (session.node(session.inputs[k]).attrs.name == name) return k;
  }
  return 0;
}

absl::StatusOr<std::vector<int64_t>> ShapeOf(const rt::EntryPlan::InputSpec& input,
                                             const std::vector<int64_t>& symbols) {
  std::vector<int64_t> shape;
  for (Dim d : input.shape) {
    LATHE_ASSIGN_OR_RETURN(shape.emplace_back(), dim::Evaluate(d, symbols));
  }
  return shape;
}

}  // namespace

absl::StatusOr<int64_t> InputBytes(const CompiledValue& compiled,
                                   const std::vector<int64_t>& symbols) {
  int64_t total = 0;
  for (const rt::EntryPlan::InputSpec& input : compiled.function.state()->plan().inputs) {
    LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, ShapeOf(input, symbols));
    int64_t bytes = SizeOf(input.dtype);
    const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    bool overflow = false;
    for (int64_t extent : shape)
      if (!empty) overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
    if (!empty) overflow |= __builtin_add_overflow(total, bytes, &total);
    if (overflow) {
      return absl::OutOfRangeError(absl::StrCat("the bytes of input ", input.name, ", ",
                                                Name(input.dtype), "[", absl::StrJoin(shape, ", "),
                                                "], pass 64 bits"));
    }
  }
  return total;
}

absl::StatusOr<std::vector<Tensor>> MakeInputs(const ir::Graph& session,
                                               const CompiledValue& compiled,
                                               const std::vector<int64_t>& symbols, uint64_t seed) {
  const std::vector<rt::EntryPlan::InputSpec>& specs = compiled.function.state()->plan().inputs;
  const int64_t largest = LargestIndex(*compiled.traced, symbols);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < specs.size(); ++i) {
    LATHE_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(specs[i], symbols));
    LATHE_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(specs[i].dtype, std::move(shape)));
    const uint64_t stream = seed + (StreamOf(session, specs[i].name) << 32);
    const ir::Attrs& attrs = compiled.traced->node(compiled.traced->inputs[i]).attrs;
    if (!ir::FillSizes(attrs, symbols, stream, &t)) Fill(stream, largest, &t);
    inputs.push_back(std::move(t));
  }
  return inputs;
}

}  // namespace lathe::repl
