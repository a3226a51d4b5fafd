#include "codegen/kernel/kernel.h"

namespace lathe::kernel {

const char* Name(KOp op) {
  switch (op) {
    case KOp::kConst:
      return "const";
    case KOp::kIndex:
      return "index";
    case KOp::kLane:
      return "lane";
    case KOp::kMask:
      return "mask";
    case KOp::kNeg:
      return "neg";
    case KOp::kAbs:
      return "abs";
    case KOp::kSqrt:
      return "sqrt";
    case KOp::kFloor:
      return "floor";
    case KOp::kRound:
      return "round";
    case KOp::kNot:
      return "not";
    case KOp::kCast:
      return "cast";
    case KOp::kBitcast:
      return "bitcast";
    case KOp::kSplat:
      return "splat";
    case KOp::kReduceAdd:
      return "reduce_add";
    case KOp::kReduceMul:
      return "reduce_mul";
    case KOp::kReduceMin:
      return "reduce_min";
    case KOp::kReduceMax:
      return "reduce_max";
    case KOp::kAny:
      return "any";
    case KOp::kAdd:
      return "add";
    case KOp::kSub:
      return "sub";
    case KOp::kMul:
      return "mul";
    case KOp::kDiv:
      return "div";
    case KOp::kRem:
      return "rem";
    case KOp::kFloorDiv:
      return "floordiv";
    case KOp::kMod:
      return "mod";
    case KOp::kMin:
      return "min";
    case KOp::kMax:
      return "max";
    case KOp::kAnd:
      return "and";
    case KOp::kOr:
      return "or";
    case KOp::kXor:
      return "xor";
    case KOp::kShl:
      return "shl";
    case KOp::kShr:
      return "shr";
    case KOp::kSar:
      return "sar";
    case KOp::kEq:
      return "eq";
    case KOp::kNe:
      return "ne";
    case KOp::kLt:
      return "lt";
    case KOp::kLe:
      return "le";
    case KOp::kGt:
      return "gt";
    case KOp::kGe:
      return "ge";
    case KOp::kSelect:
      return "select";
    case KOp::kFma:
      return "fma";
    case KOp::kDot4:
      return "dot4";
    case KOp::kLoad:
      return "load";
    case KOp::kGather:
      return "gather";
    case KOp::kGetVar:
      return "get";
  }
  return "?";
}

const char* Name(BufferKind kind) {
  switch (kind) {
    case BufferKind::kInput:
      return "input";
    case BufferKind::kOutput:
      return "output";
    case BufferKind::kInOut:
      return "inout";
    case BufferKind::kWorkerScratch:
      return "scratch";
    case BufferKind::kTable:
      return "table";
  }
  return "?";
}

bool LoadsWord(const Stmt& s, DType buffer) {
  return s.kind == StmtKind::kLet && s.op == KOp::kLoad && s.mask == kNoReg &&
         s.type == KType{DType::kI32, 1} && (buffer == DType::kU8 || buffer == DType::kI8);
}

int Kernel::num_passed_buffers() const {
  int count = 0;
  for (const BufferDecl& b : buffers) count += b.kind != BufferKind::kTable;
  return count;
}

}  // namespace lathe::kernel
