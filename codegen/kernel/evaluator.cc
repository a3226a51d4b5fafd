#include "codegen/kernel/evaluator.h"

#include <cstring>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/kernel/lane_ops.h"
#include "codegen/kernel/print_internal.h"

namespace lathe::kernel {
namespace {

uint64_t ReadElement(const std::byte* at, DType t) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(SizeOf(t)));  // little endian
  return bits;
}

void WriteElement(std::byte* at, DType t, uint64_t bits) {
  std::memcpy(at, &bits, static_cast<size_t>(SizeOf(t)));
}

// Contents of scratch are unspecified when a task starts: all ones are NaNs and far indices, so
// code that reads what it hasn't written is found out.
constexpr int kPoison = 0xff;

// index + stride, or an index that is out of every buffer's bounds if that overflows.
int64_t Advance(int64_t index, int64_t stride) {
  int64_t sum = 0;
  return __builtin_add_overflow(index, stride, &sum) ? -1 : sum;
}

struct BoundBuffer {
  std::byte* data = nullptr;
  int64_t extent = 0;  // elements that may be touched
};

// One kernel at work: its registers, variables, symbols and buffers. Frames of callees are kept for
// the next call.
class Frame {
 public:
  explicit Frame(const Kernel& k);

  absl::Status Bind(absl::Span<const EvalBuffer> buffers, absl::Span<const int64_t> sizes,
                    int64_t worker);
  absl::Status CheckAssumptions();
  absl::Status RunTasks(int64_t begin, int64_t end);
  absl::Status Run() { return Block(kernel_.body); }
  rt::KernelError error;

 private:
  absl::Status Block(const std::vector<Stmt>& block);
  absl::Status Execute(const Stmt& s);
  absl::Status Let(const Stmt& s);
  absl::Status Load(const Stmt& s, uint64_t* out);
  absl::Status Gather(const Stmt& s, uint64_t* out);
  absl::Status Store(const Stmt& s);
  absl::Status For(const Stmt& s);
  absl::Status Call(const Stmt& s);
  absl::Status Fail(const Stmt& s);
  absl::StatusOr<std::byte*> Address(const Stmt& s, int64_t index, int lane);
  absl::Status Value(const Stmt& s, Dim d, int64_t* out);
  absl::Status At(const Stmt& s, const std::string& what) const;
  absl::Status BadSizes(const absl::Status& s) const {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel_.name, ": ", s.message()));
  }
  bool Masked(const Stmt& s, int lane) const { return s.mask != kNoReg && reg(s.mask)[lane] == 0; }
  uint64_t* reg(Reg r) { return &regs_[static_cast<size_t>(r) * kMaxLanes]; }
  const uint64_t* reg(Reg r) const { return &regs_[static_cast<size_t>(r) * kMaxLanes]; }

  const Kernel& kernel_;
  std::vector<uint64_t> regs_, vars_;  // kMaxLanes elements each, as bits
  std::vector<KType> types_;           // of registers, as they are written
  std::vector<int64_t> symbols_;       // by SymbolId
  std::vector<BoundBuffer> buffers_;
  std::vector<std::vector<std::byte>> tables_;
  absl::flat_hash_map<const Kernel*, std::unique_ptr<Frame>> callees_;
};

Frame::Frame(const Kernel& k)
    : kernel_(k),
      regs_(static_cast<size_t>(k.num_regs) * kMaxLanes),
      vars_(static_cast<size_t>(k.num_vars) * kMaxLanes),
      types_(static_cast<size_t>(k.num_regs)),
      symbols_(static_cast<size_t>(k.dims->num_symbols())),
      buffers_(k.buffers.size()),
      tables_(k.buffers.size()) {
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const BufferDecl& d = k.buffers[i];
    if (d.kind != BufferKind::kTable) continue;
    const size_t size = static_cast<size_t>(SizeOf(d.dtype));
    tables_[i].resize(d.table.size() * size);
    for (size_t j = 0; j < d.table.size(); ++j) {
      WriteElement(&tables_[i][j * size], d.dtype, d.table[j]);
    }
    buffers_[i] = {tables_[i].data(), static_cast<int64_t>(d.table.size())};
  }
}

