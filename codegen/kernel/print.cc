// Text form of Kernel IR. One statement a line; Dims and claims stand in brackets, so that a reader
// finds their end without parsing them. docs/kernel_ir.md has the grammar.
#include <xxhash.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "codegen/kernel/print_internal.h"

namespace lathe::kernel {
namespace {

std::string TypeText(KType t) {
  return t.lanes == 1 ? lathe::Name(t.dtype) : absl::StrCat(lathe::Name(t.dtype), "x", t.lanes);
}

std::string HexBits(uint64_t bits) { return absl::StrCat("0x", absl::Hex(bits)); }

// Calls fn on every statement, outer before inner, in the order of the text.
template <typename Fn>
void Walk(const std::vector<Stmt>& block, const Fn& fn) {
  for (const Stmt& s : block) {
    fn(s);
    Walk(s.body, fn);
    Walk(s.other, fn);
  }
}

}  // namespace

Printer::Printer(const Kernel& k) : kernel_(k) { NameSymbols(); }

// Sizes are s0, s1, ..; the task is t; loop variables i0, ..; bound data d0, .. The new context's
// symbols are made in this order, hence terms print in it.
void Printer::NameSymbols() {
  int sizes = 0, loops = 0, bound = 0, regs = 0, vars = 0;
  auto name = [&](dim::SymbolId id, const std::string& text) {
    canonical_.emplace(id, names_.Symbol(text));
  };
  for (Dim d : kernel_.sizes) {
    dim::SymbolId id = 0;
    if (dim::IsSymbol(d, &id)) name(id, absl::StrCat("s", sizes++));
  }
  name(kernel_.task, "t");
  Walk(kernel_.body, [&](const Stmt& s) {
    if (s.kind == StmtKind::kFor) name(s.symbol, absl::StrCat("i", loops++));
    if (s.kind == StmtKind::kBind) name(s.symbol, absl::StrCat("d", bound++));
    if (s.kind == StmtKind::kVar) {
      var_names_.resize(std::max(var_names_.size(), static_cast<size_t>(s.imm) + 1), -1);
      var_names_[s.imm] = vars++;
    }
    if (s.kind == StmtKind::kLet && s.out >= 0) {
      reg_names_.resize(std::max(reg_names_.size(), static_cast<size_t>(s.out) + 1), -1);
      reg_names_[s.out] = regs++;
    }
  });
}

const std::string& Printer::Text(Dim d) {
  auto [it, is_new] = texts_.try_emplace(d);
  if (is_new) it->second = dim::Substitute(d, canonical_, &names_).ToString();
  return it->second;
}

std::string Printer::Text(const Claim& c) {
  return dim::Substitute(c, canonical_, &names_).ToString();
}

std::string Printer::RegName(Reg r) {
  const bool known = r >= 0 && static_cast<size_t>(r) < reg_names_.size() && reg_names_[r] >= 0;
  return known ? absl::StrCat("%", reg_names_[r]) : "%?";
}

std::string Printer::VarName(uint64_t v) {
  const bool known = v < var_names_.size() && var_names_[v] >= 0;
  return known ? absl::StrCat("v", var_names_[v]) : "v?";
}

std::string Printer::SymbolName(dim::SymbolId id) {
  auto it = canonical_.find(id);
  return it == canonical_.end() ? "?" : it->second.ToString();
}

void Printer::Mask(const Stmt& s, bool with_fill) {
  if (s.mask == kNoReg) return;
  absl::StrAppend(&out_, " mask ", RegName(s.mask));
  if (with_fill) absl::StrAppend(&out_, " else ", HexBits(s.imm));
}

void Printer::Address(const Stmt& s) {
  absl::StrAppend(&out_, " b", s.buffer, "[", Text(s.index), "]");
  if (s.stride != Dim(1)) absl::StrAppend(&out_, " stride [", Text(s.stride), "]");
}

void Printer::Let(const Stmt& s) {
  absl::StrAppend(&out_, RegName(s.out), " = ", kernel::Name(s.op), " ", TypeText(s.type));
  switch (s.op) {
    case KOp::kConst:
      absl::StrAppend(&out_, " ", HexBits(s.imm));
      break;
    case KOp::kIndex:
    case KOp::kMask:
      absl::StrAppend(&out_, " [", Text(s.index), "]");
      break;
    case KOp::kLane:
      break;
    case KOp::kLoad:
      Address(s);
      Mask(s, true);
      break;
    case KOp::kGather:
      absl::StrAppend(&out_, " b", s.buffer, " at ", RegName(s.args[0]));
      Mask(s, true);
      break;
    case KOp::kGetVar:
      absl::StrAppend(&out_, " ", VarName(s.imm));
      break;
    default:
      for (int i = 0; i < 3 && s.args[i] != kNoReg; ++i) {
        absl::StrAppend(&out_, i == 0 ? " " : ", ", RegName(s.args[i]));
      }
  }
}

void Printer::Call(const Stmt& s) {
  absl::StrAppend(&out_, "call ", s.imm, " (");
  const char* separator = "";
  if (s.call == nullptr) return;
  for (const CallArgs::BufferArg& a : s.call->buffers) {
    absl::StrAppend(&out_, separator, "b", a.buffer, "[", Text(a.offset), "]");
    separator = ", ";
  }
  for (Dim d : s.call->sizes) {
    absl::StrAppend(&out_, separator, "[", Text(d), "]");
    separator = ", ";
  }
  out_ += ")";
}

void Printer::Line(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::kLet:
      Let(s);
      break;
    case StmtKind::kVar:
      absl::StrAppend(&out_, "var ", VarName(s.imm), " = ", RegName(s.args[0]));
      break;
    case StmtKind::kSetVar:
      absl::StrAppend(&out_, "set ", VarName(s.imm), " = ", RegName(s.args[0]));
      break;
    case StmtKind::kStore:
      out_ += "store";
      Address(s);
      absl::StrAppend(&out_, " = ", RegName(s.args[0]));
      Mask(s, false);
      break;
    case StmtKind::kFor:
      absl::StrAppend(&out_, "for ", SymbolName(s.symbol), " in [", Text(s.begin), "] to [",
                      Text(s.end), "] step ", s.step);
      if (s.loop == LoopKind::kUnrolled) out_ += " unrolled";
      break;
    case StmtKind::kIf:
      absl::StrAppend(&out_, "if ", RegName(s.args[0]));
      break;
    case StmtKind::kIfDim:
      absl::StrAppend(&out_, "if [", Text(s.claim), "]");
      break;
    case StmtKind::kBind:
      absl::StrAppend(&out_, "bind ", SymbolName(s.symbol), " = ", RegName(s.args[0]));
      break;
    case StmtKind::kCall:
      Call(s);
      break;
    case StmtKind::kFail:
      absl::StrAppend(&out_, "fail ", s.imm, " ", RegName(s.args[0]), " at [", Text(s.index),
                      "] bound [", Text(s.stride), "]");
      break;
    case StmtKind::kBarrier:
      out_ += "barrier";
      break;
  }
}

