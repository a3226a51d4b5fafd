#pragma once
// Value conversions between element types on LLVM values, total as kernel.h says. No conversion
// calls a library function. Internal to codegen/llvm; the statement emitter calls it.
#include "lathe/dtype.h"
#include "llvm/IR/IRBuilder.h"

namespace lathe::llvm_target {

class CastEmitter {
 public:
  // has_f16c: the machine converts between f16 and f32 itself; else integer operations do it.
  CastEmitter(llvm::IRBuilder<>& b, bool has_f16c) : b_(b), has_f16c_(has_f16c) {}

  // `a` is a scalar or a vector of elements of type `from`.
  llvm::Value* Cast(DType from, DType to, llvm::Value* a);

 private:
  llvm::Value* ToBool(DType from, llvm::Value* a);
  llvm::Value* FloatToInt(llvm::Value* a, DType to);  // saturates; NaN gives 0
  llvm::Value* ToNarrow(DType from, DType to, llvm::Value* a);
  llvm::Value* IntToOddF64(DType from, llvm::Value* a);
  llvm::Value* RoundToOdd(llvm::Value* f64_value);
  llvm::Value* Widen(DType from, llvm::Value* a);  // to f32, exact
  llvm::Value* F16ToF32(llvm::Value* bits);        // of 32 bits
  llvm::Value* F32ToF16(llvm::Value* a);           // the bits, of 32 bits
  llvm::Value* F32ToBF16(llvm::Value* a);          // the same
  llvm::Value* AsInt(llvm::Value* a);              // bits of a float
  llvm::Value* AsFloat(llvm::Value* bits, llvm::Type* element);
  llvm::Type* Like(llvm::Value* a, llvm::Type* element) const;
  llvm::Constant* Int(llvm::Value* like, uint64_t value) const;

  llvm::IRBuilder<>& b_;
  const bool has_f16c_;
};

}  // namespace lathe::llvm_target
