// The functions around a kernel's body: rt::KernelFn with its loop over tasks, the direct ABI of
// micro-kernels, tables, calls and error exits.
#include "codegen/llvm/kernel_emitter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"

namespace lathe::llvm_target {

using kernel::BufferDecl;
using kernel::BufferKind;
using llvm::Value;

KernelEmitter::KernelEmitter(const kernel::Kernel& k, const CpuTarget& target,
                             absl::Span<const std::string> callee_symbols, llvm::Module& module)
    : k_(k),
      target_(target),
      callee_symbols_(callee_symbols),
      module_(module),
      types_(module.getContext(), target),
      b_(module.getContext()),
      memory_(b_, types_, target),
      dims_(b_),
      buffers_(k.buffers.size()),
      values_(static_cast<size_t>(k.num_regs)),
      dtypes_(static_cast<size_t>(k.num_regs)),
      vars_(static_cast<size_t>(k.num_vars)) {}

void KernelEmitter::EmitFunction(const std::string& symbol) {
  DeclareFunction(symbol);
  b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", f_));
  EmitTables();
  if (k_.is_micro) {
    EmitMicroFunction();
  } else {
    EmitTaskFunction();
  }
}

void KernelEmitter::DeclareFunction(const std::string& symbol) {
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i64_type = b_.getInt64Ty();
  std::vector<llvm::Type*> parameters;
  if (k_.is_micro) {
    parameters.assign(static_cast<size_t>(k_.num_passed_buffers()), pointer);
    parameters.insert(parameters.end(), k_.sizes.size(), i64_type);
  } else {
    parameters = {pointer, pointer, i64_type, i64_type, i64_type, pointer};
  }
  llvm::Type* result = k_.is_micro ? b_.getVoidTy() : i64_type;
  f_ = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                              llvm::GlobalValue::ExternalLinkage, symbol, module_);
  f_->addFnAttr(llvm::Attribute::NoUnwind);
  if (target_.vector_bytes == 64) {
    f_->addFnAttr("prefer-vector-width", "512");
    f_->addFnAttr("min-legal-vector-width", "512");
  }
  // What is passed never overlaps what is written: inputs alias no output, outputs no other output.
  for (llvm::Argument& a : f_->args()) {
    if (!a.getType()->isPointerTy()) continue;
    a.addAttr(llvm::Attribute::NoAlias);
    a.addAttr(llvm::Attribute::NoCapture);
  }
}

void KernelEmitter::EmitTables() {
  for (size_t i = 0; i < k_.buffers.size(); ++i) {
    const BufferDecl& d = k_.buffers[i];
    if (d.kind != BufferKind::kTable) continue;
    std::vector<llvm::Constant*> elements;
    elements.reserve(d.table.size());
    for (uint64_t bits : d.table) {
      elements.push_back(d.dtype == DType::kBool ? b_.getInt8(bits & 1)
                                                 : types_.Constant(d.dtype, bits, 1));
    }
    auto* type = llvm::ArrayType::get(types_.Memory(d.dtype), elements.size());
    auto* global = new llvm::GlobalVariable(module_, type, /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage,
                                            llvm::ConstantArray::get(type, elements), "table");
    global->setAlignment(llvm::Align(64));
    buffers_[i] = global;
  }
}

void KernelEmitter::EmitMicroFunction() {
  unsigned argument = 0;
  for (int i = 0; i < k_.num_passed_buffers(); ++i) buffers_[i] = f_->getArg(argument++);
  for (Dim size : k_.sizes) {
    dims_.Bind(dim::Decompose(size).symbol, f_->getArg(argument++), /*nonnegative=*/false);
  }
  EmitBlock(k_.body);
  b_.CreateRetVoid();
}

void KernelEmitter::EmitTaskFunction() {
  Value* buffers = f_->getArg(0);
  Value* sizes = f_->getArg(1);
  Value* worker = f_->getArg(4);
  error_ = f_->getArg(5);
  llvm::MDNode* none = llvm::MDNode::get(module_.getContext(), {});
  for (size_t i = 0; i < k_.sizes.size(); ++i) {
    llvm::LoadInst* size =
        b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), sizes, i));
    size->setMetadata(llvm::LLVMContext::MD_invariant_load, none);
    dims_.Bind(dim::Decompose(k_.sizes[i]).symbol, size, /*nonnegative=*/false);
  }
  for (int i = 0; i < k_.num_passed_buffers(); ++i) {
    const BufferDecl& d = k_.buffers[i];
    llvm::LoadInst* base =
        b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), buffers, i));
    base->setMetadata(llvm::LLVMContext::MD_invariant_load, none);
    buffers_[i] = base;
    if (d.kind == BufferKind::kWorkerScratch) {
      Value* before = b_.CreateNSWMul(worker, dims_.Emit(d.elements));
      buffers_[i] = b_.CreateGEP(types_.Memory(d.dtype), base, before);
    }
  }
  EmitTaskLoop();
  b_.CreateRet(b_.getInt64(0));
}

// error->{code, position, value, bound}, then 1 for the caller. What follows is never reached.
void KernelEmitter::EmitFail(const kernel::Stmt& s) {
  Value* fields[] = {b_.getInt64(s.imm), dims_.Emit(s.index), Scalar(s.args[0]),
                     dims_.Emit(s.stride)};
  for (uint64_t i = 0; i < 4; ++i) {
    b_.CreateStore(fields[i], b_.CreateConstGEP1_64(b_.getInt64Ty(), error_, i));
  }
  b_.CreateRet(b_.getInt64(1));
  b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "", f_));
}

void KernelEmitter::EmitCall(const kernel::Stmt& s) {
  std::vector<llvm::Type*> types;
  std::vector<Value*> arguments;
  for (const auto& a : s.call->buffers) {
    llvm::Type* element = types_.Memory(k_.buffers[a.buffer].dtype);
    arguments.push_back(dims_.Address(buffers_[a.buffer], element, a.offset));
    types.push_back(b_.getPtrTy());
  }
  for (Dim size : s.call->sizes) {
    arguments.push_back(dims_.Emit(size));
    types.push_back(b_.getInt64Ty());
  }
  llvm::FunctionCallee f = module_.getOrInsertFunction(
      callee_symbols_[s.imm], llvm::FunctionType::get(b_.getVoidTy(), types, false));
  llvm::CallInst* call = b_.CreateCall(f, arguments);
  call->addFnAttr(llvm::Attribute::NoUnwind);
}

}  // namespace lathe::llvm_target