void Printer::Block(const std::vector<Stmt>& block, int depth) {
  for (const Stmt& s : block) {
    out_.append(2 * depth, ' ');
    Line(s);
    const bool nests =
        s.kind == StmtKind::kFor || s.kind == StmtKind::kIf || s.kind == StmtKind::kIfDim;
    if (nests) {
      out_ += " {\n";
      Block(s.body, depth + 1);
      out_.append(2 * depth, ' ');
      if (!s.other.empty()) {
        out_ += "} else {\n";
        Block(s.other, depth + 1);
        out_.append(2 * depth, ' ');
      }
      out_ += "}";
    }
    out_ += "\n";
  }
}

void Printer::Buffer(const BufferDecl& d, int number) {
  absl::StrAppend(&out_, "  buffer b", number, " ", lathe::Name(d.dtype), " ", kernel::Name(d.kind),
                  " [", Text(d.elements), "]");
  if (d.alignment != 0) absl::StrAppend(&out_, " align ", d.alignment);
  if (d.kind == BufferKind::kTable) {
    out_ += " =";
    for (uint64_t bits : d.table) absl::StrAppend(&out_, " ", HexBits(bits));
  }
  out_ += "\n";
}

std::string Printer::PrintHeader() {
  out_ = kernel_.is_micro ? "micro" : "kernel";
  for (size_t i = 0; i < kernel_.sizes.size(); ++i) absl::StrAppend(&out_, " s", i);
  out_ += " {\n";
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    Buffer(kernel_.buffers[i], static_cast<int>(i));
  }
  for (const Claim& c : kernel_.assumptions) absl::StrAppend(&out_, "  assume [", Text(c), "]\n");
  absl::StrAppend(&out_, "  tasks [", Text(kernel_.tasks), "]\n");
  for (const std::string& text : kernel_.failures) {
    absl::StrAppend(&out_, "  failure \"",
                    absl::CEscape(absl::string_view(text.data(), text.size())), "\"\n");
  }
  return std::move(out_);
}

std::string Printer::PrintBody() {
  out_ = "  body\n";
  Block(kernel_.body, 1);
  out_ += "}\n";
  return std::move(out_);
}

std::string Printer::PrintStatement(const Stmt& s) {
  out_.clear();
  Line(s);
  return std::move(out_);
}

std::string Printer::PrintKernel() {
  std::string text = PrintHeader();
  for (const std::shared_ptr<const Kernel>& callee : kernel_.callees) {
    absl::StrAppend(&text, "  callee ", Print(*callee));
  }
  return text + PrintBody();
}

std::string Print(const Kernel& k) { return Printer(k).PrintKernel(); }

std::string Fingerprint(const Kernel& k) {
  const std::string text = Print(k);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return absl::StrCat(absl::Hex(hash.high64, absl::kZeroPad16),
                      absl::Hex(hash.low64, absl::kZeroPad16));
}

}  // namespace lathe::kernel
