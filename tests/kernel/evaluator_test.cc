// The evaluator finds every address out of bounds, and does what statements say.
#include "codegen/kernel/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/kernel/builder.h"

namespace lathe::kernel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<Kernel> Copy(Dim (*index)(Dim i, Dim n), bool masked) {
  KernelBuilder b("copy");
  Dim n = b.Size("n");
  int x = b.Buffer("x", f32, BufferKind::kInput, n);
  int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(CeilDiv(n, 4));
  Dim i = index(b.task() * 4, n);
  Reg mask = masked ? b.Mask(n - i, 4) : kNoReg;
  b.Store(y, i, b.Load(x, i, 4, 1, mask), 1, mask);
  return b.Finish();
}

absl::Status RunCopy(const Kernel& k, int64_t n, std::vector<float>* y) {
  std::vector<float> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  y->assign(x.size(), -1);
  return Evaluate(k, {{x.data(), n}, {y->data(), n}}, {n}, 0, (n + 3) / 4, 0, nullptr);
}

TEST(Evaluator, MasksKeepTheTailInBounds) {
  auto k = Copy([](Dim i, Dim) { return i; }, true);
  for (int64_t n : {0, 1, 3, 4, 5, 8, 11}) {
    std::vector<float> y;
    ASSERT_TRUE(RunCopy(*k, n, &y).ok());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], static_cast<float>(i));
  }
}

TEST(Evaluator, FindsAnAddressBeyondTheEnd) {
  auto k = Copy([](Dim i, Dim) { return i; }, false);
  std::vector<float> y;
  EXPECT_TRUE(RunCopy(*k, 8, &y).ok());
  const absl::Status s = RunCopy(*k, 7, &y);
  EXPECT_EQ(s.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(s.message()), HasSubstr("element 7 of buffer x with 7 elements"));
  EXPECT_THAT(std::string(s.message()), HasSubstr("load f32x4 b0[4*t]"));
}

TEST(Evaluator, FindsANegativeAddress) {
  auto k = Copy([](Dim i, Dim) { return i - 1; }, false);
  std::vector<float> y;
  EXPECT_THAT(std::string(RunCopy(*k, 8, &y).message()), HasSubstr("element -1"));
}

TEST(Evaluator, ChecksTheBufferThatIsGivenToo) {
  auto k = Copy([](Dim i, Dim) { return i; }, false);
  float x[8] = {}, y[8] = {};
  EXPECT_FALSE(Evaluate(*k, {{x, 4}, {y, 8}}, {8}, 0, 2, 0, nullptr).ok());
}

TEST(Evaluator, ChecksAssumptionsAndTasks) {
  KernelBuilder b("assume");
  Dim n = b.Size("n");
  b.Assume(Eq(Mod(n, 8), 0));
  b.Tasks(n);
  auto k = b.Finish();
  EXPECT_TRUE(Evaluate(*k, {}, {16}, 0, 16, 0, nullptr).ok());
  EXPECT_THAT(std::string(Evaluate(*k, {}, {12}, 0, 1, 0, nullptr).message()),
              HasSubstr("n % 8 == 0"));
  EXPECT_EQ(Evaluate(*k, {}, {16}, 0, 17, 0, nullptr).code(), absl::StatusCode::kInvalidArgument);
}

TEST(Evaluator, LoopsVariablesAndStrides) {
  KernelBuilder b("column_sums");
  Dim n = b.Size("n");
  int x = b.Buffer("x", i32, BufferKind::kInput, n * 4);
  int y = b.Buffer("y", i32, BufferKind::kOutput, 4);
  int sum = b.Var(b.Int({i32, 4}, 0));
  b.For("i", 0, n, 2, [&](Dim i) {
    // Columns are n apart: x is stored column by column.
    b.Set(sum, b.Bin(KOp::kAdd, b.Get(sum), b.Load(x, i, 4, n)));
  });
  b.Store(y, 0, b.Get(sum));
  auto k = b.Finish();
  int32_t in[] = {1, 2, 3, 10, 20, 30, 100, 200, 300, 1000, 2000, 3000}, out[4];
  ASSERT_TRUE(Evaluate(*k, {{in, 12}, {out, 4}}, {3}, 0, 1, 0, nullptr).ok());
  EXPECT_THAT(out, ElementsAre(4, 40, 400, 4000));
}

