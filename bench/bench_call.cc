// The call path: call_into with host programs of 1, 8 and 64 kernels that do next to nothing, at
// sizes that stay and sizes that alternate, and what a two-core region costs.
#include <benchmark/benchmark.h>

#include "tests/runtime/fakes.h"

namespace lathe::rt::fake {
namespace {

// Four inputs x, a, b, c of [n, m]; the chain runs over the first.
Made FourInputs(int kernels, EngineOptions options = OneThread(), int64_t work = 0,
                KernelFn fn = Nothing) {
  Made made = MakeFunction(
      GraphOf({{"x", {"n", "m"}}, {"a", {"n", "m"}}, {"b", {"n", "m"}}, {"c", {"m"}}},
              "n <= 4096, m % 4 == 0"),
      {.kernels = std::vector<KernelFn>(static_cast<size_t>(kernels), fn), .work = work}, {},
      options);
  if (!made.function.prepare().ok()) std::abort();
  return made;
}

void CallInto(benchmark::State& state, bool alternating) {
  const Made made = FourInputs(static_cast<int>(state.range(0)));
  std::vector<std::vector<Tensor>> inputs, outputs;
  for (int64_t n : {3, 7, 12, 5}) {
    inputs.push_back({Rows(n), Rows(n), Rows(n), Tensor(DType::kF32, {4})});
    outputs.push_back({Tensor(DType::kF32, {n, 4})});
  }
  Context context;
  if (!made.function.reserve(context, {{"n", 64}, {"m", 4}}).ok()) std::abort();
  size_t i = 0;
  for (auto _ : state) {
    const absl::Status status = made.function.call_into(inputs[i], outputs[i], context);
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
    if (alternating) i = (i + 1) % inputs.size();
  }
}

void BM_CallSameSizes(benchmark::State& state) { CallInto(state, false); }
void BM_CallAlternatingSizes(benchmark::State& state) { CallInto(state, true); }
BENCHMARK(BM_CallSameSizes)->Arg(1)->Arg(8)->Arg(64);
BENCHMARK(BM_CallAlternatingSizes)->Arg(1)->Arg(8)->Arg(64);

// call() allocates its outputs.
void BM_CallAllocating(benchmark::State& state) {
  const Made made = FourInputs(1);
  const std::vector<Tensor> inputs = {Rows(3), Rows(3), Rows(3), Tensor(DType::kF32, {4})};
  for (auto _ : state) benchmark::DoNotOptimize(made.function.call(inputs));
}
BENCHMARK(BM_CallAllocating);

// An empty region on all threads, against the same on one.
void BM_Region(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  KernelError error;
  for (auto _ : state) pool.Run(Nothing, nullptr, nullptr, 8, &error);
}
BENCHMARK(BM_Region)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace lathe::rt::fake
