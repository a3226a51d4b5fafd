// Shapes of whole graphs: what refining 10,000 ops over 100 symbols under 1,000 facts costs, and
// their bounds. Nothing is memoised between iterations: each works on facts of its own.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/passes/pass.h"
#include "ir/bounds.h"
#include "ir/builder.h"

namespace lathe {
namespace {

constexpr int kSymbols = 100, kFacts = 1000;

// 100 symbols in groups of 10; ranges, divisors, and differences and sums within a group.
std::vector<Claim> MakeFacts(const std::vector<Dim>& s) {
  std::vector<Claim> facts;
  for (int i = 0; i < kSymbols; ++i) {
    facts.push_back(Dim(1) <= s[i]);
    facts.push_back(s[i] <= Dim(4096 + 64 * (i % 10)));
    if (i % 2 == 0) facts.push_back(Eq(Mod(s[i], 8), 0));
  }
  for (int k = 0; static_cast<int>(facts.size()) < kFacts; ++k) {
    const int group = k % 10 * 10, a = group + k / 10 % 10, b = group + (k / 10 + 1 + k / 100) % 10;
    if (a == b) continue;
    facts.push_back(s[a] <= 2 * s[b] + (1 << 14) + k);
  }
  return facts;
}

// `ops` ops: views, joins and arithmetic over f32[s_i, 8*s_j].
ir::Graph MakeGraph(int ops) {
  ir::Graph graph;
  std::vector<Dim> s;
  for (int i = 0; i < kSymbols; ++i) s.push_back(graph.dims()->Symbol(absl::StrCat("s", i)));
  for (const Claim& c : MakeFacts(s))
    graph.facts().Add(c, dim::Standing::kDeclared, {"bench", ""}).IgnoreError();
  ir::Builder b(&graph);
  std::vector<ir::ValueId> x;
  for (int i = 0; i < kSymbols; ++i)
    x.push_back(*b.Input(absl::StrCat("x", i), {DType::kF32, {s[i], 8 * s[(i + 2) % kSymbols]}}));
  std::vector<ir::ValueId> now = x;
  for (int k = 0; static_cast<int>(graph.num_nodes()) < ops + kSymbols; ++k) {
    const size_t i = static_cast<size_t>(k % kSymbols);
    ir::ValueId& v = now[i];
    const Shape shape = graph.type(v).shape;
    switch (k / kSymbols % 5) {
      case 0:
        v = *b.Reshape(v, {shape[0], FloorDiv(shape[1], 4), 4});
        break;
      case 1:
        v = *b.Create(ir::Op::k_exp, {v});
        break;
      case 2:
        v = *b.Reshape(v, {shape[0], -1});
        break;
      case 3:
        v = *b.Slice(*b.Create(ir::Op::k_concat, {x[i], x[i]}, {.axis = 1}), 1, 0,
                     graph.type(x[i]).shape[1] + 4 * (k % 499));
        break;
      default:
        v = *b.Binary(ir::Op::k_add, v, v);
    }
  }
  for (size_t i = 0; i < now.size(); ++i) b.Output(absl::StrCat("y", i), now[i]).IgnoreError();
  return graph;
}

void Build(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(MakeGraph(static_cast<int>(state.range(0))));
}
BENCHMARK(Build)->Arg(10000)->Unit(benchmark::kMillisecond);

void Refine(benchmark::State& state) {
  const ir::Graph graph = MakeGraph(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    ir::Graph copy = graph.Clone();
    compiler::PassContext context;
    state.ResumeTiming();
    benchmark::DoNotOptimize(compiler::RefineShapes(copy, context));
  }
  state.counters["facts"] = static_cast<double>(graph.facts().facts().size());
}
BENCHMARK(Refine)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

void Bounds(benchmark::State& state) {
  const ir::Graph graph = MakeGraph(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(ir::BoundsOf(graph));
}
BENCHMARK(Bounds)->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lathe
