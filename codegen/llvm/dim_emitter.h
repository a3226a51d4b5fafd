#pragma once
// Dims as i64 arithmetic, placed where they vary. Internal to codegen/llvm.
//
// Each loop and branch is a scope. An expression is emitted in the outermost scope in which all its
// symbols have values, term by term in that order, so that an address becomes
// invariant base + what varies + constant, and nothing is left for a hoisting pass. Nothing emitted
// here traps (a divisor of 0 is replaced), so that moving it before a branch is harmless.
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/dim/context.h"
#include "llvm/IR/IRBuilder.h"

namespace lathe::llvm_target {

class DimEmitter {
 public:
  // Code at the outermost level goes where `b` stands now.
  explicit DimEmitter(llvm::IRBuilder<>& b);

  // Enters a scope whose code follows the terminator of the block where `b` stands; the caller then
  // moves `b` to the scope's first block. Leaves it again.
  void EnterScope();
  void LeaveScope();
  // An iteration of an unrolled loop: names live in it, but its code belongs to the scope around
  // it.
  void EnterIteration();
  void LeaveIteration();

  // A symbol that has a value from here on in this scope. `nonnegative` if known to be so.
  void Bind(dim::SymbolId symbol, llvm::Value* value, bool nonnegative);

  llvm::Value* Emit(Dim d);
  llvm::Value* Emit(const Claim& c);  // i1
  // The address of element `index` after `base`, a pointer that is available everywhere.
  llvm::Value* Address(llvm::Value* base, llvm::Type* element, Dim index);
  bool IsNonNegative(Dim d) { return Visit(d).nonnegative; }

 private:
  struct Term {
    llvm::Value* value = nullptr;
    int place = 0;  // index into hoist_blocks_: where its code stands
    int scope = 0;  // index into memo_log_: how long the memo holds
    bool nonnegative = false;
  };
  class PlaceGuard;

  Term Visit(Dim d);
  Term Compute(Dim d);
  Term Combine(dim::ExprKind kind, const Term& a, const Term& b);
  Term Sum(std::vector<Term> terms);
  llvm::Value* Divide(dim::ExprKind kind, llvm::Value* a, llvm::Value* b, bool nonnegative);
  llvm::Value* DivideByConstant(dim::ExprKind kind, llvm::Value* a, int64_t d, bool nonnegative);
  std::vector<Term> AddressTerms(Dim index, int64_t* constant);
  int place() const { return static_cast<int>(hoist_blocks_.size()); }

  llvm::IRBuilder<>& b_;
  std::vector<llvm::BasicBlock*> hoist_blocks_;  // of the enclosing scopes, outermost first
  std::vector<std::vector<Dim>> memo_log_;       // per scope: what to forget when it ends
  std::vector<std::vector<dim::SymbolId>> symbol_log_;
  absl::flat_hash_map<Dim, Term> memo_;
  absl::flat_hash_map<dim::SymbolId, Term> symbols_;
};

}  // namespace lathe::llvm_target
