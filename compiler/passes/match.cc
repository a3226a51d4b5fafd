#include "compiler/passes/match.h"

namespace lathe::compiler {

using ir::Node;
using ir::Op;
using ir::ValueId;

namespace {

constexpr int kMaxViews = 16;  // followed from one value

}  // namespace

Shape DropOnes(const Shape& shape) {
  Shape rest;
  for (Dim d : shape) {
    if (d != Dim(1)) rest.push_back(d);
  }
  return rest;
}

std::optional<double> Finder::Splat(ValueId v) const {
  const Node* n = &node(v);
  for (int i = 0; i < kMaxViews && (n->op == Op::k_broadcast || n->op == Op::k_reshape); ++i)
    n = &node(n->operands[0]);
  if (n->op != Op::k_constant || n->attrs.tensor.num_elements() != 1) return std::nullopt;
  const Tensor& t = n->attrs.tensor;
  if (t.dtype() == f32) return *t.data<float>();
  if (t.dtype() == f64) return *t.data<double>();
  if (t.dtype() == f16) return *t.data<Half>();
  if (t.dtype() == bf16) return *t.data<BFloat16>();
  return std::nullopt;
}

ValueId Finder::WithoutOnes(ValueId v) const {
  for (int i = 0; i < kMaxViews && Is(v, Op::k_reshape); ++i) {
    if (DropOnes(shape(v)) != DropOnes(shape(arg(v, 0)))) break;
    v = arg(v, 0);
  }
  return v;
}

std::optional<ValueId> Finder::SquareOf(ValueId v) const {
  if (!Is(v, Op::k_mul) || arg(v, 0) != arg(v, 1)) return std::nullopt;
  return arg(v, 0);
}

bool Finder::IsCount(ValueId v, Dim count) const {
  if (count.is_constant()) return IsSplat(v, static_cast<double>(count.constant()));
  const Node* n = &node(v);
  const DType own = n->type.dtype;
  for (int i = 0; i < kMaxViews; ++i) {
    // Into a type that holds a count; one that rounds it more than `own` does isn't.
    const DType to = n->type.dtype;
    const bool casts = n->op == Op::k_cast && ((to == f32 && own == f32) || to == f64 || to == i64);
    const bool passes = n->op == Op::k_broadcast || n->op == Op::k_reshape || casts;
    if (!passes) break;
    n = &node(n->operands[0]);
  }
  return n->op == Op::k_size && *n->attrs.dim == count;
}

std::optional<ValueId> Finder::MeanOverLast(ValueId v) const {
  v = WithoutOnes(v);
  const bool divides = Is(v, Op::k_div), multiplies = Is(v, Op::k_mul);
  ValueId total = v;
  if (divides) total = WithoutOnes(arg(v, 0));
  if (multiplies) total = WithoutOnes(arg(v, 0));
  const Node& n = node(total);
  if (n.op != (total == v ? Op::k_mean : Op::k_sum)) return std::nullopt;
  const ValueId x = n.operands[0];
  const int last = graph_.type(x).rank() - 1;
  if (n.attrs.axes != std::vector<int64_t>{last}) return std::nullopt;
  const Dim count = shape(x).back();
  if (divides && !IsCount(arg(v, 1), count)) return std::nullopt;
  if (multiplies) {  // by 1 / count, which a power of two becomes
    if (!count.is_constant() || count.constant() == 0) return std::nullopt;
    if (!IsSplat(arg(v, 1), 1 / static_cast<double>(count.constant()))) return std::nullopt;
  }
  return x;
}

std::optional<ValueId> Finder::RepeatedAlongRows(ValueId v) const {
  const Node& n = node(v);
  if (n.op != Op::k_broadcast) return std::nullopt;
  const Shape& from = shape(n.operands[0]);
  const size_t rank = n.type.shape.size();
  // Operand axis i is result axis i, and only the last one is repeated.
  if (rank == 0 || from.size() + 1 < rank) return std::nullopt;
  for (size_t i = 0; i < from.size(); ++i) {
    if (n.attrs.axes[i] != static_cast<int64_t>(i)) return std::nullopt;
    if (i + 1 < rank ? from[i] != n.type.shape[i] : from[i] != Dim(1)) return std::nullopt;
  }
  return n.operands[0];
}

std::optional<ValueId> Finder::RepeatedRow(ValueId v) const {
  const Node& n = node(v);
  if (n.op != Op::k_broadcast || n.attrs.axes.empty()) return std::nullopt;
  const Shape& from = shape(n.operands[0]);
  if (n.attrs.axes.back() != n.type.rank() - 1 || from.back() != n.type.shape.back())
    return std::nullopt;
  for (size_t i = 0; i + 1 < from.size(); ++i) {
    if (from[i] != Dim(1)) return std::nullopt;
  }
  return n.operands[0];
}

}  // namespace lathe::compiler
