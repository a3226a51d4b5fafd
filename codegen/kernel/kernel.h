#pragma once
// Kernel IR: the loop-level language that schedules write and that the LLVM emitter, the CUDA text
// emitter and the bounds-checking evaluator read (docs/architecture.md). One language, both
// targets.
//
// A kernel runs `tasks` independent tasks; its body is one task. Sizes, loop variables and bound
// indices are symbols of the kernel's own DimContext, and every address is a Dim over them, so that
// bounds, alignment and index width are proved with the prover of ir/dim.
// Registers are SSA, scalar (lanes 1) or vectors of 2..64 lanes; `Var`s are mutable registers
// (accumulators). On the CPU a vector is 1 or more machine registers; in CUDA text a 32-lane vector
// is a warp, each thread holding its lane, and tasks are distributed over warps. All ops are total:
// what docs/semantics.md says of x/0, saturating casts and NaN holds here, so evaluator, LLVM and
// CUDA agree bit for bit (any NaN equals any NaN). No contraction: `fma` is the only fused op.
// Narrow floats (f16, bf16) are loaded, moved, converted and stored; nothing is computed in them.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/dim/context.h"
#include "lathe/dim.h"
#include "lathe/dtype.h"

namespace lathe::kernel {

inline constexpr int kMaxLanes = 64;

struct KType {
  DType dtype = DType::kF32;
  int lanes = 1;
  friend bool operator==(KType a, KType b) { return a.dtype == b.dtype && a.lanes == b.lanes; }
};

using Reg = int32_t;
inline constexpr Reg kNoReg = -1;

enum class KOp : uint8_t {
  // no operands
  kConst,  // imm: the bits of one element, splat over lanes
  kIndex,  // value of a Dim (index), as i64 (or i32) scalar
  kLane,   // 0, 1, .. lanes-1; i32 or i64
  kMask,   // bool lanes: lane < index (a Dim)
  // one operand
  kNeg,
  kAbs,
  kSqrt,
  kFloor,
  kRound,    // kRound: to nearest, ties to even; floats only
  kNot,      // bool: logical; ints: bitwise
  kCast,     // value conversion of docs/semantics.md
  kBitcast,  // same element width
  kSplat,    // scalar -> lanes
  kReduceAdd,
  kReduceMul,
  kReduceMin,
  kReduceMax,  // lanes (a power of 2) -> scalar: p[i] op= p[i + lanes/2], halving
  kAny,        // bool lanes -> bool scalar
  // two operands
  kAdd,
  kSub,
  kMul,
  kDiv,  // ints: wrap; div truncates, x/0 = 0, min/-1 = min
  kRem,  // ints; x%0 = 0
  kFloorDiv,
  kMod,  // ints; sign of divisor, x%0 = 0
  kMin,
  kMax,  // floats: propagate NaN, -0 < +0
  kAnd,
  kOr,
  kXor,  // bool and ints
  kShl,
  kShr,
  kSar,  // ints; amounts >= width give 0 (kSar, of signed ints: the sign)
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,  // -> bool; ordered, kNe unordered
  // three operands
  kSelect,  // bool, a, b
  kFma,     // a * b + c, one rounding
  kDot4,    // i32: c + the products of four bytes of a (unsigned) and of b (signed); wraps
  // memory and variables
  kLoad,    // buffer[index + lane * stride]; with a mask: imm where it is false, memory untouched.
            // An i32 scalar of a buffer of bytes: the four from index on, the first one lowest
  kGather,  // buffer[args[0]] with args[0] i64 or i32 lanes; same mask rule
  kGetVar,  // imm: the variable
};
const char* Name(KOp op);

enum class StmtKind : uint8_t {
  kLet,      // out = op(args)
  kVar,      // declares variable `imm` of `type`, initialised with args[0]
  kSetVar,   // variable imm = args[0]
  kStore,    // buffer[index + lane * stride] = args[0]; only lanes where `mask` holds, if given
  kFor,      // symbol in [begin, end) by constant step; body
  kIf,       // args[0] (bool scalar): body else other
  kIfDim,    // claim on sizes and loop variables: body else other
  kBind,     // symbol = args[0] (i64 scalar): data becomes an index
  kCall,     // callees[imm](call.buffers at offsets, call.sizes)
  kFail,     // error exit: failures[imm]; args[0] value (i64), index position, stride bound
  kBarrier,  // threads of a warp see each other's stores (no-op on the CPU)
};

enum class LoopKind : uint8_t { kSerial, kUnrolled };

struct Stmt;

struct CallArgs {
  struct BufferArg {
    int buffer;
    Dim offset;
  };  // elements
  std::vector<BufferArg> buffers;
  std::vector<Dim> sizes;
};

struct Stmt {
  StmtKind kind = StmtKind::kLet;
  KOp op = KOp::kConst;
  LoopKind loop = LoopKind::kSerial;
  KType type;  // of `out` / of the variable / of the stored value
  Reg out = kNoReg;
  std::array<Reg, 3> args{kNoReg, kNoReg, kNoReg};
  Reg mask = kNoReg;  // loads, stores
  int32_t buffer = -1;
  uint64_t imm = 0;
  Dim index, stride = 1;     // kLoad/kStore; kIndex/kMask: index; kFail: position, bound
  dim::SymbolId symbol = 0;  // kFor, kBind
  Dim begin, end;            // kFor
  int64_t step = 1;          // kFor; >= 1
  Claim claim;               // kIfDim
  std::shared_ptr<const CallArgs> call;
  std::vector<Stmt> body, other;
};

// Whether `s` loads four bytes of a buffer of bytes as one i32.
bool LoadsWord(const Stmt& s, DType buffer);

enum class BufferKind : uint8_t {
  kInput,          // read only; may alias no output
  kOutput,         // written (and may be read back)
  kInOut,          // read and written in place
  kWorkerScratch,  // `elements` per worker; contents unspecified at task start
  kTable,          // constant data of the kernel itself: `table`
};
const char* Name(BufferKind kind);  // "input", "output", "inout", "scratch", "table"

struct BufferDecl {
  std::string name;
  DType dtype = DType::kF32;
  BufferKind kind = BufferKind::kInput;
  Dim elements;       // extent in elements, over the sizes; bounds are checked against it
  int alignment = 0;  // proved or guarded byte alignment of the base; 0: that of an element
  std::vector<uint64_t> table;  // kTable: bits of each element
};

struct Kernel {
  std::string name;  // for people; not part of the key
  std::shared_ptr<dim::DimContext> dims;
  std::vector<Dim> sizes;           // symbols, in the order of the ABI
  std::vector<BufferDecl> buffers;  // in the order of the ABI; tables come last and are not passed
  std::vector<Claim> assumptions;   // answers that the derivation relied on, over `sizes`
  Dim tasks = 1;                    // over `sizes`
  dim::SymbolId task = 0;           // the task's number
  std::vector<std::string> failures;                   // texts of fail sites
  std::vector<std::shared_ptr<const Kernel>> callees;  // micro-kernels: tasks == 1, called directly
  bool is_micro = false;  // direct ABI: pointers, then sizes; no tasks, no failures
  int num_regs = 0, num_vars = 0;
  std::vector<Stmt> body;

  int num_passed_buffers() const;  // without tables
};

// Invariants are numbered in verify.cc.
absl::Status Verify(const Kernel& k);

// Text with symbols, registers and buffers renamed canonically: equal kernels give equal text. It
// is what the artefact key hashes and what golden tests compare. `ParseKernel` reads it back.
std::string Print(const Kernel& k);
absl::StatusOr<std::shared_ptr<Kernel>> ParseKernel(std::string_view text);

// 32 hex digits: a 128-bit hash of Print(k) and of the callees' texts.
std::string Fingerprint(const Kernel& k);

}  // namespace lathe::kernel
