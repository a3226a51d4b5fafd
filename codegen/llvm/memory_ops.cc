#include "codegen/llvm/memory_ops.h"

#include <numeric>
#include <vector>

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"

namespace lathe::llvm_target {
namespace {

using llvm::BasicBlock;
using llvm::Value;

llvm::Align ElementAlign(DType t) { return llvm::Align(static_cast<uint64_t>(SizeOf(t))); }

llvm::Type* VectorOf(llvm::Type* element, int lanes) {
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

}  // namespace

llvm::AllocaInst* MemoryOps::Spill() {
  if (spill_ == nullptr) {
    BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    // The widest part: chunk_lanes elements of 8 bytes.
    llvm::Type* bytes = llvm::ArrayType::get(b_.getInt64Ty(), types_.chunk_lanes());
    spill_ = at_entry.CreateAlloca(bytes);
    spill_->setAlignment(llvm::Align(64));
  }
  return spill_;
}

llvm::LoadInst* MemoryOps::LoadElement(const PartAccess& a, llvm::Type* type, Value* address) {
  llvm::LoadInst* load = b_.CreateAlignedLoad(type, address, ElementAlign(a.dtype));
  if (a.invariant) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  }
  return load;
}

Value* MemoryOps::FromMemory(const PartAccess& a, Value* v) {
  if (a.dtype != DType::kBool) return v;
  return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
}

Value* MemoryOps::ToMemory(const PartAccess& a, Value* v) {
  if (a.dtype != DType::kBool) return v;
  return b_.CreateZExt(v, v->getType()->getWithNewType(b_.getInt8Ty()));
}

Value* MemoryOps::LaneAddress(const PartAccess& a, Value* lane) {
  llvm::Type* element = types_.Memory(a.dtype);
  if (a.indices != nullptr) {
    return b_.CreateGEP(element, a.address, b_.CreateExtractElement(a.indices, lane));
  }
  Value* stride = a.constant_stride ? b_.getInt64(*a.constant_stride) : a.stride;
  return b_.CreateGEP(element, a.address, b_.CreateMul(lane, stride));
}

Value* MemoryOps::LoadContiguous(const PartAccess& a, Value* address) {
  llvm::Type* type = VectorOf(types_.Memory(a.dtype), a.lanes);
  return FromMemory(a, LoadElement(a, type, address));
}

Value* MemoryOps::LoadLanes(const PartAccess& a) {
  llvm::Type* element = types_.Memory(a.dtype);
  Value* v = llvm::PoisonValue::get(VectorOf(element, a.lanes));
  for (int l = 0; l < a.lanes; ++l) {
    Value* lane = b_.getInt64(l);
    v = b_.CreateInsertElement(v, LoadElement(a, element, LaneAddress(a, lane)), lane);
  }
  return FromMemory(a, v);
}

Value* MemoryOps::LoadEverySecond(const PartAccess& a) {
  // Two vectors that overlap in one element end with the last lane, not behind it.
  Value* high_address = b_.CreateGEP(types_.Memory(a.dtype), a.address, b_.getInt64(a.lanes - 1));
  Value* low = LoadContiguous(a, a.address);
  Value* high = LoadContiguous(a, high_address);
  std::vector<int> from;
  for (int l = 0; l < a.lanes; ++l) from.push_back(2 * l < a.lanes ? 2 * l : 2 * l + 1);
  return b_.CreateShuffleVector(low, high, from);
}

Value* MemoryOps::LoadSplat(const PartAccess& a) {
  Value* v = FromMemory(a, LoadElement(a, types_.Memory(a.dtype), a.address));
  return b_.CreateVectorSplat(static_cast<unsigned>(a.lanes), v);
}

Value* MemoryOps::Load(const PartAccess& a) {
  if (a.lanes == 1 && a.indices != nullptr) {
    PartAccess scalar = a;
    scalar.address = b_.CreateGEP(types_.Memory(a.dtype), a.address, a.indices);
    scalar.indices = nullptr;
    return Load(scalar);
  }
  if (a.mask != nullptr) return a.lanes == 1 ? LoadMaskedScalar(a) : LoadMasked(a);
  if (a.lanes == 1) return FromMemory(a, LoadElement(a, types_.Memory(a.dtype), a.address));
  if (a.indices != nullptr || !a.constant_stride) return LoadLanes(a);
  switch (*a.constant_stride) {
    case 1:
      return LoadContiguous(a, a.address);
    case 0:
      return LoadSplat(a);
    case -1: {
      Value* first = b_.CreateGEP(types_.Memory(a.dtype), a.address, b_.getInt64(1 - a.lanes));
      return b_.CreateVectorReverse(LoadContiguous(a, first));
    }
    case 2:
      return a.invariant ? LoadEverySecond(a) : LoadLanes(a);
    default:
      return LoadLanes(a);
  }
}

template <typename Then, typename Else>
Value* MemoryOps::Choose(Value* condition, const Then& then, const Else& otherwise) {
  llvm::Function* f = b_.GetInsertBlock()->getParent();
  BasicBlock* yes = BasicBlock::Create(b_.getContext(), "", f);
  BasicBlock* no = BasicBlock::Create(b_.getContext(), "", f);
  BasicBlock* done = BasicBlock::Create(b_.getContext(), "", f);
  b_.CreateCondBr(condition, yes, no);
  b_.SetInsertPoint(yes);
  Value* x = then();
  BasicBlock* x_from = b_.CreateBr(done)->getParent();
  b_.SetInsertPoint(no);
  Value* y = otherwise();
  BasicBlock* y_from = b_.CreateBr(done)->getParent();
  b_.SetInsertPoint(done);
  if (x == nullptr) return nullptr;
  llvm::PHINode* phi = b_.CreatePHI(x->getType(), 2);
  phi->addIncoming(x, x_from);
  phi->addIncoming(y, y_from);
  return phi;
}

template <typename Body>
void MemoryOps::ForEachActiveLane(const PartAccess& a, const Body& body) {
  llvm::IntegerType* bits_type = b_.getIntNTy(static_cast<unsigned>(a.lanes));
  Value* bits = b_.CreateZExt(b_.CreateBitCast(a.mask, bits_type), b_.getInt64Ty());
  Value* zero = b_.getInt64(0);
  llvm::Function* f = b_.GetInsertBlock()->getParent();
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* loop = BasicBlock::Create(b_.getContext(), "", f);
  BasicBlock* done = BasicBlock::Create(b_.getContext(), "", f);
  b_.CreateCondBr(b_.CreateICmpEQ(bits, zero), done, loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* left = b_.CreatePHI(b_.getInt64Ty(), 2);
  left->addIncoming(bits, before);
  body(b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b_.getTrue()));
  Value* next = b_.CreateAnd(left, b_.CreateSub(left, b_.getInt64(1)));
  left->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(next, zero), done, loop);
  b_.SetInsertPoint(done);
}

