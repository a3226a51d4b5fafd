// The printed text: its shape, what it refuses, that equal kernels give equal text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cuda/cuda_text.h"
#include "tests/cuda/harness.h"

namespace lathe::cuda {
namespace {

using kernel::BufferKind;
using kernel::Kernel;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::Reg;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<Kernel> Doubled(const std::string& name, int lanes = 32) {
  KernelBuilder b(name);
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", f32, BufferKind::kInput, n);
  const int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(CeilDiv(n, lanes));
  const Dim i = b.task() * lanes;
  const Reg mask = b.Mask(n - i, lanes), two = b.Float({f32, lanes}, 2);
  b.Store(y, i, b.Bin(KOp::kMul, b.Load(x, i, lanes, 1, mask), two), 1, mask);
  return b.Finish();
}

TEST(CudaText, PointwiseKernel) {
  const std::shared_ptr<Kernel> k = Doubled("double");
  const absl::StatusOr<std::string> text = CudaText(*k);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(
      *text,
      "extern \"C\" __global__ void __launch_bounds__(256) " + KernelName(*k) +
          "(const float* __restrict__ b0, float* b1, lathe_i64 s0, lathe_i64 tasks, "
          "lathe_i64* error) {\n"
          "  const lathe_i32 lane = threadIdx.x & 31u;\n"
          "  const lathe_i64 warp = ((lathe_i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;\n"
          "  const lathe_i64 warps = ((lathe_i64)gridDim.x * blockDim.x) >> 5;\n"
          "  for (lathe_i64 task = warp; task < tasks; task += warps) {\n"
          "    const lathe_i64 d0 = (-32ll) * task;\n"
          "    const lathe_i64 d1 = d0 + s0;\n"
          "    const bool r0 = lane < d1;\n"
          "    const float r1 = lathe_of_bits_f32(0x40000000u);\n"
          "    const lathe_i64 d2 = 32ll * task;\n"
          "    const float r2 = r0 ? b0[d2 + lane] : lathe_of_bits_f32(0x0u);\n"
          "    const float r3 = lathe_mul(r2, r1);\n"
          "    if (r0) b1[d2 + lane] = r3;\n"
          "  }\n"
          "}\n");
}

// Bounds that the kernel states make index arithmetic narrow where nothing in it passes 32 bits.
TEST(CudaText, NarrowIndices) {
  const auto text_for = [](int64_t most) {
    KernelBuilder b("rows");
    const Dim n = b.Size("n"), rows = b.Size("rows");
    b.Assume(Dim(0) <= n);
    b.Assume(n <= most);
    b.Assume(Dim(0) <= rows);
    b.Assume(rows <= 64);
    const int x = b.Buffer("x", f32, BufferKind::kInput, rows * n);
    const int y = b.Buffer("y", f32, BufferKind::kOutput, rows * n);
    b.Tasks(rows);
    b.For("j", 0, n, 32, [&](Dim j) {
      const Reg mask = b.Mask(n - j, 32);
      b.Store(y, b.task() * n + j, b.Load(x, b.task() * n + j, 32, 1, mask), 1, mask);
    });
    return CudaText(*b.Finish()).value();
  };
  const std::string narrow = text_for(8192);
  EXPECT_THAT(narrow, HasSubstr("for (lathe_i32 i0 = 0; i0 < (lathe_i32)s0; i0 += 32)"));
  EXPECT_THAT(narrow, HasSubstr("= (lathe_i32)task * (lathe_i32)s0;"));
  EXPECT_THAT(narrow, Not(HasSubstr("const lathe_i64 d")));
  // A row fits, all rows don't.
  const std::string wide = text_for(int64_t{1} << 28);
  EXPECT_THAT(wide, HasSubstr("for (lathe_i32 i0 = 0; i0 < (lathe_i32)s0; i0 += 32)"));
  EXPECT_THAT(wide, HasSubstr("const lathe_i64 d2 = task * s0;"));
  const std::string unknown = text_for(INT64_MAX);
  EXPECT_THAT(unknown, Not(HasSubstr("lathe_i32 i0")));
}

TEST(CudaText, EqualKernelsGiveEqualText) {
  EXPECT_EQ(*CudaText(*Doubled("one")), *CudaText(*Doubled("another")));
}

TEST(CudaText, RefusesOtherLaneCounts) {
  const absl::Status s = CudaText(*Doubled("sixteen", 16)).status();
  EXPECT_TRUE(absl::IsUnimplemented(s));
  EXPECT_THAT(std::string(s.message()),
              HasSubstr("kernel sixteen: CUDA text has vectors of 32 lanes, found 16"));
}

TEST(CudaText, RefusesCalls) {
  KernelBuilder micro("micro");
  micro.SetMicro();
  micro.Buffer("x", f32, BufferKind::kOutput, 1);
  KernelBuilder b("caller");
  const int x = b.Buffer("x", f32, BufferKind::kOutput, 1);
  b.Call(micro.Finish(), {{x, 0}}, {});
  const absl::Status s = CudaText(*b.Finish()).status();
  EXPECT_TRUE(absl::IsUnimplemented(s));
  EXPECT_THAT(std::string(s.message()), HasSubstr("caller"));
}

// How often the text has a barrier.
int Barriers(const Kernel& k) {
  const std::string text = CudaText(k).value();
  int count = 0;
  for (size_t at = 0; (at = text.find("__syncwarp", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Barriers, NoneWhereLanesMeetOnlyThemselves) {
  KernelBuilder b("own");
  const Dim n = b.Size("n");
  const int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(1);
  b.For("j", 0, n - Mod(n, 32), 32, [&](Dim j) {
    const Reg v = b.Load(y, j, 32);
    b.Store(y, j, b.Bin(KOp::kAdd, v, v));
    b.Store(y, j, b.Load(y, j, 32));
  });
  EXPECT_EQ(Barriers(*b.Finish()), 0);
}

TEST(Barriers, BetweenStoresAndLoadsOfOtherLanes) {
  KernelBuilder b("other");
  const int x = b.Buffer("x", f32, BufferKind::kInput, 32);
  const int y = b.Buffer("y", f32, BufferKind::kOutput, 64);
  b.Tasks(1);
  const Reg v = b.Load(x, 0, 32);
  b.Store(y, 0, v);
  b.Store(y, 32, b.Load(y, 31, 32, -1));  // after a barrier; its own store is apart
  EXPECT_EQ(Barriers(*b.Finish()), 1);
}

TEST(Barriers, EachIterationThatReadsItsNeighbours) {
  KernelBuilder b("walk");
  const Dim n = b.Size("n");
  const int y = b.Buffer("y", f32, BufferKind::kInOut, n + 33);
  b.Tasks(1);
  b.For("j", 0, n, 1, [&](Dim j) {
    b.Store(y, j + 1, b.Load(y, j, 32));  // a barrier between the two, and one an iteration
  });
  EXPECT_EQ(Barriers(*b.Finish()), 2);
}

TEST(Nvrtc, CompilesForAllArchitectures) {
  const std::shared_ptr<Nvrtc> nvrtc = OpenNvrtc();
  if (nvrtc == nullptr) GTEST_SKIP() << "no NVRTC";
  const std::string program = CudaProgram({CudaText(*Doubled("double")).value()});
  EXPECT_THAT(program, Not(HasSubstr("#include")));
  for (const char* arch : kArchitectures) {
    const absl::StatusOr<Cubin> cubin = nvrtc->Compile(program, arch);
    ASSERT_TRUE(cubin.ok()) << cubin.status();
    EXPECT_EQ(cubin->bytes.substr(1, 3), "ELF");
    ASSERT_EQ(cubin->kernels.size(), 1u) << cubin->log;
    EXPECT_EQ(cubin->kernels[0].name, KernelName(*Doubled("double")));
    EXPECT_GT(cubin->kernels[0].registers, 0);
    EXPECT_EQ(cubin->kernels[0].spill_store_bytes, 0);
  }
  EXPECT_EQ(nvrtc->compiles(), 4);
  EXPECT_EQ(nvrtc->compiles_in_calls(), 0);
}

TEST(Host, RunsTheTextAtAllSizes) {
  const std::shared_ptr<Kernel> k = Doubled("double");
  const std::unique_ptr<HostModule> module = BuildModule({k});
  ASSERT_NE(module, nullptr);
  for (int64_t n : {0, 1, 2, 3, 7, 8, 31, 32, 33, 200}) {
    std::vector<uint64_t> x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = 0x3f800000 + i * 77777;
    EXPECT_EQ(
        Difference(*module, *k, {TestBuffer::OfBits(f32, x), TestBuffer::Canaries(f32, n)}, {n}),
        "");
  }
}

}  // namespace
}  // namespace lathe::cuda
