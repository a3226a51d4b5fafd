// Elementary functions as machine code: within their bounds of float64 over all of float32 (a
// strided sample by default, every value with LATHE_FULL=1), and the evaluator's bits.
#include "codegen/kernel/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/llvm/harness.h"

namespace lathe::llvm_target {
namespace {

using kernel::BufferKind;
using kernel::KernelBuilder;
using kernel::Reg;

struct Function {
  ir::Op op;
  double (*reference)(double);  // by float64 formulas without cancellation
  double ulps;
  double relative_to_argument;  // or within this times |x|
};

const Function kFunctions[] = {
    {ir::Op::k_exp, [](double x) { return std::exp(x); }, 4, 0},
    {ir::Op::k_log, [](double x) { return std::log(x); }, 4, 0},
    {ir::Op::k_sqrt, [](double x) { return std::sqrt(x); }, 0.5, 0},
    {ir::Op::k_rsqrt, [](double x) { return 1 / std::sqrt(x); }, 4, 0},
    {ir::Op::k_tanh, [](double x) { return std::tanh(x); }, 4, 0},
    {ir::Op::k_erf, [](double x) { return std::erf(x); }, 4, 0},
    {ir::Op::k_sin, [](double x) { return std::sin(x); }, 4, 0},
    {ir::Op::k_cos, [](double x) { return std::cos(x); }, 4, 0},
    {ir::Op::k_exp2, [](double x) { return std::exp2(x); }, 4, 0},
    {ir::Op::k_expm1, [](double x) { return std::expm1(x); }, 4, 0},
    {ir::Op::k_log2, [](double x) { return std::log2(x); }, 4, 0},
    {ir::Op::k_log1p, [](double x) { return std::log1p(x); }, 4, 0},
    {ir::Op::k_tan, [](double x) { return std::tan(x); }, 1, 0},
    {ir::Op::k_asin, [](double x) { return std::asin(x); }, 1, 0},
    {ir::Op::k_acos, [](double x) { return std::acos(x); }, 1, 0},
    {ir::Op::k_atan, [](double x) { return std::atan(x); }, 1, 0},
    {ir::Op::k_sinh, [](double x) { return std::sinh(x); }, 1, 0},
    {ir::Op::k_cosh, [](double x) { return std::cosh(x); }, 1, 0},
    {ir::Op::k_asinh, [](double x) { return std::asinh(x); }, 1, 0},
    {ir::Op::k_acosh, [](double x) { return std::acosh(x); }, 1, 0},
    {ir::Op::k_atanh, [](double x) { return std::atanh(x); }, 1, 0},
    {ir::Op::k_sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 4, 0},
    {ir::Op::k_silu, [](double x) { return x / (1 + std::exp(-x)); }, 4, 0},  // NaN at -inf
    {ir::Op::k_gelu, [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2)); }, 4, 0x1p-22},
};

std::shared_ptr<kernel::Kernel> MakeUnary(ir::Op op, DType t, int lanes) {
  KernelBuilder b(std::string(ir::Name(op)));
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", t, BufferKind::kInput, n);
  const int y = b.Buffer("y", t, BufferKind::kOutput, n);
  b.Tasks(FloorDiv(n, lanes));
  const Dim at = b.task() * lanes;
  b.Store(y, at, EmitElementwise(b, op, {b.Load(x, at, lanes)}));
  return b.Finish();
}

// |got - want| in units of the last place of `want` rounded to float32.
double UlpError(double want, float got) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : INFINITY;
  int exponent = 0;
  std::frexp(want, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(got) - want) / ulp;
}

bool Full() {
  const char* full = std::getenv("LATHE_FULL");
  return full != nullptr && std::string(full) == "1";
}

class MathTest : public ::testing::TestWithParam<Function> {};

