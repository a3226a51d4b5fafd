#pragma once
// From a kernel to an optimised LLVM module, and from that to an object file or assembly. Internal
// to codegen/llvm. Each call uses an LLVMContext and a TargetMachine of its own, so any number of
// threads may compile at once.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/kernel/kernel.h"
#include "codegen/llvm/llvm_target.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

namespace lathe::llvm_target {

// Registers LLVM's x86 back end once in this process.
void InitializeLlvm();

class ModuleBuilder {
 public:
  static absl::StatusOr<ModuleBuilder> Create(const CpuTarget& target, Tier tier);

  // Emits `k` as function `symbol`, verifies it and runs the clean-up passes. What was built before
  // is dropped.
  absl::Status Build(const kernel::Kernel& k, const std::string& symbol,
                     absl::Span<const std::string> callee_symbols);
  std::string Ir() const;
  absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> Object();
  absl::StatusOr<std::string> Assembly();
  void Clear();  // frees the module

 private:
  ModuleBuilder() = default;
  void Optimize();
  absl::Status Generate(llvm::CodeGenFileType type, llvm::raw_pwrite_stream& out);

  CpuTarget target_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<std::string> errors_;  // what LLVM complained of; the context points to it
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;  // in context_
};

}  // namespace lathe::llvm_target
