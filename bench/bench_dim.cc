// Dim algebra and prover: what building, proving and evaluating sizes cost. `Prove/mix` is the mean
// over the questions that a lowering asks (alignment, bounds, divisibility, index width); its
// `median_ns` counter is the number that docs/design holds at 2 us.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "ir/dim/dim_program.h"
#include "ir/dim/facts.h"

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

void ProveMix(benchmark::State& state) {
  Encoder e;
  std::vector<Claim> questions = e.Questions();
  std::vector<double> times;
  for (auto _ : state) {
    for (const Claim& c : questions) {
      auto start = std::chrono::steady_clock::now();
      benchmark::DoNotOptimize(e.facts.Prove(c));
      times.push_back(
          std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
              .count());
    }
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  state.counters["median_ns"] = times[times.size() / 2];
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(questions.size()));
}
BENCHMARK(ProveMix);

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
