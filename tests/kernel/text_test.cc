// The text form: canonical, and read back to the same kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/kernel/builder.h"
#include "codegen/kernel/math.h"

namespace lathe::kernel {
namespace {

using testing::HasSubstr;

// A kernel with every kind of statement. `noise` makes unused symbols and other names, which must
// not show in the text.
std::shared_ptr<Kernel> Everything(bool noise) {
  auto name = [&](const char* s) { return noise ? std::string("other_") + s : std::string(s); };
  KernelBuilder micro(name("micro"));
  micro.SetMicro();
  Dim m = micro.Size(name("m"));
  int c = micro.Buffer("c", f32, BufferKind::kInOut, m * 8);
  micro.For(
      "i", 0, m, 1,
      [&](Dim i) { micro.Store(c, i * 8, micro.Un(KOp::kNeg, micro.Load(c, i * 8, 8))); },
      LoopKind::kUnrolled);

  KernelBuilder b(name("everything"));
  if (noise) b.dims()->Symbol("aaa_first");
  Dim rows = b.Size(name("rows")), cols = b.Size(name("cols"));
  int x = b.Buffer(name("x"), f32, BufferKind::kInput, rows * cols, 32);
  int k = b.Buffer("k", i64, BufferKind::kInput, rows);
  int y = b.Buffer("y", f32, BufferKind::kOutput, rows * cols);
  int s = b.Buffer("s", f32, BufferKind::kWorkerScratch, Max(cols, 8) * 8);
  int t = b.Table("t", i32, {1, 0xffffffff, 3});
  b.Assume(Eq(Mod(cols, 8), 0));
  b.Assume(In(rows, {1, 2, 4}));
  b.Tasks(CeilDiv(rows, 4));
  int sum = b.Var(b.Float({f32, 8}, -0.0));
  b.For(name("i"), b.task() * 4, Min(rows, b.task() * 4 + 4), 1, [&](Dim i) {
    b.For(name("j"), 0, cols, 8, [&](Dim j) {
      Reg mask = b.Mask(cols - j, 8);
      Reg v = b.Load(x, i * cols + j, 8, 1, mask, 0x3f800000);
      b.Set(sum, b.Fma(v, v, b.Get(sum)));
      b.Store(y, i * cols + j, EmitElementwise(b, ir::Op::k_gelu, {v}), 1, mask);
    });
    Reg at = b.Load(k, i);
    Reg bad = b.Bin(KOp::kGe, at, b.Index(rows));
    b.If(bad, [&] { b.Fail("text with \"quotes\"\n", at, i, rows); });
    Dim d = b.Bind(name("d"), at);
    b.If(
        d * 2 < cols, [&] { b.Store(s, d, b.Get(sum), 2); }, [&] { b.Barrier(); });
    b.Gather(t, b.Lane({i64, 4}), b.Mask(3, 4), 7);
  });
  b.Call(micro.Finish(), {{s, 0}}, {Max(cols, 8)});
  return b.Finish();
}

TEST(Text, RoundTrips) {
  auto k = Everything(false);
  ASSERT_TRUE(Verify(*k).ok()) << Verify(*k);
  const std::string text = Print(*k);
  absl::StatusOr<std::shared_ptr<Kernel>> parsed = ParseKernel(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_EQ(Print(**parsed), text);
  EXPECT_EQ(Fingerprint(**parsed), Fingerprint(*k));
}

TEST(Text, NamesDoNotCount) {
  auto a = Everything(false), b = Everything(true);
  EXPECT_EQ(Print(*a), Print(*b));
  EXPECT_EQ(Fingerprint(*a), Fingerprint(*b));
  EXPECT_EQ(Fingerprint(*a).size(), 32u);
}

TEST(Text, EveryDifferenceCounts) {
  const std::string base = Fingerprint(*Everything(false));
  auto changed = [&](auto change) {
    auto k = Everything(false);
    change(*k);
    return Fingerprint(*k);
  };
  EXPECT_NE(base, changed([](Kernel& k) { k.buffers[0].alignment = 64; }));
  EXPECT_NE(base, changed([](Kernel& k) { k.assumptions.pop_back(); }));
  EXPECT_NE(base, changed([](Kernel& k) { k.body[0].imm ^= 1; }));
  EXPECT_NE(base, changed([](Kernel& k) { k.buffers.back().table[0] = 9; }));
  EXPECT_NE(base, changed([](Kernel& k) { k.failures[0] += "!"; }));
  EXPECT_NE(base, changed([](Kernel& k) {
              auto callee = std::make_shared<Kernel>(*k.callees[0]);
              callee->body[0].loop = LoopKind::kSerial;
              k.callees[0] = callee;
            }));
}

TEST(Text, ReadsWell) {
  KernelBuilder b("double");
  Dim n = b.Size("n");
  int x = b.Buffer("x", f32, BufferKind::kInput, n);
  int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(CeilDiv(n, 16));
  Dim i = b.task() * 16;
  Reg m = b.Mask(n - i, 16);
  Reg v = b.Load(x, i, 16, 1, m);
  b.Store(y, i, b.Bin(KOp::kAdd, v, v), 1, m);
  EXPECT_EQ(Print(*b.Finish()), R"(kernel s0 {
  buffer b0 f32 input [s0]
  buffer b1 f32 output [s0]
  tasks [ceildiv(s0, 16)]
  body
  %0 = mask boolx16 [s0 - 16*t]
  %1 = load f32x16 b0[16*t] mask %0 else 0x0
  %2 = add f32x16 %1, %1
  store b1[16*t] = %2 mask %0
}
)");
}

TEST(Text, ErrorsNameTheLine) {
  auto error = [](const char* text) { return std::string(ParseKernel(text).status().message()); };
  EXPECT_THAT(error(""), HasSubstr("line 1: found \"\", wanted \"kernel\""));
  EXPECT_THAT(error("kernel {\n tasks [1]\n body\n %0 = frob f32\n}"),
              HasSubstr("line 4: found \"frob\", wanted an op"));
  EXPECT_THAT(error("kernel {\n tasks [q]\n body\n}"), HasSubstr("line 2"));
  EXPECT_THAT(error("kernel {\n tasks [1]\n body\n store b0[0] = %0\n}"),
              HasSubstr("a buffer of the kernel"));
  EXPECT_THAT(error("kernel {\n tasks [1]\n body\n %0 = neg f32 %1\n}"), HasSubstr("invariant 1"));
  EXPECT_THAT(error("kernel {\n tasks [1]\n body\n %2000000000 = lane i32\n}"),
              HasSubstr("wanted %0"));
  EXPECT_THAT(error("kernel {\n tasks [1"), HasSubstr("line 2"));
}

// No text, however it is cut or changed, brings the reader down; what it accepts is a kernel, whose
// text gives the same kernel again.
TEST(Text, SurvivesDamage) {
  const std::string text = Print(*Everything(false));
  int accepted = 0, refused = 0;
  const auto check = [&](const std::string& damaged) {
    const absl::StatusOr<std::shared_ptr<Kernel>> first = ParseKernel(damaged);
    if (!first.ok()) {
      EXPECT_THAT(std::string(first.status().message()),
                  testing::AnyOf(HasSubstr("line "), HasSubstr("invariant ")))
          << damaged;
      ++refused;
      return;
    }
    ++accepted;
    const std::string printed = Print(**first);
    const absl::StatusOr<std::shared_ptr<Kernel>> second = ParseKernel(printed);
    ASSERT_TRUE(second.ok()) << second.status() << "\n" << printed << "\nread from\n" << damaged;
    EXPECT_EQ(Print(**second), printed);
    EXPECT_EQ(Fingerprint(**second), Fingerprint(**first));
  };
  for (size_t n = 0; n < text.size(); n += 7) check(text.substr(0, n));
  for (size_t i = 0; i < text.size(); i += 3) {
    std::string damaged = text;
    damaged[i] = "}%[b9\"x"[i % 7];
    check(damaged);
  }
  // Both kinds come: a digit more or less is often another kernel.
  EXPECT_GT(accepted, 10);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace lathe::kernel
