// Straight-line runs: which statements may be emitted part by part, and in which order they are.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "codegen/llvm/kernel_emitter.h"

namespace lathe::llvm_target {

using kernel::KOp;
using kernel::Reg;
using kernel::Stmt;
using kernel::StmtKind;

namespace {

bool ReadsMemory(const Stmt& s) {
  return s.kind == StmtKind::kLet && (s.op == KOp::kLoad || s.op == KOp::kGather);
}

bool IsPartwise(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::kLet:
      return s.op != KOp::kAny && !(s.op >= KOp::kReduceAdd && s.op <= KOp::kReduceMax);
    case StmtKind::kVar:
    case StmtKind::kSetVar:
    case StmtKind::kStore:
      return true;
    default:
      return false;
  }
}

// acc = fma(a, b, acc) or dot4, the heart of a matrix product.
bool Accumulates(absl::Span<const Stmt> run) {
  absl::flat_hash_set<Reg> variables;
  for (const Stmt& s : run) {
    if (s.kind != StmtKind::kLet) continue;
    if (s.op == KOp::kGetVar) variables.insert(s.out);
    const bool adds = s.op == KOp::kFma || s.op == KOp::kDot4;
    if (adds && variables.contains(s.args[2])) return true;
  }
  return false;
}

}  // namespace

// A run ends before a statement that needs all lanes at once, and before an access to a buffer
// which the run has stored to: stores of one part come before loads of the next.
size_t KernelEmitter::RunLength(absl::Span<const Stmt> block) const {
  absl::InlinedVector<int32_t, 4> loaded, stored;
  const auto contains = [](const auto& list, int32_t buffer) {
    return std::find(list.begin(), list.end(), buffer) != list.end();
  };
  size_t n = 0;
  for (; n < block.size() && IsPartwise(block[n]); ++n) {
    const Stmt& s = block[n];
    if (ReadsMemory(s)) {
      if (contains(stored, s.buffer)) break;
      loaded.push_back(s.buffer);
    } else if (s.kind == StmtKind::kStore) {
      // A store that must follow the run's loads of its buffer starts a run of its own.
      if (contains(stored, s.buffer) || contains(loaded, s.buffer)) break;
      stored.push_back(s.buffer);
    }
  }
  return n;
}

void KernelEmitter::EmitRun(absl::Span<const Stmt> run) {
  if (Accumulates(run)) {
    for (const Stmt& s : run) {
      Prepare(s);
      for (int p = 0; p < types_.NumParts(s.type.lanes); ++p) EmitPart(s, p);
    }
    return;
  }
  // Scalars first: nothing scalar depends on a vector inside a run.
  int parts = 0;
  for (const Stmt& s : run) {
    Prepare(s);
    if (s.type.lanes == 1) {
      EmitPart(s, 0);
    } else {
      parts = std::max(parts, types_.NumParts(s.type.lanes));
    }
  }
  for (int p = 0; p < parts; ++p) {
    for (const Stmt& s : run) {
      if (s.type.lanes > 1 && p < types_.NumParts(s.type.lanes)) EmitPart(s, p);
    }
  }
}

}  // namespace lathe::llvm_target
