#include "codegen/llvm/dim_emitter.h"

#include <algorithm>
#include <bit>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

namespace lathe::llvm_target {

using dim::Expr;
using dim::ExprKind;
using llvm::Value;

// Moves the builder to the end of an enclosing scope's code while it lives.
class DimEmitter::PlaceGuard {
 public:
  PlaceGuard(DimEmitter& e, int place) : guard_(e.b_) {
    if (place < e.place()) e.b_.SetInsertPoint(e.hoist_blocks_[place]->getTerminator());
  }

 private:
  llvm::IRBuilderBase::InsertPointGuard guard_;
};

DimEmitter::DimEmitter(llvm::IRBuilder<>& b) : b_(b), memo_log_(1), symbol_log_(1) {}

void DimEmitter::EnterScope() {
  hoist_blocks_.push_back(b_.GetInsertBlock());
  EnterIteration();
}

void DimEmitter::LeaveScope() {
  hoist_blocks_.pop_back();
  LeaveIteration();
}

void DimEmitter::EnterIteration() {
  memo_log_.emplace_back();
  symbol_log_.emplace_back();
}

void DimEmitter::LeaveIteration() {
  for (Dim d : memo_log_.back()) memo_.erase(d);
  for (dim::SymbolId s : symbol_log_.back()) symbols_.erase(s);
  memo_log_.pop_back();
  symbol_log_.pop_back();
}

void DimEmitter::Bind(dim::SymbolId symbol, Value* value, bool nonnegative) {
  const bool constant = llvm::isa<llvm::Constant>(value);
  symbols_[symbol] = {value, constant ? 0 : place(), static_cast<int>(memo_log_.size()) - 1,
                      nonnegative};
  symbol_log_.back().push_back(symbol);
}

Value* DimEmitter::Emit(Dim d) { return Visit(d).value; }

DimEmitter::Term DimEmitter::Visit(Dim d) {
  if (d.is_constant()) return {b_.getInt64(d.constant()), 0, 0, d.constant() >= 0};
  if (auto it = memo_.find(d); it != memo_.end()) return it->second;
  const Term t = Compute(d);
  memo_[d] = t;
  memo_log_[t.scope].push_back(d);
  return t;
}

DimEmitter::Term DimEmitter::Compute(Dim d) {
  const Expr e = dim::Decompose(d);
  if (e.kind == ExprKind::kSymbol) return symbols_.at(e.symbol);
  std::vector<Term> terms;
  terms.reserve(e.operands.size());
  for (Dim operand : e.operands) terms.push_back(Visit(operand));
  if (e.kind == ExprKind::kAdd) return Sum(std::move(terms));
  if (e.kind == ExprKind::kMul) {
    // What varies least first, so that invariant factors meet outside of the loop.
    std::stable_sort(terms.begin(), terms.end(),
                     [](const Term& a, const Term& b) { return a.place < b.place; });
  }
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) result = Combine(e.kind, result, terms[i]);
  return result;
}

DimEmitter::Term DimEmitter::Sum(std::vector<Term> terms) {
  std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return std::pair(a.place, llvm::isa<llvm::Constant>(a.value)) <
           std::pair(b.place, llvm::isa<llvm::Constant>(b.value));
  });
  // Constants last: they fold into the displacement of an address.
  std::stable_partition(terms.begin(), terms.end(),
                        [](const Term& t) { return !llvm::isa<llvm::Constant>(t.value); });
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) result = Combine(ExprKind::kAdd, result, terms[i]);
  return result;
}

DimEmitter::Term DimEmitter::Combine(ExprKind kind, const Term& a, const Term& b) {
  Term r;
  r.place = std::max(a.place, b.place);
  r.scope = std::max(a.scope, b.scope);
  const PlaceGuard guard(*this, r.place);
  switch (kind) {
    case ExprKind::kAdd:
      r.nonnegative = a.nonnegative && b.nonnegative;
      r.value = b_.CreateNSWAdd(a.value, b.value);
      break;
    case ExprKind::kMul:
      r.nonnegative = a.nonnegative && b.nonnegative;
      r.value = b_.CreateNSWMul(a.value, b.value);
      break;
    case ExprKind::kMin:
      r.nonnegative = a.nonnegative && b.nonnegative;
      r.value = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a.value, b.value);
      break;
    case ExprKind::kMax:
      r.nonnegative = a.nonnegative || b.nonnegative;
      r.value = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a.value, b.value);
      break;
    default:
      r.nonnegative = b.nonnegative && (a.nonnegative || kind == ExprKind::kMod);
      r.value = Divide(kind, a.value, b.value, a.nonnegative && b.nonnegative);
      break;
  }
  return r;
}

