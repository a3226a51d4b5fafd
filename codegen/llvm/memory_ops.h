#pragma once
// Loads and stores of one part of a register: contiguous, splat, strided, gathered, each with or
// without a mask. Memory of a lane whose mask is false is never touched. Internal to codegen/llvm.
#include <optional>

#include "codegen/llvm/type_map.h"
#include "llvm/IR/IRBuilder.h"

namespace lathe::llvm_target {

// Where the lanes of one part lie.
struct PartAccess {
  DType dtype = DType::kF32;
  int lanes = 1;
  llvm::Value* address = nullptr;          // of lane 0 (gathers: of element 0)
  std::optional<int64_t> constant_stride;  // elements from lane to lane, if known
  llvm::Value* stride = nullptr;           // i64, used if there is no constant
  llvm::Value* indices = nullptr;          // gathers: i64 or i32 lanes
  llvm::Value* mask = nullptr;             // i1 lanes, or null
  // If the mask is `lane < n`: whether all lanes are inside (i1). Where masks are dear, a full part
  // then goes round them.
  llvm::Value* mask_is_full = nullptr;
  uint64_t fill_bits = 0;  // loads: lanes where the mask is false
  bool invariant = false;  // loads: this memory does not change while we run
};

class MemoryOps {
 public:
  MemoryOps(llvm::IRBuilder<>& b, const TypeMap& types, const CpuTarget& target)
      : b_(b), types_(types), has_byte_masks_(target.vector_bytes == 64) {}

  llvm::Value* Load(const PartAccess& a);
  void Store(const PartAccess& a, llvm::Value* value);

 private:
  // AVX2 has masks for elements of 32 and 64 bits alone.
  bool HasNativeMask(DType t) const { return SizeOf(t) >= 4 || has_byte_masks_; }
  llvm::LoadInst* LoadElement(const PartAccess& a, llvm::Type* type, llvm::Value* address);
  llvm::Value* FromMemory(const PartAccess& a, llvm::Value* v);
  llvm::Value* ToMemory(const PartAccess& a, llvm::Value* v);
  llvm::Value* LaneAddress(const PartAccess& a, llvm::Value* lane);
  llvm::Value* LoadContiguous(const PartAccess& a, llvm::Value* address);
  llvm::Value* LoadLanes(const PartAccess& a);
  llvm::Value* LoadEverySecond(const PartAccess& a);
  llvm::Value* LoadSplat(const PartAccess& a);
  llvm::Value* LoadMasked(const PartAccess& a);
  llvm::Value* LoadMaskedScalar(const PartAccess& a);
  void StoreUnmasked(const PartAccess& a, llvm::Value* value);
  void StoreMasked(const PartAccess& a, llvm::Value* value);
  // A run-time loop over the lanes whose mask is true; `body` gets the lane as i64.
  template <typename Body>
  void ForEachActiveLane(const PartAccess& a, const Body& body);
  // Runs one of two; the result is the phi of what they give (null for statements).
  template <typename Then, typename Else>
  llvm::Value* Choose(llvm::Value* condition, const Then& then, const Else& otherwise);
  llvm::AllocaInst* Spill();  // a 64-byte aligned stack buffer of one part

  llvm::IRBuilder<>& b_;
  const TypeMap& types_;
  bool has_byte_masks_;
  llvm::AllocaInst* spill_ = nullptr;
};

}  // namespace lathe::llvm_target
