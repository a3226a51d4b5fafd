#include "compiler/lower/scope.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/kernel/index_facts.h"

namespace lathe::compiler {

using ir::ValueId;
using kernel::BufferKind;

namespace {

// What sums and products make of their operands is right modulo 2^32; other operations need them as
// they are.
bool PartsFitI32(const kernel::IndexFacts& facts, Dim d) {
  if (d.is_constant()) return true;
  const dim::Expr e = dim::Decompose(d);
  const bool wraps = e.kind == dim::ExprKind::kAdd || e.kind == dim::ExprKind::kMul;
  const bool divides = !wraps && e.kind != dim::ExprKind::kMin && e.kind != dim::ExprKind::kMax;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    const dim::Interval r = facts.Range(e.operands[i]);
    if (!wraps && (!kernel::FitsI32(r) || (divides && i == 1 && r.min < 1))) return false;
    if (!PartsFitI32(facts, e.operands[i])) return false;
  }
  return true;
}

}  // namespace

KernelScope::KernelScope(const LowerContext& c, const std::string& name)
    : graph_(c.graph),
      plan_(c.plan),
      query_(c.query),
      has_narrow_indices_(c.target.has_narrow_indices),
      builder_(name) {}

Dim KernelScope::Map(Dim d) {
  if (d.is_constant()) return d;
  if (auto it = params_.find(d); it != params_.end()) return it->second;
  if (auto it = mapped_.find(d); it != mapped_.end()) return it->second;
  for (dim::SymbolId s : dim::FreeSymbols(d)) {
    if (symbols_.contains(s)) continue;
    const Dim symbol = graph_.dims()->SymbolDim(s);
    if (const std::optional<int64_t> value = query_.Constant(symbol)) {
      symbols_[s] = *value;
      continue;
    }
    // A multiple of m is m times a size, so that what divides it by m needs no division.
    const int64_t m = query_.Divisor(symbol);
    symbols_[s] = m * builder_.Size(absl::StrCat("n", sizes_.size()));
    sizes_.push_back(FloorDiv(symbol, m));
  }
  Dim mapped = dim::Substitute(d, symbols_, builder_.dims());
  // A side that these sizes don't take may divide by 0.
  if (!mapped.ok())
    mapped = dim::Substitute(dim::WithoutZeroDivisors(d), symbols_, builder_.dims());
  mapped_[d] = mapped;
  return mapped;
}

Shape KernelScope::MapShape(const Shape& s) { return compiler::MapShape(s, map()); }

Dim KernelScope::Param(const std::string& name, Dim graph_dim) {
  if (graph_dim.is_constant()) return graph_dim;
  if (auto it = params_.find(graph_dim); it != params_.end()) return it->second;
  dim::SymbolId id = 0;
  if (dim::IsSymbol(graph_dim, &id)) return params_[graph_dim] = Map(graph_dim);
  const std::vector<dim::SymbolId> symbols = dim::FreeSymbols(graph_dim);
  if (symbols.size() == 1 && query_.Divisor(graph_.dims()->SymbolDim(symbols[0])) > 1)
    return params_[graph_dim] = Map(graph_dim);
  if (const std::optional<int64_t> value = query_.Constant(graph_dim))
    return params_[graph_dim] = *value;
  const Dim size = builder_.Size(absl::StrCat(name, sizes_.size()));
  sizes_.push_back(graph_dim);
  return params_[graph_dim] = size;
}

int KernelScope::Add(const std::string& name, DType dtype, BufferKind kind, Dim elements,
                     KernelArg arg) {
  args_.push_back(arg);
  return builder_.Buffer(name, dtype, kind, elements);
}

int KernelScope::Input(ValueId v) {
  if (auto it = buffers_.find(v); it != buffers_.end()) return it->second;
  const ir::ValueType& type = graph_.type(v);
  KernelArg arg;
  arg.value = v;
  const int id = Add(absl::StrCat("in", args_.size()), type.dtype, BufferKind::kInput,
                     Volume(MapShape(type.shape)), arg);
  buffers_[v] = id;
  return id;
}

int KernelScope::FlatInput(ValueId v) {
  while (!plan_.IsBuffer(v) && graph_.node(v).op == ir::Op::k_reshape)
    v = graph_.node(v).operands[0];
  return Input(v);
}

int KernelScope::Output(ValueId v) {
  const ir::ValueType& type = graph_.type(v);
  KernelArg arg;
  arg.value = v;
  return Add(absl::StrCat("out", args_.size()), type.dtype, BufferKind::kOutput,
             Volume(MapShape(type.shape)), arg);
}

int KernelScope::Packed(ValueId v, Packing packing, int64_t panel_width, Dim elements) {
  KernelArg arg;
  arg.kind = KernelArg::kPackedConstant;
  arg.value = v;
  arg.packing = packing;
  arg.panel_width = panel_width;
  const DType dtype = packing == Packing::kBytePanels ? i32 : graph_.type(v).dtype;
  return Add(absl::StrCat("packed", args_.size()), dtype, BufferKind::kInput, elements, arg);
}

int KernelScope::Scratch(const std::string& name, DType dtype, Dim elements, Dim graph_elements) {
  KernelArg arg;
  arg.kind = KernelArg::kScratch;
  arg.scratch_bytes = graph_elements * SizeOf(dtype);
  return Add(name, dtype, BufferKind::kWorkerScratch, elements, arg);
}

absl::Span<const std::vector<Claim>> KernelScope::Bounds() {
  for (size_t i = bounds_.size(); i < sizes_.size(); ++i) {
    bounds_.emplace_back();
    if (!query_.Ask(sizes_[i] >= 0)) continue;
    const Dim size = builder_.sizes()[i];
    bounds_[i].push_back(Dim(0) <= size);
    if (const std::optional<int64_t> most = query_.Maximum(sizes_[i]))
      bounds_[i].push_back(size <= *most);
  }
  return bounds_;
}

bool KernelScope::FitsI32(Dim d, dim::SymbolId lane_symbol, int lanes) {
  const auto [it, is_new] = fits_i32_.try_emplace(d, false);
  if (!is_new) return it->second;
  kernel::IndexFacts facts(builder_.dims());
  facts.AddNumber(builder_.task());
  for (const std::vector<Claim>& claims : Bounds()) facts.AddBounds(claims);
  for (const kernel::KernelBuilder::Loop& loop : builder_.loops()) {
    const bool runs_along = loop.variable == builder_.dims()->SymbolDim(lane_symbol);
    facts.AddLoop(loop.variable, loop.begin, loop.end + (runs_along ? lanes - 1 : 0));
  }
  it->second = kernel::FitsI32(facts.Range(d)) && PartsFitI32(facts, d);
  return it->second;
}

LoweredKernel KernelScope::Finish(Dim tasks, Dim kernel_tasks, Dim work, std::string schedule) {
  builder_.Tasks(kernel_tasks);
  if (has_narrow_indices_) {
    for (const std::vector<Claim>& claims : Bounds())
      for (const Claim& c : claims) builder_.Assume(c);
  }
  LoweredKernel lowered;
  lowered.args = std::move(args_);
  lowered.sizes = std::move(sizes_);
  lowered.tasks = tasks;
  lowered.work = work;
  lowered.schedule = std::move(schedule);
  lowered.kernel = builder_.Finish();
  return lowered;
}

}  // namespace lathe::compiler