absl::Status Frame::Bind(absl::Span<const EvalBuffer> buffers, absl::Span<const int64_t> sizes,
                         int64_t worker) {
  if (sizes.size() != kernel_.sizes.size() ||
      buffers.size() != static_cast<size_t>(kernel_.num_passed_buffers())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel ", kernel_.name, ": ", buffers.size(), " buffers and ", sizes.size(),
        " sizes, wanted ", kernel_.num_passed_buffers(), " and ", kernel_.sizes.size()));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    dim::SymbolId id = 0;
    if (dim::IsSymbol(kernel_.sizes[i], &id)) symbols_[id] = sizes[i];
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferDecl& d = kernel_.buffers[i];
    absl::StatusOr<int64_t> extent = dim::Evaluate(d.elements, symbols_);
    if (!extent.ok()) return BadSizes(extent.status());
    std::byte* data = static_cast<std::byte*>(buffers[i].data);
    int64_t available = buffers[i].elements;
    if (d.kind == BufferKind::kWorkerScratch) {
      int64_t before = 0;  // elements of the workers before this one
      if (__builtin_mul_overflow(worker, *extent, &before) || before > available) {
        return BadSizes(absl::InvalidArgumentError(
            absl::StrCat("worker ", worker, " has no part of scratch ", d.name)));
      }
      if (data != nullptr) data += before * SizeOf(d.dtype);
      available -= before;
    }
    buffers_[i] = {data, std::min(*extent, available)};
    const int64_t alignment = std::max<int64_t>(d.alignment, 1);
    if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment) != 0) {
      return absl::InternalError(absl::StrCat("kernel ", kernel_.name, ": buffer ", d.name,
                                              " isn't aligned to ", alignment, " bytes"));
    }
  }
  return absl::OkStatus();
}

absl::Status Frame::CheckAssumptions() {
  for (const Claim& c : kernel_.assumptions) {
    absl::StatusOr<bool> holds = dim::Evaluate(c, symbols_);
    if (!holds.ok()) return BadSizes(holds.status());
    if (!*holds) {
      return absl::InternalError(absl::StrCat("kernel ", kernel_.name, " was made for sizes with ",
                                              c.ToString(), ", which doesn't hold"));
    }
  }
  return absl::OkStatus();
}

