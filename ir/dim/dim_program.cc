#include "ir/dim/dim_program.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ir/dim/node.h"

namespace lathe::dim {
namespace {

const char* Symbol(DimOp op) {
  static constexpr const char* kNames[] = {"const", "+",   "-",  "*",  "//", "%", "ceildiv",
                                           "min",   "max", "==", "!=", "<",  "<="};
  return kNames[static_cast<size_t>(op)];
}

bool IsDivision(DimOp op) {
  return op == DimOp::kFloorDiv || op == DimOp::kMod || op == DimOp::kCeilDiv;
}

DimOp OpOf(ExprKind kind) {
  switch (kind) {
    case ExprKind::kFloorDiv:
      return DimOp::kFloorDiv;
    case ExprKind::kMod:
      return DimOp::kMod;
    case ExprKind::kCeilDiv:
      return DimOp::kCeilDiv;
    case ExprKind::kMin:
      return DimOp::kMin;
    default:
      return DimOp::kMax;
  }
}

// What a slot holds, in words. Sharing makes some trees huge; those get no text of their own.
std::string NameOf(Dim d) {
  if (d.is_constant() || d.node()->tree_size <= 200) return d.ToString();
  return absl::StrCat("a size of ", d.node()->tree_size, " parts");
}

}  // namespace

int DimProgram::Run(int64_t* slots) const {
  const DimInstr* code = code_.data();
  const int count = static_cast<int>(code_.size());
  for (int i = 0; i < count; ++i) {
    const DimInstr& in = code[i];
    int64_t* out = slots + in.out;
    bool bad = false;
    switch (in.op) {
      case DimOp::kConst:
        *out = in.imm;
        break;
      case DimOp::kAdd:
        bad = __builtin_add_overflow(slots[in.a], slots[in.b], out);
        break;
      case DimOp::kSub:
        bad = __builtin_sub_overflow(slots[in.a], slots[in.b], out);
        break;
      case DimOp::kMul:
        bad = __builtin_mul_overflow(slots[in.a], slots[in.b], out);
        break;
      case DimOp::kFloorDiv:
        bad = !FloorDivConst(slots[in.a], slots[in.b], out);
        break;
      case DimOp::kMod:
        bad = !ModConst(slots[in.a], slots[in.b], out);
        break;
      case DimOp::kCeilDiv:
        bad = !CeilDivConst(slots[in.a], slots[in.b], out);
        break;
      case DimOp::kMin:
        *out = std::min(slots[in.a], slots[in.b]);
        break;
      case DimOp::kMax:
        *out = std::max(slots[in.a], slots[in.b]);
        break;
      case DimOp::kEq:
        *out = slots[in.a] == slots[in.b];
        break;
      case DimOp::kNe:
        *out = slots[in.a] != slots[in.b];
        break;
      case DimOp::kLt:
        *out = slots[in.a] < slots[in.b];
        break;
      case DimOp::kLe:
        *out = slots[in.a] <= slots[in.b];
        break;
    }
    if (bad) return i;
  }
  return -1;
}

absl::Status DimProgram::Explain(int instruction, const int64_t* slots) const {
  if (instruction < 0 || instruction >= static_cast<int>(code_.size())) return absl::OkStatus();
  const DimInstr& in = code_[static_cast<size_t>(instruction)];
  // The inputs that the failed step depends on.
  std::vector<bool> needed(names_.size());
  needed[static_cast<size_t>(in.a)] = needed[static_cast<size_t>(in.b)] = true;
  for (int i = instruction; i-- > 0;) {
    const DimInstr& step = code_[static_cast<size_t>(i)];
    if (!needed[static_cast<size_t>(step.out)] || step.op == DimOp::kConst) continue;
    needed[static_cast<size_t>(step.a)] = needed[static_cast<size_t>(step.b)] = true;
  }
  std::string values;
  for (int i = 0; i < num_inputs_; ++i) {
    if (!needed[static_cast<size_t>(i)]) continue;
    absl::StrAppend(&values, values.empty() ? ", where " : ", ", names_[static_cast<size_t>(i)],
                    " = ", slots[i]);
  }
  const std::string& name = names_[static_cast<size_t>(in.out)];
  if (IsDivision(in.op) && slots[in.b] == 0) {
    return absl::OutOfRangeError(absl::StrCat(
        name, " divides by ", names_[static_cast<size_t>(in.b)], ", which is 0", values));
  }
  return absl::OutOfRangeError(absl::StrCat(name, " = ", slots[in.a], " ", Symbol(in.op), " ",
                                            slots[in.b], " overflows int64", values));
}

std::string DimProgram::ToString() const {
  std::string text;
  for (int i = 0; i < num_inputs_; ++i) {
    absl::StrAppend(&text, "s", i, " = input ", names_[static_cast<size_t>(i)], "\n");
  }
  for (const DimInstr& in : code_) {
    if (in.op == DimOp::kConst) {
      absl::StrAppend(&text, "s", in.out, " = ", in.imm, "\n");
      continue;
    }
    absl::StrAppend(&text, "s", in.out, " = s", in.a, " ", Symbol(in.op), " s", in.b, "    # ",
                    names_[static_cast<size_t>(in.out)], "\n");
  }
  return text;
}

int DimProgramBuilder::Emit(DimOp op, int a, int b, int64_t imm, const std::string& name) {
  auto [it, fresh] = emitted_.try_emplace({op, a, b, imm}, program_.num_slots_);
  if (!fresh) return it->second;
  program_.code_.push_back({op, program_.num_slots_, a, b, imm});
  program_.names_.push_back(name);
  return program_.num_slots_++;
}

int DimProgramBuilder::Input(Dim symbol) {
  auto [it, fresh] = memo_.try_emplace(symbol, program_.num_slots_);
  if (!fresh) return it->second;
  program_.names_.push_back(symbol.ToString());
  ++program_.num_inputs_;
  return program_.num_slots_++;
}

int DimProgramBuilder::SumSlot(Dim d) {
  Poly p = PolyOf(d);
  int sum = -1;
  Dim so_far = 0;
  // A positive term first, so that no negation is needed.
  size_t start = 0;
  while (start < p.terms.size() && p.terms[start].coef < 0) ++start;
  if (start == p.terms.size()) start = 0;
  for (size_t i = 0; i < p.terms.size(); ++i) {
    const Term& t = p.terms[i == 0 ? start : i <= start ? i - 1 : i];
    int slot = Slot(Dim(t.mono));
    if (slot < 0) return -1;
    bool negate = t.coef == -1 && sum >= 0;
    Dim scaled = Dim(t.coef) * Dim(t.mono);
    if (t.coef != 1 && !negate) {
      int coef = Emit(DimOp::kConst, -1, -1, t.coef, absl::StrCat(t.coef));
      slot = Emit(DimOp::kMul, coef, slot, 0, NameOf(scaled));
    }
    so_far += scaled;
    sum = sum < 0 ? slot : Emit(negate ? DimOp::kSub : DimOp::kAdd, sum, slot, 0, NameOf(so_far));
  }
  if (p.constant == 0) return sum;
  int constant = Emit(DimOp::kConst, -1, -1, p.constant, absl::StrCat(p.constant));
  return Emit(DimOp::kAdd, sum, constant, 0, NameOf(d));
}

int DimProgramBuilder::Slot(Dim d) {
  if (auto it = memo_.find(d); it != memo_.end()) return it->second;
  if (!d.ok()) return -1;
  Expr e = Decompose(d);
  int slot = -1;
  switch (e.kind) {
    case ExprKind::kConstant:
      slot = Emit(DimOp::kConst, -1, -1, e.value, NameOf(d));
      break;
    case ExprKind::kSymbol:
      return -1;
    case ExprKind::kAdd:
      slot = SumSlot(d);
      break;
    case ExprKind::kMul: {
      Dim so_far = 1;
      for (Dim factor : e.operands) {
        int next = Slot(factor);
        if (next < 0) return -1;
        bool first = slot < 0;
        so_far *= factor;
        slot = first ? next : Emit(DimOp::kMul, slot, next, 0, NameOf(so_far));
      }
      break;
    }
    default: {
      int a = Slot(e.operands[0]), b = Slot(e.operands[1]);
      if (a < 0 || b < 0) return -1;
      slot = Emit(OpOf(e.kind), a, b, 0, NameOf(d));
    }
  }
  if (slot >= 0) memo_[d] = slot;
  return slot;
}

int DimProgramBuilder::Slot(const Claim& c) {
  int lhs = Slot(c.lhs);
  if (lhs < 0) return -1;
  std::string name = c.ToString();
  if (c.relation == Relation::kIn) {
    int any = -1;
    for (int64_t value : c.set) {
      int equal = Emit(DimOp::kEq, lhs, Slot(Dim(value)), 0, Eq(c.lhs, Dim(value)).ToString());
      any = any < 0 ? equal : Emit(DimOp::kMax, any, equal, 0, name);
    }
    return any < 0 ? Slot(Dim(0)) : any;
  }
  int rhs = Slot(c.rhs);
  if (rhs < 0) return -1;
  DimOp op = c.relation == Relation::kEq   ? DimOp::kEq
             : c.relation == Relation::kNe ? DimOp::kNe
             : c.relation == Relation::kLt ? DimOp::kLt
                                           : DimOp::kLe;
  return Emit(op, lhs, rhs, 0, name);
}

DimProgram DimProgramBuilder::Build() { return program_; }

}  // namespace lathe::dim
