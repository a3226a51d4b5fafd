#include "compiler/lower/scope.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lathe::compiler {

using ir::ValueId;
using kernel::BufferKind;

namespace {

// The least i32 is left out, so that the negated number fits as well.
bool InI32(const dim::FactSet& facts, Dim d, int64_t least = -INT32_MAX) {
  const dim::Interval r = facts.Range(d);
  return !r.empty() && r.min >= least && r.max <= INT32_MAX;
}

// What sums and products make of their operands is right modulo 2^32; other operations need them as
// they are.
bool PartsInI32(const dim::FactSet& facts, Dim d) {
  if (d.is_constant()) return true;
  const dim::Expr e = dim::Decompose(d);
  const bool wraps = e.kind == dim::ExprKind::kAdd || e.kind == dim::ExprKind::kMul;
  const bool divides = !wraps && e.kind != dim::ExprKind::kMin && e.kind != dim::ExprKind::kMax;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    if (!wraps && !InI32(facts, e.operands[i], divides && i == 1 ? 1 : -INT32_MAX)) return false;
    if (!PartsInI32(facts, e.operands[i])) return false;
  }
  return true;
}

}  // namespace

KernelScope::KernelScope(const LowerContext& c, const std::string& name)
    : graph_(c.graph), plan_(c.plan), query_(c.query), builder_(name) {}

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
  const Dim mapped = dim::Substitute(d, symbols_, builder_.dims());
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

bool KernelScope::FitsI32(Dim d, dim::SymbolId lane_symbol, int lanes) {
  const auto [it, is_new] = fits_i32_.try_emplace(d, false);
  if (!is_new) return it->second;
  dim::FactSet facts(builder_.dims());
  // Of these alone the range is known: as symbols they count as numbers from 0 on.
  std::vector<Dim> known = {builder_.task()};
  // Facts that clash belong to loops without turns: without them less is known.
  const auto add = [&](const Claim& c) { facts.Add(c, dim::Standing::kDerived, {}).IgnoreError(); };
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (!query_.Ask(sizes_[i] >= 0)) continue;
    known.push_back(builder_.sizes()[i]);
    if (const std::optional<int64_t> most = query_.Maximum(sizes_[i])) add(known.back() <= *most);
  }
  for (const kernel::KernelBuilder::Loop& loop : builder_.loops()) {
    const bool runs_along = loop.variable == builder_.dims()->SymbolDim(lane_symbol);
    if (!facts.Proves(loop.begin >= 0)) continue;
    known.push_back(loop.variable);
    add(loop.begin <= loop.variable);
    add(loop.variable < loop.end + (runs_along ? lanes - 1 : 0));
  }
  const auto is_known = [&](dim::SymbolId s) {
    return std::find(known.begin(), known.end(), builder_.dims()->SymbolDim(s)) != known.end();
  };
  const std::vector<dim::SymbolId> symbols = dim::FreeSymbols(d);
  it->second = std::all_of(symbols.begin(), symbols.end(), is_known) && InI32(facts, d) &&
               PartsInI32(facts, d);
  return it->second;
}

LoweredKernel KernelScope::Finish(Dim tasks, Dim kernel_tasks, Dim work, std::string schedule) {
  builder_.Tasks(kernel_tasks);
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
