// Loops, branches, bound symbols, gathers, tables, scratch, fail sites and index arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cuda/cuda_driver.h"
#include "codegen/cuda/cuda_text.h"
#include "codegen/cuda/host_warp.h"
#include "runtime/artefact.h"
#include "tests/cuda/harness.h"

namespace lathe::cuda {
namespace {

using kernel::BufferKind;
using kernel::Kernel;
using kernel::KernelBuilder;
using kernel::kNoReg;
using kernel::KOp;
using kernel::Reg;
using ::testing::HasSubstr;

TestBuffer Counting(DType t, int64_t n, int64_t first = 0) {
  std::vector<uint64_t> bits;
  for (int64_t i = 0; i < n; ++i) {
    bits.push_back(t == DType::kI32 ? static_cast<uint32_t>(first + i)
                                    : static_cast<uint64_t>(first + i));
  }
  return TestBuffer::OfBits(t, bits);
}

void ExpectSame(const std::shared_ptr<const Kernel>& k,
                const std::vector<std::vector<TestBuffer>>& runs,
                const std::vector<std::vector<int64_t>>& sizes) {
  const std::unique_ptr<HostModule> module = BuildModule({k});
  ASSERT_NE(module, nullptr);
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(Difference(*module, *k, runs[i], sizes[i]), "") << "run " << i;
  }
}

TEST(Control, IndexArithmeticOfAllSigns) {
  KernelBuilder b("dims");
  const Dim n = b.Size("n"), m = b.Size("m");
  const int y = b.Buffer("y", i64, BufferKind::kOutput, 12);
  const Dim values[] = {FloorDiv(n, m), Mod(n, m),       CeilDiv(n, m), FloorDiv(n, 4),
                        Mod(n, 4),      CeilDiv(n, 4),   Min(n, m),     Max(n, m),
                        n * m - 3 * n,  FloorDiv(n, -4), Mod(n, -4),    CeilDiv(n * m, 7)};
  int64_t at = 0;
  for (Dim d : values) b.Store(y, at++, b.Index(d));
  const std::shared_ptr<const Kernel> k = b.Finish();
  std::vector<std::vector<TestBuffer>> runs;
  std::vector<std::vector<int64_t>> sizes;
  for (int64_t x : {-33, -8, -1, 0, 1, 7, 8, 100}) {
    for (int64_t z : {-7, -1, 1, 3}) {
      runs.push_back({TestBuffer::Canaries(i64, 12)});
      sizes.push_back({x, z});
    }
  }
  ExpectSame(k, runs, sizes);
}

TEST(Control, LoopsBranchesAndBoundSymbols) {
  KernelBuilder b("control");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", i64, BufferKind::kInput, n);
  const int y = b.Buffer("y", i64, BufferKind::kOutput, n);
  b.Tasks(CeilDiv(n, 8));
  b.For("i", b.task() * 8, Min(b.task() * 8 + 8, n), 1, [&](Dim i) {
    const int sum = b.Var(b.Int({i64, 1}, 0));
    const Reg v = b.Load(x, i);
    b.If(
        Eq(Mod(i, 2), 0),
        [&] {
          const Dim count = b.Bind("count", v);
          b.For("j", 0, count, 3,
                [&](Dim j) { b.Set(sum, b.Bin(KOp::kAdd, b.Get(sum), b.Index(j * i + count))); });
        },
        [&] {
          b.If(
              b.Bin(KOp::kGt, v, b.Int({i64, 1}, 5)),
              [&] {
                b.Set(sum, b.Int({i64, 1}, -5));
              },
              [&] {
                b.For(
                    "u", 0, 4, 1,
                    [&](Dim u) { b.Set(sum, b.Bin(KOp::kSub, b.Get(sum), b.Index(u))); },
                    kernel::LoopKind::kUnrolled);
              });
        });
    b.If(In(n, {8, 33}), [&] { b.Set(sum, b.Un(KOp::kNeg, b.Get(sum))); });
    b.Store(y, i, b.Get(sum));
  });
  const std::shared_ptr<const Kernel> k = b.Finish();
  std::vector<std::vector<TestBuffer>> runs;
  std::vector<std::vector<int64_t>> sizes;
  for (int64_t n_value : {33, 0, 1, 8, 31, 33}) {
    runs.push_back({Counting(i64, n_value), TestBuffer::Canaries(i64, n_value)});
    sizes.push_back({n_value});
  }
  ExpectSame(k, runs, sizes);
}

// Lanes reversed through scratch, task after task on the same warp.
TEST(Control, ScratchCarriesValuesBetweenLanes) {
  KernelBuilder b("reverse");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", i32, BufferKind::kInput, n * 32);
  const int s = b.Buffer("s", i32, BufferKind::kWorkerScratch, 32 + n);
  const int y = b.Buffer("y", i32, BufferKind::kOutput, n * 32);
  b.Tasks(n);
  b.Store(s, 0, b.Load(x, b.task() * 32, 32));
  b.Store(y, b.task() * 32, b.Load(s, 31, 32, -1));
  const std::shared_ptr<const Kernel> k = b.Finish();
  std::vector<std::vector<TestBuffer>> runs;
  std::vector<std::vector<int64_t>> sizes;
  for (int64_t n_value : {9, 0, 1, 9}) {
    runs.push_back({Counting(i32, n_value * 32), TestBuffer::Canaries(i32, n_value * 32)});
    sizes.push_back({n_value});
  }
  ExpectSame(k, runs, sizes);
}

// A chain through one buffer: each iteration reads what the one before wrote, on other lanes.
TEST(Control, IterationsSeeEachOthersStores) {
  KernelBuilder b("shift");
  const Dim n = b.Size("n");
  const int y = b.Buffer("y", i32, BufferKind::kInOut, n + 33);
  b.Tasks(1);
  b.For("j", 0, n, 1, [&](Dim j) { b.Store(y, j + 1, b.Load(y, j, 32)); });
  b.Store(y, 0, b.Load(y, n));                  // a scalar that the lanes wrote
  b.Store(y, 1, b.Splat(b.Load(y, 0), 32), 0);  // all lanes to one element
  ExpectSame(b.Finish(), {{Counting(i32, 40)}, {Counting(i32, 33)}}, {{7}, {0}});
}

TEST(Control, GathersTablesAndStrides) {
  KernelBuilder b("gather");
  const Dim n = b.Size("n"), stride = b.Size("stride");
  const int x = b.Buffer("x", f64, BufferKind::kInput, n * stride);
  const int at = b.Buffer("at", i64, BufferKind::kInput, n);
  const int y = b.Buffer("y", f64, BufferKind::kOutput, n);
  const int t = b.Table("t", f32, {0x3f800000, 0x80000000, 0x7fc00000, 0x40490fdb});
  const int flags = b.Table("flags", DType::kBool, {1, 0, 1});
  const int big = b.Table("big", i64, {0x8000000000000000ull, 7});
  b.Tasks(CeilDiv(n, 32));
  const Dim i = b.task() * 32;
  const Reg mask = b.Mask(n - i, 32);
  const Reg index = b.Load(at, i, 32, 1, mask, 1);
  const Reg gathered = b.Gather(x, index, mask, 0x3ff0000000000000ull);
  const Reg strided = b.Load(x, i * stride, 32, stride, mask);
  const Reg entry = b.Gather(t, b.Bin(KOp::kAnd, index, b.Int({i64, 1}, 3)));
  const Reg flag = b.Gather(flags, b.Bin(KOp::kMod, index, b.Int({i64, 1}, 3)));
  Reg r = b.Bin(KOp::kAdd, b.Bin(KOp::kAdd, gathered, strided), b.Cast(entry, f64));
  r = b.Select(flag, r, b.Cast(b.Load(big, 0), f64));
  b.Store(y, i, r, 1, mask);
  const std::shared_ptr<const Kernel> k = b.Finish();
  std::vector<std::vector<TestBuffer>> runs;
  std::vector<std::vector<int64_t>> sizes;
  for (int64_t n_value : {33, 0, 2, 33}) {
    std::vector<uint64_t> values, places;
    for (int64_t j = 0; j < 3 * n_value; ++j) values.push_back(0x4000000000000000ull + j * 12345);
    for (int64_t j = 0; j < n_value; ++j) places.push_back((j * 7) % (3 * n_value));
    runs.push_back({TestBuffer::OfBits(f64, values), TestBuffer::OfBits(i64, places),
                    TestBuffer::Canaries(f64, n_value)});
    sizes.push_back({n_value, 3});
  }
  ExpectSame(k, runs, sizes);
}

TEST(Control, FailSitesReportTheFirst) {
  KernelBuilder b("fail");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", i64, BufferKind::kInput, n);
  const int y = b.Buffer("y", i64, BufferKind::kOutput, n);
  b.Tasks(n);
  const Reg v = b.Load(x, b.task());
  b.If(b.Bin(KOp::kGe, v, b.Index(n)), [&] { b.Fail("too far", v, b.task(), n); });
  b.If(b.Bin(KOp::kLt, v, b.Int({i64, 1}, 0)), [&] { b.Fail("too low", v, b.task() * 2, n + 1); });
  b.Store(y, b.task(), v);
  const auto run = [](std::vector<uint64_t> bits) -> std::vector<TestBuffer> {
    const int64_t n_value = static_cast<int64_t>(bits.size());
    return {TestBuffer::OfBits(i64, bits), TestBuffer::Canaries(i64, n_value)};
  };
  ExpectSame(b.Finish(), {run({0, 1, 9, 2, uint64_t(-1)}), run({0, 1, 2}), run({0, uint64_t(-7)})},
             {{5}, {3}, {2}});
}

TEST(Host, ChecksBuffers) {
  KernelBuilder b("checked");
  const Dim n = b.Size("n");
  const int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(n);
  b.Store(y, b.task(), b.Float({f32, 1}, 1));
  const std::shared_ptr<const Kernel> k = b.Finish();
  const std::unique_ptr<HostModule> module = BuildModule({k});
  ASSERT_NE(module, nullptr);
  float out[4] = {};
  const absl::Status s = module->Launch(*k, {{out, 4}}, {5}, 5, {}, nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(s));
  EXPECT_THAT(std::string(s.message()), HasSubstr("buffer y has 4 elements, wanted 5"));
  EXPECT_TRUE(module->Launch(*k, {{out, 4}}, {4}, 4, {}, nullptr).ok());
  EXPECT_EQ(out[3], 1.0f);
}

TEST(Host, SaysWhichCompilerIsMissing) {
  KernelBuilder b("plain");
  const int y = b.Buffer("y", f32, BufferKind::kOutput, 1);
  b.Store(y, 0, b.Float({f32, 1}, 1));
  const std::shared_ptr<const Kernel> k = b.Finish();
  HostOptions options = TestHostOptions();
  options.compiler = "no-such-compiler";
  const absl::Status s = HostModule::Build({k.get()}, options).status();
  EXPECT_FALSE(s.ok());
  EXPECT_THAT(std::string(s.message()), HasSubstr("no-such-compiler"));
}

TEST(Nvrtc, SaysWhatWasTried) {
  const absl::Status s = Nvrtc::Open("/nowhere/libnvrtc.so").status();
  EXPECT_TRUE(absl::IsUnavailable(s));
  EXPECT_THAT(std::string(s.message()), HasSubstr("/nowhere/libnvrtc.so"));
}

TEST(Nvrtc, GivesTheCompilersWords) {
  const std::shared_ptr<Nvrtc> nvrtc = OpenNvrtc();
  if (nvrtc == nullptr) GTEST_SKIP() << "no NVRTC";
  const absl::Status s =
      nvrtc->Compile("__global__ void f() { no_such_name(); }", "sm_90").status();
  EXPECT_TRUE(absl::IsInvalidArgument(s));
  EXPECT_THAT(std::string(s.message()), HasSubstr("no_such_name"));
}

TEST(Nvrtc, ReadsRegistersAndSpills) {
  const std::vector<KernelResources> r = ParseResources(
      "ptxas info    : Compiling entry function 'f' for 'sm_90'\n"
      "ptxas info    : Function properties for f\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 400 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'g' for 'sm_90'\n"
      "ptxas info    : Used 10 registers\n");
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[0].name, "f");
  EXPECT_EQ(r[0].registers, 255);
  EXPECT_EQ(r[0].stack_bytes, 16);
  EXPECT_EQ(r[0].spill_store_bytes, 8);
  EXPECT_EQ(r[0].spill_load_bytes, 12);
  EXPECT_EQ(r[1].name, "g");
  EXPECT_EQ(r[1].registers, 10);
}

