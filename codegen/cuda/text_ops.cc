// Registers: each op is a function of prelude_ops.h named after it.
#include "codegen/cuda/text_emitter.h"

namespace lathe::cuda {

using kernel::kNoReg;
using kernel::KOp;
using kernel::KType;
using kernel::Reg;
using kernel::Stmt;

std::string TextEmitter::Constant(KType type, uint64_t bits) const {
  const DType t = type.dtype;
  if (t == DType::kBool) return bits != 0 ? "true" : "false";
  const std::string hex = absl::StrCat("0x", absl::Hex(bits), SizeOf(t) == 8 ? "ull" : "u");
  return IsInt(t) ? absl::StrCat("(", RegisterType(t), ")", hex)
                  : absl::StrCat("lathe_of_bits_", lathe::Name(t), "(", hex, ")");
}

std::string TextEmitter::Call(const std::string& function, const Stmt& s) const {
  std::string text = absl::StrCat("lathe_", function, "(");
  for (size_t i = 0; i < s.args.size() && s.args[i] != kNoReg; ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", reg(s.args[i]));
  }
  return text + ")";
}

std::string TextEmitter::Expression(const Stmt& s) {
  const std::string type = RegisterType(s.type.dtype);
  const bool vector = s.type.lanes > 1;
  switch (s.op) {
    case KOp::kConst:
      return Constant(s.type, s.imm);
    case KOp::kIndex:
      return absl::StrCat("(", type, ")", Text(s.index));
    case KOp::kLane:
      return absl::StrCat("(", type, ")", vector ? "lane" : "0");
    case KOp::kMask:
      return absl::StrCat(vector ? "lane" : "0", " < ", Text(s.index));
    case KOp::kCast:
    case KOp::kBitcast:
      return Call(absl::StrCat(kernel::Name(s.op), "_", lathe::Name(s.type.dtype)), s);
    case KOp::kSplat:
      return reg(s.args[0]);
    case KOp::kReduceAdd:
    case KOp::kReduceMul:
    case KOp::kReduceMin:
    case KOp::kReduceMax:
    case KOp::kAny:
      if (types_[s.args[0]].lanes == 1) return reg(s.args[0]);
      return Call(kernel::Name(s.op), s);
    case KOp::kLoad:
    case KOp::kGather:
      return Load(s);
    case KOp::kGetVar:
      return vars_[s.imm];
    default:
      return Call(kernel::Name(s.op), s);
  }
}

void TextEmitter::Let(const Stmt& s) {
  const std::string value = Expression(s);
  regs_[s.out] = Fresh('r');
  types_[s.out] = s.type;
  Line("const ", RegisterType(s.type.dtype), " ", reg(s.out), " = ", value, ";");
}

}  // namespace lathe::cuda
