// Statements that work part by part, and reductions.
#include "codegen/llvm/casts.h"
#include "codegen/llvm/kernel_emitter.h"
#include "codegen/llvm/scalar_ops.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

namespace lathe::llvm_target {

using kernel::BufferKind;
using kernel::kNoReg;
using kernel::KOp;
using kernel::Stmt;
using kernel::StmtKind;
using llvm::Value;

Value* KernelEmitter::Arg(const Stmt& s, int operand, int part) const {
  return values_[s.args[operand]][part];
}

void KernelEmitter::Prepare(const Stmt& s) {
  if (s.kind == StmtKind::kLet) {
    values_[s.out].assign(types_.NumParts(s.type.lanes), nullptr);
    dtypes_[s.out] = s.type.dtype;
  }
  if (s.kind == StmtKind::kVar && vars_[s.imm].empty()) {
    llvm::BasicBlock& entry = f_->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    for (int p = 0; p < types_.NumParts(s.type.lanes); ++p) {
      vars_[s.imm].push_back(
          at_entry.CreateAlloca(types_.Register(s.type.dtype, types_.PartLanes(s.type.lanes, p))));
    }
  }
  if (s.kind == StmtKind::kLet && s.op == KOp::kMask) {
    Value* count = dims_.Emit(s.index);
    count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b_.getInt64(0));
    mask_counts_[s.out] =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, b_.getInt64(s.type.lanes));
  }
  const bool loads = s.kind == StmtKind::kLet && s.op == KOp::kLoad;
  if (loads || s.kind == StmtKind::kStore) {
    Shared& shared = shared_[&s];
    shared.address =
        dims_.Address(buffers_[s.buffer], types_.Memory(k_.buffers[s.buffer].dtype), s.index);
    shared.stride = s.stride.is_constant() ? nullptr : dims_.Emit(s.stride);
  }
}

PartAccess KernelEmitter::Access(const Stmt& s, int part) {
  const kernel::BufferDecl& buffer = k_.buffers[s.buffer];
  PartAccess a;
  a.dtype = buffer.dtype;
  a.lanes = types_.PartLanes(s.type.lanes, part);
  a.invariant = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kTable;
  a.fill_bits = s.imm;
  const int first_lane = part * types_.chunk_lanes();
  if (s.mask != kNoReg) {
    a.mask = values_[s.mask][part];
    if (auto it = mask_counts_.find(s.mask); it != mask_counts_.end() && a.lanes > 1) {
      a.mask_is_full = b_.CreateICmpSGE(it->second, b_.getInt64(first_lane + a.lanes));
    }
  }
  if (s.kind == StmtKind::kLet && s.op == KOp::kGather) {
    a.address = buffers_[s.buffer];
    a.indices = Arg(s, 0, part);
    return a;
  }
  const Shared& shared = shared_.at(&s);
  a.stride = shared.stride;
  if (s.stride.is_constant()) a.constant_stride = s.stride.constant();
  Value* stride = a.constant_stride ? b_.getInt64(*a.constant_stride) : a.stride;
  a.address = shared.address;
  if (part > 0) {
    a.address = b_.CreateGEP(types_.Memory(a.dtype), shared.address,
                             b_.CreateMul(b_.getInt64(first_lane), stride));
  }
  return a;
}

void KernelEmitter::EmitPart(const Stmt& s, int part) {
  switch (s.kind) {
    case StmtKind::kLet:
      values_[s.out][part] = LetPart(s, part);
      break;
    case StmtKind::kStore:
      memory_.Store(Access(s, part), Arg(s, 0, part));
      break;
    default:
      b_.CreateStore(Arg(s, 0, part), vars_[s.imm][part]);
      break;
  }
}

Value* KernelEmitter::MaskPart(const Stmt& s, int part) {
  const int lanes = types_.PartLanes(s.type.lanes, part);
  Value* count = b_.CreateTrunc(mask_counts_.at(s.out), b_.getInt32Ty());
  if (lanes == 1) return b_.CreateICmpSLT(b_.getInt32(part * types_.chunk_lanes()), count);
  return b_.CreateICmpSLT(Lanes(DType::kI32, s.type.lanes, part),
                          b_.CreateVectorSplat(static_cast<unsigned>(lanes), count));
}

llvm::Constant* KernelEmitter::Lanes(DType dtype, int lanes, int part) const {
  std::vector<llvm::Constant*> numbers;
  for (int l = 0; l < types_.PartLanes(lanes, part); ++l) {
    numbers.push_back(
        types_.Constant(dtype, static_cast<uint64_t>(part * types_.chunk_lanes() + l), 1));
  }
  return numbers.size() == 1 ? numbers[0] : llvm::ConstantVector::get(numbers);
}

Value* KernelEmitter::SplatPart(const Stmt& s, int part) {
  const int lanes = types_.PartLanes(s.type.lanes, part);
  Value* first = values_[s.out][0];
  if (part > 0 && first != nullptr && lanes == types_.PartLanes(s.type.lanes, 0)) return first;
  Value* scalar = Scalar(s.args[0]);
  return lanes == 1 ? scalar : b_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

Value* KernelEmitter::LetPart(const Stmt& s, int part) {
  const DType dtype = s.type.dtype;
  const int lanes = types_.PartLanes(s.type.lanes, part);
  switch (s.op) {
    case KOp::kConst:
      return types_.Constant(dtype, s.imm, lanes);
    case KOp::kIndex:
      return b_.CreateSExtOrTrunc(dims_.Emit(s.index), types_.Element(dtype));
    case KOp::kLane:
      return Lanes(dtype, s.type.lanes, part);
    case KOp::kMask:
      return MaskPart(s, part);
    case KOp::kCast:
      return CastEmitter(b_, target_.has_f16c).Cast(dtypes_[s.args[0]], dtype, Arg(s, 0, part));
    case KOp::kBitcast:
      return b_.CreateBitCast(Arg(s, 0, part), types_.Register(dtype, lanes));
    case KOp::kSplat:
      return SplatPart(s, part);
    case KOp::kSelect:
      return b_.CreateSelect(Arg(s, 0, part), Arg(s, 1, part), Arg(s, 2, part));
    case KOp::kFma:
      return EmitFma(b_, Arg(s, 0, part), Arg(s, 1, part), Arg(s, 2, part));
    case KOp::kDot4:
      return EmitDot4(b_, target_, Arg(s, 0, part), Arg(s, 1, part), Arg(s, 2, part));
    case KOp::kLoad:
      if (kernel::LoadsWord(s, k_.buffers[s.buffer].dtype))
        return b_.CreateAlignedLoad(b_.getInt32Ty(), shared_.at(&s).address, llvm::Align(1));
      [[fallthrough]];
    case KOp::kGather:
      return memory_.Load(Access(s, part));
    case KOp::kGetVar:
      return b_.CreateLoad(types_.Register(dtype, lanes), vars_[s.imm][part]);
    default:
      break;
  }
  const DType operand = dtypes_[s.args[0]];
  if (s.args[1] == kNoReg) return EmitUnary(b_, s.op, operand, Arg(s, 0, part));
  return EmitBinary(b_, s.op, operand, Arg(s, 0, part), Arg(s, 1, part));
}

void KernelEmitter::EmitReduction(const Stmt& s) {
  const Parts& parts = values_[s.args[0]];
  dtypes_[s.out] = s.type.dtype;
  Value* result =
      s.op == KOp::kAny ? EmitAny(b_, parts) : EmitReduce(b_, s.op, s.type.dtype, parts);
  values_[s.out].assign(1, result);
}

}  // namespace lathe::llvm_target