Value* DimEmitter::DivideByConstant(ExprKind kind, Value* a, int64_t d, bool nonnegative) {
  if (kind == ExprKind::kCeilDiv) {
    a = b_.CreateNSWAdd(a, b_.getInt64(d - 1));
    kind = ExprKind::kFloorDiv;
  }
  if (std::has_single_bit(static_cast<uint64_t>(d))) {
    // Exact for negative values too: the shift rounds down, the mask has the divisor's sign.
    if (kind == ExprKind::kMod) return b_.CreateAnd(a, b_.getInt64(d - 1));
    return b_.CreateAShr(a, b_.getInt64(std::countr_zero(static_cast<uint64_t>(d))));
  }
  Value* divisor = b_.getInt64(d);
  if (nonnegative) {
    return kind == ExprKind::kMod ? b_.CreateURem(a, divisor) : b_.CreateUDiv(a, divisor);
  }
  Value* remainder = b_.CreateSRem(a, divisor);
  Value* below = b_.CreateICmpSLT(remainder, b_.getInt64(0));
  if (kind == ExprKind::kMod) {
    return b_.CreateSelect(below, b_.CreateNSWAdd(remainder, divisor), remainder);
  }
  return b_.CreateNSWSub(b_.CreateSDiv(a, divisor), b_.CreateZExt(below, b_.getInt64Ty()));
}

// `nonnegative`: both operands are. A divisor that is 0 (or -1) at run time must not trap: the
// kernel never uses such a value, but it may be computed before the branch that tests it.
Value* DimEmitter::Divide(ExprKind kind, Value* a, Value* b, bool nonnegative) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(b); c != nullptr && c->getSExtValue() > 0) {
    return DivideByConstant(kind, a, c->getSExtValue(), nonnegative);
  }
  Value* zero = b_.getInt64(0);
  Value* one = b_.getInt64(1);
  if (nonnegative) {
    b = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, b, one);
    if (kind == ExprKind::kMod) return b_.CreateURem(a, b);
    if (kind == ExprKind::kCeilDiv) a = b_.CreateNSWAdd(a, b_.CreateNSWSub(b, one));
    return b_.CreateUDiv(a, b);
  }
  // Division by -1 is a negation; dividing by 1 instead avoids the one quotient that overflows.
  Value* minus_one = b_.CreateICmpEQ(b, b_.getInt64(-1));
  Value* unsafe = b_.CreateOr(minus_one, b_.CreateICmpEQ(b, zero));
  Value* divisor = b_.CreateSelect(unsafe, one, b);
  Value* quotient = b_.CreateSDiv(a, divisor);
  Value* remainder = b_.CreateSub(a, b_.CreateMul(quotient, divisor));
  Value* inexact = b_.CreateICmpNE(remainder, zero);
  Value* signs_differ = b_.CreateICmpSLT(b_.CreateXor(remainder, divisor), zero);
  if (kind == ExprKind::kMod) {
    Value* adjust = b_.CreateAnd(inexact, signs_differ);
    return b_.CreateSelect(adjust, b_.CreateAdd(remainder, divisor), remainder);
  }
  quotient = b_.CreateSelect(minus_one, b_.CreateNeg(quotient), quotient);
  if (kind == ExprKind::kCeilDiv) {
    Value* up = b_.CreateAnd(inexact, b_.CreateNot(signs_differ));
    return b_.CreateAdd(quotient, b_.CreateZExt(up, b_.getInt64Ty()));
  }
  Value* down = b_.CreateAnd(inexact, signs_differ);
  return b_.CreateSub(quotient, b_.CreateZExt(down, b_.getInt64Ty()));
}

Value* DimEmitter::Emit(const Claim& c) {
  Value* lhs = Emit(c.lhs);
  if (c.relation == Relation::kIn) {
    Value* any = b_.getFalse();
    for (int64_t v : c.set) any = b_.CreateOr(any, b_.CreateICmpEQ(lhs, b_.getInt64(v)));
    return any;
  }
  Value* rhs = Emit(c.rhs);
  switch (c.relation) {
    case Relation::kEq:
      return b_.CreateICmpEQ(lhs, rhs);
    case Relation::kNe:
      return b_.CreateICmpNE(lhs, rhs);
    case Relation::kLt:
      return b_.CreateICmpSLT(lhs, rhs);
    default:
      return b_.CreateICmpSLE(lhs, rhs);
  }
}

// The terms of a sum, its constant apart.
std::vector<DimEmitter::Term> DimEmitter::AddressTerms(Dim index, int64_t* constant) {
  *constant = 0;
  if (index.is_constant()) {
    *constant = index.constant();
    return {};
  }
  const Expr e = dim::Decompose(index);
  if (e.kind != ExprKind::kAdd) return {Visit(index)};
  std::vector<Term> terms;
  for (Dim operand : e.operands) {
    const Term t = Visit(operand);
    if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(t.value)) {
      *constant += c->getSExtValue();
    } else {
      terms.push_back(t);
    }
  }
  return terms;
}

Value* DimEmitter::Address(Value* base, llvm::Type* element, Dim index) {
  int64_t constant = 0;
  std::vector<Term> terms = AddressTerms(index, &constant);
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return a.place < b.place; });
  Value* address = base;
  for (size_t i = 0; i < terms.size();) {
    Term sum = terms[i];
    const int at = sum.place;
    for (++i; i < terms.size() && terms[i].place == at; ++i) {
      sum = Combine(ExprKind::kAdd, sum, terms[i]);
    }
    const PlaceGuard guard(*this, at);
    address = b_.CreateGEP(element, address, sum.value);
  }
  if (constant != 0) address = b_.CreateGEP(element, address, b_.getInt64(constant));
  return address;
}

}  // namespace lathe::llvm_target
