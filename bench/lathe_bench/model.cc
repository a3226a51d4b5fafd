// Any ONNX model: calls at given sizes, the first of each against the median of the warm ones.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "bench/lathe_bench/clock.h"
#include "bench/lathe_bench/suites.h"
#include "ir/dim/context.h"
#include "ir/samples.h"
#include "ir/staged.h"
#include "lathe/engine.h"
#include "lathe/onnx.h"

namespace lathe::bench {
namespace {

absl::Status AddSize(const std::string& name, const std::string& text, Sizes* sizes) {
  int64_t value = 0;
  if (name.empty() || !absl::SimpleAtoi(text, &value) || value < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--dims has '", name, "=", text, "', wanted name=size"));
  (*sizes)[name] = value;
  return absl::OkStatus();
}

// A trace: a line of names, then a line of sizes for each call.
absl::StatusOr<std::vector<Sizes>> ReadTrace(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!in || !std::getline(in, line)) return absl::NotFoundError("can't read " + path);
  const std::vector<std::string> names = absl::StrSplit(absl::StripAsciiWhitespace(line), ',');
  std::vector<Sizes> all;
  while (std::getline(in, line)) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::vector<std::string> texts = absl::StrSplit(absl::StripAsciiWhitespace(line), ',');
    if (texts.size() != names.size())
      return absl::InvalidArgumentError(absl::StrCat(path, ": '", line, "' has ", texts.size(),
                                                     " columns, wanted ", names.size()));
    Sizes sizes;
    for (size_t i = 0; i < names.size(); ++i)
      if (absl::Status s = AddSize(names[i], texts[i], &sizes); !s.ok()) return s;
    all.push_back(std::move(sizes));
  }
  return all;
}

// "batch=1,seq=128;batch=1,seq=7": sizes of one call after another; or "@FILE", a trace.
absl::StatusOr<std::vector<Sizes>> ReadDims(const std::string& text) {
  if (!text.empty() && text[0] == '@') return ReadTrace(text.substr(1));
  std::vector<Sizes> all;
  for (const std::string& call : std::vector<std::string>(absl::StrSplit(text, ';'))) {
    Sizes sizes;
    for (const std::string& part :
         std::vector<std::string>(absl::StrSplit(call, ',', absl::SkipEmpty()))) {
      const std::pair<std::string, std::string> entry =
          absl::StrSplit(part, absl::MaxSplits('=', 1));
      if (absl::Status s = AddSize(entry.first, entry.second, &sizes); !s.ok()) return s;
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
  absl::StatusOr<ir::Graph> graph = model->program.is_staged()
                                        ? ir::EntryGraph(model->program.staged())
                                        : model->program.graph().Clone();
  if (!graph.ok()) return graph.status();
  Engine engine({.threads = options.threads});
  absl::StatusOr<Function> f = engine.compile(std::move(model->program));
  if (!f.ok()) return f.status();
  if (absl::Status s = f->prepare(); !s.ok()) return s;
  const double load_seconds = Now() - start;
  std::printf("%s: loaded and compiled in %.3f s\n", options.model.c_str(), load_seconds);
  std::printf("%-32s %8s %12s %12s %14s\n", "sizes", "calls", "first ms", "warm ms", "peak bytes");
  nlohmann::json json = {{"model", options.model}, {"load_s", load_seconds}};
  // Sizes in the order of their first call, which `rounds` warm ones follow; a size that a trace
  // has again is called once more each time.
  std::map<Sizes, std::vector<double>> times;
  std::vector<Sizes> order;
  for (const Sizes& sizes : *calls) {
    std::vector<double>& of = times[sizes];
    if (of.empty()) order.push_back(sizes);
    const std::vector<Tensor> inputs = ir::SampleInputs(*graph, Symbols(*graph, sizes), 1, false);
    const int rounds = of.empty() ? std::max(options.rounds, 1) + 1 : 1;
    for (int i = 0; i < rounds; ++i) {
      const double begin = Now();
      absl::StatusOr<std::vector<Tensor>> out = f->call(inputs);
      if (!out.ok()) return out.status();
      of.push_back(Now() - begin);
    }
  }
  for (const Sizes& sizes : order) {
    std::vector<double>& of = times[sizes];
    const double first = of[0];
    const auto middle = of.begin() + 1 + static_cast<int64_t>(of.size() - 1) / 2;
    std::nth_element(of.begin() + 1, middle, of.end());
    const absl::StatusOr<int64_t> bytes = f->peak_bytes(sizes);
    std::printf("%-32s %8zu %12.3f %12.3f %14lld\n", Text(sizes).c_str(), of.size(), first * 1e3,
                *middle * 1e3, static_cast<long long>(bytes.value_or(-1)));
    json["calls"].push_back({{"sizes", sizes},
                             {"calls", of.size()},
                             {"first_s", first},
                             {"warm_s", *middle},
                             {"peak_bytes", bytes.value_or(-1)}});
  }
  json["compiles_in_calls"] = engine.counters().compiles_in_calls;
  std::printf("%s\n", json.dump().c_str());
  return absl::OkStatus();
}

}  // namespace lathe::bench
