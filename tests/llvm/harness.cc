#include "tests/llvm/harness.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "codegen/kernel/scalar_ops.h"
#include "tests/util/same_bits.h"

namespace lathe::llvm_target {
namespace {

int64_t RoundUp(int64_t v, int64_t to) { return (v + to - 1) / to * to; }

std::unique_ptr<LlvmCompiler> MakeCompiler(const CpuTarget& target) {
  auto compiler = LlvmCompiler::Create(target);
  EXPECT_TRUE(compiler.ok()) << compiler.status();
  return compiler.ok() ? *std::move(compiler) : nullptr;
}

// Of the types that have no list of their own.
template <typename T>
std::vector<uint64_t> OtherValues() {
  std::vector<uint64_t> v;
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    for (int64_t i : {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100}) {
      v.push_back(kernel::scalar::ToBits(static_cast<T>(i)));
      v.push_back(kernel::scalar::ToBits(static_cast<T>(-i)));
    }
    for (T i : {Limits::min(), static_cast<T>(Limits::min() + 1), Limits::max(),
                static_cast<T>(Limits::max() / 2 + 1), static_cast<T>(Limits::max() / 255 * 3)})
      v.push_back(kernel::scalar::ToBits(i));
    if constexpr (sizeof(T) == 8) {
      for (uint64_t i : {0x20000000000001u, 0x4040000000000001u, 0x8100000000000001u})
        v.push_back(i);
    }
  } else {
    for (uint64_t bits : {0x0u,    0x1u,    0x7fu,   0x80u,   0x3ffu,  0x400u,  0x3555u, 0x3800u,
                          0x3c00u, 0x3e00u, 0x3f80u, 0x4049u, 0x4f00u, 0x57ffu, 0x5800u, 0x5f00u,
                          0x77ffu, 0x7bffu, 0x7c00u, 0x7c01u, 0x7e00u, 0x7f7fu, 0x7f80u, 0x7fc0u}) {
      v.push_back(bits);
      v.push_back(bits | 0x8000);
    }
  }
  return v;
}

}  // namespace

GuardedBuffer::GuardedBuffer(int64_t bytes, Side side) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t inner = RoundUp(std::max<int64_t>(bytes, 1), page);
  mapped_ = inner + 2 * page;
  mapping_ =
      mmap(nullptr, static_cast<size_t>(mapped_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint8_t* first = static_cast<uint8_t*>(mapping_) + page;
  mprotect(first, static_cast<size_t>(inner), PROT_READ | PROT_WRITE);
  data_ = side == Side::kFront ? first : first + inner - bytes;
}

GuardedBuffer::~GuardedBuffer() { munmap(mapping_, static_cast<size_t>(mapped_)); }

TestBuffer TestBuffer::OfBits(DType dtype, const std::vector<uint64_t>& bits) {
  const size_t size = static_cast<size_t>(SizeOf(dtype));
  TestBuffer b{dtype, std::vector<uint8_t>(bits.size() * size)};
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&b.bytes[i * size], &bits[i], size);
  return b;
}

TestBuffer TestBuffer::Canaries(DType dtype, int64_t elements) {
  TestBuffer b{dtype, std::vector<uint8_t>(static_cast<size_t>(elements * SizeOf(dtype)))};
  for (size_t i = 0; i < b.bytes.size(); ++i) {
    b.bytes[i] = static_cast<uint8_t>(dtype == DType::kBool ? i % 3 == 0 : 0x51 + i % 13);
  }
  return b;
}

LlvmCompiler& HostCompiler() {
  static const std::unique_ptr<LlvmCompiler> compiler = MakeCompiler(HostTarget());
  return *compiler;
}

LlvmCompiler& Avx2Compiler() {
  static const std::unique_ptr<LlvmCompiler> compiler = MakeCompiler(Avx2Target());
  return *compiler;
}

LlvmCompiler& Sse2Compiler() {
  static const std::unique_ptr<LlvmCompiler> compiler = [] {
    CpuTarget target = HostTarget();
    target.cpu = "x86-64";
    target.features = "";
    target.vector_bytes = 16;
    target.has_fma = target.has_f16c = target.has_dot4 = false;
    return MakeCompiler(target);
  }();
  return *compiler;
}

std::vector<LlvmCompiler*> Compilers() { return {&HostCompiler(), &Avx2Compiler()}; }

absl::StatusOr<RunResult> Interpret(const kernel::Kernel& k, std::vector<TestBuffer> buffers,
                                    const std::vector<int64_t>& sizes, int64_t tasks) {
  std::vector<kernel::EvalBuffer> views;
  for (TestBuffer& b : buffers) views.push_back({b.bytes.data(), b.elements()});
  RunResult r;
  const absl::Status s = kernel::Evaluate(k, views, sizes, 0, tasks, 0, &r.error);
  r.failed = absl::IsOutOfRange(s);
  if (!s.ok() && !r.failed) return s;
  r.buffers = std::move(buffers);
  return r;
}

