// Blocks, loops and branches.
#include "codegen/llvm/kernel_emitter.h"
#include "llvm/IR/Constants.h"

namespace lathe::llvm_target {

using kernel::Stmt;
using kernel::StmtKind;
using llvm::BasicBlock;
using llvm::Value;

void KernelEmitter::EmitBlock(absl::Span<const Stmt> block) {
  while (!block.empty()) {
    if (const size_t n = RunLength(block); n > 0) {
      EmitRun(block.subspan(0, n));
      block.remove_prefix(n);
    } else {
      EmitStatement(block.front());
      block.remove_prefix(1);
    }
  }
}

void KernelEmitter::EmitStatement(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::kLet:
      EmitReduction(s);
      break;
    case StmtKind::kVar:
    case StmtKind::kSetVar:
    case StmtKind::kStore:
      break;  // always part of a run, like every other op
    case StmtKind::kFor:
      EmitFor(s);
      break;
    case StmtKind::kIf:
      EmitIf(Scalar(s.args[0]), s);
      break;
    case StmtKind::kIfDim:
      EmitIf(dims_.Emit(s.claim), s);
      break;
    case StmtKind::kBind:
      dims_.Bind(s.symbol, Scalar(s.args[0]), /*nonnegative=*/false);
      break;
    case StmtKind::kCall:
      EmitCall(s);
      break;
    case StmtKind::kFail:
      EmitFail(s);
      break;
    case StmtKind::kBarrier:
      break;
  }
}

template <typename Body>
void KernelEmitter::EmitLoop(dim::SymbolId symbol, Value* begin, Value* end, int64_t step,
                             bool nonnegative, const Body& body) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* loop = BasicBlock::Create(module_.getContext(), "", f_);
  BasicBlock* done = BasicBlock::Create(module_.getContext(), "", f_);
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, done);
  dims_.EnterScope();
  b_.SetInsertPoint(loop);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  dims_.Bind(symbol, i, nonnegative);
  body();
  Value* next = b_.CreateNSWAdd(i, b_.getInt64(step));
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, done);
  dims_.LeaveScope();
  b_.SetInsertPoint(done);
}

void KernelEmitter::EmitTaskLoop() {
  EmitLoop(k_.task, f_->getArg(2), f_->getArg(3), 1, /*nonnegative=*/true,
           [&] { EmitBlock(k_.body); });
}

void KernelEmitter::EmitFor(const Stmt& s) {
  Value* begin = dims_.Emit(s.begin);
  Value* end = dims_.Emit(s.end);
  auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (s.loop == kernel::LoopKind::kUnrolled && first != nullptr && last != nullptr) {
    EmitUnrolled(s, first->getSExtValue(), last->getSExtValue());
    return;
  }
  EmitLoop(s.symbol, begin, end, s.step, dims_.IsNonNegative(s.begin), [&] { EmitBlock(s.body); });
}

void KernelEmitter::EmitUnrolled(const Stmt& s, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i += s.step) {
    dims_.EnterIteration();
    dims_.Bind(s.symbol, b_.getInt64(i), i >= 0);
    EmitBlock(s.body);
    dims_.LeaveIteration();
  }
}

void KernelEmitter::EmitIf(Value* condition, const Stmt& s) {
  BasicBlock* then = BasicBlock::Create(module_.getContext(), "", f_);
  BasicBlock* done = BasicBlock::Create(module_.getContext(), "", f_);
  BasicBlock* otherwise = s.other.empty() ? done : BasicBlock::Create(module_.getContext(), "", f_);
  b_.CreateCondBr(condition, then, otherwise);
  dims_.EnterScope();
  b_.SetInsertPoint(then);
  EmitBlock(s.body);
  b_.CreateBr(done);
  dims_.LeaveScope();
  if (!s.other.empty()) {
    // The second branch hangs on the same block as the first.
    b_.SetInsertPoint(then->getSinglePredecessor());
    dims_.EnterScope();
    b_.SetInsertPoint(otherwise);
    EmitBlock(s.other);
    b_.CreateBr(done);
    dims_.LeaveScope();
  }
  b_.SetInsertPoint(done);
}

}  // namespace lathe::llvm_target