TEST(Evaluator, BranchesGathersAndFailure) {
  KernelBuilder b("take");
  Dim n = b.Size("n"), rows = b.Size("rows");
  int table = b.Buffer("table", f32, BufferKind::kInput, rows);
  int index = b.Buffer("index", i64, BufferKind::kInput, n);
  int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(n);
  Reg at = b.Load(index, b.task());
  Reg bad =
      b.Bin(KOp::kOr, b.Bin(KOp::kLt, at, b.Int({i64, 1}, 0)), b.Bin(KOp::kGe, at, b.Index(rows)));
  b.If(
      bad, [&] { b.Fail("gather", at, b.task(), rows); },
      [&] { b.Store(y, b.task(), b.Gather(table, at)); });
  auto k = b.Finish();
  float rows_data[] = {5, 6, 7}, out[3] = {};
  int64_t good[] = {2, 0, 1}, wrong[] = {2, 3, 1};
  EXPECT_TRUE(Evaluate(*k, {{rows_data, 3}, {good, 3}, {out, 3}}, {3, 3}, 0, 3, 0, nullptr).ok());
  EXPECT_THAT(out, ElementsAre(7, 5, 6));
  rt::KernelError error;
  EXPECT_EQ(Evaluate(*k, {{rows_data, 3}, {wrong, 3}, {out, 3}}, {3, 3}, 0, 3, 0, &error).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(error.code, 0);
  EXPECT_EQ(error.position, 1);
  EXPECT_EQ(error.value, 3);
  EXPECT_EQ(error.bound, 3);
}

TEST(Evaluator, DataBecomesAnIndex) {
  KernelBuilder b("row");
  Dim n = b.Size("n");
  int x = b.Buffer("x", f32, BufferKind::kInput, n * 4);
  int row = b.Buffer("row", i64, BufferKind::kInput, 1);
  int y = b.Buffer("y", f32, BufferKind::kOutput, 4);
  Dim r = b.Bind("r", b.Load(row, 0));
  b.If(r < n, [&] { b.Store(y, 0, b.Load(x, r * 4, 4)); });
  auto k = b.Finish();
  float in[] = {0, 1, 2, 3, 4, 5, 6, 7}, out[4] = {-1, -1, -1, -1};
  int64_t at = 1;
  ASSERT_TRUE(Evaluate(*k, {{in, 8}, {&at, 1}, {out, 4}}, {2}, 0, 1, 0, nullptr).ok());
  EXPECT_THAT(out, ElementsAre(4, 5, 6, 7));
  at = 2;
  ASSERT_TRUE(Evaluate(*k, {{in, 8}, {&at, 1}, {out, 4}}, {2}, 0, 1, 0, nullptr).ok());
}

TEST(Evaluator, ScratchIsPoisonedAndPerWorker) {
  KernelBuilder b("scratch");
  int s = b.Buffer("s", f32, BufferKind::kWorkerScratch, 2);
  int y = b.Buffer("y", f32, BufferKind::kOutput, 2);
  b.Store(s, 0, b.Float({f32, 1}, 3));
  b.Store(y, 0, b.Load(s, 0, 2));
  auto k = b.Finish();
  float scratch[4] = {1, 1, 1, 1}, out[2];
  ASSERT_TRUE(Evaluate(*k, {{scratch, 4}, {out, 2}}, {}, 0, 1, 1, nullptr).ok());
  EXPECT_EQ(out[0], 3);
  EXPECT_NE(out[1], out[1]) << "unwritten scratch must not look like good data";
  EXPECT_EQ(scratch[1], 1) << "another worker's part was touched";
}

TEST(Evaluator, CallsMicroKernelsAtOffsets) {
  KernelBuilder micro("axpy");
  micro.SetMicro();
  Dim m = micro.Size("m");
  int a = micro.Buffer("a", f32, BufferKind::kInput, m);
  int c = micro.Buffer("c", f32, BufferKind::kInOut, m);
  micro.For("i", 0, m, 1, [&](Dim i) {
    micro.Store(c, i, micro.Bin(KOp::kAdd, micro.Load(a, i), micro.Load(c, i)));
  });
  auto callee = micro.Finish();
  auto caller = [&](Dim offset) {
    KernelBuilder b("caller");
    int x = b.Buffer("x", f32, BufferKind::kInput, 4);
    int y = b.Buffer("y", f32, BufferKind::kInOut, 4);
    b.Call(callee, {{x, 0}, {y, offset}}, {Dim(2)});
    return b.Finish();
  };
  float x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40};
  ASSERT_TRUE(Evaluate(*caller(2), {{x, 4}, {y, 4}}, {}, 0, 1, 0, nullptr).ok());
  EXPECT_THAT(y, ElementsAre(10, 20, 31, 42));
  const absl::Status s = Evaluate(*caller(3), {{x, 4}, {y, 4}}, {}, 0, 1, 0, nullptr);
  EXPECT_THAT(std::string(s.message()), HasSubstr("out of bounds"));
}

TEST(Evaluator, TablesAreReadAndComeLast) {
  KernelBuilder b("table");
  int t = b.Table("t", i32, {5, 6, 7, 8});
  int y = b.Buffer("y", i32, BufferKind::kOutput, 2);
  b.Store(y, 0, b.Load(t, 1, 2));
  auto k = b.Finish();
  ASSERT_TRUE(Verify(*k).ok()) << Verify(*k);
  int32_t out[2];
  ASSERT_TRUE(Evaluate(*k, {{out, 2}}, {}, 0, 1, 0, nullptr).ok());
  EXPECT_THAT(out, ElementsAre(6, 7));
}

TEST(Evaluator, MisalignedBaseOfAnAlignedBuffer) {
  KernelBuilder b("aligned");
  int y = b.Buffer("y", f32, BufferKind::kOutput, 1, 32);
  b.Store(y, 0, b.Float({f32, 1}, 1));
  auto k = b.Finish();
  alignas(32) float out[2];
  EXPECT_TRUE(Evaluate(*k, {{out, 1}}, {}, 0, 1, 0, nullptr).ok());
  EXPECT_FALSE(Evaluate(*k, {{out + 1, 1}}, {}, 0, 1, 0, nullptr).ok());
}

}  // namespace
}  // namespace lathe::kernel
