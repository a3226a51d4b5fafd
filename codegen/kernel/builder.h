#pragma once
// KernelBuilder: writes Kernel IR. Used by schedules, the elementary functions and tests.
//
//   KernelBuilder b("double");
//   Dim n = b.Size("n");
//   int x = b.Buffer("x", f32, BufferKind::kInput, n);
//   int y = b.Buffer("y", f32, BufferKind::kOutput, n);
//   b.Tasks(CeilDiv(n, 16));
//   Dim i = b.task() * 16;
//   Reg m = b.Mask(n - i, 16), two = b.Float({f32, 16}, 2);
//   b.Store(y, i, b.Bin(KOp::kMul, b.Load(x, i, 16, 1, m), two), 1, m);
//   std::shared_ptr<Kernel> k = b.Finish();
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/kernel/kernel.h"

namespace lathe::kernel {

class KernelBuilder {
 public:
  explicit KernelBuilder(std::string name);

  dim::DimContext* dims() const { return kernel_->dims.get(); }
  Dim Size(const std::string& name);  // a new size parameter
  const std::vector<Dim>& sizes() const { return kernel_->sizes; }
  int Buffer(const std::string& name, DType dtype, BufferKind kind, Dim elements,
             int alignment = 0);
  int Table(const std::string& name, DType dtype, std::vector<uint64_t> bits);
  void Assume(const Claim& c);
  void Tasks(Dim count);
  Dim task() const;
  void SetMicro() { kernel_->is_micro = true; }

  KType type(Reg r) const { return types_[r]; }
  Reg Float(KType t, double value);  // converted as kCast does: to ints it saturates
  Reg Int(KType t, int64_t value);   // the same: to ints it wraps
  Reg Bits(KType t, uint64_t bits);
  Reg Index(Dim d, DType dtype = DType::kI64);
  Reg Lane(KType t);
  Reg Mask(Dim count, int lanes);  // lane < count
  Reg Un(KOp op, Reg a);
  Reg Cast(Reg a, DType to);
  Reg Bitcast(Reg a, DType to);
  Reg Splat(Reg a, int lanes);  // `a` itself if it has that many lanes
  Reg Reduce(KOp op, Reg a);    // kReduce*
  Reg Any(Reg mask);
  Reg Bin(KOp op, Reg a, Reg b);  // a scalar operand is splat to the other's lanes
  Reg Select(Reg cond, Reg a, Reg b);
  Reg Fma(Reg a, Reg b, Reg c);
  Reg Dot4(Reg a, Reg b, Reg c);
  Reg Load(int buffer, Dim index, int lanes = 1, Dim stride = 1, Reg mask = kNoReg,
           uint64_t fill_bits = 0);
  Reg LoadWord(int buffer, Dim index);  // four bytes of a buffer of bytes, as an i32
  Reg Gather(int buffer, Reg index, Reg mask = kNoReg, uint64_t fill_bits = 0);
  void Store(int buffer, Dim index, Reg value, Dim stride = 1, Reg mask = kNoReg);

  int Var(Reg init);
  Reg Get(int var);
  void Set(int var, Reg value);

  void For(const std::string& name, Dim begin, Dim end, int64_t step,
           const std::function<void(Dim)>& body, LoopKind kind = LoopKind::kSerial);
  void If(Reg cond, const std::function<void()>& then, const std::function<void()>& other = {});
  void If(const Claim& c, const std::function<void()>& then,
          const std::function<void()>& other = {});
  Dim Bind(const std::string& name, Reg value);
  struct Loop {
    Dim variable, begin, end;
  };
  // The loops around what is written now, outermost first.
  const std::vector<Loop>& loops() const { return loops_; }
  void Call(std::shared_ptr<const Kernel> callee, std::vector<CallArgs::BufferArg> buffers,
            std::vector<Dim> sizes);
  void Fail(const std::string& text, Reg value, Dim position, Dim bound);
  void Barrier();

  // The kernel; verified in debug builds. The builder is spent. Buffers are renumbered so that
  // tables come last.
  std::shared_ptr<Kernel> Finish();

  // What makes constants, indices, lanes, masks and splats equal: op, dtype, lanes, operand, bits,
  // Dim.
  using LeafKey = std::tuple<int, int, int, Reg, uint64_t, Dim>;

 private:
  Reg Emit(Stmt s);
  Reg EmitOp(KOp op, KType type, std::array<Reg, 3> args);
  void OpenBlock(std::vector<Stmt>* block);
  void CloseBlock();
  void FillBranches(Stmt s, const std::function<void()>& then, const std::function<void()>& other);
  std::vector<Stmt>& block() { return *blocks_.back(); }
  std::shared_ptr<Kernel> kernel_;
  std::vector<std::vector<Stmt>*> blocks_;                 // open blocks, innermost last
  std::vector<absl::flat_hash_map<LeafKey, Reg>> leaves_;  // per open block: leaves to reuse
  std::vector<KType> types_, var_types_;
  std::vector<Loop> loops_;
};

}  // namespace lathe::kernel