Value* MemoryOps::LoadMaskedScalar(const PartAccess& a) {
  return Choose(
      a.mask,
      [&]() -> Value* { return FromMemory(a, LoadElement(a, types_.Memory(a.dtype), a.address)); },
      [&]() -> Value* { return types_.Constant(a.dtype, a.fill_bits, 1); });
}

Value* MemoryOps::LoadMasked(const PartAccess& a) {
  Value* fill = types_.Constant(a.dtype, a.fill_bits, a.lanes);
  if (a.constant_stride == 1 && HasNativeMask(a.dtype)) {
    llvm::Type* type = VectorOf(types_.Memory(a.dtype), a.lanes);
    return FromMemory(
        a, b_.CreateMaskedLoad(type, a.address, ElementAlign(a.dtype), a.mask, ToMemory(a, fill)));
  }
  if (a.constant_stride == 0) {
    PartAccess scalar = a;
    scalar.lanes = 1;
    scalar.mask = b_.CreateOrReduce(a.mask);
    Value* v = b_.CreateVectorSplat(static_cast<unsigned>(a.lanes), LoadMaskedScalar(scalar));
    return b_.CreateSelect(a.mask, v, fill);
  }
  if (a.mask_is_full != nullptr) {
    PartAccess full = a, partial = a;
    full.mask = partial.mask_is_full = nullptr;
    return Choose(
        a.mask_is_full, [&] { return Load(full); }, [&] { return LoadMasked(partial); });
  }
  // Lane by lane through the stack.
  llvm::Type* element = types_.Memory(a.dtype);
  llvm::AllocaInst* buffer = Spill();
  b_.CreateAlignedStore(ToMemory(a, fill), buffer, llvm::Align(64));
  ForEachActiveLane(a, [&](Value* lane) {
    Value* v = LoadElement(a, element, LaneAddress(a, lane));
    b_.CreateAlignedStore(v, b_.CreateGEP(element, buffer, lane), ElementAlign(a.dtype));
  });
  llvm::Type* type = VectorOf(element, a.lanes);
  return FromMemory(a, b_.CreateAlignedLoad(type, buffer, llvm::Align(64)));
}

