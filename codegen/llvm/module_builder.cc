#include "codegen/llvm/module_builder.h"

#include <mutex>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "codegen/llvm/kernel_emitter.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace lathe::llvm_target {
namespace {

// Without a handler LLVM exits on an error. Remarks and warnings are dropped.
void OnDiagnostic(const llvm::DiagnosticInfo* info, void* errors) {
  if (info->getSeverity() != llvm::DS_Error) return;
  llvm::raw_string_ostream out(*static_cast<std::string*>(errors));
  llvm::DiagnosticPrinterRawOStream printer(out);
  info->print(printer);
  out << "; ";
}

}  // namespace

void InitializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

absl::StatusOr<ModuleBuilder> ModuleBuilder::Create(const CpuTarget& target, Tier tier) {
  InitializeLlvm();
  std::string error;
  const llvm::Target* t = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (t == nullptr) {
    return absl::InternalError(
        absl::StrCat("LLVM does not know the target ", target.triple, ": ", error));
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.NoTrappingFPMath = true;
  const auto level =
      tier == Tier::kFull ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::Less;
  ModuleBuilder m;
  m.target_ = target;
  m.machine_.reset(t->createTargetMachine(target.triple, target.cpu, target.features, options,
                                          llvm::Reloc::PIC_, llvm::CodeModel::Small, level,
                                          /*JIT=*/true));
  if (m.machine_ == nullptr) {
    return absl::InternalError(absl::StrCat("LLVM has no code generator for ", target.Identity()));
  }
  return m;
}

absl::Status ModuleBuilder::Build(const kernel::Kernel& k, const std::string& symbol,
                                  absl::Span<const std::string> callee_symbols) {
  Clear();
  errors_ = std::make_unique<std::string>();
  context_ = std::make_unique<llvm::LLVMContext>();
  context_->setDiagnosticHandlerCallBack(&OnDiagnostic, errors_.get());
  module_ = std::make_unique<llvm::Module>(k.name, *context_);
  module_->setTargetTriple(target_.triple);
  module_->setDataLayout(machine_->createDataLayout());
  KernelEmitter(k, target_, callee_symbols, *module_).EmitFunction(symbol);
  std::string text;
  llvm::raw_string_ostream out(text);
  if (llvm::verifyModule(*module_, &out)) {
    return absl::InternalError(
        absl::StrCat("the LLVM code of kernel ", k.name, " is not well formed: ", text));
  }
  Optimize();
  return absl::OkStatus();
}

void ModuleBuilder::Clear() {
  module_.reset();
  context_.reset();
}

// Variables to registers, duplicate addresses and constants away, peepholes, then blocks. What
// other pipelines do beyond this (vectorising, unrolling, hoisting) the schedule and the emitter
// have done.
void ModuleBuilder::Optimize() {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine_.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& f : *module_) {
    if (!f.isDeclaration()) passes.run(f, functions);
  }
}

std::string ModuleBuilder::Ir() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  module_->print(out, nullptr);
  return text;
}

absl::Status ModuleBuilder::Generate(llvm::CodeGenFileType type, llvm::raw_pwrite_stream& out) {
  llvm::legacy::PassManager passes;
  if (machine_->addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true)) {
    return absl::InternalError(absl::StrCat("LLVM can't write code for ", target_.Identity()));
  }
  passes.run(*module_);
  if (!errors_->empty()) {
    return absl::InternalError(
        absl::StrCat("LLVM failed on kernel ", std::string(module_->getName()), ": ", *errors_));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> ModuleBuilder::Object() {
  llvm::SmallVector<char, 0> bytes;
  {
    llvm::raw_svector_ostream out(bytes);
    if (absl::Status s = Generate(llvm::CodeGenFileType::ObjectFile, out); !s.ok()) return s;
  }
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), module_->getName(),
                                                         /*RequiresNullTerminator=*/false);
}

absl::StatusOr<std::string> ModuleBuilder::Assembly() {
  llvm::SmallString<0> text;
  {
    llvm::raw_svector_ostream out(text);
    if (absl::Status s = Generate(llvm::CodeGenFileType::AssemblyFile, out); !s.ok()) return s;
  }
  return std::string(text.str());
}

}  // namespace lathe::llvm_target
