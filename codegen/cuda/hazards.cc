#include "codegen/cuda/hazards.h"

#include <algorithm>
#include <cstdlib>

#include "absl/container/flat_hash_set.h"

namespace lathe::cuda {

using kernel::BufferKind;
using kernel::KOp;
using kernel::Stmt;
using kernel::StmtKind;

namespace {

// Where lanes touch elements, relative to the index; both ends included.
struct Range {
  bool known = true;
  int64_t low = 0, high = 0;
};

Range Offsets(const WarpAccess& a) {
  if (a.lanes == 1) return {};
  if (!a.stride.is_constant()) return {false};
  const int64_t last = a.stride.constant() * (a.lanes - 1);
  return {true, std::min<int64_t>(last, 0), std::max<int64_t>(last, 0)};
}

bool MayMatter(const WarpAccess& a, const WarpAccess& b) {
  if (a.buffer != b.buffer || !(a.is_store || b.is_store)) return false;
  // Two scalar stores are both made by lane 0.
  return !(a.is_store && b.is_store && a.lanes == 1 && b.lanes == 1);
}

// Whether two accesses with the same values of all symbols may be of one element by two lanes.
bool MayCross(const WarpAccess& a, const WarpAccess& b) {
  if (!MayMatter(a, b)) return false;
  if (a.gather || b.gather) return true;
  if (a.lanes == b.lanes && a.lanes > 1 && a.index == b.index && a.stride == b.stride) {
    // Each lane meets only itself, unless a stride of 0 makes all lanes one.
    return !a.stride.is_constant() || a.stride.constant() == 0;
  }
  const Dim distance = a.index - b.index;
  const Range x = Offsets(a), y = Offsets(b);
  if (!distance.ok() || !distance.is_constant() || !x.known || !y.known) return true;
  const int64_t d = distance.constant();
  return d + x.low <= y.high && d + x.high >= y.low;
}

// The same for two different iterations of a loop whose accesses don't depend on inner symbols.
bool MayCrossIterations(const WarpAccess& a, const WarpAccess& b, const Stmt& loop) {
  if (!MayMatter(a, b)) return false;
  if (a.gather || b.gather) return true;
  Dim coefficient_a, coefficient_b, rest_a, rest_b;
  if (!dim::SplitAffine(a.index, loop.symbol, &coefficient_a, &rest_a) ||
      !dim::SplitAffine(b.index, loop.symbol, &coefficient_b, &rest_b)) {
    return true;
  }
  const Dim distance = rest_a - rest_b;
  const Range x = Offsets(a), y = Offsets(b);
  if (coefficient_a != coefficient_b || !coefficient_a.is_constant() || !distance.ok() ||
      !distance.is_constant() || !x.known || !y.known) {
    return true;
  }
  const int64_t advance = std::abs(coefficient_a.constant()) * loop.step;
  const int64_t reach = std::max(x.high - y.low, y.high - x.low);
  return advance <= std::abs(distance.constant()) + reach;
}

void InnerSymbols(const std::vector<Stmt>& block, absl::flat_hash_set<dim::SymbolId>* out) {
  for (const Stmt& s : block) {
    if (s.kind == StmtKind::kFor || s.kind == StmtKind::kBind) out->insert(s.symbol);
    InnerSymbols(s.body, out);
    InnerSymbols(s.other, out);
  }
}

bool DependsOnAny(Dim d, const absl::flat_hash_set<dim::SymbolId>& symbols) {
  const std::vector<dim::SymbolId> free = dim::FreeSymbols(d);
  return std::any_of(free.begin(), free.end(), [&](auto id) { return symbols.contains(id); });
}

}  // namespace

// Blocks nest as deep as loops and branches do, which whoever builds a kernel bounds.
void Hazards::Collect(const Stmt& s, State* out) const {
  const bool is_load = s.kind == StmtKind::kLet && (s.op == KOp::kLoad || s.op == KOp::kGather);
  if (is_load || s.kind == StmtKind::kStore) {
    const BufferKind kind = kernel_.buffers[s.buffer].kind;
    if (kind == BufferKind::kInput || kind == BufferKind::kTable) return;
    const bool gather = is_load && s.op == KOp::kGather;
    out->push_back({s.buffer, !is_load, gather, s.type.lanes, s.index, s.stride});
  }
  for (const Stmt& inner : s.body) Collect(inner, out);
  for (const Stmt& inner : s.other) Collect(inner, out);
}

bool Hazards::Conflicts(const State& later) const {
  for (const WarpAccess& a : pending_) {
    for (const WarpAccess& b : later) {
      if (MayCross(a, b)) return true;
    }
  }
  return false;
}

bool Hazards::NeedsBarrier(const Stmt& s) {
  if (s.kind == StmtKind::kIf || s.kind == StmtKind::kIfDim) return false;
  State accesses;
  Collect(s, &accesses);
  const bool needs = Conflicts(accesses);
  if (needs) Barrier();
  if (s.kind != StmtKind::kFor) Merge(accesses);
  return needs;
}

bool Hazards::IterationsNeedBarrier(const Stmt& loop) const {
  State accesses;
  for (const Stmt& s : loop.body) Collect(s, &accesses);
  absl::flat_hash_set<dim::SymbolId> inner;
  InnerSymbols(loop.body, &inner);
  for (const WarpAccess& a : accesses) {
    for (const WarpAccess& b : accesses) {
      if (!MayMatter(a, b)) continue;
      if (DependsOnAny(a.index, inner) || DependsOnAny(b.index, inner) ||
          MayCrossIterations(a, b, loop)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace lathe::cuda