void MemoryOps::Store(const PartAccess& a, Value* value) {
  if (a.mask == nullptr) {
    StoreUnmasked(a, value);
  } else if (a.lanes == 1) {
    PartAccess plain = a;
    plain.mask = nullptr;
    Choose(
        a.mask,
        [&]() -> Value* {
          StoreUnmasked(plain, value);
          return nullptr;
        },
        []() -> Value* { return nullptr; });
  } else if (a.mask_is_full != nullptr && !(a.constant_stride == 1 && has_byte_masks_)) {
    // AVX2's masked store is microcode on some processors, and narrow elements have none.
    PartAccess full = a, partial = a;
    full.mask = partial.mask_is_full = nullptr;
    Choose(
        a.mask_is_full,
        [&]() -> Value* {
          StoreUnmasked(full, value);
          return nullptr;
        },
        [&]() -> Value* {
          StoreMasked(partial, value);
          return nullptr;
        });
  } else {
    StoreMasked(a, value);
  }
}

void MemoryOps::StoreUnmasked(const PartAccess& a, Value* value) {
  const llvm::Align align = ElementAlign(a.dtype);
  Value* v = ToMemory(a, value);
  if (a.lanes == 1 || a.constant_stride == 1) {
    b_.CreateAlignedStore(v, a.address, align);
    return;
  }
  if (a.constant_stride == 0) {  // the last lane wins
    b_.CreateAlignedStore(b_.CreateExtractElement(v, a.lanes - 1), a.address, align);
    return;
  }
  if (a.constant_stride == -1) {
    Value* first = b_.CreateGEP(types_.Memory(a.dtype), a.address, b_.getInt64(1 - a.lanes));
    b_.CreateAlignedStore(b_.CreateVectorReverse(v), first, align);
    return;
  }
  for (int l = 0; l < a.lanes; ++l) {
    Value* lane = b_.getInt64(l);
    b_.CreateAlignedStore(b_.CreateExtractElement(v, lane), LaneAddress(a, lane), align);
  }
}

void MemoryOps::StoreMasked(const PartAccess& a, Value* value) {
  const llvm::Align align = ElementAlign(a.dtype);
  if (a.constant_stride == 1 && HasNativeMask(a.dtype)) {
    b_.CreateMaskedStore(ToMemory(a, value), a.address, align, a.mask);
    return;
  }
  llvm::Type* element = types_.Memory(a.dtype);
  llvm::AllocaInst* buffer = Spill();
  b_.CreateAlignedStore(ToMemory(a, value), buffer, llvm::Align(64));
  ForEachActiveLane(a, [&](Value* lane) {
    Value* v = b_.CreateAlignedLoad(element, b_.CreateGEP(element, buffer, lane), align);
    b_.CreateAlignedStore(v, LaneAddress(a, lane), align);
  });
}

}  // namespace lathe::llvm_target
