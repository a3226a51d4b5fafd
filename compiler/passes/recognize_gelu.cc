// x * 0.5 * (1 + erf(x / sqrt 2)), in the orders in which exporters write it, is gelu(x). The op
// has the bound of gelu; the written form cancels for negative x, and is further off.
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/match.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/rewriter.h"

namespace lathe::compiler {
namespace {

using ir::Op;
using ir::ValueId;

constexpr size_t kMaxFactors = 4;
constexpr double kCloseTo = 1e-6;  // a constant that was rounded to f32, or written with 7 digits

// What is multiplied: constants in `constant`, the rest in `values`.
struct Factors {
  double constant = 1;
  std::vector<ValueId> values;
};

void Collect(const Finder& find, ValueId root, Factors* factors) {
  std::vector<ValueId> stack = {root};
  while (!stack.empty() && factors->values.size() <= kMaxFactors) {
    const ValueId v = stack.back();
    stack.pop_back();
    if (const auto c = find.Splat(v)) {
      factors->constant *= *c;
    } else if (find.Is(v, Op::k_mul) && (v == root || find.UsedOnce(v)) &&
               stack.size() < kMaxFactors) {
      stack.push_back(find.arg(v, 1));
      stack.push_back(find.arg(v, 0));
    } else {
      factors->values.push_back(v);
    }
  }
}

// In f64 as it is there, or rounded to f32; in two bytes rounded to them.
bool IsClose(const Finder& find, ValueId v, double wanted) {
  const std::optional<double> found = find.Splat(v);
  if (!found) return false;
  switch (find.node(v).type.dtype) {
    case DType::kF16:
      return *found == Half(wanted);
    case DType::kBF16:
      return *found == BFloat16(wanted);
    case DType::kF64:
      return std::fabs(*found / wanted - 1) < 1e-15 ||
             *found == static_cast<double>(static_cast<float>(wanted));
    default:
      return std::fabs(*found / wanted - 1) < kCloseTo;
  }
}

// v is 1 + erf(x / sqrt 2).
bool IsOneAndErf(const Finder& find, ValueId v, ValueId x) {
  if (!find.Is(v, Op::k_add) || !find.UsedOnce(v)) return false;
  for (const auto& [erf, one] : find.Orders(v)) {
    if (!find.Is(erf, Op::k_erf) || !find.IsSplat(one, 1)) continue;
    const ValueId inner = find.arg(erf, 0);
    if (find.Is(inner, Op::k_div) && find.arg(inner, 0) == x)
      return IsClose(find, find.arg(inner, 1), std::sqrt(2.0));
    if (!find.Is(inner, Op::k_mul)) continue;
    for (const auto& [value, factor] : find.Orders(inner)) {
      if (value == x && IsClose(find, factor, std::sqrt(0.5))) return true;
    }
  }
  return false;
}

void WriteCubesAsProducts(ir::Graph& graph, PassContext& context) {
  const Finder find(graph);
  Rewriter rewriter(graph);
  rewriter.Run([&](ValueId v) {
    if (!find.Is(v, Op::k_pow) || !find.IsSplat(find.arg(v, 1), 3)) return;
    if (SizeOf(graph.type(v).dtype) < 4) return;  // the square would round, and overflow
    const ValueId x = find.arg(v, 0);
    const ValueId square = rewriter.Insert(Op::k_mul, {x, x}, {}, graph.type(v), v);
    rewriter.Become(v, Op::k_mul, {square, x});
    context.Count("pow(x, 3) = x * x * x");
  });
}

}  // namespace

absl::Status RecognizeGelu(ir::Graph& graph, PassContext& context) {
  WriteCubesAsProducts(graph, context);
  const Finder find(graph);
  Rewriter rewriter(graph);
  rewriter.Run([&](ValueId v) {
    if (!find.Is(v, Op::k_mul) || !IsFloat(graph.type(v).dtype)) return;
    Factors factors;
    Collect(find, v, &factors);
    if (factors.values.size() != 2 || factors.constant != 0.5) return;
    for (const size_t i : {0, 1}) {
      const ValueId x = factors.values[i];
      if (!IsOneAndErf(find, factors.values[1 - i], x)) continue;
      rewriter.Become(v, Op::k_gelu, {x});
      context.Count("gelu");
      return;
    }
  });
  return absl::OkStatus();
}

}  // namespace lathe::compiler
