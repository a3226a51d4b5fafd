// The verifier of Kernel IR. Its invariants:
//   1. A register is defined once, and used only after its definition, in the same block or in one
//      nested in it; num_regs and num_vars bound all numbers.
//   2. Types have 1..64 lanes; operands have the number and types that the op takes; reductions are
//      over a power of two of lanes.
//   3. Masks are bool with the lanes of the access.
//   4. A variable is declared once, before its uses, in an enclosing block; what is set has its
//   type.
//   5. Buffers: an access has the buffer's type, or is an unmasked load of four bytes as an i32;
//      stores go to outputs, in-out and scratch buffers only; an alignment is 0 or a power of two.
//   6. Tables come last, hold as many elements as they declare, each within its type's bits.
//   7. Symbols: sizes and the task are distinct symbols; a loop variable or bound symbol is
//   introduced
//      once and is none of these. Every Dim is of the kernel's context, without overflow, over
//      symbols in scope; extents, tasks and assumptions are over sizes alone. Steps are >= 1.
//   8. Calls: the callee is a micro-kernel that verifies, and gets as many buffers, of the same
//   types,
//      and sizes as it declares; what it may write, the caller may write.
//   9. A fail statement names a text and has an i64 scalar.
//  10. A micro-kernel has one task, whose number it doesn't use, no failures and no scratch.
//  11. Constants and fill values fit the bits of their type; without a mask the fill is 0.
#include <bit>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/kernel/print_internal.h"

namespace lathe::kernel {
namespace {

bool FitsBits(DType t, uint64_t bits) {
  if (t == DType::kBool) return bits <= 1;
  return SizeOf(t) == 8 || bits >> (8 * SizeOf(t)) == 0;
}

bool IsWritable(BufferKind k) {
  return k == BufferKind::kOutput || k == BufferKind::kInOut || k == BufferKind::kWorkerScratch;
}

// How many register operands an op takes.
int Arity(KOp op) {
  if (op == KOp::kGather) return 1;
  if (op < KOp::kNeg || op >= KOp::kLoad) return 0;
  if (op < KOp::kAdd) return 1;
  return op < KOp::kSelect ? 2 : 3;
}

bool Between(KOp op, KOp first, KOp last) { return op >= first && op <= last; }

// Whether the op has a meaning for elements of type t.
bool HasType(KOp op, DType t) {
  if (IsNarrowFloat(t)) {  // only moved and converted
    return op == KOp::kCast || op == KOp::kBitcast || op == KOp::kSplat;
  }
  if (op == KOp::kSar) return IsSigned(t);
  if (Between(op, KOp::kSqrt, KOp::kRound) || op == KOp::kFma) return IsFloat(t);
  if (op == KOp::kDot4) return t == DType::kI32;
  if (Between(op, KOp::kShl, KOp::kSar) || op == KOp::kRem || op == KOp::kMod) return IsInt(t);
  if (op == KOp::kNot || Between(op, KOp::kAnd, KOp::kXor)) return !IsFloat(t);
  const bool arithmetic = op == KOp::kNeg || op == KOp::kAbs || op == KOp::kReduceAdd ||
                          op == KOp::kReduceMul || Between(op, KOp::kAdd, KOp::kMod);
  return !arithmetic || t != DType::kBool;
}

class Verifier {
 public:
  explicit Verifier(const Kernel& k)
      : kernel_(k),
        types_(static_cast<size_t>(std::max(k.num_regs, 0))),
        regs_(types_.size(), State::kUnknown),
        var_types_(static_cast<size_t>(std::max(k.num_vars, 0))),
        vars_(var_types_.size(), State::kUnknown) {}

  absl::Status Run() {
    Header();
    if (status_.ok()) Block(kernel_.body);
    return status_;
  }

 private:
  enum class State : uint8_t { kUnknown, kInScope, kGone };

