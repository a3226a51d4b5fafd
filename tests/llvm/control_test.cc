// Loops, branches, bound indices, calls, error exits, and Dims as machine arithmetic.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/llvm/harness.h"

namespace lathe::llvm_target {
namespace {

using kernel::BufferKind;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::LoopKind;
using kernel::Reg;

TEST(Dims, EveryOperationRoundsAsTheEvaluatorSays) {
  KernelBuilder b("dims");
  const Dim a = b.Size("a"), c = b.Size("c"), d = b.Size("d");
  std::vector<Dim> dims;
  for (int64_t k : {1, 2, 3, 5, 8, 1024}) {
    dims.insert(dims.end(), {FloorDiv(a, k), Mod(a, k), CeilDiv(a, k), FloorDiv(a * 3 - c, k),
                             Mod(c - a, k), CeilDiv(c - a, k), FloorDiv(a, -k), Mod(a, -k)});
  }
  dims.insert(dims.end(), {FloorDiv(a, d), Mod(a, d), CeilDiv(a, d), FloorDiv(a * c, d),
                           Mod(a * c - 7, d), Min(a, c), Max(a, c * 2), Min(Max(a, 3), d),
                           a * c * d + a * 5 - 11, -a, FloorDiv(a, 4) * 4 + Mod(a, 4)});
  const int64_t count = static_cast<int64_t>(dims.size());
  const int y = b.Buffer("y", DType::kI64, BufferKind::kOutput, count + 5);
  for (int64_t i = 0; i < count; ++i) b.Store(y, i, b.Index(dims[i]));
  const Claim claims[] = {Eq(a, c), Ne(a, c), a < c, a <= c, In(a, {-3, 0, 7})};
  for (int64_t i = 0; i < 5; ++i) {
    const auto store = [&](int64_t v) {
      return [&b, y, count, i, v] { b.Store(y, count + i, b.Int({DType::kI64, 1}, v)); };
    };
    b.If(claims[i], store(1), store(0));
  }
  Agreement agreement(b.Finish());
  for (int64_t va : {-1025, -9, -8, -3, -1, 0, 1, 7, 8, 100}) {
    for (int64_t vc : {-7, 0, 1, 7, 33}) {
      for (int64_t vd : {-5, -1, 1, 2, 6}) {
        agreement.Check({TestBuffer::Canaries(DType::kI64, count + 5)}, {va, vc, vd}, 1,
                        absl::StrCat(va, " ", vc, " ", vd));
      }
    }
  }
}

TEST(Dims, ADivisorOfZeroBehindABranchDoesNotTrap) {
  KernelBuilder b("guarded");
  const Dim n = b.Size("n"), d = b.Size("d");
  const int y = b.Buffer("y", DType::kI64, BufferKind::kOutput, 1);
  b.Store(y, 0, b.Int({DType::kI64, 1}, 5));
  b.For("i", 0, 2, 1, [&](Dim i) {
    b.If(Ne(d, 0), [&] { b.Store(y, 0, b.Index(FloorDiv(n, d) + Mod(n, d) + i)); });
  });
  Agreement agreement(b.Finish());
  for (int64_t d_value : {0, 1, 3, -1}) {
    agreement.Check({TestBuffer::Canaries(DType::kI64, 1)}, {10, d_value}, 1,
                    absl::StrCat("d = ", d_value));
  }
}

TEST(Loops, SerialAndUnrolledOverEverySize) {
  for (LoopKind kind : {LoopKind::kSerial, LoopKind::kUnrolled}) {
    KernelBuilder b("loops");
    const Dim n = b.Size("n");
    const int x = b.Buffer("x", f32, BufferKind::kInput, n * 4);
    const int y = b.Buffer("y", f32, BufferKind::kOutput, n + 4);
    b.For("i", 0, n, 3, [&](Dim i) {
      const int acc = b.Var(b.Float({f32, 1}, 0.5));
      b.For(
          "j", 0, 4, 1,
          [&](Dim j) {
            b.Set(acc, b.Fma(b.Load(x, i * 4 + j), b.Cast(b.Index(j * 2 + 1), f32), b.Get(acc)));
          },
          kind);
      b.For(
          "j", i, Min(n, i + 3), 1, [&](Dim j) { b.Store(y, j, b.Get(acc)); }, kind);
    });
    b.For(
        "j", 0, 4, 2,
        [&](Dim j) {
          b.For(
              "k", 0, 2, 1, [&](Dim k) { b.Store(y, n + j + k, b.Cast(b.Index(j * 10 + k), f32)); },
              kind);
        },
        kind);
    Agreement agreement(b.Finish());
    for (int64_t n_value : {0, 1, 2, 3, 7, 8, 31, 32, 33}) {
      std::vector<float> values;
      for (int64_t i = 0; i < n_value * 4; ++i) values.push_back(static_cast<float>(i) * 0.37f);
      agreement.Check({TestBuffer::Of(f32, values), TestBuffer::Canaries(f32, n_value + 4)},
                      {n_value}, 1, absl::StrCat("n = ", n_value));
    }
  }
}

TEST(Loops, SumsOfVectorsKeepTheirOrder) {
  for (DType t : {DType::kF32, DType::kF64}) {
    for (int lanes : {8, 16, 32}) {
      KernelBuilder b("sum");
      const Dim n = b.Size("n");
      const int x = b.Buffer("x", t, BufferKind::kInput, n);
      const int y = b.Buffer("y", t, BufferKind::kOutput, 2);
      const int acc = b.Var(b.Float({t, lanes}, -0.0));
      const int most = b.Var(b.Float({t, lanes}, -1e30));
      b.For("i", 0, n, lanes, [&](Dim i) {
        const Reg m = b.Mask(n - i, lanes);
        const Reg v = b.Load(x, i, lanes, 1, m);
        b.Set(acc, b.Select(m, b.Bin(KOp::kAdd, b.Get(acc), v), b.Get(acc)));
        b.Set(most, b.Select(m, b.Bin(KOp::kMax, b.Get(most), v), b.Get(most)));
      });
      b.Store(y, 0, b.Reduce(KOp::kReduceAdd, b.Get(acc)));
      b.Store(y, 1, b.Reduce(KOp::kReduceMax, b.Get(most)));
      Agreement agreement(b.Finish());
      for (int64_t n_value : {0, 1, 3, 8, 31, 32, 33, 100}) {
        std::vector<float> f;
        std::vector<double> d;
        for (int64_t i = 0; i < n_value; ++i) {
          d.push_back(1.0 / static_cast<double>(i + 3) - 0.1);
          f.push_back(static_cast<float>(d.back()));
        }
        agreement.Check({t == DType::kF32 ? TestBuffer::Of(t, f) : TestBuffer::Of(t, d),
                         TestBuffer::Canaries(t, 2)},
                        {n_value}, 1, absl::StrCat("n = ", n_value));
      }
    }
  }
}

TEST(Branches, OnDataAndOnSizes) {
  KernelBuilder b("branches");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", DType::kI64, BufferKind::kInput, n);
  const int y = b.Buffer("y", DType::kI64, BufferKind::kOutput, n);
  b.Tasks(n);
  const Reg v = b.Load(x, b.task());
  const Reg zero = b.Int({DType::kI64, 1}, 0);
  const int r = b.Var(zero);
  b.If(
      b.Bin(KOp::kLt, v, zero), [&] { b.Set(r, b.Un(KOp::kNeg, v)); },
      [&] { b.If(Eq(Mod(b.task(), 2), 0), [&] { b.Set(r, b.Bin(KOp::kAdd, v, b.Index(n))); }); });
  b.Store(y, b.task(), b.Get(r));
  std::vector<int64_t> values = {-5, 4, 3, -2, 0, 9, 10};
  Agreement(b.Finish())
      .Check({TestBuffer::Of(DType::kI64, values), TestBuffer::Canaries(DType::kI64, 7)}, {7}, 7,
             "branches");
}

// Rows picked by data, an index out of range is reported with all that the caller needs.
TEST(Failures, AnIndexOutOfRangeIsReportedAndTouchesNothing) {
  KernelBuilder b("embedding");
  const Dim n = b.Size("n"), rows = b.Size("rows");
  const int i = b.Buffer("i", DType::kI32, BufferKind::kInput, n);
  const int x = b.Buffer("x", f32, BufferKind::kInput, rows * 4);
  const int y = b.Buffer("y", f32, BufferKind::kOutput, n * 4);
  b.Tasks(n);
  const Reg index = b.Cast(b.Load(i, b.task()), DType::kI64);
  const Reg low = b.Bin(KOp::kLt, index, b.Int({DType::kI64, 1}, 0));
  b.If(b.Bin(KOp::kOr, low, b.Bin(KOp::kGe, index, b.Index(rows))),
       [&] { b.Fail("embedding: index", index, b.task(), rows); });
  const Dim row = b.Bind("row", index);
  b.Store(y, b.task() * 4, b.Load(x, row * 4, 4));
  Agreement agreement(b.Finish());
  std::vector<float> table(20);
  for (int j = 0; j < 20; ++j) table[j] = static_cast<float>(j);
  for (const std::vector<int32_t>& indices :
       {std::vector<int32_t>{0, 4, 2}, {0, 5, 9}, {-1, 0, 0}, {1, 2, INT32_MAX}}) {
    agreement.Check({TestBuffer::Of(DType::kI32, indices), TestBuffer::Of(f32, table),
                     TestBuffer::Canaries(f32, 12)},
                    {3, 5}, 3, absl::StrCat("first ", indices[0]));
  }
}

// A small matrix product as a micro-kernel, called for each tile.
std::shared_ptr<kernel::Kernel> MakeMicro(int rows, int lanes) {
  KernelBuilder b("micro");
  b.SetMicro();
  const Dim depth = b.Size("depth"), lda = b.Size("lda"), ldc = b.Size("ldc");
  const int a = b.Buffer("a", f32, BufferKind::kInput, lda * (rows - 1) + depth);
  const int p = b.Buffer("p", f32, BufferKind::kInput, depth * lanes);
  const int c = b.Buffer("c", f32, BufferKind::kOutput, ldc * (rows - 1) + lanes);
  std::vector<int> acc;
  for (int i = 0; i < rows; ++i) acc.push_back(b.Var(b.Float({f32, lanes}, 0)));
  b.For("k", 0, depth, 1, [&](Dim k) {
    const Reg v = b.Load(p, k * lanes, lanes);
    for (int i = 0; i < rows; ++i) {
      const Reg s = b.Splat(b.Load(a, lda * i + k), lanes);
      b.Set(acc[i], b.Fma(s, v, b.Get(acc[i])));
    }
  });
  for (int i = 0; i < rows; ++i) b.Store(c, ldc * i, b.Get(acc[i]));
  return b.Finish();
}

std::shared_ptr<kernel::Kernel> MakeCaller(std::shared_ptr<const kernel::Kernel> micro,
                                           const std::string& name) {
  KernelBuilder b(name);
  const Dim m = b.Size("m"), depth = b.Size("depth"), n = b.Size("n");
  const int a = b.Buffer("a", f32, BufferKind::kInput, m * depth);
  const int p = b.Buffer("p", f32, BufferKind::kInput, depth * n);
  const int c = b.Buffer("c", f32, BufferKind::kOutput, m * n);
  b.Tasks(FloorDiv(n, 16));
  b.For("i", 0, m, 4, [&](Dim i) {
    b.Call(micro, {{a, i * depth}, {p, b.task() * depth * 16}, {c, i * n + b.task() * 16}},
           {depth, depth, n});
  });
  return b.Finish();
}

TEST(Calls, MicroKernelsAreCompiledOnceAndSharedByFingerprint) {
  // Two equal micro-kernels, built apart.
  Agreement first(MakeCaller(MakeMicro(4, 16), "first"));
  const int64_t before = HostCompiler().counters().modules;
  Agreement second(MakeCaller(MakeMicro(4, 16), "second"));
  EXPECT_EQ(HostCompiler().counters().modules - before, 2) << "one module a tier, no micro-kernel";
  for (int64_t depth : {0, 1, 3, 33}) {
    std::vector<float> a, p;
    for (int64_t i = 0; i < 8 * depth; ++i) a.push_back(static_cast<float>(i % 11) * 0.3f - 1);
    for (int64_t i = 0; i < depth * 32; ++i) p.push_back(static_cast<float>(i % 7) * 0.7f - 2);
    for (Agreement* agreement : {&first, &second}) {
      agreement->Check(
          {TestBuffer::Of(f32, a), TestBuffer::Of(f32, p), TestBuffer::Canaries(f32, 8 * 32)},
          {8, depth, 32}, 2, absl::StrCat("depth ", depth));
    }
  }
}

}  // namespace
}  // namespace lathe::llvm_target
