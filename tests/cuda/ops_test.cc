// Every op on every element type, in vectors and in scalars, gives the evaluator's bits.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/cuda_text.h"
#include "codegen/kernel/math.h"
#include "tests/cuda/harness.h"

namespace lathe::cuda {
namespace {

using kernel::BufferKind;
using kernel::Kernel;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::Reg;

constexpr DType kTypes[] = {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64};

bool Between(KOp op, KOp first, KOp last) { return op >= first && op <= last; }

// Ops of two operands that the type has.
bool HasBinary(KOp op, DType t) {
  if (IsNarrowFloat(t)) return false;
  if (op == KOp::kSar) return IsSigned(t);
  if (Between(op, KOp::kShl, KOp::kSar) || op == KOp::kRem || op == KOp::kMod) return IsInt(t);
  if (Between(op, KOp::kAnd, KOp::kXor)) return !IsFloat(t);
  return t != DType::kBool || !Between(op, KOp::kAdd, KOp::kMod);
}

// Ops of one operand that the type has, reductions included.
bool HasUnary(KOp op, DType t) {
  if (IsNarrowFloat(t)) return false;
  if (op == KOp::kCast || op == KOp::kBitcast || op == KOp::kSplat) return false;  // apart
  if (op == KOp::kAny) return t == DType::kBool;
  if (op == KOp::kNot) return !IsFloat(t);
  if (Between(op, KOp::kSqrt, KOp::kRound)) return IsFloat(t);
  if (op == KOp::kReduceMin || op == KOp::kReduceMax) return true;
  return t != DType::kBool;
}

// Applies all ops of the type to each group of `lanes` elements of x, y and z.
class OpsKernel {
 public:
  OpsKernel(DType t, int lanes) : b_(absl::StrCat("ops_", Name(t), "_", lanes)), n_(b_.Size("n")) {
    const int x = b_.Buffer("x", t, BufferKind::kInput, n_);
    const int y = b_.Buffer("y", t, BufferKind::kInput, n_);
    const int z = b_.Buffer("z", t, BufferKind::kInput, n_);
    b_.Tasks(FloorDiv(n_, lanes));
    at_ = b_.task() * lanes;
    const Reg vx = b_.Load(x, at_, lanes), vy = b_.Load(y, at_, lanes), vz = b_.Load(z, at_, lanes);
    for (int i = static_cast<int>(KOp::kNeg); i <= static_cast<int>(KOp::kGe); ++i) {
      const KOp op = static_cast<KOp>(i);
      if (op >= KOp::kAdd) {
        if (HasBinary(op, t)) Store(b_.Bin(op, vx, vy));
      } else if (op == KOp::kAny) {
        if (HasUnary(op, t)) Store(b_.Any(vx));
      } else if (Between(op, KOp::kReduceAdd, KOp::kReduceMax)) {
        if (HasUnary(op, t)) Store(b_.Reduce(op, vx));
      } else if (HasUnary(op, t)) {
        Store(b_.Un(op, vx));
      }
    }
    const bool narrow = IsNarrowFloat(t);
    const Reg less =
        narrow ? b_.Bin(KOp::kLt, b_.Cast(vx, f32), b_.Cast(vy, f32)) : b_.Bin(KOp::kLt, vx, vy);
    Store(b_.Select(less, vy, vz));
    if (IsFloat(t) && !narrow) {
      Store(b_.Fma(vx, vy, vz));
      Store(EmitElementwise(b_, ir::Op::k_rem, {vx, vy}));
      Store(EmitElementwise(b_, ir::Op::k_mod, {vx, vy}));
    }
    if (t == i32) Store(b_.Dot4(vx, vy, vz));
    if (IsIndex(t)) Store(b_.Lane({t, lanes}));
    for (DType to : kTypes) {
      Store(b_.Cast(vx, to));
      if (SizeOf(to) == SizeOf(t) && (to == bool_) == (t == bool_)) Store(b_.Bitcast(vx, to));
    }
    Store(b_.Splat(b_.Load(x, at_), lanes));
    Store(b_.Get(b_.Var(vy)));
    kernel = b_.Finish();
  }

  std::shared_ptr<const Kernel> kernel;
  std::vector<DType> outputs;

