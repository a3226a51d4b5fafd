#pragma once
// How registers of Kernel IR lie in LLVM values. Internal to codegen/llvm.
//
// A vector register of `lanes` elements is an array of parts of at most `chunk_lanes` lanes, one
// native vector of 4-byte elements each (8-byte elements take two native vectors a part). The
// number of lanes in part p therefore depends on the lanes alone, never on the element type, and
// every elementwise op works part by part. A bool is i1 in registers and one byte in memory.
#include <cstdint>

#include "codegen/kernel/kernel.h"
#include "codegen/llvm/llvm_target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace lathe::llvm_target {

using Parts = llvm::SmallVector<llvm::Value*, 4>;

class TypeMap {
 public:
  TypeMap(llvm::LLVMContext& context, const CpuTarget& target)
      : context_(context), chunk_lanes_(target.vector_bytes / 4) {}

  int chunk_lanes() const { return chunk_lanes_; }
  int NumParts(int lanes) const { return (lanes + chunk_lanes_ - 1) / chunk_lanes_; }
  int PartLanes(int lanes, int part) const;

  llvm::Type* Element(DType t) const;              // in a register
  llvm::Type* Memory(DType t) const;               // in memory
  llvm::Type* Register(DType t, int lanes) const;  // of one part; the element itself for 1 lane
  llvm::Constant* Constant(DType t, uint64_t bits, int lanes) const;  // splat of `bits`

 private:
  llvm::LLVMContext& context_;
  int chunk_lanes_;
};

}  // namespace lathe::llvm_target