  // Records the first fault; `rule` is its number above.
  void Fault(int rule, const std::string& what) {
    if (!status_.ok()) return;
    std::string where;
    if (current_ != nullptr) {
      where = absl::StrCat(" in \"", Printer(kernel_).PrintStatement(*current_), "\"");
    }
    status_ = absl::InternalError(
        absl::StrCat("kernel ", kernel_.name, ": ", what, where, " (invariant ", rule, ")"));
  }
  void Require(bool condition, int rule, const std::string& what) {
    if (!condition) Fault(rule, what);
  }

  void Header();
  void Callees();
  void Block(const std::vector<Stmt>& block);
  void Statement(const Stmt& s);
  void Let(const Stmt& s);
  void Operands(const Stmt& s);
  void CheckAccess(const Stmt& s);
  void CheckMask(const Stmt& s);
  void CheckDim(Dim d, const char* what);
  void CheckClaim(const Claim& c);
  void Variable(const Stmt& s);
  void Call(const Stmt& s);
  void Introduce(dim::SymbolId symbol);
  void Nested(const Stmt& s);
  KType Use(Reg r);
  State& SymbolState(dim::SymbolId id) {
    if (symbols_.size() <= id) symbols_.resize(id + 1, State::kUnknown);
    return symbols_[id];
  }

