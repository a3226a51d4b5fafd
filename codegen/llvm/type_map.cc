#include "codegen/llvm/type_map.h"

#include <algorithm>

#include "llvm/ADT/APFloat.h"
#include "llvm/IR/DerivedTypes.h"

namespace lathe::llvm_target {

int TypeMap::PartLanes(int lanes, int part) const {
  return std::min(chunk_lanes_, lanes - part * chunk_lanes_);
}

llvm::Type* TypeMap::Element(DType t) const {
  switch (t) {
    case DType::kBool:
      return llvm::Type::getInt1Ty(context_);
    case DType::kI8:
    case DType::kU8:
      return llvm::Type::getInt8Ty(context_);
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:  // bits: nothing is computed in narrow floats
    case DType::kBF16:
      return llvm::Type::getInt16Ty(context_);
    case DType::kI32:
    case DType::kU32:
      return llvm::Type::getInt32Ty(context_);
    case DType::kI64:
    case DType::kU64:
      return llvm::Type::getInt64Ty(context_);
    case DType::kF32:
      return llvm::Type::getFloatTy(context_);
    case DType::kF64:
      return llvm::Type::getDoubleTy(context_);
  }
  return nullptr;
}

llvm::Type* TypeMap::Memory(DType t) const {
  return t == DType::kBool ? llvm::Type::getInt8Ty(context_) : Element(t);
}

llvm::Type* TypeMap::Register(DType t, int lanes) const {
  if (lanes == 1) return Element(t);
  return llvm::FixedVectorType::get(Element(t), static_cast<unsigned>(lanes));
}

llvm::Constant* TypeMap::Constant(DType t, uint64_t bits, int lanes) const {
  llvm::Type* type = Register(t, lanes);
  if (t == DType::kF32) {
    const llvm::APInt word(32, bits & 0xffffffffu);
    return llvm::ConstantFP::get(type, llvm::APFloat(llvm::APFloat::IEEEsingle(), word));
  }
  if (t == DType::kF64) {
    const llvm::APInt word(64, bits);
    return llvm::ConstantFP::get(type, llvm::APFloat(llvm::APFloat::IEEEdouble(), word));
  }
  const unsigned width = type->getScalarSizeInBits();
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  return llvm::ConstantInt::get(type, bits & mask);
}

}  // namespace lathe::llvm_target
