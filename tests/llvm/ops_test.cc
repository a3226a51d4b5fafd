// Every op on every element type and lane count gives the evaluator's bits, special values
// included.
#include <gtest/gtest.h>

#include <bit>

#include "absl/strings/str_cat.h"
#include "ir/visit_dtype.h"
#include "tests/llvm/harness.h"

namespace lathe::llvm_target {
namespace {

using kernel::BufferKind;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::KType;
using kernel::Reg;

bool Between(KOp op, KOp first, KOp last) { return op >= first && op <= last; }

// Operand counts 1 to 3: ops on registers only.
int Arity(KOp op) {
  if (Between(op, KOp::kNeg, KOp::kAny)) return 1;
  if (Between(op, KOp::kAdd, KOp::kGe)) return 2;
  return Between(op, KOp::kSelect, KOp::kDot4) ? 3 : 0;
}

bool HasType(KOp op, DType t, int lanes) {
  if (IsNarrowFloat(t)) return op == KOp::kSelect;
  if (op == KOp::kSar) return IsSigned(t);
  if (op == KOp::kSplat || op == KOp::kCast || op == KOp::kBitcast) return false;  // tested apart
  if (op == KOp::kAny) return t == DType::kBool;
  if (Between(op, KOp::kReduceAdd, KOp::kReduceMax)) {
    const bool arithmetic = op == KOp::kReduceAdd || op == KOp::kReduceMul;
    return (lanes & (lanes - 1)) == 0 && !(arithmetic && t == DType::kBool);
  }
  if (Between(op, KOp::kSqrt, KOp::kRound) || op == KOp::kFma) return IsFloat(t);
  if (op == KOp::kDot4) return t == i32;
  if (Between(op, KOp::kShl, KOp::kSar) || op == KOp::kRem || op == KOp::kMod) return IsInt(t);
  if (op == KOp::kNot || Between(op, KOp::kAnd, KOp::kXor)) return !IsFloat(t);
  const bool arithmetic = op == KOp::kNeg || op == KOp::kAbs || Between(op, KOp::kAdd, KOp::kMod);
  return !(arithmetic && t == DType::kBool);
}

// One kernel that applies all ops of the type to each group of `lanes` elements of x, y and z.
struct OpsKernel {
  std::shared_ptr<kernel::Kernel> kernel;
  std::vector<DType> outputs;
};

OpsKernel MakeOpsKernel(DType t, int lanes) {
  OpsKernel made;
  KernelBuilder b(absl::StrCat("ops_", Name(t), "_", lanes));
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", t, BufferKind::kInput, n);
  const int y = b.Buffer("y", t, BufferKind::kInput, n);
  const int z = b.Buffer("z", t, BufferKind::kInput, n);
  b.Tasks(FloorDiv(n, lanes));
  const Dim at = b.task() * lanes;
  const Reg vx = b.Load(x, at, lanes), vy = b.Load(y, at, lanes), vz = b.Load(z, at, lanes);
  const auto store = [&](const std::string& name, Reg r) {
    const DType type = b.type(r).dtype;
    const int out = b.Buffer(name, type, BufferKind::kOutput, n);
    made.outputs.push_back(type);
    b.Store(out, at, r);
  };
  for (int i = 0; i <= static_cast<int>(KOp::kDot4); ++i) {
    const KOp op = static_cast<KOp>(i);
    const int arity = Arity(op);
    if (arity == 0 || !HasType(op, t, lanes)) continue;
    if (op == KOp::kSelect) {
      const bool narrow = IsNarrowFloat(t);
      const Reg less =
          narrow ? b.Bin(KOp::kLt, b.Cast(vx, f32), b.Cast(vy, f32)) : b.Bin(KOp::kLt, vx, vy);
      store("select", b.Select(less, vy, vz));
    } else if (op == KOp::kFma) {
      store("fma", b.Fma(vx, vy, vz));
    } else if (op == KOp::kDot4) {
      store("dot4", b.Dot4(vx, vy, vz));
    } else if (arity == 2) {
      store(kernel::Name(op), b.Bin(op, vx, vy));
    } else if (op == KOp::kAny) {
      store("any", b.Any(vx));
    } else if (Between(op, KOp::kReduceAdd, KOp::kReduceMax)) {
      store(kernel::Name(op), b.Reduce(op, vx));
    } else {
      store(kernel::Name(op), b.Un(op, vx));
    }
  }
  for (int k = 0; k < kNumDTypes; ++k) {
    const DType to = static_cast<DType>(k);
    if (to != t) store(absl::StrCat("cast_", Name(to)), b.Cast(vx, to));
    if (to != t && SizeOf(to) == SizeOf(t) && t != DType::kBool && to != DType::kBool) {
      store(absl::StrCat("bitcast_", Name(to)), b.Bitcast(vx, to));
    }
  }
  store("splat", b.Splat(b.Load(x, at), lanes));
  store("var", b.Get(b.Var(vy)));
  if (IsIndex(t)) store("lane", b.Lane({t, lanes}));
  made.kernel = b.Finish();
  return made;
}

class OpsTest : public ::testing::TestWithParam<std::tuple<DType, int>> {};

TEST_P(OpsTest, BitsOfTheEvaluator) {
  const auto [t, lanes] = GetParam();
  OpsKernel made = MakeOpsKernel(t, lanes);
  // All pairs of special values; the third operand runs along.
  const std::vector<uint64_t> special = SpecialValues(t);
  std::vector<uint64_t> x, y, z;
  for (size_t i = 0; i < special.size(); ++i) {
    for (size_t j = 0; j < special.size(); ++j) {
      x.push_back(special[i]);
      y.push_back(special[j]);
      z.push_back(special[(i * 3 + j * 7) % special.size()]);
    }
  }
  while (x.size() % static_cast<size_t>(lanes) != 0) {
    x.push_back(special[1]);
    y.push_back(special[0]);
    z.push_back(special[1]);
  }
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<TestBuffer> buffers = {TestBuffer::OfBits(t, x), TestBuffer::OfBits(t, y),
                                     TestBuffer::OfBits(t, z)};
  for (DType out : made.outputs) buffers.push_back(TestBuffer::Canaries(out, n));
  std::vector<LlvmCompiler*> compilers = Compilers();
  if (lanes == 1 || lanes == 8) compilers.push_back(&Sse2Compiler());
  Agreement(made.kernel, compilers).Check(buffers, {n}, n / lanes, "ops");
}

std::vector<std::tuple<DType, int>> Cases() {
  std::vector<std::tuple<DType, int>> cases;
  for (int t = 0; t < kNumDTypes; ++t) {
    for (int lanes : {1, 2, 3, 8, 16, 32, 64}) {
      // Types that share their code with another: fewer lane counts.
      const bool few = static_cast<DType>(t) > DType::kF64;
      if (!few || lanes == 1 || lanes == 3 || lanes == 32)
        cases.emplace_back(static_cast<DType>(t), lanes);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, OpsTest, ::testing::ValuesIn(Cases()), [](const auto& test) {
  return absl::StrCat(Name(std::get<0>(test.param)), "x", std::get<1>(test.param));
});

// Sums of products of bytes with and without an instruction for them, over random bytes.
TEST(Dot4, BitsOfTheEvaluatorOnEveryTarget) {
  CpuTarget plain = HostTarget();
  plain.has_dot4 = false;
  const auto without = LlvmCompiler::Create(plain);
  ASSERT_TRUE(without.ok()) << without.status();
  for (int lanes : {1, 2, 3, 4, 8, 16, 32, 64}) {
    KernelBuilder b(absl::StrCat("dot4_", lanes));
    const Dim n = b.Size("n");
    int in[3];
    for (int& x : in) x = b.Buffer("x", i32, BufferKind::kInput, n);
    const int y = b.Buffer("y", i32, BufferKind::kOutput, n);
    b.Tasks(CeilDiv(n, lanes));
    const Dim at = b.task() * lanes;
    const Reg mask = b.Mask(n - at, lanes);
    Reg v[3];
    for (int i = 0; i < 3; ++i) v[i] = b.Load(in[i], at, lanes, 1, mask);
    b.Store(y, at, b.Dot4(v[0], v[1], v[2]), 1, mask);
    std::vector<TestBuffer> buffers;
    uint64_t seed = 7;
    for (int i = 0; i < 3; ++i) {
      std::vector<uint64_t> words{0, 0xffffffff, 0x80808080, 0x7f7f7f7f};
      while (words.size() < 131) words.push_back((seed = seed * 6364136223846793005u + 1) >> 32);
      buffers.push_back(TestBuffer::OfBits(i32, words));
    }
    buffers.push_back(TestBuffer::Canaries(i32, 131));
    std::vector<LlvmCompiler*> compilers = Compilers();
    compilers.push_back(&Sse2Compiler());
    compilers.push_back(without->get());
    Agreement(b.Finish(), compilers)
        .Check(buffers, {131}, (131 + lanes - 1) / lanes, absl::StrCat(lanes, " lanes"));
  }
}

// Quotients that are whole or next to it, over the whole range: what a detour over floats would
// get wrong first.
TEST(Division, OfLanesNextToWholeQuotients) {
  KernelBuilder b("division");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", i32, BufferKind::kInput, n);
  const int y = b.Buffer("y", i32, BufferKind::kInput, n);
  const Dim at = b.task() * 32;
  b.Tasks(FloorDiv(n, 32));
  const Reg vx = b.Load(x, at, 32), vy = b.Load(y, at, 32);
  std::vector<TestBuffer> buffers(2);
  constexpr int64_t kCount = 32 * 4096;
  for (KOp op : {KOp::kDiv, KOp::kRem, KOp::kFloorDiv, KOp::kMod}) {
    b.Store(b.Buffer(kernel::Name(op), i32, BufferKind::kOutput, n), at, b.Bin(op, vx, vy));
    buffers.push_back(TestBuffer::Canaries(i32, kCount));
  }
  std::vector<uint64_t> dividends, divisors;
  uint64_t seed = 11;
  const auto next = [&] {
    return (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 32;
  };
  for (int64_t i = 0; i < kCount; ++i) {
    const int64_t divisor = static_cast<int32_t>(next()) >> (next() % 32);
    const int64_t most = divisor == 0 ? 1 : INT32_MAX / std::max<int64_t>(std::abs(divisor), 1);
    const int64_t quotient = static_cast<int64_t>(next() % static_cast<uint64_t>(most + 1));
    const int64_t sign = next() % 2 == 0 ? 1 : -1, off = static_cast<int64_t>(next() % 3) - 1;
    dividends.push_back(static_cast<uint32_t>(sign * quotient * divisor + off));
    divisors.push_back(static_cast<uint32_t>(divisor));
  }
  for (int64_t i = 0; i < 64; ++i) {  // the ends
    dividends[i] = static_cast<uint32_t>(i % 2 == 0 ? INT32_MIN : INT32_MAX);
    divisors[i] = static_cast<uint32_t>(i % 7 - 3);
  }
  buffers[0] = TestBuffer::OfBits(i32, dividends);
  buffers[1] = TestBuffer::OfBits(i32, divisors);
  std::vector<LlvmCompiler*> compilers = Compilers();
  compilers.push_back(&Sse2Compiler());
  Agreement(b.Finish(), compilers).Check(buffers, {kCount}, kCount / 32, "division");
}

// All f16 and bf16 to f32 and back, and f32 between them and their neighbours.
TEST(NarrowFloats, EveryValueConvertsBothWays) {
  for (DType t : {f16, bf16}) {
    KernelBuilder b(absl::StrCat("narrow_", Name(t)));
    const Dim n = b.Size("n");
    const int x = b.Buffer("x", t, BufferKind::kInput, n);
    const int y = b.Buffer("y", f32, BufferKind::kOutput, n);
    const int z = b.Buffer("z", f32, BufferKind::kInput, n);
    const int w = b.Buffer("w", t, BufferKind::kOutput, n);
    b.Tasks(FloorDiv(n, 32));
    const Dim at = b.task() * 32;
    b.Store(y, at, b.Cast(b.Load(x, at, 32), f32));
    b.Store(w, at, b.Cast(b.Load(z, at, 32), t));
    std::vector<uint64_t> narrow, wide;
    for (uint64_t i = 0; i < 65536; ++i) {
      narrow.push_back(i);
      // Of each value its middle to the next one, or a bit beside it.
      const float f = VisitDType(t, [i](auto type) {
        if constexpr (kIsNarrowFloat<decltype(type)>) {
          return static_cast<float>(decltype(type)::FromBits(static_cast<uint16_t>(i)));
        } else {
          return 0.0f;
        }
      });
      const uint32_t unit = t == f16 ? 0x1000 : 0x8000;
      wide.push_back((std::bit_cast<uint32_t>(f) + unit + (i % 3) - 1) & 0xffffffffu);
    }
    std::vector<LlvmCompiler*> compilers = Compilers();
    compilers.push_back(&Sse2Compiler());
    Agreement(b.Finish(), compilers)
        .Check({TestBuffer::OfBits(t, narrow), TestBuffer::Canaries(f32, 65536),
                TestBuffer::OfBits(f32, wide), TestBuffer::Canaries(t, 65536)},
               {65536}, 65536 / 32, Name(t));
  }
}

TEST(Rounding, NothingIsContractedOrReassociated) {
  // a * b + c with a product that isn't exact: one rounding differs from two.
  KernelBuilder b("contract");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", f32, BufferKind::kInput, n);
  const int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(1);
  const Reg v = b.Load(x, 0, 16);
  const Reg sum = b.Bin(KOp::kSub, b.Bin(KOp::kMul, v, v), b.Bin(KOp::kMul, v, v));
  const Reg product = b.Bin(KOp::kMul, v, v);
  b.Store(y, 0, b.Bin(KOp::kAdd, b.Bin(KOp::kAdd, product, b.Float({f32, 16}, -1)), sum));
  std::vector<float> values(16);
  for (int i = 0; i < 16; ++i) values[i] = 1 + static_cast<float>(i) * 1.1920929e-07f * 3;
  Agreement(b.Finish())
      .Check({TestBuffer::Of(f32, values), TestBuffer::Canaries(f32, 16)}, {16}, 1, "contract");
}

}  // namespace
}  // namespace lathe::llvm_target