 private:
  void Store(Reg r) {
    const DType type = b_.type(r).dtype;
    outputs.push_back(type);
    b_.Store(b_.Buffer("out", type, BufferKind::kOutput, n_), at_, r);
  }
  KernelBuilder b_;
  Dim n_, at_;
};

// All pairs of special values in x and y; z runs along. Whole vectors of 32.
std::vector<TestBuffer> Operands(DType t) {
  const std::vector<uint64_t> special = SpecialValues(t);
  std::vector<uint64_t> x, y, z;
  for (size_t i = 0; i < special.size(); ++i) {
    for (size_t j = 0; j < special.size(); ++j) {
      x.push_back(special[i]);
      y.push_back(special[j]);
      z.push_back(special[(i * 3 + j * 7) % special.size()]);
    }
  }
  while (x.size() % 32 != 0) {
    x.push_back(special[1]);
    y.push_back(special[0]);
    z.push_back(special[1]);
  }
  return {TestBuffer::OfBits(t, x), TestBuffer::OfBits(t, y), TestBuffer::OfBits(t, z)};
}

TEST(Ops, BitsOfTheEvaluator) {
  std::vector<OpsKernel> made;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (DType t : kTypes) {
    for (int lanes : {1, 32}) {
      made.emplace_back(t, lanes);
      kernels.push_back(made.back().kernel);
    }
  }
  const std::unique_ptr<HostModule> module = BuildModule(kernels);
  ASSERT_NE(module, nullptr);
  for (const OpsKernel& m : made) {
    std::vector<TestBuffer> buffers = Operands(m.kernel->buffers[0].dtype);
    const int64_t n = buffers[0].elements();
    for (DType out : m.outputs) buffers.push_back(TestBuffer::Canaries(out, n));
    EXPECT_EQ(Difference(*module, *m.kernel, buffers, {n}), "") << m.kernel->name;
  }
  const std::shared_ptr<Nvrtc> nvrtc = OpenNvrtc();
  if (nvrtc == nullptr) GTEST_SKIP() << "no NVRTC";
  std::vector<std::string> texts;
  for (const auto& k : kernels) texts.push_back(CudaText(*k).value());
  const absl::StatusOr<Cubin> cubin = nvrtc->Compile(CudaProgram(texts), "sm_90");
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  EXPECT_EQ(cubin->kernels.size(), texts.size());
}

TEST(Ops, WordsOfBytesAtAnyOffset) {
  KernelBuilder b("words");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", u8, BufferKind::kInput, n);
  const int y = b.Buffer("y", i8, BufferKind::kInput, n);
  const int z = b.Buffer("z", i32, BufferKind::kOutput, n - 3);
  b.Tasks(n - 3);
  b.Store(z, b.task(),
          b.Dot4(b.LoadWord(x, b.task()), b.LoadWord(y, b.task()), b.Int({i32, 1}, -5)));
  const std::shared_ptr<const Kernel> k = b.Finish();
  const std::unique_ptr<HostModule> module = BuildModule({k});
  ASSERT_NE(module, nullptr);
  std::vector<uint64_t> bytes;
  for (uint64_t i = 0; i < 37; ++i) bytes.push_back((i * 77 + 200) & 0xff);
  EXPECT_EQ(Difference(*module, *k,
                       {TestBuffer::OfBits(u8, bytes), TestBuffer::OfBits(i8, bytes),
                        TestBuffer::Canaries(i32, 34)},
                       {37}),
            "");
}

TEST(Ops, ReductionsHalve) {
  // Sums whose bits depend on the order of the additions.
  KernelBuilder b("halve");
  const int x = b.Buffer("x", f32, BufferKind::kInput, 32);
  const int y = b.Buffer("y", f32, BufferKind::kOutput, 32);
  const Reg v = b.Load(x, 0, 32);
  b.Store(y, 0, b.Splat(b.Reduce(KOp::kReduceAdd, v), 32));
  const std::shared_ptr<const Kernel> k = b.Finish();
  const std::unique_ptr<HostModule> module = BuildModule({k});
  ASSERT_NE(module, nullptr);
  std::vector<uint64_t> bits;
  for (uint64_t i = 0; i < 32; ++i) bits.push_back(0x3f000000 + i * 0x1234567);
  EXPECT_EQ(
      Difference(*module, *k, {TestBuffer::OfBits(f32, bits), TestBuffer::Canaries(f32, 32)}, {}),
      "");
}

}  // namespace
}  // namespace lathe::cuda