TEST_P(MathTest, WithinItsBoundOverFloat32) {
  const Function f = GetParam();
  auto code = HostCompiler().Compile(*MakeUnary(f.op, f32, 32), Tier::kFull);
  ASSERT_TRUE(code.ok()) << code.status();
  constexpr uint64_t kBatch = 1 << 16;
  const uint64_t step = Full() ? 1 : 4999;  // odd: all residues of the low bits occur
  std::vector<float> x(kBatch), y(kBatch);
  double worst = 0.5;  // what rounding alone takes
  float worst_at = 0;
  for (uint64_t first = 0; first < uint64_t{1} << 32; first += kBatch * step) {
    for (uint64_t i = 0; i < kBatch; ++i) {
      x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + i * step));
    }
    void* buffers[] = {x.data(), y.data()};
    const int64_t n = kBatch;
    (*code)->fn(buffers, &n, 0, n / 32, 0, nullptr);
    for (uint64_t i = 0; i < kBatch; ++i) {
      const double want = f.reference(x[i]);
      if (y[i] == static_cast<float>(want)) continue;  // nearly all; the rest is slower
      const double error = UlpError(want, y[i]);
      if (error <= worst) continue;
      if (std::fabs(y[i] - want) <= f.relative_to_argument * std::fabs(x[i])) continue;
      worst = error;
      worst_at = x[i];
    }
  }
  EXPECT_LE(worst, f.ulps) << ir::Name(f.op) << "(" << absl::StrCat(worst_at) << ")";
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST_P(MathTest, BitsOfTheEvaluatorInBothTypes) {
  const Function f = GetParam();
  for (DType t : {DType::kF32, DType::kF64}) {
    std::vector<uint64_t> bits = SpecialValues(t);
    // Spread over all exponents, and dense where most arguments lie.
    for (uint64_t i = 0; i < 900; ++i) {
      const double near = (static_cast<double>(i) - 450) * 0.0567 + 1e-3;
      const uint64_t wide = i * 0x9e3779b97f4a7c15u;
      bits.push_back(t == DType::kF32 ? wide >> 32 : wide);
      bits.push_back(t == DType::kF32 ? std::bit_cast<uint32_t>(static_cast<float>(near))
                                      : std::bit_cast<uint64_t>(near));
    }
    for (int lanes : {1, 8, 32}) {
      std::vector<uint64_t> padded = bits;
      while (padded.size() % static_cast<size_t>(lanes) != 0) padded.push_back(bits[2]);
      const int64_t n = static_cast<int64_t>(padded.size());
      Agreement(MakeUnary(f.op, t, lanes))
          .Check({TestBuffer::OfBits(t, padded), TestBuffer::Canaries(t, n)}, {n}, n / lanes,
                 absl::StrCat(lathe::Name(t), " x ", lanes));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MathTest, ::testing::ValuesIn(kFunctions),
                         [](const auto& test) { return std::string(ir::Name(test.param.op)); });

TEST(Math, TheShortExpHasTheBitsOfExp) {
  KernelBuilder b("exp_non_positive");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", f32, BufferKind::kInput, n);
  const int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(FloorDiv(n, 32));
  b.Store(y, b.task() * 32, EmitExpNonPositive(b, b.Load(x, b.task() * 32, 32)));
  auto fast = HostCompiler().Compile(*b.Finish(), Tier::kFull);
  auto full = HostCompiler().Compile(*MakeUnary(ir::Op::k_exp, f32, 32), Tier::kFull);
  ASSERT_TRUE(fast.ok() && full.ok());
  const int64_t count = 1 << 20;
  std::vector<float> in(count), a(count), c(count);
  for (int64_t i = 0; i < count; ++i) {
    in[i] = std::bit_cast<float>(static_cast<uint32_t>(0x80000000u + i * 2047));
  }
  void* to_a[] = {in.data(), a.data()};
  void* to_c[] = {in.data(), c.data()};
  (*fast)->fn(to_a, &count, 0, count / 32, 0, nullptr);
  (*full)->fn(to_c, &count, 0, count / 32, 0, nullptr);
  EXPECT_EQ(Difference(TestBuffer::Of(f32, c), TestBuffer::Of(f32, a)), "");
}

}  // namespace
}  // namespace lathe::llvm_target
