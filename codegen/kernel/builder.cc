#include "codegen/kernel/builder.h"

#include <cassert>
#include <cstdio>
#include <utility>

#include "codegen/kernel/scalar_ops.h"

namespace lathe::kernel {
namespace {

dim::SymbolId SymbolOf(Dim d) {
  dim::SymbolId id = 0;
  [[maybe_unused]] const bool is_symbol = dim::IsSymbol(d, &id);
  assert(is_symbol);
  return id;
}

// Statements without side effects and operands that vary: one in a block serves the whole block and
// the blocks inside it.
bool IsLeaf(const Stmt& s) {
  if (s.kind != StmtKind::kLet) return false;
  return s.op == KOp::kConst || s.op == KOp::kIndex || s.op == KOp::kLane || s.op == KOp::kMask ||
         s.op == KOp::kSplat;
}

KernelBuilder::LeafKey KeyOf(const Stmt& s) {
  return {static_cast<int>(s.op),
          static_cast<int>(s.type.dtype),
          s.type.lanes,
          s.args[0],
          s.imm,
          s.index};
}

void RenumberBuffers(std::vector<Stmt>* root, const std::vector<int>& number) {
  std::vector<std::vector<Stmt>*> work{root};
  while (!work.empty()) {
    std::vector<Stmt>* block = work.back();
    work.pop_back();
    for (Stmt& s : *block) {
      if (s.buffer >= 0) s.buffer = number[s.buffer];
      if (s.call) {
        auto call = std::make_shared<CallArgs>(*s.call);
        for (CallArgs::BufferArg& a : call->buffers) a.buffer = number[a.buffer];
        s.call = std::move(call);
      }
      work.push_back(&s.body);
      work.push_back(&s.other);
    }
  }
}

}  // namespace

KernelBuilder::KernelBuilder(std::string name) : kernel_(std::make_shared<Kernel>()) {
  kernel_->name = std::move(name);
  kernel_->dims = std::make_shared<dim::DimContext>();
  kernel_->task = SymbolOf(kernel_->dims->FreshSymbol("task"));
  OpenBlock(&kernel_->body);
}

void KernelBuilder::OpenBlock(std::vector<Stmt>* block) {
  blocks_.push_back(block);
  leaves_.emplace_back();
}

void KernelBuilder::CloseBlock() {
  blocks_.pop_back();
  leaves_.pop_back();
}

Dim KernelBuilder::Size(const std::string& name) {
  Dim d = kernel_->dims->FreshSymbol(name);
  kernel_->sizes.push_back(d);
  return d;
}

int KernelBuilder::Buffer(const std::string& name, DType dtype, BufferKind kind, Dim elements,
                          int alignment) {
  kernel_->buffers.push_back({name, dtype, kind, elements, alignment, {}});
  return static_cast<int>(kernel_->buffers.size()) - 1;
}

int KernelBuilder::Table(const std::string& name, DType dtype, std::vector<uint64_t> bits) {
  for (size_t i = 0; i < kernel_->buffers.size(); ++i) {
    const BufferDecl& d = kernel_->buffers[i];
    if (d.kind == BufferKind::kTable && d.dtype == dtype && d.table == bits) {
      return static_cast<int>(i);
    }
  }
  const Dim elements = static_cast<int64_t>(bits.size());
  kernel_->buffers.push_back({name, dtype, BufferKind::kTable, elements, 0, std::move(bits)});
  return static_cast<int>(kernel_->buffers.size()) - 1;
}

void KernelBuilder::Assume(const Claim& c) { kernel_->assumptions.push_back(c); }
void KernelBuilder::Tasks(Dim count) { kernel_->tasks = count; }
Dim KernelBuilder::task() const { return kernel_->dims->SymbolDim(kernel_->task); }

Reg KernelBuilder::Emit(Stmt s) {
  if (IsLeaf(s)) {
    const LeafKey key = KeyOf(s);
    for (const auto& scope : leaves_) {
      if (auto it = scope.find(key); it != scope.end()) return it->second;
    }
    leaves_.back().emplace(key, kernel_->num_regs);
  }
  s.out = kernel_->num_regs++;
  types_.push_back(s.type);
  block().push_back(std::move(s));
  return block().back().out;
}

Reg KernelBuilder::Bits(KType t, uint64_t bits) {
  Stmt s;
  s.op = KOp::kConst;
  s.type = t;
  s.imm = bits;
  return Emit(std::move(s));
}

Reg KernelBuilder::Float(KType t, double value) {
  return VisitDType(t.dtype, [&](auto type) {
    return Bits(t, scalar::ToBits(scalar::Cast<decltype(type)>(value)));
  });
}

Reg KernelBuilder::Int(KType t, int64_t value) {
  return VisitDType(t.dtype, [&](auto type) {
    return Bits(t, scalar::ToBits(scalar::Cast<decltype(type)>(value)));
  });
}

Reg KernelBuilder::Index(Dim d, DType dtype) {
  Stmt s;
  s.op = KOp::kIndex;
  s.type = {dtype, 1};
  s.index = d;
  return Emit(std::move(s));
}

Reg KernelBuilder::Lane(KType t) {
  Stmt s;
  s.op = KOp::kLane;
  s.type = t;
  return Emit(std::move(s));
}

Reg KernelBuilder::Mask(Dim count, int lanes) {
  Stmt s;
  s.op = KOp::kMask;
  s.type = {DType::kBool, lanes};
  s.index = count;
  return Emit(std::move(s));
}

Reg KernelBuilder::EmitOp(KOp op, KType type, std::array<Reg, 3> args) {
  Stmt s;
  s.op = op;
  s.type = type;
  s.args = args;
  return Emit(std::move(s));
}

Reg KernelBuilder::Un(KOp op, Reg a) { return EmitOp(op, type(a), {a, kNoReg, kNoReg}); }

Reg KernelBuilder::Cast(Reg a, DType to) {
  if (type(a).dtype == to) return a;
  return EmitOp(KOp::kCast, {to, type(a).lanes}, {a, kNoReg, kNoReg});
}

Reg KernelBuilder::Bitcast(Reg a, DType to) {
  if (type(a).dtype == to) return a;
  return EmitOp(KOp::kBitcast, {to, type(a).lanes}, {a, kNoReg, kNoReg});
}

Reg KernelBuilder::Splat(Reg a, int lanes) {
  if (type(a).lanes == lanes) return a;
  return EmitOp(KOp::kSplat, {type(a).dtype, lanes}, {a, kNoReg, kNoReg});
}

Reg KernelBuilder::Reduce(KOp op, Reg a) {
  return EmitOp(op, {type(a).dtype, 1}, {a, kNoReg, kNoReg});
}

Reg KernelBuilder::Any(Reg mask) {
  return EmitOp(KOp::kAny, {DType::kBool, 1}, {mask, kNoReg, kNoReg});
}

Reg KernelBuilder::Bin(KOp op, Reg a, Reg b) {
  const int lanes = std::max(type(a).lanes, type(b).lanes);
  a = Splat(a, lanes);
  b = Splat(b, lanes);
  const bool compares = op >= KOp::kEq && op <= KOp::kGe;
  return EmitOp(op, {compares ? DType::kBool : type(a).dtype, lanes}, {a, b, kNoReg});
}

Reg KernelBuilder::Select(Reg cond, Reg a, Reg b) {
  const int lanes = std::max({type(cond).lanes, type(a).lanes, type(b).lanes});
  return EmitOp(KOp::kSelect, {type(a).dtype, lanes},
                {Splat(cond, lanes), Splat(a, lanes), Splat(b, lanes)});
}

Reg KernelBuilder::Fma(Reg a, Reg b, Reg c) {
  const int lanes = std::max({type(a).lanes, type(b).lanes, type(c).lanes});
  return EmitOp(KOp::kFma, {type(a).dtype, lanes},
                {Splat(a, lanes), Splat(b, lanes), Splat(c, lanes)});
}

Reg KernelBuilder::Dot4(Reg a, Reg b, Reg c) {
  const int lanes = std::max({type(a).lanes, type(b).lanes, type(c).lanes});
  return EmitOp(KOp::kDot4, {type(a).dtype, lanes},
                {Splat(a, lanes), Splat(b, lanes), Splat(c, lanes)});
}

Reg KernelBuilder::Load(int buffer, Dim index, int lanes, Dim stride, Reg mask,
                        uint64_t fill_bits) {
  Stmt s;
  s.op = KOp::kLoad;
  s.type = {kernel_->buffers[buffer].dtype, lanes};
  s.buffer = buffer;
  s.index = index;
  s.stride = stride;
  s.mask = mask == kNoReg ? kNoReg : Splat(mask, lanes);
  s.imm = mask == kNoReg ? 0 : fill_bits;
  return Emit(std::move(s));
}

Reg KernelBuilder::LoadWord(int buffer, Dim index) {
  Stmt s;
  s.op = KOp::kLoad;
  s.type = {DType::kI32, 1};
  s.buffer = buffer;
  s.index = index;
  return Emit(std::move(s));
}

Reg KernelBuilder::Gather(int buffer, Reg index, Reg mask, uint64_t fill_bits) {
  Stmt s;
  s.op = KOp::kGather;
  s.type = {kernel_->buffers[buffer].dtype, type(index).lanes};
  s.buffer = buffer;
  s.args[0] = index;
  s.mask = mask == kNoReg ? kNoReg : Splat(mask, s.type.lanes);
  s.imm = mask == kNoReg ? 0 : fill_bits;
  return Emit(std::move(s));
}

void KernelBuilder::Store(int buffer, Dim index, Reg value, Dim stride, Reg mask) {
  Stmt s;
  s.kind = StmtKind::kStore;
  s.type = type(value);
  s.buffer = buffer;
  s.index = index;
  s.stride = stride;
  s.args[0] = value;
  s.mask = mask == kNoReg ? kNoReg : Splat(mask, s.type.lanes);
  block().push_back(std::move(s));
}

int KernelBuilder::Var(Reg init) {
  Stmt s;
  s.kind = StmtKind::kVar;
  s.type = type(init);
  s.args[0] = init;
  const int var = kernel_->num_vars++;
  s.imm = static_cast<uint64_t>(var);
  var_types_.push_back(s.type);
  block().push_back(std::move(s));
  return var;
}

Reg KernelBuilder::Get(int var) {
  Stmt s;
  s.op = KOp::kGetVar;
  s.type = var_types_[var];
  s.imm = static_cast<uint64_t>(var);
  return Emit(std::move(s));
}

void KernelBuilder::Set(int var, Reg value) {
  Stmt s;
  s.kind = StmtKind::kSetVar;
  s.type = var_types_[var];
  s.args[0] = Splat(value, s.type.lanes);
  s.imm = static_cast<uint64_t>(var);
  block().push_back(std::move(s));
}

void KernelBuilder::For(const std::string& name, Dim begin, Dim end, int64_t step,
                        const std::function<void(Dim)>& body, LoopKind kind) {
  Stmt s;
  s.kind = StmtKind::kFor;
  s.loop = kind;
  const Dim variable = kernel_->dims->FreshSymbol(name);
  s.symbol = SymbolOf(variable);
  s.begin = begin;
  s.end = end;
  s.step = step;
  OpenBlock(&s.body);
  loops_.push_back({variable, begin, end});
  body(variable);
  loops_.pop_back();
  CloseBlock();
  block().push_back(std::move(s));
}

void KernelBuilder::FillBranches(Stmt s, const std::function<void()>& then,
                                 const std::function<void()>& other) {
  OpenBlock(&s.body);
  then();
  CloseBlock();
  if (other) {
    OpenBlock(&s.other);
    other();
    CloseBlock();
  }
  block().push_back(std::move(s));
}

void KernelBuilder::If(Reg cond, const std::function<void()>& then,
                       const std::function<void()>& other) {
  Stmt s;
  s.kind = StmtKind::kIf;
  s.args[0] = cond;
  FillBranches(std::move(s), then, other);
}

void KernelBuilder::If(const Claim& c, const std::function<void()>& then,
                       const std::function<void()>& other) {
  Stmt s;
  s.kind = StmtKind::kIfDim;
  s.claim = c;
  FillBranches(std::move(s), then, other);
}

Dim KernelBuilder::Bind(const std::string& name, Reg value) {
  Stmt s;
  s.kind = StmtKind::kBind;
  const Dim symbol = kernel_->dims->FreshSymbol(name);
  s.symbol = SymbolOf(symbol);
  s.args[0] = value;
  block().push_back(std::move(s));
  return symbol;
}

void KernelBuilder::Call(std::shared_ptr<const Kernel> callee,
                         std::vector<CallArgs::BufferArg> buffers, std::vector<Dim> sizes) {
  Stmt s;
  s.kind = StmtKind::kCall;
  size_t number = 0;
  while (number < kernel_->callees.size() && kernel_->callees[number] != callee) ++number;
  if (number == kernel_->callees.size()) kernel_->callees.push_back(std::move(callee));
  s.imm = number;
  s.call = std::make_shared<const CallArgs>(CallArgs{std::move(buffers), std::move(sizes)});
  block().push_back(std::move(s));
}

void KernelBuilder::Fail(const std::string& text, Reg value, Dim position, Dim bound) {
  Stmt s;
  s.kind = StmtKind::kFail;
  s.imm = kernel_->failures.size();
  kernel_->failures.push_back(text);
  s.args[0] = value;
  s.index = position;
  s.stride = bound;
  block().push_back(std::move(s));
}

void KernelBuilder::Barrier() {
  Stmt s;
  s.kind = StmtKind::kBarrier;
  block().push_back(std::move(s));
}

std::shared_ptr<Kernel> KernelBuilder::Finish() {
  // Tables may have been asked for at any time; in the kernel they come last.
  std::vector<BufferDecl>& buffers = kernel_->buffers;
  std::vector<int> number(buffers.size());
  std::vector<BufferDecl> sorted;
  for (const bool tables : {false, true}) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if ((buffers[i].kind == BufferKind::kTable) != tables) continue;
      number[i] = static_cast<int>(sorted.size());
      sorted.push_back(buffers[i]);
    }
  }
  buffers = std::move(sorted);
  RenumberBuffers(&kernel_->body, number);
#ifndef NDEBUG
  if (absl::Status s = Verify(*kernel_); !s.ok()) {
    std::fprintf(stderr, "%s\n%s\n", s.ToString().c_str(), Print(*kernel_).c_str());
    assert(false && "KernelBuilder made an invalid kernel");
  }
#endif
  return std::move(kernel_);
}

}  // namespace lathe::kernel
