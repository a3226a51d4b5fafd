// Micro-benchmarks of the LLVM target: elementary functions, micro-kernels of matrix products
// against the FMA peak of this core, and what a compile costs.
//
//   exp/32        elements/ns of a pointwise kernel over data in L1
//   gemm/6/16     GFLOP/s of a micro-kernel over a packed panel in L2; "peak" is the roof
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/kernel/builder.h"
#include "codegen/kernel/math.h"
#include "codegen/llvm/llvm_target.h"

namespace lathe::llvm_target {
namespace {

using kernel::BufferKind;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::Reg;

LlvmCompiler& Compiler(bool avx2) {
  static const auto host = *LlvmCompiler::Create(HostTarget());
  static const auto narrow = *LlvmCompiler::Create(Avx2Target());
  return avx2 ? *narrow : *host;
}

std::shared_ptr<kernel::Kernel> MakePointwise(const std::vector<ir::Op>& ops, int lanes) {
  KernelBuilder b("pointwise");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", f32, BufferKind::kInput, n);
  const int y = b.Buffer("y", f32, BufferKind::kOutput, n);
  b.Tasks(1);
  b.For("i", 0, FloorDiv(n, lanes), 1, [&](Dim i) {
    Reg v = b.Load(x, i * lanes, lanes);
    for (ir::Op op : ops) v = EmitElementwise(b, op, {v});
    b.Store(y, i * lanes, v);
  });
  b.If(Ne(Mod(n, lanes), 0), [&] {
    const Dim at = FloorDiv(n, lanes) * lanes;
    const Reg m = b.Mask(n - at, lanes);
    Reg v = b.Load(x, at, lanes, 1, m);
    for (ir::Op op : ops) v = EmitElementwise(b, op, {v});
    b.Store(y, at, v, 1, m);
  });
  return b.Finish();
}

void BenchPointwise(benchmark::State& state, ir::Op op, bool avx2) {
  auto code =
      Compiler(avx2).Compile(*MakePointwise({op}, static_cast<int>(state.range(0))), Tier::kFull);
  if (!code.ok()) return state.SkipWithError(code.status().ToString().c_str());
  const int64_t n = 2048;
  std::vector<float> x(n), y(n);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 97) * 0.1f - 5;
  void* buffers[] = {x.data(), y.data()};
  for (auto _ : state) (*code)->fn(buffers, &n, 0, 1, 0, nullptr);
  state.counters["elements/ns"] = benchmark::Counter(static_cast<double>(n) * 1e-9,
                                                     benchmark::Counter::kIsIterationInvariantRate);
}

// C[MR][NR] += A[MR][K] * B[K][NR]. With more columns than rows in registers, the rows of A are
// broadcast first and each vector of B is used at once; otherwise the other way round.
std::shared_ptr<kernel::Kernel> MakeGemm(int mr, int nr, int lanes) {
  KernelBuilder b("gemm");
  b.SetMicro();
  const Dim depth = b.Size("k"), lda = b.Size("lda"), ldc = b.Size("ldc");
  const int a = b.Buffer("a", f32, BufferKind::kInput, lda * mr);
  const int p = b.Buffer("b", f32, BufferKind::kInput, depth * nr);
  const int c = b.Buffer("c", f32, BufferKind::kInOut, ldc * mr);
  const int vectors = nr / lanes;
  std::vector<int> acc;
  for (int i = 0; i < mr * vectors; ++i) {
    acc.push_back(b.Var(b.Load(c, ldc * (i / vectors) + i % vectors * lanes, lanes)));
  }
  b.For("k", 0, depth, 1, [&](Dim k) {
    const bool rows_first = mr < vectors;
    const auto row = [&](int i) { return b.Splat(b.Load(a, lda * i + k), lanes); };
    const auto column = [&](int j) { return b.Load(p, k * nr + j * lanes, lanes); };
    std::vector<Reg> kept;
    for (int i = 0; i < (rows_first ? mr : vectors); ++i) {
      kept.push_back(rows_first ? row(i) : column(i));
    }
    for (int i = 0; i < (rows_first ? vectors : mr); ++i) {
      const Reg r = rows_first ? column(i) : row(i);
      for (size_t j = 0; j < kept.size(); ++j) {
        const int at =
            rows_first ? static_cast<int>(j) * vectors + i : i * vectors + static_cast<int>(j);
        b.Set(acc[at], b.Fma(r, kept[j], b.Get(acc[at])));
      }
    }
  });
  for (int i = 0; i < mr * vectors; ++i) {
    b.Store(c, ldc * (i / vectors) + i % vectors * lanes, b.Get(acc[i]));
  }
  return b.Finish();
}

void BenchGemm(benchmark::State& state, bool avx2) {
  const int mr = static_cast<int>(state.range(0)), nr = static_cast<int>(state.range(1));
  const int64_t depth = 384, panels = 4;
  KernelBuilder b("panels");
  const Dim k = b.Size("k");
  const int a = b.Buffer("a", f32, BufferKind::kInput, k * mr);
  const int p = b.Buffer("b", f32, BufferKind::kInput, k * nr * panels);
  const int c = b.Buffer("c", f32, BufferKind::kInOut, mr * nr * panels);
  const auto micro = MakeGemm(mr, nr, avx2 ? 8 : 16);
  b.For("t", 0, panels, 1, [&](Dim t) {
    b.Call(micro, {{a, 0}, {p, t * k * nr}, {c, t * mr * nr}}, {k, k, nr});
  });
  auto code = Compiler(avx2).Compile(*b.Finish(), Tier::kFull);
  if (!code.ok()) return state.SkipWithError(code.status().ToString().c_str());
  std::vector<float> va(depth * mr, 1), vb(depth * nr * panels, 1), vc(mr * nr * panels);
  void* buffers[] = {va.data(), vb.data(), vc.data()};
  for (auto _ : state) (*code)->fn(buffers, &depth, 0, 1, 0, nullptr);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(mr * nr * panels * depth),
                         benchmark::Counter::kIsIterationInvariantRate);
}