absl::Status Frame::RunTasks(int64_t begin, int64_t end) {
  absl::StatusOr<int64_t> tasks = dim::Evaluate(kernel_.tasks, symbols_);
  if (!tasks.ok()) return BadSizes(tasks.status());
  if (begin < 0 || end > *tasks) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", kernel_.name, ": tasks ", begin, "..", end, " of ", *tasks));
  }
  for (int64_t task = begin; task < end; ++task) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const BufferDecl& d = kernel_.buffers[i];
      if (d.kind != BufferKind::kWorkerScratch || buffers_[i].extent <= 0) continue;
      std::memset(buffers_[i].data, kPoison,
                  static_cast<size_t>(buffers_[i].extent * SizeOf(d.dtype)));
    }
    symbols_[kernel_.task] = task;
    if (absl::Status s = Run(); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Frame::At(const Stmt& s, const std::string& what) const {
  std::string text = absl::StrCat("kernel ", kernel_.name, ": ", what, " in \"",
                                  Printer(kernel_).PrintStatement(s), "\" with");
  for (dim::SymbolId id = 0; id < symbols_.size(); ++id) {
    absl::StrAppend(&text, " ", kernel_.dims->SymbolName(id), "=", symbols_[id]);
  }
  return absl::InternalError(text);
}

absl::Status Frame::Value(const Stmt& s, Dim d, int64_t* out) {
  if (d.is_constant() && d.ok()) {
    *out = d.constant();
    return absl::OkStatus();
  }
  absl::StatusOr<int64_t> value = dim::Evaluate(d, symbols_);
  if (!value.ok()) return At(s, std::string(value.status().message()));
  *out = *value;
  return absl::OkStatus();
}

absl::StatusOr<std::byte*> Frame::Address(const Stmt& s, int64_t index, int lane) {
  const BoundBuffer& b = buffers_[s.buffer];
  if (index < 0 || index >= b.extent) {
    return At(s, absl::StrCat("element ", index, " of buffer ", kernel_.buffers[s.buffer].name,
                              " with ", b.extent, " elements is out of bounds (lane ", lane, ")"));
  }
  return b.data + index * SizeOf(kernel_.buffers[s.buffer].dtype);
}

absl::Status Frame::Load(const Stmt& s, uint64_t* out) {
  int64_t index = 0, stride = 0;
  if (absl::Status v = Value(s, s.index, &index); !v.ok()) return v;
  if (absl::Status v = Value(s, s.stride, &stride); !v.ok()) return v;
  if (LoadsWord(s, kernel_.buffers[s.buffer].dtype)) {
    absl::StatusOr<std::byte*> last = Address(s, Advance(index, 3), 0), at = Address(s, index, 0);
    if (!at.ok() || !last.ok()) return at.ok() ? last.status() : at.status();
    out[0] = ReadElement(*at, DType::kI32);
    return absl::OkStatus();
  }
  for (int lane = 0; lane < s.type.lanes; ++lane, index = Advance(index, stride)) {
    out[lane] = s.imm;
    if (Masked(s, lane)) continue;
    absl::StatusOr<std::byte*> at = Address(s, index, lane);
    if (!at.ok()) return at.status();
    out[lane] = ReadElement(*at, s.type.dtype);
  }
  return absl::OkStatus();
}

absl::Status Frame::Gather(const Stmt& s, uint64_t* out) {
  const bool narrow = types_[s.args[0]].dtype == DType::kI32;
  for (int lane = 0; lane < s.type.lanes; ++lane) {
    out[lane] = s.imm;
    if (Masked(s, lane)) continue;
    const uint64_t bits = reg(s.args[0])[lane];
    const int64_t index =
        narrow ? static_cast<int32_t>(static_cast<uint32_t>(bits)) : static_cast<int64_t>(bits);
    absl::StatusOr<std::byte*> at = Address(s, index, lane);
    if (!at.ok()) return at.status();
    out[lane] = ReadElement(*at, s.type.dtype);
  }
  return absl::OkStatus();
}

absl::Status Frame::Store(const Stmt& s) {
  const BufferKind kind = kernel_.buffers[s.buffer].kind;
  if (kind == BufferKind::kInput || kind == BufferKind::kTable) {
    return At(s, absl::StrCat("a store to a buffer of kind ", Name(kind)));
  }
  int64_t index = 0, stride = 0;
  if (absl::Status v = Value(s, s.index, &index); !v.ok()) return v;
  if (absl::Status v = Value(s, s.stride, &stride); !v.ok()) return v;
  for (int lane = 0; lane < s.type.lanes; ++lane, index = Advance(index, stride)) {
    if (Masked(s, lane)) continue;
    absl::StatusOr<std::byte*> at = Address(s, index, lane);
    if (!at.ok()) return at.status();
    WriteElement(*at, s.type.dtype, reg(s.args[0])[lane]);
  }
  return absl::OkStatus();
}

absl::Status Frame::Let(const Stmt& s) {
  uint64_t* out = reg(s.out);
  types_[s.out] = s.type;
  int64_t value = 0;
  switch (s.op) {
    case KOp::kConst:
      std::fill_n(out, s.type.lanes, s.imm);
      return absl::OkStatus();
    case KOp::kIndex: {
      absl::Status v = Value(s, s.index, &value);
      const bool narrow = s.type.dtype == DType::kI32;
      if (v.ok() && narrow && value != static_cast<int32_t>(value)) {
        return At(s, absl::StrCat(value, " doesn't fit i32"));
      }
      out[0] = narrow ? static_cast<uint32_t>(value) : static_cast<uint64_t>(value);
      return v;
    }
    case KOp::kLane:
      for (int i = 0; i < s.type.lanes; ++i) out[i] = static_cast<uint64_t>(i);
      return absl::OkStatus();
    case KOp::kMask: {
      absl::Status v = Value(s, s.index, &value);
      for (int i = 0; i < s.type.lanes; ++i) out[i] = i < value;
      return v;
    }
    case KOp::kLoad:
      return Load(s, out);
    case KOp::kGather:
      return Gather(s, out);
    case KOp::kGetVar:
      std::copy_n(&vars_[s.imm * kMaxLanes], s.type.lanes, out);
      return absl::OkStatus();
    default:
      break;
  }
  const Reg first = s.op == KOp::kSelect ? s.args[1] : s.args[0];
  LaneArgs a{s.type, types_[first], {}, out};
  for (int i = 0; i < 3; ++i) a.args[i] = s.args[i] == kNoReg ? nullptr : reg(s.args[i]);
  return ApplyLanes(s.op, a) ? absl::OkStatus() : At(s, "an op that this type doesn't have");
}

absl::Status Frame::For(const Stmt& s) {
  int64_t begin = 0, end = 0;
  if (absl::Status v = Value(s, s.begin, &begin); !v.ok()) return v;
  if (absl::Status v = Value(s, s.end, &end); !v.ok()) return v;
  for (int64_t i = begin; i < end; i += s.step) {
    symbols_[s.symbol] = i;
    if (absl::Status b = Block(s.body); !b.ok()) return b;
    if (i > INT64_MAX - s.step) break;
  }
  return absl::OkStatus();
}

absl::Status Frame::Call(const Stmt& s) {
  const Kernel& callee = *kernel_.callees[s.imm];
  std::vector<EvalBuffer> buffers;
  for (const CallArgs::BufferArg& a : s.call->buffers) {
    int64_t offset = 0;
    if (absl::Status v = Value(s, a.offset, &offset); !v.ok()) return v;
    const BoundBuffer& b = buffers_[a.buffer];
    const int64_t size = SizeOf(kernel_.buffers[a.buffer].dtype);
    if (offset < 0 || offset > b.extent) {
      return At(s, absl::StrCat("offset ", offset, " into buffer ", kernel_.buffers[a.buffer].name,
                                " with ", b.extent, " elements is out of bounds"));
    }
    buffers.push_back({b.data + offset * size, b.extent - offset});
  }
  std::vector<int64_t> sizes;
  for (Dim d : s.call->sizes) {
    sizes.emplace_back();
    if (absl::Status v = Value(s, d, &sizes.back()); !v.ok()) return v;
  }
  std::unique_ptr<Frame>& frame = callees_[&callee];
  if (frame == nullptr) frame = std::make_unique<Frame>(callee);
  absl::Status status = frame->Bind(buffers, sizes, 0);
  if (status.ok()) status = frame->CheckAssumptions();
  if (status.ok()) status = frame->Run();
  return status.ok() ? status : At(s, std::string(status.message()));
}

absl::Status Frame::Fail(const Stmt& s) {
  error.code = static_cast<int64_t>(s.imm);
  error.value = static_cast<int64_t>(reg(s.args[0])[0]);
  if (absl::Status v = Value(s, s.index, &error.position); !v.ok()) return v;
  if (absl::Status v = Value(s, s.stride, &error.bound); !v.ok()) return v;
  return absl::OutOfRangeError(absl::StrCat(kernel_.failures[s.imm], ": found ", error.value,
                                            " at position ", error.position, ", bound ",
                                            error.bound));
}

absl::Status Frame::Execute(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::kLet:
      return Let(s);
    case StmtKind::kVar:
    case StmtKind::kSetVar:
      std::copy_n(reg(s.args[0]), s.type.lanes, &vars_[s.imm * kMaxLanes]);
      return absl::OkStatus();
    case StmtKind::kStore:
      return Store(s);
    case StmtKind::kFor:
      return For(s);
    case StmtKind::kIf:
      return Block(reg(s.args[0])[0] != 0 ? s.body : s.other);
    case StmtKind::kIfDim: {
      absl::StatusOr<bool> holds = dim::Evaluate(s.claim, symbols_);
      if (!holds.ok()) return At(s, std::string(holds.status().message()));
      return Block(*holds ? s.body : s.other);
    }
    case StmtKind::kBind:
      symbols_[s.symbol] = static_cast<int64_t>(reg(s.args[0])[0]);
      return absl::OkStatus();
    case StmtKind::kCall:
      return Call(s);
    case StmtKind::kFail:
      return Fail(s);
    case StmtKind::kBarrier:
      return absl::OkStatus();
  }
  return At(s, "an unknown kind of statement");
}

absl::Status Frame::Block(const std::vector<Stmt>& block) {
  for (const Stmt& s : block) {
    if (absl::Status status = Execute(s); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Evaluate(const Kernel& k, absl::Span<const EvalBuffer> buffers,
                      absl::Span<const int64_t> sizes, int64_t begin, int64_t end, int64_t worker,
                      rt::KernelError* error) {
  Frame frame(k);
  absl::Status status = frame.Bind(buffers, sizes, worker);
  if (status.ok()) status = frame.CheckAssumptions();
  if (status.ok()) status = frame.RunTasks(begin, end);
  if (absl::IsOutOfRange(status) && error != nullptr) *error = frame.error;
  return status;
}

}  // namespace lathe::kernel
