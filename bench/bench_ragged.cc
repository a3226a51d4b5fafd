// Batches of requests of different lengths, packed as a ragged dim against padded to the longest:
// the same step of an encoder (two products, a norm, attention pooling along the sequence) over the
// lengths of a trace, 16 requests a batch. The counters give the padded elements for each packed
// one, which is what a perfect implementation gains.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "examples/serve_report.h"
#include "lathe/lathe.h"

namespace lathe {
namespace {

constexpr int64_t kBatch = 16, kWidth = 256, kInner = 1024;

Tensor Numbers(std::vector<int64_t> shape) {
  Tensor t(f32, std::move(shape));
  for (int64_t i = 0; i < t.num_elements(); ++i)
    t.data<float>()[i] = 0.01f * static_cast<float>(i * 37 % 101 - 50);
  return t;
}

// gelu(x w1) w2 + x, normalised.
Value Step(Trace& t, const Value& x) {
  const Value w1 = t.constant(Numbers({kWidth, kInner})),
              w2 = t.constant(Numbers({kInner, kWidth}));
  const Value one = t.constant(Numbers({kWidth}));
  return layer_norm(matmul(gelu(matmul(x, w1)), w2) + x, one, one);
}

absl::StatusOr<Function> Packed(Engine& engine) {
  Trace t("packed");
  const Ragged seq = t.ragged("seq", t.dim("batch"));
  const Value h = Step(t, t.input("x", f32, seq, {kWidth}));
  return engine.compile(t.finish({sum(softmax(h, seq) * h, seq)}));
}

// The mask hides what is behind the end of a row.
absl::StatusOr<Function> Padded(Engine& engine) {
  Trace t("padded");
  const Dim batch = t.dim("batch"), seq = t.dim("seq");
  const Value x = t.input("x", f32, {batch, seq, kWidth});
  const Value lengths = t.input("lengths", i64, {batch, 1, 1});
  const Value h = Step(t, x);
  const Value inside = less(t.iota({1, seq, 1}, 1, i64), lengths);
  const Value a = softmax(select(inside, h, -1e30), 1);
  return engine.compile(t.finish({sum(a * h, {1})}));
}

struct Batch {
  std::vector<int64_t> lengths;
  int64_t total = 0, longest = 0;
};

std::vector<Batch> Batches(const std::vector<int64_t>& lengths) {
  std::vector<Batch> batches;
  for (size_t i = 0; i + kBatch <= lengths.size(); i += kBatch) {
    Batch& b = batches.emplace_back();
    b.lengths.assign(lengths.begin() + static_cast<std::ptrdiff_t>(i),
                     lengths.begin() + static_cast<std::ptrdiff_t>(i + kBatch));
    b.total = std::accumulate(b.lengths.begin(), b.lengths.end(), int64_t{0});
    b.longest = *std::max_element(b.lengths.begin(), b.lengths.end());
  }
  return batches;
}

std::vector<Tensor> Inputs(const Batch& b, bool packed) {
  if (!packed) {
    Tensor lengths(i64, {kBatch, 1, 1});
    std::copy(b.lengths.begin(), b.lengths.end(), lengths.data<int64_t>());
    return {Numbers({kBatch, b.longest, kWidth}), lengths};
  }
  Tensor offsets(i64, {kBatch + 1});
  std::partial_sum(b.lengths.begin(), b.lengths.end(), offsets.data<int64_t>() + 1);
  return {offsets, Numbers({b.total, kWidth})};
}

void Run(benchmark::State& state, bool packed) {
  Engine engine({.threads = static_cast<int>(state.range(0))});
  absl::StatusOr<Function> f = packed ? Packed(engine) : Padded(engine);
  absl::StatusOr<std::vector<int64_t>> lengths = examples::ReadLengths(LATHE_LENGTHS, 160);
  if (!f.ok() || !lengths.ok() || !f->prepare().ok()) {
    state.SkipWithError("no function or no trace");
    return;
  }
  f->wait_for_versions();
  std::vector<std::vector<Tensor>> inputs;
  int64_t total = 0, cells = 0;
  for (const Batch& b : Batches(*lengths)) {
    inputs.push_back(Inputs(b, packed));
    total += b.total;
    cells += kBatch * b.longest;
  }
  Context context;
  const Tensor out(f32, {kBatch, kWidth});
  for (auto _ : state) {
    for (const std::vector<Tensor>& batch : inputs) {
      const absl::Status s = f->call_into(batch, {out}, context);
      if (!s.ok()) state.SkipWithError(s.ToString().c_str());
    }
  }
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(total), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["padding"] = static_cast<double>(cells) / static_cast<double>(total);
}

void BM_Packed(benchmark::State& state) { Run(state, true); }
void BM_Padded(benchmark::State& state) { Run(state, false); }
BENCHMARK(BM_Packed)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Padded)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lathe
