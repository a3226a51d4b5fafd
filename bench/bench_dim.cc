// Dim algebra and prover: what building, proving and evaluating sizes cost. ProveMix asks what a
// lowering asks (alignment, bounds, divisibility, index width), AskRandom what the fuzz tests ask,
// quickly as lowering does and thoroughly as shape rules do. Their counters are over the questions,
// each the median of its runs: asked quickly, `median_ns` is held at 2 us and `p99_ns` at 50 us.
// Nothing is remembered between questions. AddRandomFacts is the curve of adding facts one by one;
// RefineGraph is the sizes of 10,000 ops.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "ir/dim/dim_program.h"
#include "ir/dim/facts.h"
#include "tests/dim/random_dims.h"

namespace lathe::dim {
namespace {

// The sizes of an encoder: batch and seq declared, heads and widths constant.
struct Encoder {
  Encoder() : facts(&context) {
    batch = context.Symbol("batch");
    seq = context.Symbol("seq");
    total = context.Symbol("total");
    i = context.Symbol("i");
    facts.AddSpec(&batch, "1..64", {"dim batch", ""}).IgnoreError();
    facts.AddSpec(&seq, "1..8192, % 8 == 0", {"dim seq", ""}).IgnoreError();
    facts.Add(Eq(total, batch * seq), Standing::kDeclared, {"flatten", ""}).IgnoreError();
    facts.Add(i < seq, Standing::kDerived, {"loop i", ""}).IgnoreError();
  }

  std::vector<Claim> Questions() const {
    return {seq >= 1,
            Eq(Mod(seq * 384, 16), 0),
            Eq(Mod(seq, 16), 0),
            i * 384 + 383 < seq * 384,
            CeilDiv(seq, 64) * 64 >= seq,
            batch * seq * 1536 <= Dim(INT32_MAX),
            batch * seq <= Dim(1 << 20),
            Eq(FloorDiv(seq, 8) * 8, seq),
            Min(seq, 512) <= 512,
            Ne(seq, 1),
            Eq(total, batch * seq),
            In(batch, {1, 2, 4}),
            i + 8 <= seq,
            FloorDiv(seq * 12, 12) <= seq,
            seq - i >= 1,
            Eq(Mod(i * 8 + 4, 4), 0)};
  }

  DimContext context;
  Dim batch, seq, total, i;
  FactSet facts;
};

void BuildSum(benchmark::State& state) {
  Encoder e;
  for (auto _ : state) {
    benchmark::DoNotOptimize(e.batch * e.seq * 384 + e.i * 384 + 5);
  }
}
BENCHMARK(BuildSum);

void BuildDivision(benchmark::State& state) {
  Encoder e;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Mod(FloorDiv(e.batch * e.seq * 384 + e.i, 384), 16));
  }
}
BENCHMARK(BuildDivision);

// Time per question, each the median of several runs.
void Measure(benchmark::State& state, const std::vector<std::pair<FactSet*, Claim>>& questions,
             Answer (*ask)(const FactSet&, const Claim&)) {
  constexpr size_t kRuns = 9;
  std::vector<double> times;
  int verdicts[3] = {};
  for (auto _ : state) {
    times.clear();
    for (const auto& [facts, claim] : questions) {
      double runs[kRuns];
      for (double& run : runs) {
        auto start = std::chrono::steady_clock::now();
        Answer answer = ask(*facts, claim);
        run = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
                  .count();
        ++verdicts[static_cast<int>(answer.verdict)];
      }
      std::nth_element(runs, runs + kRuns / 2, runs + kRuns);
      times.push_back(runs[kRuns / 2]);
    }
  }
  std::sort(times.begin(), times.end());
  state.counters["median_ns"] = times[times.size() / 2];
  state.counters["p99_ns"] = times[times.size() * 99 / 100];
  state.counters["max_ns"] = times.back();
  int all = verdicts[0] + verdicts[1] + verdicts[2];
  state.counters["unknown_percent"] = 100.0 * verdicts[2] / all;
  state.SetItemsProcessed(all);
}

Answer Quickly(const FactSet& facts, const Claim& claim) { return facts.ProveQuickly(claim); }
Answer Thoroughly(const FactSet& facts, const Claim& claim) { return facts.Prove(claim); }

void ProveMix(benchmark::State& state) {
  Encoder e;
  std::vector<std::pair<FactSet*, Claim>> questions;
  for (const Claim& c : e.Questions()) questions.emplace_back(&e.facts, c);
  Measure(state, questions, Quickly);
}
BENCHMARK(ProveMix);

