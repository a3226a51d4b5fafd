// Any ONNX model: calls at given sizes, the first of each against the median of the warm ones.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/lathe_bench/suites.h"
#include "ir/dim/context.h"
#include "ir/samples.h"
#include "lathe/engine.h"
#include "lathe/onnx.h"

namespace lathe::bench {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// "batch=1,seq=128;batch=1,seq=7": sizes of one call after another.
absl::StatusOr<std::vector<Sizes>> ReadDims(const std::string& text) {
  std::vector<Sizes> all;
  for (const std::string& call : std::vector<std::string>(absl::StrSplit(text, ';'))) {
    Sizes sizes;
    for (const std::string& part :
         std::vector<std::string>(absl::StrSplit(call, ',', absl::SkipEmpty()))) {
      const size_t equals = part.find('=');
      int64_t value = 0;
      if (equals == std::string::npos || !absl::SimpleAtoi(part.substr(equals + 1), &value))
        return absl::InvalidArgumentError(
            absl::StrCat("--dims has '", part, "', wanted name=size"));
      sizes[part.substr(0, equals)] = value;
    }
    all.push_back(std::move(sizes));
  }
  return all;
}

std::string Text(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : sizes) parts.push_back(absl::StrCat(name, "=", value));
  return absl::StrJoin(parts, ",");
}

// Values of all symbols of the graph, those that `sizes` doesn't name being 1.
std::vector<int64_t> Symbols(const ir::Graph& graph, const Sizes& sizes) {
  std::vector<int64_t> values;
  for (int s = 0; s < graph.dims()->num_symbols(); ++s) {
    const auto found = sizes.find(graph.dims()->SymbolName(static_cast<dim::SymbolId>(s)));
    values.push_back(found == sizes.end() ? 1 : found->second);
  }
  return values;
}

}  // namespace

absl::Status ModelRun(const SuiteOptions& options) {
  absl::StatusOr<std::vector<Sizes>> calls = ReadDims(options.dims);
  if (!calls.ok()) return calls.status();
  const double start = Now();
  absl::StatusOr<OnnxModel> model = load_onnx(options.model);
  if (!model.ok()) return model.status();
  if (model->program.is_staged())
    return absl::UnimplementedError(
        "inputs for a program in stages can't be made up; use jit-repl run");
  const ir::Graph graph = model->program.graph().Clone();
  Engine engine({.threads = options.threads});
  absl::StatusOr<Function> f = engine.compile(std::move(model->program));
  if (!f.ok()) return f.status();
  if (absl::Status s = f->prepare(); !s.ok()) return s;
  const double load_seconds = Now() - start;
  std::printf("%s: loaded and compiled in %.3f s\n", options.model.c_str(), load_seconds);
  std::printf("%-32s %12s %12s %14s\n", "sizes", "first ms", "warm ms", "peak bytes");
  nlohmann::json json = {{"model", options.model}, {"load_s", load_seconds}};
  for (const Sizes& sizes : *calls) {
    const std::vector<Tensor> inputs = ir::SampleInputs(graph, Symbols(graph, sizes), 1, false);
    std::vector<double> times;
    for (int i = 0; i <= options.rounds; ++i) {
      const double begin = Now();
      absl::StatusOr<std::vector<Tensor>> out = f->call(inputs);
      if (!out.ok()) return out.status();
      times.push_back(Now() - begin);
    }
    const double first = times[0];
    std::nth_element(times.begin() + 1, times.begin() + 1 + options.rounds / 2, times.end());
    const double warm = times[1 + static_cast<size_t>(options.rounds) / 2];
    const absl::StatusOr<int64_t> bytes = f->peak_bytes(sizes);
    std::printf("%-32s %12.3f %12.3f %14lld\n", Text(sizes).c_str(), first * 1e3, warm * 1e3,
                static_cast<long long>(bytes.value_or(-1)));
    json["calls"].push_back({{"sizes", sizes},
                             {"first_s", first},
                             {"warm_s", warm},
                             {"peak_bytes", bytes.value_or(-1)}});
  }
  json["compiles_in_calls"] = engine.counters().compiles_in_calls;
  std::printf("%s\n", json.dump().c_str());
  return absl::OkStatus();
}

}  // namespace lathe::bench