// Independent FMAs and nothing else: what this core can do.
void BenchPeak(benchmark::State& state) {
  const int lanes = Compiler(false).target().vector_bytes / 4;
  KernelBuilder b("peak");
  const Dim n = b.Size("n");
  const int y = b.Buffer("y", f32, BufferKind::kOutput, 12 * lanes);
  std::vector<int> acc;
  for (int i = 0; i < 12; ++i) acc.push_back(b.Var(b.Float({f32, lanes}, i)));
  const Reg one = b.Splat(b.Load(b.Buffer("x", f32, BufferKind::kInput, 1), 0), lanes);
  b.For("i", 0, n, 1, [&](Dim) {
    for (int v : acc) b.Set(v, b.Fma(one, one, b.Get(v)));
  });
  for (int i = 0; i < 12; ++i) b.Store(y, i * lanes, b.Get(acc[i]));
  auto code = Compiler(false).Compile(*b.Finish(), Tier::kFull);
  if (!code.ok()) return state.SkipWithError(code.status().ToString().c_str());
  std::vector<float> result(12 * lanes);
  float x = 1;
  void* buffers[] = {result.data(), &x};
  const int64_t n_value = 4096;
  for (auto _ : state) (*code)->fn(buffers, &n_value, 0, 1, 0, nullptr);
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * 12 * lanes * static_cast<double>(n_value),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void BenchCompile(benchmark::State& state, const kernel::Kernel& k, Tier tier) {
  for (auto _ : state) {
    auto code = Compiler(false).Compile(k, tier);
    if (!code.ok()) return state.SkipWithError(code.status().ToString().c_str());
  }
}

const int registered = [] {
  for (bool avx2 : {false, true}) {
    const std::string suffix = avx2 ? "/avx2" : "/host";
    for (ir::Op op : {ir::Op::k_exp, ir::Op::k_gelu, ir::Op::k_tanh, ir::Op::k_erf, ir::Op::k_silu,
                      ir::Op::k_log, ir::Op::k_sin}) {
      benchmark::RegisterBenchmark((std::string(ir::Name(op)) + suffix).c_str(),
                                   [=](benchmark::State& s) { BenchPointwise(s, op, avx2); })
          ->Arg(8)
          ->Arg(16)
          ->Arg(32);
    }
    auto* gemm = benchmark::RegisterBenchmark(("gemm" + suffix).c_str(),
                                              [=](benchmark::State& s) { BenchGemm(s, avx2); });
    if (avx2) {
      gemm->Args({6, 16})->Args({4, 24})->Args({3, 32})->Args({2, 48})->Args({1, 96});
    } else {
      gemm->Args({14, 32})->Args({12, 32})->Args({8, 48})->Args({4, 96})->Args({3, 128});
    }
  }
  benchmark::RegisterBenchmark("peak", BenchPeak);
  for (Tier tier : {Tier::kQuick, Tier::kFull}) {
    const std::string suffix = tier == Tier::kQuick ? "/quick" : "/full";
    const auto add = [&](const std::string& name, std::shared_ptr<kernel::Kernel> k) {
      benchmark::RegisterBenchmark(("compile_" + name + suffix).c_str(), [=](benchmark::State& s) {
        BenchCompile(s, *k, tier);
      })->Unit(benchmark::kMillisecond);
    };
    add("relu", MakePointwise({ir::Op::k_relu}, 32));
    add("gelu", MakePointwise({ir::Op::k_gelu}, 32));
    add("chain4",
        MakePointwise({ir::Op::k_tanh, ir::Op::k_exp, ir::Op::k_neg, ir::Op::k_sigmoid}, 32));
  }
  return 0;
}();

}  // namespace
}  // namespace lathe::llvm_target
