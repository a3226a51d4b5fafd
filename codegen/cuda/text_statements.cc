// Memory and control flow. Branches and loops are uniform over a warp.
#include "codegen/cuda/text_emitter.h"

namespace lathe::cuda {

using kernel::BufferDecl;
using kernel::BufferKind;
using kernel::kNoReg;
using kernel::KOp;
using kernel::Stmt;
using kernel::StmtKind;

void TextEmitter::Open(const std::string& head) {
  Line(head, " {");
  ++depth_;
  opened_dims_.emplace_back();
}

void TextEmitter::Close() {
  for (Dim d : opened_dims_.back()) dims_.erase(d);
  opened_dims_.pop_back();
  --depth_;
  Line("}");
}

std::string TextEmitter::Element(const Stmt& s) {
  const std::string& buffer = buffers_[s.buffer];
  if (s.kind == StmtKind::kLet && s.op == KOp::kGather) {
    return absl::StrCat(buffer, "[", reg(s.args[0]), "]");
  }
  if (s.type.lanes == 1 || s.stride == Dim(0)) return absl::StrCat(buffer, "[", Text(s.index), "]");
  const bool is_narrow = IsNarrow(s.index, s.stride);
  const std::string index = Value(s.index, is_narrow);
  if (s.stride == Dim(1)) return absl::StrCat(buffer, "[", index, " + lane]");
  return absl::StrCat(buffer, "[", index, " + lane * ", Value(s.stride, is_narrow), "]");
}

std::string TextEmitter::FromMemory(const BufferDecl& b, const std::string& element) const {
  if (b.dtype == DType::kBool) return absl::StrCat(element, " != 0");
  if (b.kind != BufferKind::kTable) return element;
  if (IsInt(b.dtype)) return absl::StrCat("(", RegisterType(b.dtype), ")", element);
  return absl::StrCat("lathe_of_bits_", lathe::Name(b.dtype), "(", element, ")");
}

std::string TextEmitter::Load(const Stmt& s) {
  if (kernel::LoadsWord(s, kernel_.buffers[s.buffer].dtype))
    return absl::StrCat("lathe_word(&", Element(s), ")");
  const std::string value = FromMemory(kernel_.buffers[s.buffer], Element(s));
  if (s.mask == kNoReg) return value;
  return absl::StrCat(reg(s.mask), " ? ", value, " : ", Constant(s.type, s.imm));
}

void TextEmitter::Store(const Stmt& s) {
  const std::string element = Element(s);
  std::string condition = s.mask == kNoReg ? "" : reg(s.mask);
  if (s.type.lanes == 1) {
    // All lanes hold the value; one stores it.
    condition = absl::StrCat("lane == 0", condition.empty() ? "" : " && ", condition);
  } else if (s.stride == Dim(0)) {
    // The last lane that stores wins, as if lanes went one after the other.
    Line("LATHE_UNROLL");
    Line("for (int turn = 0; turn < 32; ++turn) {");
    Line("  if (lane == turn", condition.empty() ? "" : " && ", condition, ") ", element, " = ",
         reg(s.args[0]), ";");
    Line("  __syncwarp();");
    Line("}");
    return;
  }
  if (!condition.empty()) condition = absl::StrCat("if (", condition, ") ");
  Line(condition, element, " = ", reg(s.args[0]), ";");
}

void TextEmitter::Fail(const Stmt& s) {
  const std::string position = Text(s.index), bound = Text(s.stride);
  Line("if (lane == 0) lathe_fail(error, ", s.imm, ", ", position, ", ", reg(s.args[0]), ", ",
       bound, ");");
  Line("return;");
}

void TextEmitter::Branch(const std::string& condition, const Stmt& s) {
  const Hazards::State before = hazards_.state();
  Open(absl::StrCat("if (", condition, ")"));
  Block(s.body);
  Close();
  const Hazards::State after = hazards_.state();
  hazards_.Reset(before);
  if (!s.other.empty()) {
    Open("else");
    Block(s.other);
    Close();
  }
  hazards_.Merge(after);
}

void TextEmitter::For(const Stmt& s) {
  const Hazards::State before = hazards_.state();
  const kernel::IndexFacts outside = facts_;
  const bool is_narrow = IsNarrow(s);
  const std::string begin = Value(s.begin, is_narrow), end = Value(s.end, is_narrow);
  const std::string i = Fresh('i');
  if (s.loop == kernel::LoopKind::kUnrolled) Line("LATHE_UNROLL");
  Open(absl::StrCat("for (", is_narrow ? "lathe_i32 " : "lathe_i64 ", i, " = ", begin, "; ", i,
                    " < ", end, "; ", i, " += ", s.step, ")"));
  Bind(s.symbol, {i, is_narrow});
  facts_.AddLoop(kernel_.dims->SymbolDim(s.symbol), s.begin, s.end);
  if (hazards_.IterationsNeedBarrier(s)) {
    Line("__syncwarp();");
    hazards_.Barrier();
  }
  Block(s.body);
  Close();
  hazards_.Merge(before);
  facts_ = outside;
}

void TextEmitter::Block(const std::vector<Stmt>& block) {
  for (const Stmt& s : block) {
    if (hazards_.NeedsBarrier(s)) Line("__syncwarp();");
    Statement(s);
  }
}

void TextEmitter::Statement(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::kLet:
      return Let(s);
    case StmtKind::kVar:
      vars_[s.imm] = Fresh('v');
      return Line(RegisterType(s.type.dtype), " ", vars_[s.imm], " = ", reg(s.args[0]), ";");
    case StmtKind::kSetVar:
      return Line(vars_[s.imm], " = ", reg(s.args[0]), ";");
    case StmtKind::kStore:
      return Store(s);
    case StmtKind::kFor:
      return For(s);
    case StmtKind::kIf:
      return Branch(reg(s.args[0]), s);
    case StmtKind::kIfDim:
      return Branch(Condition(s.claim), s);
    case StmtKind::kBind:
      return Bind(s.symbol, {reg(s.args[0])});
    case StmtKind::kFail:
      return Fail(s);
    case StmtKind::kBarrier:
      Line("__syncwarp();");
      return hazards_.Barrier();
    case StmtKind::kCall:
      return;  // refused before
  }
}

}  // namespace lathe::cuda