// The questions of the fuzz tests: random facts over three symbols, nested operations.
void AskRandom(benchmark::State& state, Answer (*ask)(const FactSet&, const Claim&)) {
  RandomDims random(1, 3);
  std::vector<std::unique_ptr<DimContext>> contexts;
  std::vector<std::unique_ptr<FactSet>> sets;
  std::vector<std::pair<FactSet*, Claim>> questions;
  auto compare = [&](Dim a, Dim b) {
    return random.Chance(15)   ? Eq(Mod(a, Dim(random.Int(2, 8))), Dim(random.Int(0, 1)))
           : random.Chance(15) ? Eq(a, b)
           : random.Chance(15) ? Ne(a, b)
                               : a <= b;
  };
  while (questions.size() < 2000) {
    DimContext* context = contexts.emplace_back(std::make_unique<DimContext>()).get();
    FactSet* facts = sets.emplace_back(std::make_unique<FactSet>(context)).get();
    for (const char* name : {"a", "b", "c"}) {
      facts->Add(context->Symbol(name) <= Dim(random.Int(1, 1000)), Standing::kDeclared, {})
          .IgnoreError();
    }
    for (int i = 0; i < 3; ++i) {
      Dim a = Build(*random.Expression(2), context), b = Build(*random.Expression(1), context);
      if (!a.ok() || !b.ok()) continue;
      facts->Add(compare(a, b), Standing::kDeclared, {}).IgnoreError();
    }
    for (int i = 0; i < 10; ++i) {
      Dim a = Build(*random.Expression(2), context), b = Build(*random.Expression(1), context);
      if (a.ok() && b.ok()) questions.emplace_back(facts, compare(a, b));
    }
  }
  Measure(state, questions, ask);
}
BENCHMARK_CAPTURE(AskRandom, Quickly, Quickly)->Iterations(1);
BENCHMARK_CAPTURE(AskRandom, Thoroughly, Thoroughly)->Iterations(1);

void ProveOne(benchmark::State& state) {
  Encoder e;
  Claim c = e.Questions()[static_cast<size_t>(state.range(0))];
  Answer a = e.facts.Prove(c);
  for (auto _ : state) benchmark::DoNotOptimize(e.facts.Prove(c));
  state.SetLabel(c.ToString() + ": " + Name(a.verdict));
}
BENCHMARK(ProveOne)->DenseRange(0, 15);

void Simplify(benchmark::State& state) {
  Encoder e;
  Dim d = FloorDiv(e.seq * 12 + 7, 8) + Min(e.i, e.seq);
  for (auto _ : state) benchmark::DoNotOptimize(e.facts.Simplify(d));
}
BENCHMARK(Simplify);

void RangeOfAddress(benchmark::State& state) {
  Encoder e;
  Dim d = e.batch * e.seq * 384 + e.i * 384 + 5;
  for (auto _ : state) benchmark::DoNotOptimize(e.facts.Range(d));
}
BENCHMARK(RangeOfAddress);

// Facts over `n` symbols: a range, a divisibility and an order each.
void AddFacts(benchmark::State& state) {
  int64_t n = state.range(0);
  for (auto _ : state) {
    DimContext context;
    FactSet facts(&context);
    Dim last = context.Symbol("s");
    for (int64_t k = 0; k < n; ++k) {
      Dim next = context.FreshSymbol("s");
      facts.Add(next <= 8192, Standing::kDeclared, {}).IgnoreError();
      facts.Add(Eq(Mod(next, 8), 0), Standing::kDeclared, {}).IgnoreError();
      facts.Add(last <= next, Standing::kDeclared, {}).IgnoreError();
      last = next;
    }
    benchmark::DoNotOptimize(facts.Range(last));
  }
  state.SetItemsProcessed(state.iterations() * n * 3);
}
BENCHMARK(AddFacts)->Arg(4)->Arg(32)->Arg(128);