  const Kernel& kernel_;
  std::vector<KType> types_;
  std::vector<State> regs_;
  std::vector<KType> var_types_;
  std::vector<State> vars_;
  std::vector<State> symbols_;
  // What the open block has introduced, undone when it closes.
  std::vector<Reg> opened_regs_;
  std::vector<uint64_t> opened_vars_;
  std::vector<dim::SymbolId> opened_symbols_;
  const Stmt* current_ = nullptr;
  absl::Status status_;
};

void Verifier::Header() {
  for (Dim d : kernel_.sizes) {
    dim::SymbolId id = 0;
    const bool symbol = dim::IsSymbol(d, &id) && dim::ContextOf(d) == kernel_.dims.get();
    Require(symbol, 7, "a size isn't a symbol of the kernel");
    if (!symbol) return;
    Require(SymbolState(id) == State::kUnknown, 7, "a size is declared twice");
    SymbolState(id) = State::kInScope;
  }
  bool tables = false;
  for (const BufferDecl& b : kernel_.buffers) {
    CheckDim(b.elements, "an extent");
    Require(b.alignment == 0 || std::has_single_bit(static_cast<unsigned>(b.alignment)), 5,
            absl::StrCat("buffer ", b.name, " has alignment ", b.alignment));
    const bool is_table = b.kind == BufferKind::kTable;
    Require(is_table || !tables, 6, absl::StrCat("buffer ", b.name, " comes after a table"));
    tables |= is_table;
    const bool whole = b.elements == Dim(static_cast<int64_t>(b.table.size()));
    Require(is_table ? whole : b.table.empty(), 6,
            absl::StrCat("buffer ", b.name, " holds ", b.table.size(), " elements"));
    for (uint64_t bits : b.table) {
      Require(FitsBits(b.dtype, bits), 6, absl::StrCat("an element of table ", b.name));
    }
    Require(!kernel_.is_micro || b.kind != BufferKind::kWorkerScratch, 10,
            absl::StrCat("scratch ", b.name, " in a micro-kernel"));
  }
  for (const Claim& c : kernel_.assumptions) CheckClaim(c);
  CheckDim(kernel_.tasks, "the number of tasks");
  if (kernel_.is_micro) {
    Require(kernel_.tasks == Dim(1) && kernel_.failures.empty(), 10, "a micro-kernel");
  } else {
    Require(SymbolState(kernel_.task) == State::kUnknown, 7, "the task is a size too");
    SymbolState(kernel_.task) = State::kInScope;
  }
  Callees();
}

void Verifier::Callees() {
  for (const std::shared_ptr<const Kernel>& callee : kernel_.callees) {
    Require(callee != nullptr && callee->is_micro, 8, "a callee isn't a micro-kernel");
    if (!status_.ok()) return;
    if (absl::Status s = Verify(*callee); !s.ok()) Fault(8, std::string(s.message()));
  }
}

void Verifier::CheckDim(Dim d, const char* what) {
  Require(d.ok(), 7, absl::StrCat(what, " overflows"));
  if (!d.ok()) return;
  dim::DimContext* context = dim::ContextOf(d);
  const bool ours = context == nullptr || context == kernel_.dims.get();
  Require(ours, 7, absl::StrCat(what, " is of another context"));
  if (!ours || d.is_constant()) return;
  for (dim::SymbolId id : dim::FreeSymbols(d)) {
    Require(SymbolState(id) == State::kInScope, 7,
            absl::StrCat(what, " uses ", kernel_.dims->SymbolName(id), ", which isn't in scope,"));
  }
}

void Verifier::CheckClaim(const Claim& c) {
  CheckDim(c.lhs, "a claim");
  CheckDim(c.rhs, "a claim");
}

KType Verifier::Use(Reg r) {
  const bool known = r >= 0 && static_cast<size_t>(r) < regs_.size();
  Require(known && regs_[r] == State::kInScope, 1,
          absl::StrCat("register ", r, " isn't defined here"));
  return known ? types_[r] : KType{};
}

void Verifier::CheckMask(const Stmt& s) {
  if (s.mask == kNoReg) {
    Require(s.kind != StmtKind::kLet || s.imm == 0, 11, "a fill value without a mask");
    return;
  }
  Require(Use(s.mask) == KType{DType::kBool, s.type.lanes}, 3, "the mask's type");
}

void Verifier::CheckAccess(const Stmt& s) {
  const bool known = s.buffer >= 0 && static_cast<size_t>(s.buffer) < kernel_.buffers.size();
  Require(known, 5, absl::StrCat("there is no buffer ", s.buffer));
  if (!known) return;
  const BufferDecl& b = kernel_.buffers[s.buffer];
  Require(b.dtype == s.type.dtype || LoadsWord(s, b.dtype), 5,
          absl::StrCat("an access of ", lathe::Name(s.type.dtype), " to a buffer of ",
                       lathe::Name(b.dtype)));
  Require(s.kind == StmtKind::kLet || IsWritable(b.kind), 5,
          absl::StrCat("a store to a buffer of kind ", Name(b.kind)));
  if (s.kind == StmtKind::kStore || s.op == KOp::kLoad) {
    CheckDim(s.index, "an index");
    CheckDim(s.stride, "a stride");
  }
  CheckMask(s);
}

void Verifier::Operands(const Stmt& s) {
  const KOp op = s.op;
  const KType a = Use(s.args[0]), t = s.type;
  if (!status_.ok()) return;
  const std::string operand = absl::StrCat(Name(op), " of ", lathe::Name(a.dtype), "x", a.lanes,
                                           " to ", lathe::Name(t.dtype), "x", t.lanes);
  const bool same_lanes = a.lanes == t.lanes;
  if (op == KOp::kSelect) {
    const bool good =
        a == KType{DType::kBool, t.lanes} && Use(s.args[1]) == t && Use(s.args[2]) == t;
    return Require(good, 2, operand);
  }
  Require(HasType(op, a.dtype), 2, operand);
  for (int i = 1; i < Arity(op); ++i) Require(Use(s.args[i]) == a, 2, operand);
  if (op == KOp::kCast) return Require(same_lanes, 2, operand);
  if (op == KOp::kSplat) return Require(a.lanes == 1 && a.dtype == t.dtype, 2, operand);
  if (op == KOp::kAny)
    return Require(a.dtype == DType::kBool && t == KType{DType::kBool, 1}, 2, operand);
  if (op == KOp::kBitcast) {
    const bool bools = (a.dtype == DType::kBool) == (t.dtype == DType::kBool);
    return Require(same_lanes && bools && SizeOf(a.dtype) == SizeOf(t.dtype), 2, operand);
  }
  if (Between(op, KOp::kReduceAdd, KOp::kReduceMax)) {
    const bool power = std::has_single_bit(static_cast<unsigned>(a.lanes));
    return Require(power && t == KType{a.dtype, 1}, 2, operand);
  }
  if (Between(op, KOp::kEq, KOp::kGe))
    return Require(t == KType{DType::kBool, a.lanes}, 2, operand);
  if (op == KOp::kGather) return Require(IsIndex(a.dtype) && a.lanes == t.lanes, 2, operand);
  Require(a == t, 2, operand);
}

void Verifier::Let(const Stmt& s) {
  Require(s.type.lanes >= 1 && s.type.lanes <= kMaxLanes, 2, absl::StrCat(s.type.lanes, " lanes"));
  const int arity = Arity(s.op);
  for (int i = 0; i < 3; ++i) {
    Require((s.args[i] != kNoReg) == (i < arity), 2, absl::StrCat("operands of ", Name(s.op)));
  }
  if (!status_.ok()) return;
  const bool int_type = IsIndex(s.type.dtype);
  switch (s.op) {
    case KOp::kConst:
      Require(FitsBits(s.type.dtype, s.imm), 11, "a constant too wide");
      break;
    case KOp::kIndex:
      Require(int_type && s.type.lanes == 1, 2, "the type of an index");
      CheckDim(s.index, "an index");
      break;
    case KOp::kLane:
      Require(int_type, 2, "the type of lane numbers");
      break;
    case KOp::kMask:
      Require(s.type.dtype == DType::kBool, 3, "the type of a mask");
      CheckDim(s.index, "a mask's count");
      break;
    case KOp::kLoad:
    case KOp::kGather:
      Require(FitsBits(s.type.dtype, s.imm), 11, "a fill value too wide");
      CheckAccess(s);
      break;
    case KOp::kGetVar:
      Variable(s);
      break;
    default:
      break;
  }
  if (arity > 0) Operands(s);
  const bool fresh =
      s.out >= 0 && static_cast<size_t>(s.out) < regs_.size() && regs_[s.out] == State::kUnknown;
  Require(fresh, 1, absl::StrCat("register ", s.out, " is defined twice or out of range"));
  if (!fresh) return;
  regs_[s.out] = State::kInScope;
  types_[s.out] = s.type;
  opened_regs_.push_back(s.out);
}

// Variables: get, set and declaration.
void Verifier::Variable(const Stmt& s) {
  const bool known = s.imm < vars_.size();
  Require(known, 4, absl::StrCat("there is no variable ", s.imm));
  if (!known) return;
  if (s.kind == StmtKind::kVar) {
    Require(vars_[s.imm] == State::kUnknown, 4, "a variable is declared twice");
    vars_[s.imm] = State::kInScope;
    var_types_[s.imm] = s.type;
    opened_vars_.push_back(s.imm);
  }
  Require(vars_[s.imm] == State::kInScope && var_types_[s.imm] == s.type, 4,
          "a variable out of scope or of another type");
  if (s.kind != StmtKind::kLet) Require(Use(s.args[0]) == s.type, 4, "a variable's value");
}

void Verifier::Introduce(dim::SymbolId symbol) {
  const bool known = symbol < static_cast<dim::SymbolId>(kernel_.dims->num_symbols());
  Require(known && SymbolState(symbol) == State::kUnknown, 7, "a symbol is introduced twice");
  if (!known) return;
  SymbolState(symbol) = State::kInScope;
  opened_symbols_.push_back(symbol);
}

void Verifier::Call(const Stmt& s) {
  const bool known = s.imm < kernel_.callees.size() && s.call != nullptr;
  Require(known, 8, absl::StrCat("there is no callee ", s.imm));
  if (!known) return;
  const Kernel& callee = *kernel_.callees[s.imm];
  const bool counts = s.call->buffers.size() == static_cast<size_t>(callee.num_passed_buffers()) &&
                      s.call->sizes.size() == callee.sizes.size();
  Require(counts, 8, "the number of arguments of a call");
  if (!counts) return;
  for (size_t i = 0; i < s.call->buffers.size(); ++i) {
    const CallArgs::BufferArg& a = s.call->buffers[i];
    const bool exists = a.buffer >= 0 && static_cast<size_t>(a.buffer) < kernel_.buffers.size();
    Require(exists, 5, absl::StrCat("there is no buffer ", a.buffer));
    if (!exists) return;
    const BufferDecl &ours = kernel_.buffers[a.buffer], &theirs = callee.buffers[i];
    Require(ours.dtype == theirs.dtype, 8, "the type of a buffer of a call");
    Require(!IsWritable(theirs.kind) || IsWritable(ours.kind), 8,
            absl::StrCat("a call writes buffer ", ours.name));
    CheckDim(a.offset, "an offset");
  }
  for (Dim d : s.call->sizes) CheckDim(d, "a size of a call");
}

// The blocks of a statement, each a scope of its own.
void Verifier::Nested(const Stmt& s) {
  if (s.kind == StmtKind::kFor) Introduce(s.symbol);
  Block(s.body);
  if (s.kind == StmtKind::kFor && !opened_symbols_.empty()) {
    SymbolState(s.symbol) = State::kGone;
    opened_symbols_.pop_back();
  }
  Block(s.other);
}

void Verifier::Statement(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::kLet:
      return Let(s);
    case StmtKind::kVar:
    case StmtKind::kSetVar:
      return Variable(s);
    case StmtKind::kStore:
      CheckAccess(s);
      return Require(Use(s.args[0]) == s.type, 5, "the stored value's type");
    case StmtKind::kFor:
      CheckDim(s.begin, "a loop's begin");
      CheckDim(s.end, "a loop's end");
      Require(s.step >= 1, 7, absl::StrCat("step ", s.step));
      Require(s.other.empty(), 7, "an else of a loop");
      return Nested(s);
    case StmtKind::kIf:
      Require(Use(s.args[0]) == KType{DType::kBool, 1}, 2, "a condition's type");
      return Nested(s);
    case StmtKind::kIfDim:
      CheckClaim(s.claim);
      return Nested(s);
    case StmtKind::kBind:
      Require(Use(s.args[0]) == KType{DType::kI64, 1}, 2, "a bound value's type");
      return Introduce(s.symbol);
    case StmtKind::kCall:
      return Call(s);
    case StmtKind::kFail:
      Require(s.imm < kernel_.failures.size(), 9, absl::StrCat("there is no failure ", s.imm));
      Require(Use(s.args[0]) == KType{DType::kI64, 1}, 9, "a failure's value");
      CheckDim(s.index, "a position");
      return CheckDim(s.stride, "a bound");
    case StmtKind::kBarrier:
      return;
  }
  Fault(1, "an unknown kind of statement");
}

void Verifier::Block(const std::vector<Stmt>& block) {
  const size_t regs = opened_regs_.size(), vars = opened_vars_.size();
  const size_t symbols = opened_symbols_.size();
  for (const Stmt& s : block) {
    if (!status_.ok()) return;
    current_ = &s;
    Statement(s);
  }
  for (; opened_regs_.size() > regs; opened_regs_.pop_back()) {
    regs_[opened_regs_.back()] = State::kGone;
  }
  for (; opened_vars_.size() > vars; opened_vars_.pop_back()) {
    vars_[opened_vars_.back()] = State::kGone;
  }
  for (; opened_symbols_.size() > symbols; opened_symbols_.pop_back()) {
    SymbolState(opened_symbols_.back()) = State::kGone;
  }
}

}  // namespace

absl::Status Verify(const Kernel& k) { return Verifier(k).Run(); }

}  // namespace lathe::kernel
