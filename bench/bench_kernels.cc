// Kernel families through the engine, one thread: pointwise chain, softmax, norm, product,
// attention.
#include <benchmark/benchmark.h>

#include <functional>

#include "lathe/lathe.h"

namespace lathe {
namespace {

Tensor Filled(std::vector<int64_t> shape) {
  Tensor t(f32, std::move(shape));
  for (int64_t i = 0; i < t.num_elements(); ++i)
    t.data<float>()[i] = static_cast<float>(i % 251) * 0.01f - 1;
  return t;
}

// Traces `body` over inputs whose first dim is open and runs it with `rows` rows.
void Run(benchmark::State& state, int64_t width,
         const std::function<Value(Trace&, const Value&)>& body) {
  const int64_t rows = state.range(0);
  Engine engine({.threads = 1});
  Trace t("bench");
  const Value x = t.input("x", f32, {t.dim("rows"), width});
  absl::StatusOr<Function> f = engine.compile(t.finish({body(t, x)}, {"y"}));
  if (!f.ok() || !f->prepare().ok()) return state.SkipWithError("can't compile");
  const std::vector<Tensor> inputs{Filled({rows, width})};
  const std::vector<Tensor> outputs{Tensor(f32, (*f->output_shapes({{"rows", rows}}))[0])};
  Context context;
  for (auto _ : state)
    if (!f->call_into(inputs, outputs, context).ok()) return state.SkipWithError("call failed");
  state.SetItemsProcessed(state.iterations() * rows * width);
}

void BM_Chain4(benchmark::State& state) {
  Run(state, 3072, [](Trace& t, const Value& x) {
    return tanh((x + t.constant(Filled({3072}))) * t.constant(Filled({3072}))) + 0.5;
  });
}
BENCHMARK(BM_Chain4)->Arg(1)->Arg(384);

void BM_Softmax(benchmark::State& state) {
  Run(state, 384, [](Trace&, const Value& x) { return softmax(x, -1); });
}
BENCHMARK(BM_Softmax)->Arg(1)->Arg(384);

void BM_LayerNorm(benchmark::State& state) {
  Run(state, 768, [](Trace& t, const Value& x) {
    return layer_norm(x, t.constant(Filled({768})), t.constant(Filled({768})));
  });
}
BENCHMARK(BM_LayerNorm)->Arg(1)->Arg(384);

void BM_ProductBiasGelu(benchmark::State& state) {
  Run(state, 768, [](Trace& t, const Value& x) {
    return gelu(matmul(x, t.constant(Filled({768, 768}))) + t.constant(Filled({768})));
  });
}
BENCHMARK(BM_ProductBiasGelu)->Arg(1)->Arg(3)->Arg(37)->Arg(128);

void BM_Attention(benchmark::State& state) {
  Run(state, 768, [](Trace&, const Value& x) {
    const Value heads = permute(reshape(x, {x.dim(0), 12, 64}), {1, 0, 2});
    return attention(heads, heads, heads);
  });
}
BENCHMARK(BM_Attention)->Arg(16)->Arg(128)->Arg(512);

}  // namespace
}  // namespace lathe
