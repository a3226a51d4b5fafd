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
    case DType::kI32:
      return llvm::Type::getInt32Ty(context_);
    case DType::kI64:
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
  switch (t) {
    case DType::kBool:
      return llvm::ConstantInt::get(type, bits & 1);
    case DType::kI32:
      return llvm::ConstantInt::get(type, bits & 0xffffffffu);
    case DType::kI64:
      return llvm::ConstantInt::get(type, bits);
    case DType::kF32:
      return llvm::ConstantFP::get(
          type, llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits & 0xffffffffu)));
    case DType::kF64:
      return llvm::ConstantFP::get(
          type, llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
  }
  return nullptr;
}

}  // namespace lathe::llvm_target
