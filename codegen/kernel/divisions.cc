#include "codegen/kernel/divisions.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace lathe::kernel {
namespace {

class Counter {
 public:
  DivisionCounts Run(const Kernel& k) {
    Note(k.tasks, {});
    for (const BufferDecl& b : k.buffers) Note(b.elements, {});
    Walk(k.body, nullptr);
    DivisionCounts counts{static_cast<int>(all_.size()), static_cast<int>(inner_.size()), lanes_};
    for (const std::shared_ptr<const Kernel>& callee : k.callees) {
      const DivisionCounts more = CountDivisions(*callee);
      counts.all += more.all;
      counts.inner += more.inner;
      counts.lanes += more.lanes;
    }
    return counts;
  }

 private:
  using Symbols = std::vector<dim::SymbolId>;

  // An unrolled loop is code, not a loop: its symbol is a number in each copy. A micro-kernel that
  // is called has a loop of its own.
  static bool HasLoop(const std::vector<Stmt>& body) {
    return std::any_of(body.begin(), body.end(), [](const Stmt& s) {
      return (s.kind == StmtKind::kFor && s.loop == LoopKind::kSerial) ||
             s.kind == StmtKind::kCall || HasLoop(s.body) || HasLoop(s.other);
    });
  }

  static bool DividesIntegers(const Stmt& s) {
    const bool divides =
        s.op == KOp::kDiv || s.op == KOp::kRem || s.op == KOp::kFloorDiv || s.op == KOp::kMod;
    return divides && IsInt(s.type.dtype);
  }

  // `varying`: what changes from turn to turn of the innermost loop around; null outside of one.
  void Walk(const std::vector<Stmt>& body, Symbols* varying) {
    const Symbols none;
    for (const Stmt& s : body) {
      const Symbols& now = varying == nullptr ? none : *varying;
      Note(s.index, now);
      Note(s.stride, now);
      Note(s.begin, now);
      Note(s.end, now);
      if (s.kind == StmtKind::kLet && varying != nullptr && DividesIntegers(s)) ++lanes_;
      if (s.kind == StmtKind::kIfDim) {
        Note(s.claim.lhs, now);
        Note(s.claim.rhs, now);
      }
      if (s.call != nullptr) {
        for (const CallArgs::BufferArg& b : s.call->buffers) Note(b.offset, now);
        for (Dim d : s.call->sizes) Note(d, now);
      }
      if (s.kind == StmtKind::kBind && varying != nullptr) varying->push_back(s.symbol);
      if (s.kind == StmtKind::kFor && s.loop == LoopKind::kSerial && !HasLoop(s.body)) {
        Symbols own = {s.symbol};
        Walk(s.body, &own);
      } else {
        Walk(s.body, varying);
        Walk(s.other, varying);
      }
    }
  }

  // True if there is a division in `d`.
  bool Note(Dim d, const Symbols& varying) {
    if (d.is_constant() || plain_.contains(d)) return false;
    const dim::Expr e = dim::Decompose(d);
    bool found = false;
    for (Dim part : e.operands) found |= Note(part, varying);
    const bool divides = e.kind == dim::ExprKind::kFloorDiv || e.kind == dim::ExprKind::kMod ||
                         e.kind == dim::ExprKind::kCeilDiv;
    if (!divides) {
      if (!found) plain_.insert(d);
      return found;
    }
    all_.insert(d);
    const bool inner = std::any_of(varying.begin(), varying.end(),
                                   [&](dim::SymbolId s) { return dim::DependsOn(d, s); });
    if (inner) inner_.insert(d);
    return true;
  }

  absl::flat_hash_set<Dim> all_, inner_;
  absl::flat_hash_set<Dim> plain_;  // without divisions
  int lanes_ = 0;
};

}  // namespace

DivisionCounts CountDivisions(const Kernel& k) { return Counter().Run(k); }

}  // namespace lathe::kernel
