// The serving example: a transformer encoder, traced once with batch and seq open, serves a trace
// of request lengths, first one by one, then in batches. Prints what happened and, as its last
// line, one JSON object. Ends with status 1 if that isn't what was promised.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "examples/encoder.h"
#include "examples/serve_report.h"
#include "ir/compare.h"
#include "ir/interpreter.h"
#include "ir/philox.h"
#include "lathe/lathe.h"

ABSL_FLAG(std::string, trace, "examples/data/azure_conversation_lengths.csv",
          "CSV of request lengths: context tokens first; '#' starts a comment");
ABSL_FLAG(int, requests, 1000, "how many requests of the trace to serve");
ABSL_FLAG(int, threads, 0, "threads of the engine; 0: one a core");
ABSL_FLAG(std::string, chart, "latency.svg", "where to write the chart of latency over length");
ABSL_FLAG(std::vector<std::string>, check,
          (std::vector<std::string>{"1", "2", "3", "17", "511", "512"}),
          "lengths at which the result is compared with the reference interpreter");
ABSL_FLAG(double, most_error, 1e-5, "the largest error against the interpreter, relative");

namespace lathe::examples {
namespace {

constexpr int64_t kBatch = 4;
constexpr int64_t kVocabulary = 30522;
// A batch that is compared with the interpreter, beside the lengths of --check.
constexpr int64_t kCheckedBatch[kBatch] = {9, 17, 3, 1};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Ids and mask of requests padded to the longest of them.
std::vector<Tensor> MakeInputs(const std::vector<int64_t>& lengths, uint64_t seed) {
  const int64_t batch = static_cast<int64_t>(lengths.size());
  const int64_t seq = *std::max_element(lengths.begin(), lengths.end());
  Tensor ids(i64, {batch, seq}), mask(i64, {batch, seq});
  for (int64_t i = 0; i < batch * seq; ++i) {
    ids.data<int64_t>()[i] = ir::PhiloxInteger(seed, static_cast<uint64_t>(i), 0, kVocabulary - 1);
    mask.data<int64_t>()[i] = i % seq < lengths[static_cast<size_t>(i / seq)];
  }
  return {ids, mask};
}

struct Served {
  std::map<int64_t, SizeLatency> sizes;
  std::vector<double> first_ms, warm_ms, ratios;
  double tokens = 0, seconds = 0;
};

class Job {
 public:
  explicit Job(std::vector<int64_t> lengths)
      : lengths_(std::move(lengths)), engine_({.threads = absl::GetFlag(FLAGS_threads)}) {}