RunResult Execute(const rt::Artefact& code, const std::vector<TestBuffer>& buffers,
                  const std::vector<int64_t>& sizes, int64_t tasks, GuardedBuffer::Side side) {
  std::vector<std::unique_ptr<GuardedBuffer>> memory;
  std::vector<void*> pointers;
  for (const TestBuffer& b : buffers) {
    memory.push_back(std::make_unique<GuardedBuffer>(static_cast<int64_t>(b.bytes.size()), side));
    pointers.push_back(memory.back()->data());
    if (!b.bytes.empty()) std::memcpy(pointers.back(), b.bytes.data(), b.bytes.size());
  }
  RunResult r;
  r.failed = code.fn(pointers.data(), sizes.data(), 0, tasks, 0, &r.error) != 0;
  r.buffers = buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].bytes.empty()) continue;
    std::memcpy(r.buffers[i].bytes.data(), pointers[i], buffers[i].bytes.size());
  }
  return r;
}

std::string Difference(const TestBuffer& want, const TestBuffer& got) {
  return FirstDifference(want.dtype, want.bytes.data(), got.bytes.data(), want.elements());
}

Agreement::Agreement(std::shared_ptr<const kernel::Kernel> k,
                     const std::vector<LlvmCompiler*>& compilers)
    : kernel_(std::move(k)) {
  for (LlvmCompiler* compiler : compilers) {
    for (Tier tier : {Tier::kFull, Tier::kQuick}) {
      auto code = compiler->Compile(*kernel_, tier);
      EXPECT_TRUE(code.ok()) << code.status();
      if (!code.ok()) continue;
      codes_.emplace_back(absl::StrCat(compiler->target().cpu, tier == Tier::kFull ? "" : " quick"),
                          *std::move(code));
    }
  }
}

void Agreement::Check(const std::vector<TestBuffer>& buffers, const std::vector<int64_t>& sizes,
                      int64_t tasks, const std::string& what) {
  ASSERT_FALSE(codes_.empty());
  const auto want = Interpret(*kernel_, buffers, sizes, tasks);
  ASSERT_TRUE(want.ok()) << what << ": " << want.status();
  for (const auto& [name, code] : codes_) {
    for (auto side : {GuardedBuffer::Side::kBack, GuardedBuffer::Side::kFront}) {
      const RunResult got = Execute(*code, buffers, sizes, tasks, side);
      ASSERT_EQ(got.failed, want->failed) << what << " on " << name;
      if (want->failed) {
        EXPECT_EQ(got.error.code, want->error.code) << what << " on " << name;
        EXPECT_EQ(got.error.position, want->error.position) << what << " on " << name;
        EXPECT_EQ(got.error.value, want->error.value) << what << " on " << name;
        EXPECT_EQ(got.error.bound, want->error.bound) << what << " on " << name;
        continue;
      }
      for (size_t i = 0; i < buffers.size(); ++i) {
        if (kernel_->buffers[i].kind == kernel::BufferKind::kWorkerScratch) continue;
        EXPECT_EQ(Difference(want->buffers[i], got.buffers[i]), "")
            << what << ", buffer " << kernel_->buffers[i].name << " on " << name;
      }
    }
  }
}

std::vector<uint64_t> SpecialValues(DType dtype) {
  std::vector<uint64_t> v;
  const auto f32s = {0.0f,
                     1.0f,
                     0.5f,
                     1.5f,
                     2.5f,
                     3.0f,
                     0.1875f,
                     7.75f,
                     1e-40f,
                     1.17549435e-38f,
                     3.4e38f,
                     8388607.5f,
                     16777217.0f,
                     2147483520.0f,
                     2147483648.0f,
                     9.3e18f,
                     std::numeric_limits<float>::infinity(),
                     std::numeric_limits<float>::quiet_NaN()};
  const auto f64s = {0.0,
                     1.0,
                     0.5,
                     1.5,
                     2.5,
                     3.0,
                     0.1875,
                     7.75,
                     5e-324,
                     2.3e-308,
                     1.7e308,
                     2147483647.5,
                     4503599627370495.5,
                     9223372036854774784.0,
                     9223372036854775808.0,
                     std::numeric_limits<double>::infinity(),
                     std::numeric_limits<double>::quiet_NaN()};
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kI32:
      for (int64_t i : {0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 100, 65536}) {
        v.push_back(static_cast<uint32_t>(i));
        v.push_back(static_cast<uint32_t>(-i));
      }
      v.insert(v.end(), {0x7fffffffu, 0x80000000u, 0x80000001u});
      return v;
    case DType::kI64:
      for (int64_t i :
           {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{31}, int64_t{32},
            int64_t{63}, int64_t{64}, int64_t{65}, int64_t{1} << 40, (int64_t{1} << 53) + 1}) {
        v.push_back(static_cast<uint64_t>(i));
        v.push_back(static_cast<uint64_t>(-i));
      }
      v.insert(v.end(), {static_cast<uint64_t>(INT64_MAX), static_cast<uint64_t>(INT64_MIN)});
      return v;
    case DType::kF32:
      for (float f : f32s) {
        v.push_back(std::bit_cast<uint32_t>(f));
        v.push_back(std::bit_cast<uint32_t>(-f));
      }
      return v;
    case DType::kF64:
      for (double f : f64s) {
        v.push_back(std::bit_cast<uint64_t>(f));
        v.push_back(std::bit_cast<uint64_t>(-f));
      }
      return v;
    default:
      return VisitDType(dtype, [](auto type) { return OtherValues<decltype(type)>(); });
  }
}

}  // namespace lathe::llvm_target
