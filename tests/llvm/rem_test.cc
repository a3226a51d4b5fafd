// rem and mod of floats as machine code have the bits of C's fmod, but don't call it: no
// elementwise op calls a library.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/kernel/math.h"
#include "codegen/kernel/scalar_ops.h"
#include "ir/visit_dtype.h"
#include "tests/llvm/harness.h"

namespace lathe::llvm_target {
namespace {

using kernel::BufferKind;
using kernel::KernelBuilder;
using kernel::Reg;

// r = x rem y and m = x mod y.
std::shared_ptr<kernel::Kernel> MakeRem(DType t, int lanes) {
  KernelBuilder b(absl::StrCat("rem_", Name(t), "_", lanes));
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", t, BufferKind::kInput, n);
  const int y = b.Buffer("y", t, BufferKind::kInput, n);
  const int r = b.Buffer("r", t, BufferKind::kOutput, n);
  const int m = b.Buffer("m", t, BufferKind::kOutput, n);
  b.Tasks(FloorDiv(n, lanes));
  const Dim at = b.task() * lanes;
  const Reg vx = b.Load(x, at, lanes), vy = b.Load(y, at, lanes);
  b.Store(r, at, EmitElementwise(b, ir::Op::k_rem, {vx, vy}));
  b.Store(m, at, EmitElementwise(b, ir::Op::k_mod, {vx, vy}));
  return b.Finish();
}

// Operands, and what they give.
template <typename T>
struct Pairs {
  std::vector<T> x, y, rem, mod;
  void Add(T a, T b) {
    x.push_back(a);
    y.push_back(b);
    const T r = std::fmod(a, b);
    rem.push_back(r);
    mod.push_back(r == 0 ? std::copysign(r, b) : (r < 0) != (b < 0) ? r + b : r);
  }
};

template <typename T>
T Mantissa(T v) {
  int exponent = 0;
  return std::frexp(v, &exponent);
}

// Any bits; quotients about as long as a mantissa or two, and those next to a whole number; all
// pairs of special values, of powers of two and of their neighbours.
template <typename T>
Pairs<T> MakePairs(int64_t random_bits) {
  using L = std::numeric_limits<T>;
  std::mt19937_64 random(11);
  Pairs<T> pairs;
  for (int64_t i = 0; i < random_bits; ++i) {
    const T a = kernel::scalar::FromBits<T>(random()), b = kernel::scalar::FromBits<T>(random());
    pairs.Add(a, b);
    if (i % 4 != 0) continue;
    const T longer = std::ldexp(T{1}, static_cast<int>(random() % (2 * L::digits + 4)));
    pairs.Add(Mantissa(a) * longer, Mantissa(b));
    const T product = std::nearbyint(Mantissa(a) * longer) * b;
    pairs.Add(std::nextafter(product, i % 8 == 0 ? L::max() : T{0}), b);
  }
  std::vector<T> special{
      0, 1, 3, L::denorm_min(), 3 * L::denorm_min(), L::max(), L::infinity(), L::quiet_NaN()};
  for (int e = L::min_exponent - L::digits; e < L::max_exponent; e += L::digits / 3) {
    const T power = std::ldexp(T{1}, e);
    for (T toward : {T{0}, L::max()}) special.push_back(std::nextafter(power, toward));
    special.push_back(power);
  }
  for (T a : special) {
    for (T b : special) {
      pairs.Add(a, b);
      pairs.Add(-a, b);
      pairs.Add(a, -b);
    }
  }
  while (pairs.x.size() % 32 != 0) pairs.Add(-1, 1);
  return pairs;
}

template <typename T>
void CheckAgainstFmod(DType t, LlvmCompiler& compiler, Tier tier, int lanes,
                      const Pairs<T>& pairs) {
  auto code = compiler.Compile(*MakeRem(t, lanes), tier);
  ASSERT_TRUE(code.ok()) << code.status();
  std::vector<T> x = pairs.x, y = pairs.y, r(x.size()), m(x.size());
  void* buffers[] = {x.data(), y.data(), r.data(), m.data()};
  const int64_t n = static_cast<int64_t>(x.size());
  ASSERT_EQ((*code)->fn(buffers, &n, 0, n / lanes, 0, nullptr), 0);
  const std::string where = absl::StrCat(compiler.target().cpu, ", ", lanes, " lanes");
  EXPECT_EQ(Difference(TestBuffer::Of(t, pairs.rem), TestBuffer::Of(t, r)), "") << where;
  EXPECT_EQ(Difference(TestBuffer::Of(t, pairs.mod), TestBuffer::Of(t, m)), "") << where;
}

TEST(Rem, BitsOfFmodOfAMillionPairs) {
  const Pairs<float> narrow = MakePairs<float>(1000000);
  const Pairs<double> wide = MakePairs<double>(1000000);
  for (LlvmCompiler* compiler : Compilers()) {
    CheckAgainstFmod(DType::kF32, *compiler, Tier::kFull, 32, narrow);
    CheckAgainstFmod(DType::kF64, *compiler, Tier::kFull, 16, wide);
  }
}

TEST(Rem, BitsOfFmodInScalarsAndWithoutOptimisation) {
  const Pairs<float> narrow = MakePairs<float>(20000);
  const Pairs<double> wide = MakePairs<double>(20000);
  for (LlvmCompiler* compiler : {&HostCompiler(), &Sse2Compiler()}) {
    for (int lanes : {1, 8}) {
      CheckAgainstFmod(DType::kF32, *compiler, Tier::kQuick, lanes, narrow);
      CheckAgainstFmod(DType::kF64, *compiler, Tier::kQuick, lanes, wide);
    }
  }
}

TEST(Rem, BitsOfTheEvaluator) {
  std::vector<LlvmCompiler*> compilers = Compilers();
  compilers.push_back(&Sse2Compiler());
  for (DType t : {DType::kF32, DType::kF64}) {
    std::vector<uint64_t> x, y;
    for (uint64_t a : SpecialValues(t)) {
      for (uint64_t b : SpecialValues(t)) {
        x.push_back(a);
        y.push_back(b);
      }
    }
    while (x.size() % 32 != 0) x.push_back(x[2]), y.push_back(x[1]);
    const int64_t n = static_cast<int64_t>(x.size());
    for (int lanes : {1, 8, 32}) {
      Agreement(MakeRem(t, lanes), compilers)
          .Check({TestBuffer::OfBits(t, x), TestBuffer::OfBits(t, y), TestBuffer::Canaries(t, n),
                  TestBuffer::Canaries(t, n)},
                 {n}, n / lanes, absl::StrCat(Name(t), " x ", lanes));
    }
  }
}

std::string AssemblyOf(const ir::OpInfo& op, DType t, int lanes) {
  KernelBuilder b{std::string(op.name)};
  const Dim n = b.Size("n");
  b.Tasks(FloorDiv(n, lanes));
  const Dim at = b.task() * lanes;
  std::vector<Reg> operands;
  for (int i = 0; i < op.max_operands; ++i)
    operands.push_back(b.Load(b.Buffer("x", t, BufferKind::kInput, n), at, lanes));
  const Reg y = EmitElementwise(b, op.op, operands);
  b.Store(b.Buffer("y", b.type(y).dtype, BufferKind::kOutput, n), at, y);
  return *Avx2Compiler().Assembly(*b.Finish());
}

TEST(Rem, NoElementwiseOpCallsALibrary) {
  int texts = 0;
  for (const ir::OpInfo& op : ir::AllOps()) {
    if (op.emission != ir::Emission::kElementwise) continue;
    if (op.op == ir::Op::k_cast || op.op == ir::Op::k_bitcast || op.op == ir::Op::k_select)
      continue;
    for (DType t : {DType::kF32, DType::kF64}) {
      if (!ir::Contains(op.dtypes, t)) continue;
      for (int lanes : {1, 16}) {
        const std::string text = AssemblyOf(op, t, lanes);
        EXPECT_FALSE(absl::StrContains(text, "\tcall") || absl::StrContains(text, "fmod"))
            << op.name << " of " << Name(t) << " x " << lanes;
        ++texts;
      }
    }
  }
  EXPECT_GT(texts, 150);
}

}  // namespace
}  // namespace lathe::llvm_target