  // Whether it came to what was promised.
  absl::StatusOr<bool> Run() {
    for (auto step : {&Job::Prepare, &Job::ServeOneByOne, &Job::ServeBatches, &Job::Check}) {
      absl::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    return Report();
  }

 private:
  absl::Status Prepare() {
    std::cout << "tracing the encoder: 6 layers, hidden 384, 12 heads, batch and seq open\n";
    const double start = Now();
    absl::StatusOr<Program> program = TraceEncoder();
    if (!program.ok()) return program.status();
    reference_ = std::make_unique<Program>(*TraceEncoder());
    const double traced = Now();
    absl::StatusOr<Function> function = engine_.compile(std::move(program));
    if (!function.ok()) return function.status();
    function_ = std::make_unique<Function>(*function);
    absl::Status status = function_->prepare();  // the declared facts only, no sizes
    std::cout << "traced in " << Fixed(traced - start, 2) << " s, prepared in "
              << Fixed(Now() - traced, 2) << " s\n";
    return status;
  }

  // One call; returns its milliseconds.
  absl::StatusOr<double> Call(const std::vector<Tensor>& inputs) {
    const double start = Now();
    absl::StatusOr<std::vector<Tensor>> out = function_->call(inputs);
    if (!out.ok()) return out.status();
    const double ms = (Now() - start) * 1e3;
    absl::StatusOr<int64_t> bytes =
        function_->peak_bytes({{"batch", inputs[0].shape()[0]}, {"seq", inputs[0].shape()[1]}});
    if (!bytes.ok()) return bytes.status();
    predicted_bytes_ = std::max(predicted_bytes_, *bytes);
    return ms;
  }

  absl::Status ServeOneByOne() {
    engine_.reset_peak();
    std::map<int64_t, std::vector<double>> times;
    for (size_t i = 0; i < lengths_.size(); ++i) {
      absl::StatusOr<double> ms = Call(MakeInputs({lengths_[i]}, i));
      if (!ms.ok()) return ms.status();
      times[lengths_[i]].push_back(*ms);
      one_.seconds += *ms / 1e3;
      one_.tokens += static_cast<double>(lengths_[i]);
      if ((i + 1) % 100 == 0)
        std::cout << "  served " << i + 1 << " of " << lengths_.size() << " requests, "
                  << times.size() << " distinct lengths, " << Fixed(one_.tokens / one_.seconds, 0)
                  << " tokens/s\n"
                  << std::flush;
    }
    // Lengths that came once or twice are called again, so that each has a warm time.
    for (auto& [length, ms] : times) {
      const double first = ms[0];
      std::vector<double> warm(ms.begin() + 1, ms.end());
      while (warm.size() < 3) {
        absl::StatusOr<double> again = Call(MakeInputs({length}, 7));
        if (!again.ok()) return again.status();
        warm.push_back(*again);
      }
      const double median = Percentile(warm, 50);
      one_.sizes[length] = {first, median};
      one_.first_ms.push_back(first);
      one_.warm_ms.insert(one_.warm_ms.end(), warm.begin(), warm.end());
      one_.ratios.push_back(first / median);
    }
    return absl::OkStatus();
  }

  absl::Status ServeBatches() {
    for (size_t i = 0; i + kBatch <= lengths_.size(); i += kBatch) {
      const std::vector<int64_t> batch(lengths_.begin() + static_cast<std::ptrdiff_t>(i),
                                       lengths_.begin() + static_cast<std::ptrdiff_t>(i + kBatch));
      absl::StatusOr<double> ms = Call(MakeInputs(batch, i));
      if (!ms.ok()) return ms.status();
      batches_.seconds += *ms / 1e3;
      for (int64_t n : batch) batches_.tokens += static_cast<double>(n);
    }
    measured_bytes_ = engine_.counters().peak_bytes;
    std::cout << "served the same in batches of " << kBatch << ": "
              << Fixed(batches_.tokens / batches_.seconds, 0) << " tokens/s without the padding\n";
    return absl::OkStatus();
  }

  absl::Status Check() {
    for (const std::string& text : absl::GetFlag(FLAGS_check)) {
      int64_t length = 0;
      if (!absl::SimpleAtoi(text, &length))
        return absl::InvalidArgumentError("--check wants lengths, found " + text);
      if (absl::Status s = CheckAt({length}); !s.ok()) return s;
    }
    return CheckAt({std::begin(kCheckedBatch), std::end(kCheckedBatch)});
  }

  // The padding is compared as well.
  absl::Status CheckAt(const std::vector<int64_t>& lengths) {
    const std::vector<Tensor> inputs = MakeInputs(lengths, 11);
    absl::StatusOr<std::vector<Tensor>> got = function_->call(inputs);
    if (!got.ok()) return got.status();
    absl::StatusOr<std::vector<Tensor>> want = ir::Interpret(reference_->graph(), inputs);
    if (!want.ok()) return want.status();
    const double error = ir::RelativeError((*got)[0], (*want)[0]);
    worst_error_ = std::max(worst_error_, error);
    std::cout << "  " << (lengths.size() == 1 ? "length " : "a batch of lengths ")
              << absl::StrJoin(lengths, ", ") << ": error against the interpreter "
              << absl::StrCat(error) << "\n"
              << std::flush;
    return absl::OkStatus();
  }

  // How many kernels one more layer adds.
  absl::StatusOr<int> KernelsPerLayer() {
    absl::StatusOr<Function> shorter = engine_.compile(TraceEncoder({.layers = 5}));
    if (!shorter.ok()) return shorter.status();
    absl::Status status = shorter->prepare();
    if (!status.ok()) return status;
    return function_->versions().back().kernels - shorter->versions().back().kernels;
  }

  absl::StatusOr<bool> Report() {
    function_->wait_for_versions();
    const EngineCounters counters = engine_.counters();
    absl::StatusOr<int> per_layer = KernelsPerLayer();
    if (!per_layer.ok()) return per_layer.status();
    std::vector<std::vector<std::string>> versions{
        {"version", "why", "ready at s", "kernels", "calls"}};
    const std::vector<Function::VersionInfo> infos = function_->versions();
    for (const Function::VersionInfo& v : infos)
      versions.push_back({v.name, v.why, Fixed(v.ready_seconds, 2), absl::StrCat(v.kernels),
                          absl::StrCat(v.calls)});
    const double ratio99 = Percentile(one_.ratios, 99);
    std::cout << "\n"
              << Table(versions) << "\n"
              << Table(KernelRows(infos)) << "\n"
              << Table({{"", "p50 ms", "p99 ms", "max ms"},
                        {"first call at a length", Ms(one_.first_ms, 50), Ms(one_.first_ms, 99),
                         Ms(one_.first_ms, 100)},
                        {"repeated calls", Ms(one_.warm_ms, 50), Ms(one_.warm_ms, 99),
                         Ms(one_.warm_ms, 100)}})
              << "\n"
              << Table({{"requests", absl::StrCat(lengths_.size())},
                        {"distinct lengths", absl::StrCat(one_.sizes.size())},
                        {"compiles inside calls", absl::StrCat(counters.compiles_in_calls)},
                        {"compiles in all", absl::StrCat(counters.compiles)},
                        {"kernels a layer", absl::StrCat(*per_layer)},
                        {"tokens/s", Fixed(one_.tokens / one_.seconds, 0)},
                        {"bytes predicted", absl::StrCat(predicted_bytes_)},
                        {"bytes measured", absl::StrCat(measured_bytes_)},
                        {"worst error", absl::StrCat(worst_error_)},
                        {"first / warm, p50", Fixed(Percentile(one_.ratios, 50), 2)},
                        {"first / warm, p99", Fixed(ratio99, 2)}});
    const std::string chart = absl::GetFlag(FLAGS_chart);
    absl::Status drawn = WriteChart(chart, one_.sizes);
    if (!drawn.ok()) return drawn;
    std::cout << "\nchart of latency over length: " << chart << "\n";
    const ServeResult result{
        .requests = lengths_.size(),
        .distinct_sizes = one_.sizes.size(),
        .versions = infos.size(),
        .compiles_in_calls = counters.compiles_in_calls,
        .max_relative_error = worst_error_,
        .tokens_per_s = one_.tokens / one_.seconds,
        .kernels_per_layer = *per_layer,
        .predicted_bytes = predicted_bytes_,
        .measured_bytes = measured_bytes_,
        .first_over_warm_p99 = ratio99,
    };
    const std::vector<std::string> broken = BrokenPromises(result, absl::GetFlag(FLAGS_most_error));
    for (const std::string& promise : broken) std::cerr << "serve: " << promise << "\n";
    std::cout << Json(result) << std::endl;
    return broken.empty();
  }

  static std::string Ms(const std::vector<double>& values, double p) {
    return Fixed(Percentile(values, p), 2);
  }

  const std::vector<int64_t> lengths_;
  Engine engine_;
  std::unique_ptr<Program> reference_;
  std::unique_ptr<Function> function_;
  Served one_, batches_;
  int64_t predicted_bytes_ = 0, measured_bytes_ = 0;
  double worst_error_ = 0;
};

}  // namespace
}  // namespace lathe::examples

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Serves a trace of request lengths with an encoder traced once: serve [--flags]");
  absl::ParseCommandLine(argc, argv);
  const absl::StatusOr<std::vector<int64_t>> lengths =
      lathe::examples::ReadLengths(absl::GetFlag(FLAGS_trace), absl::GetFlag(FLAGS_requests));
  const absl::StatusOr<bool> kept =
      lengths.ok() ? lathe::examples::Job(*lengths).Run() : absl::StatusOr<bool>(lengths.status());
  if (!kept.ok()) std::cerr << "serve: " << kept.status().ToString() << "\n";
  return kept.ok() && *kept ? 0 : 1;
}