// `n` random facts over n / 10 symbols, one by one: bounds, divisibility, orders, sums, equalities.
std::vector<Claim> RandomFacts(DimContext* context, int64_t n) {
  RandomDims random(7, 1);
  std::vector<Dim> s;
  for (int64_t i = 0; i < std::max<int64_t>(n / 10, 4); ++i) s.push_back(context->FreshSymbol("s"));
  auto pick = [&] {
    return s[static_cast<size_t>(random.Int(0, static_cast<int64_t>(s.size()) - 1))];
  };
  std::vector<Claim> claims;
  while (static_cast<int64_t>(claims.size()) < n) {
    Dim a = pick(), b = pick(), c = pick();
    switch (random.Int(0, 9)) {
      case 0:
      case 1:
        claims.push_back(a <= Dim(random.Int(4096, 8192)));
        break;
      case 2:
        claims.push_back(Eq(Mod(a, Dim(int64_t{1} << random.Int(0, 4))), 0));
        break;
      case 3:
      case 4:
        claims.push_back(a <= b + Dim(random.Int(0, 64)));
        break;
      case 5:
        claims.push_back(a + b <= c + Dim(random.Int(9000, 20000)));
        break;
      case 6:
        claims.push_back(FloorDiv(a, 16) <= b + 8);
        break;
      case 7:
        claims.push_back(a * b <= Dim(1 << 26));
        break;
      case 8:
        claims.push_back(Min(a, b) <= 4096);
        break;
      default:
        claims.push_back(Eq(context->FreshSymbol("t"), a * 4 + b));
    }
  }
  return claims;
}

void AddRandomFacts(benchmark::State& state) {
  int64_t refused = 0;
  for (auto _ : state) {
    DimContext context;
    FactSet facts(&context);
    for (const Claim& c : RandomFacts(&context, state.range(0))) {
      refused += facts.Add(c, Standing::kDeclared, {}).ok() ? 0 : 1;
    }
  }
  state.counters["refused"] =
      static_cast<double>(refused) / static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(AddRandomFacts)
    ->Arg(100)
    ->Arg(300)
    ->Arg(1000)
    ->Arg(2000)
    ->Arg(5000)
    ->Unit(benchmark::kMillisecond);

// What 10,000 ops ask of 1,000 facts about 100 symbols: a range, a simplification, a proof each.
void RefineGraph(benchmark::State& state) {
  DimContext context;
  FactSet facts(&context);
  for (const Claim& c : RandomFacts(&context, 1000)) {
    facts.Add(c, Standing::kDeclared, {}).IgnoreError();
  }
  RandomDims random(3, 1);
  std::vector<Dim> sizes;
  for (int i = 0; i < 10000; ++i) {
    Dim a = context.SymbolDim(static_cast<SymbolId>(random.Int(0, 99)));
    Dim b = context.SymbolDim(static_cast<SymbolId>(random.Int(0, 99)));
    sizes.push_back(random.Chance(40)   ? a * Dim(random.Int(1, 768))
                    : random.Chance(40) ? a * b * 64
                    : random.Chance(50) ? CeilDiv(a, 16) * 16
                                        : a + b);
  }
  int proved = 0;
  for (auto _ : state) {
    for (Dim d : sizes) {
      benchmark::DoNotOptimize(facts.Range(d));
      benchmark::DoNotOptimize(facts.Simplify(d));
      proved += facts.Proves(d <= Dim(INT32_MAX)) ? 1 : 0;
    }
  }
  state.counters["proved"] = proved / static_cast<double>(state.iterations());
}
BENCHMARK(RefineGraph)->Unit(benchmark::kMillisecond);

// What a lowering does for each kernel: a copy, two loop variables, some questions.
void CopyAddProve(benchmark::State& state) {
  Encoder e;
  Dim row = e.context.Symbol("row"), column = e.context.Symbol("column");
  for (auto _ : state) {
    FactSet facts = e.facts;
    facts.Add(row < CeilDiv(e.seq, 6), Standing::kDerived, {}).IgnoreError();
    facts.Add(column < 24, Standing::kDerived, {}).IgnoreError();
    benchmark::DoNotOptimize(facts.Prove(row * 6 + 5 < e.seq));
    benchmark::DoNotOptimize(facts.Prove(column * 16 + 15 < 384));
    benchmark::DoNotOptimize(facts.Prove((row * 6 + 5) * 384 + column <= Dim(INT32_MAX)));
    benchmark::DoNotOptimize(facts.Prove(Eq(Mod(e.seq * 384 + column * 16, 16), 0)));
  }
}
BENCHMARK(CopyAddProve);

void RunProgram(benchmark::State& state) {
  Encoder e;
  DimProgramBuilder builder(&e.context);
  builder.Input(e.batch);
  builder.Input(e.seq);
  for (int64_t k = 1; k <= 32; ++k) builder.Slot(e.batch * e.seq * k + CeilDiv(e.seq, 16) * k);
  DimProgram program = builder.Build();
  std::vector<int64_t> slots(static_cast<size_t>(program.num_slots()));
  slots[0] = 4;
  slots[1] = 512;
  for (auto _ : state) benchmark::DoNotOptimize(program.Run(slots.data()));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(program.instructions().size()));
}
BENCHMARK(RunProgram);

}  // namespace
}  // namespace lathe::dim
