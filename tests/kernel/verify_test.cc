// The verifier rejects each kind of mistake, and says which invariant it breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/kernel/builder.h"

namespace lathe::kernel {
namespace {

using testing::HasSubstr;

// y[i] = var, where var collects x[j] * 2 over a loop; with a mask and a table.
struct Sample {
  std::shared_ptr<Kernel> kernel;
  Stmt& at(size_t i) { return kernel->body[i]; }
};

Sample MakeSample() {
  KernelBuilder b("sample");
  Dim n = b.Size("n");
  int x = b.Buffer("x", f32, BufferKind::kInput, n * 8);
  int y = b.Buffer("y", f32, BufferKind::kOutput, n * 8);
  b.Table("t", i64, {1, 2, 3});
  b.Assume(n <= 1000);
  b.Tasks(n);
  Dim i = b.task() * 8;
  Reg zero = b.Float({f32, 8}, 0);  // 0
  int sum = b.Var(zero);            // 1
  b.For("j", 0, n, 1, [&](Dim j) {  // 2
    Reg v = b.Load(x, j * 8, 8);
    b.Set(sum, b.Bin(KOp::kAdd, b.Get(sum), v));
  });
  Reg mask = b.Mask(n * 8 - i, 8);                              // 3
  Reg total = b.Get(sum);                                       // 4
  b.Store(y, i, total, 1, mask);                                // 5
  b.If(b.Any(mask), [&] { b.Fail("bad", b.Index(n), i, n); });  // 6, 7
  return {b.Finish()};
}

void ExpectBroken(const Sample& s, int invariant) {
  const absl::Status status = Verify(*s.kernel);
  EXPECT_FALSE(status.ok()) << "invariant " << invariant;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("(invariant " + std::to_string(invariant) + ")"));
}

TEST(Verify, AcceptsTheSample) { EXPECT_TRUE(Verify(*MakeSample().kernel).ok()); }

TEST(Verify, RegisterOutOfScope) {
  Sample s = MakeSample();
  s.at(5).args[0] = s.at(2).body[0].out;  // defined in the loop, used behind it
  ExpectBroken(s, 1);
}

TEST(Verify, RegisterUsedBeforeItsDefinition) {
  Sample s = MakeSample();
  std::swap(s.at(4), s.at(5));
  ExpectBroken(s, 1);
}

TEST(Verify, RegisterDefinedTwice) {
  Sample s = MakeSample();
  s.at(4).out = s.at(0).out;
  ExpectBroken(s, 1);
}

TEST(Verify, OperandTypes) {
  Sample s = MakeSample();
  s.at(2).body[2].type.lanes = 4;
  ExpectBroken(s, 2);
}

TEST(Verify, OperandCount) {
  Sample s = MakeSample();
  s.at(2).body[2].args[1] = kNoReg;
  ExpectBroken(s, 2);
}

TEST(Verify, BitOpsOfFloats) {
  Sample s = MakeSample();
  s.at(2).body[2].op = KOp::kXor;
  ExpectBroken(s, 2);
}

TEST(Verify, RemainderOfFloats) {
  for (KOp op : {KOp::kRem, KOp::kMod}) {
    Sample s = MakeSample();
    s.at(2).body[2].op = op;
    ExpectBroken(s, 2);
  }
}

TEST(Verify, MaskOfTheWrongType) {
  Sample s = MakeSample();
  s.at(5).mask = s.at(4).out;
  ExpectBroken(s, 3);
}

TEST(Verify, VariableOfAnotherType) {
  Sample s = MakeSample();
  s.at(4).type.lanes = 4;
  ExpectBroken(s, 4);
}

TEST(Verify, VariableUndeclared) {
  Sample s = MakeSample();
  s.at(4).imm = 7;
  ExpectBroken(s, 4);
}

TEST(Verify, StoreToAnInput) {
  Sample s = MakeSample();
  s.at(5).buffer = 0;
  ExpectBroken(s, 5);
}

TEST(Verify, AccessOfAnotherType) {
  Sample s = MakeSample();
  s.kernel->buffers[1].dtype = i32;
  ExpectBroken(s, 5);
}

TEST(Verify, BufferThatDoesNotExist) {
  Sample s = MakeSample();
  s.at(5).buffer = 9;
  ExpectBroken(s, 5);
}

TEST(Verify, TableBeforeABuffer) {
  Sample s = MakeSample();
  std::swap(s.kernel->buffers[1], s.kernel->buffers[2]);
  ExpectBroken(s, 6);
}

TEST(Verify, TableOfAnotherLength) {
  Sample s = MakeSample();
  s.kernel->buffers[2].table.pop_back();
  ExpectBroken(s, 6);
}

TEST(Verify, FreeSymbol) {
  Sample s = MakeSample();
  s.at(5).index = s.kernel->dims->Symbol("stranger");
  ExpectBroken(s, 7);
}

TEST(Verify, LoopVariableOutsideItsLoop) {
  Sample s = MakeSample();
  s.at(5).index = s.kernel->dims->SymbolDim(s.at(2).symbol);
  ExpectBroken(s, 7);
}

TEST(Verify, ExtentOverTheTask) {
  Sample s = MakeSample();
  s.kernel->buffers[0].elements = s.kernel->dims->SymbolDim(s.kernel->task);
  ExpectBroken(s, 7);
}

TEST(Verify, DimOfAnotherContext) {
  Sample s = MakeSample(), other = MakeSample();
  s.at(5).index = other.at(5).index;
  ExpectBroken(s, 7);
}

TEST(Verify, OverflowingDim) {
  Sample s = MakeSample();
  s.at(5).stride = Dim(INT64_MAX) * 2;
  ExpectBroken(s, 7);
}

TEST(Verify, StepBelowOne) {
  Sample s = MakeSample();
  s.at(2).step = 0;
  ExpectBroken(s, 7);
}

TEST(Verify, CallOfAKernelThatIsNotMicro) {
  Sample s = MakeSample();
  s.kernel->callees.push_back(MakeSample().kernel);
  ExpectBroken(s, 8);
}

TEST(Verify, CallWritesAnInput) {
  KernelBuilder micro("micro");
  micro.SetMicro();
  int out = micro.Buffer("o", f32, BufferKind::kOutput, 1);
  micro.Store(out, 0, micro.Float({f32, 1}, 1));
  KernelBuilder b("caller");
  int x = b.Buffer("x", f32, BufferKind::kInput, 1);
  int y = b.Buffer("y", f32, BufferKind::kOutput, 1);
  b.Call(micro.Finish(), {{y, 0}}, {});
  Sample s{b.Finish()};
  EXPECT_TRUE(Verify(*s.kernel).ok());
  s.at(0).call = std::make_shared<CallArgs>(CallArgs{{{x, 0}}, {}});
  ExpectBroken(s, 8);
  s.at(0).call = std::make_shared<CallArgs>(CallArgs{{{y, 0}}, {Dim(3)}});
  ExpectBroken(s, 8);
}

TEST(Verify, FailureWithoutAText) {
  Sample s = MakeSample();
  s.kernel->failures.clear();
  ExpectBroken(s, 9);
}

TEST(Verify, MicroKernelWithFailures) {
  Sample s = MakeSample();
  s.kernel->is_micro = true;
  ExpectBroken(s, 10);
}

TEST(Verify, ConstantTooWide) {
  Sample s = MakeSample();
  s.at(0).imm = uint64_t{1} << 32;
  ExpectBroken(s, 11);
}

TEST(Verify, FillWithoutAMask) {
  Sample s = MakeSample();
  s.at(2).body[0].imm = 1;
  ExpectBroken(s, 11);
}

}  // namespace
}  // namespace lathe::kernel
