#pragma once
// Kernel IR to LLVM IR, statement by statement. Internal to codegen/llvm; module_builder.h is the
// way in. The kernel must have passed kernel::Verify.
//
// Order inside straight-line code: statements on vectors of several parts are emitted part by part
// (all statements for part 0, then for part 1, ..) where they neither reduce nor depend on each
// other's memory, so that a polynomial over 32 lanes needs the registers of one part. Accumulating
// FMAs into variables keep their own order: there the schedule has counted registers itself.
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "codegen/kernel/kernel.h"
#include "codegen/llvm/dim_emitter.h"
#include "codegen/llvm/memory_ops.h"
#include "codegen/llvm/type_map.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace lathe::llvm_target {

class KernelEmitter {
 public:
  // `callee_symbols`: a name for each of k.callees.
  KernelEmitter(const kernel::Kernel& k, const CpuTarget& target,
                absl::Span<const std::string> callee_symbols, llvm::Module& module);
  // The whole function, named `symbol`: rt::KernelFn, or the direct ABI of a micro-kernel.
  void EmitFunction(const std::string& symbol);

 private:
  // function_abi.cc
  void DeclareFunction(const std::string& symbol);
  void EmitTables();
  void EmitTaskFunction();
  void EmitMicroFunction();
  void EmitFail(const kernel::Stmt& s);
  void EmitCall(const kernel::Stmt& s);

  // control_flow.cc
  void EmitBlock(absl::Span<const kernel::Stmt> block);
  void EmitStatement(const kernel::Stmt& s);
  void EmitTaskLoop();
  void EmitFor(const kernel::Stmt& s);
  void EmitUnrolled(const kernel::Stmt& s, int64_t begin, int64_t end);
  void EmitIf(llvm::Value* condition, const kernel::Stmt& s);
  // A rotated loop: body once for each value of `symbol` in [begin, end) by step.
  template <typename Body>
  void EmitLoop(dim::SymbolId symbol, llvm::Value* begin, llvm::Value* end, int64_t step,
                bool nonnegative, const Body& body);

  // runs.cc: how many of the leading statements can be emitted part by part (0: none).
  size_t RunLength(absl::Span<const kernel::Stmt> block) const;
  void EmitRun(absl::Span<const kernel::Stmt> run);

  // statements.cc
  void Prepare(const kernel::Stmt& s);  // what all parts share: addresses, counts, stack slots
  void EmitPart(const kernel::Stmt& s, int part);
  llvm::Value* LetPart(const kernel::Stmt& s, int part);
  llvm::Value* MaskPart(const kernel::Stmt& s, int part);
  llvm::Value* SplatPart(const kernel::Stmt& s, int part);
  llvm::Constant* Lanes(DType dtype, int lanes, int part) const;  // 0, 1, .. of the whole register
  void EmitReduction(const kernel::Stmt& s);
  PartAccess Access(const kernel::Stmt& s, int part);
  llvm::Value* Arg(const kernel::Stmt& s, int operand, int part) const;
  llvm::Value* Scalar(kernel::Reg r) const { return values_[r][0]; }

  struct Shared {  // by statement
    llvm::Value* address = nullptr;
    llvm::Value* stride = nullptr;
  };

  const kernel::Kernel& k_;
  const CpuTarget& target_;
  absl::Span<const std::string> callee_symbols_;
  llvm::Module& module_;
  TypeMap types_;
  llvm::IRBuilder<> b_;
  MemoryOps memory_;
  DimEmitter dims_;
  llvm::Function* f_ = nullptr;
  llvm::Value* error_ = nullptr;
  std::vector<llvm::Value*> buffers_;  // base pointers
  std::vector<Parts> values_;          // by register
  std::vector<DType> dtypes_;          // by register: of its elements
  std::vector<llvm::SmallVector<llvm::AllocaInst*, 4>> vars_;
  absl::flat_hash_map<const kernel::Stmt*, Shared> shared_;
  // Registers made by kMask: the count, clamped to 0..lanes.
  absl::flat_hash_map<kernel::Reg, llvm::Value*> mask_counts_;
};

}  // namespace lathe::llvm_target