TEST(Nvrtc, CountsCompilesInCalls) {
  const std::shared_ptr<Nvrtc> nvrtc = OpenNvrtc();
  if (nvrtc == nullptr) GTEST_SKIP() << "no NVRTC";
  const std::string program = "extern \"C\" __global__ void f(int* p) { *p = 1; }";
  EXPECT_TRUE(nvrtc->Compile(program, "sm_90").ok());
  EXPECT_EQ(nvrtc->compiles_in_calls(), 0);
  const rt::InCallScope in_call;
  EXPECT_TRUE(nvrtc->Compile(program, "sm_90").ok());
  EXPECT_EQ(nvrtc->compiles(), 2);
  EXPECT_EQ(nvrtc->compiles_in_calls(), 1);
}

TEST(WarpRunner, FindsLanesThatPartWays) {
  WarpRunner runner;
  LatheHostWarp& warp = runner.warp();
  const auto meet = [&] {
    ++warp.turns[warp.lane];
    warp.wait(&warp);
  };
  for (bool falling : {false, true}) {
    std::vector<unsigned> order;
    EXPECT_TRUE(runner.Run(64, falling, [&] {
      order.push_back(warp.thread.x);
      meet();
      meet();
      order.push_back(warp.thread.x);
    }));
    ASSERT_EQ(order.size(), 64u);
    EXPECT_EQ(order[0], falling ? 95u : 64u);
    EXPECT_EQ(order[32], order[0]);
    EXPECT_FALSE(runner.Run(0, falling, [&] {
      meet();
      if (warp.lane == 7) meet();
    }));
    EXPECT_FALSE(runner.Run(0, falling, [&] {
      if (warp.lane != 7) meet();
    }));
  }
}

TEST(CudaDriver, SaysWhyThereIsNone) {
  const absl::StatusOr<CudaDriver> driver = CudaDriver::Open("/nowhere/libcuda.so.1");
  EXPECT_TRUE(absl::IsUnavailable(driver.status()));
  EXPECT_THAT(std::string(driver.status().message()), HasSubstr("/nowhere/libcuda.so.1"));
  const absl::StatusOr<CudaDriver> here = CudaDriver::Open();
  if (here.ok()) {
    EXPECT_GT(here->device_count(), 0);
  } else {
    EXPECT_TRUE(absl::IsUnavailable(here.status())) << here.status();
  }
}

}  // namespace
}  // namespace lathe::cuda
