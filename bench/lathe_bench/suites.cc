#include "bench/lathe_bench/suites.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/lathe_bench/clock.h"
#include "bench/lathe_bench/fma_peak.h"
#include "examples/encoder.h"
#include "examples/serve_report.h"
#include "lathe/lathe.h"

namespace lathe::bench {
namespace {

using examples::Fixed;
using examples::Percentile;
using examples::Table;
using Json = nlohmann::json;

Tensor Random(std::vector<int64_t> shape) {
  Tensor t(f32, std::move(shape));
  for (int64_t i = 0; i < t.num_elements(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 2654435761u >> 8) & 0xffff) / 65536.0f - 0.5f;
  return t;
}

// A prepared function with everything that a timed call needs.
struct Bound {
  Function function;
  std::vector<Tensor> inputs, outputs;
  Context context;

  absl::StatusOr<double> Call() {
    const double start = Now();
    absl::Status s = function.call_into(inputs, outputs, context);
    if (!s.ok()) return s;
    return Now() - start;
  }
  // Mean seconds of `calls` calls.
  absl::StatusOr<double> Calls(int64_t calls) {
    const double start = Now();
    for (int64_t i = 0; i < calls; ++i)
      if (absl::Status s = function.call_into(inputs, outputs, context); !s.ok()) return s;
    return (Now() - start) / static_cast<double>(calls);
  }
};

absl::StatusOr<Bound> Bind(const Function& f, std::vector<Tensor> inputs, const Sizes& sizes) {
  absl::StatusOr<std::vector<std::vector<int64_t>>> shapes = f.output_shapes(sizes);
  if (!shapes.ok()) return shapes.status();
  Bound bound{f, std::move(inputs), {}, {}};
  for (const std::vector<int64_t>& shape : *shapes) bound.outputs.emplace_back(f32, shape);
  return bound;
}

// The same with room in its arena.
absl::StatusOr<Bound> Reserved(const Function& f, std::vector<Tensor> inputs, const Sizes& sizes) {
  absl::StatusOr<Bound> bound = Bind(f, std::move(inputs), sizes);
  if (!bound.ok()) return bound;
  absl::Status s = f.reserve(bound->context, sizes);
  if (!s.ok()) return s;
  return bound;
}

absl::StatusOr<Function> Prepared(Engine& engine, absl::StatusOr<Program> program) {
  absl::StatusOr<Function> f = engine.compile(std::move(program));
  if (!f.ok()) return f.status();
  absl::Status s = f->prepare();
  if (!s.ok()) return s;
  return f;
}

std::vector<Tensor> EncoderInputs(int64_t seq) {
  Tensor ids(i64, {1, seq}), mask(i64, {1, seq});
  for (int64_t i = 0; i < seq; ++i) {
    ids.data<int64_t>()[i] = (i * 7919 + 13) % 30522;
    mask.data<int64_t>()[i] = i < seq - seq / 8;
  }
  return {ids, mask};
}

absl::StatusOr<Program> TraceProduct(int64_t k, int64_t n) {
  Trace t("product");
  const Dim m = t.dim("M");
  return t.finish({matmul(t.input("x", f32, {m, k}), t.constant(Random({k, n})))}, {"y"});
}

// The generic version's time over that of the version which serves, in turns, and over its own.
struct Turns {
  double gain = 0;                     // median
  double same_low = 0, same_high = 0;  // 5th and 95th percentile
};

absl::StatusOr<Turns> AgainstGeneric(const Function& f, int64_t m, int64_t k, int64_t n,
                                     int rounds) {
  absl::StatusOr<Bound> bound = Reserved(f, {Random({m, k})}, {{"M", m}});
  if (!bound.ok()) return bound.status();
  const int64_t calls = std::max<int64_t>(4, int64_t{120'000'000} / (m * k * n));
  std::vector<double> gain, same;
  for (int r = 0; r < rounds; ++r) {
    double seconds[3] = {};
    const char* const turns[3] = {"generic", "", "generic"};
    for (int turn = 0; turn < 3; ++turn) {
      if (absl::Status s = f.pin_version(turns[turn]); !s.ok()) return s;
      absl::StatusOr<double> t = bound->Calls(calls);
      if (!t.ok()) return t.status();
      seconds[turn] = *t;
    }
    gain.push_back(seconds[0] / seconds[1]);
    same.push_back(seconds[0] / seconds[2]);
  }
  if (absl::Status s = f.pin_version(""); !s.ok()) return s;
  return Turns{Percentile(gain, 50), Percentile(same, 5), Percentile(same, 95)};
}

void PrintLast(const Json& j) { std::cout << j.dump() << std::endl; }

}  // namespace

absl::Status TraceRun(const SuiteOptions& options) {
  absl::StatusOr<std::vector<int64_t>> lengths = examples::ReadLengths(options.trace, 400);
  if (!lengths.ok()) return lengths.status();
  Engine engine({.threads = options.threads});
  absl::StatusOr<Function> f = Prepared(engine, examples::TraceEncoder());
  if (!f.ok()) return f.status();
  Context context;
  std::set<int64_t> seen;
  std::vector<double> novel_ms, rates;
  double tokens = 0;
  for (int64_t n : *lengths) tokens += static_cast<double>(n);
  for (int pass = 0; pass < 3; ++pass) {
    double seconds = 0;
    for (int64_t n : *lengths) {
      const std::vector<Tensor> inputs = EncoderInputs(n), outputs{Tensor(f32, {1, n, 384})};
      const double start = Now();
      if (absl::Status s = f->call_into(inputs, outputs, context); !s.ok()) return s;
      const double took = Now() - start;
      seconds += took;
      if (seen.insert(n).second) novel_ms.push_back(took * 1e3);
    }
    if (pass > 0) rates.push_back(tokens / seconds);
  }
  const EngineCounters counters = engine.counters();
  std::cout << Table({{"calls a pass", absl::StrCat(lengths->size())},
                      {"distinct lengths", absl::StrCat(seen.size())},
                      {"novel p50, p99, max ms", Fixed(Percentile(novel_ms, 50), 2) + ", " +
                                                     Fixed(Percentile(novel_ms, 99), 2) + ", " +
                                                     Fixed(Percentile(novel_ms, 100), 2)},
                      {"warm tokens/s", Fixed(Percentile(rates, 50), 0)},
                      {"compiles in calls", absl::StrCat(counters.compiles_in_calls)}});
  PrintLast({{"suite", "trace"},
             {"tokens_per_s", Percentile(rates, 50)},
             {"distinct_sizes", seen.size()},
             {"compiles_in_calls", counters.compiles_in_calls}});
  return absl::OkStatus();
}

absl::Status FirstCallChild(const SuiteOptions& options) {
  Engine engine({.threads = options.threads});
  absl::StatusOr<Function> f = Prepared(engine, examples::TraceEncoder());
  if (!f.ok()) return f.status();
  f->wait_for_versions();
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 40; ++i) lengths.push_back(5 + i * 12 + i % 7);
  if (options.seed == 0) {
    lengths.resize(1);
  } else {
    std::shuffle(lengths.begin(), lengths.end(), std::mt19937_64(options.seed));
  }
  for (int64_t seq : lengths) {
    absl::StatusOr<Bound> bound = Bind(*f, EncoderInputs(seq), {{"batch", 1}, {"seq", seq}});
    if (!bound.ok()) return bound.status();
    absl::StatusOr<double> first = bound->Call();
    if (!first.ok()) return first.status();
    std::vector<double> warm;
    for (int k = 0; k < 5; ++k) warm.push_back(*bound->Call());
    std::cout << seq << " " << *first << " " << Percentile(warm, 50) << "\n";
  }
  return absl::OkStatus();
}

absl::Status FirstCall(const SuiteOptions& options) {
  constexpr uint64_t kProcesses = 5;
  struct Times {
    std::vector<double> first, warm;
    double best() const { return *std::min_element(first.begin(), first.end()); }
    double usual() const { return Percentile(warm, 50); }
    std::vector<std::string> Row(std::string name) const {
      return {std::move(name), Fixed(best() * 1e3, 3), Fixed(usual() * 1e3, 3),
              Fixed(best() / usual(), 3)};
    }
  };
  std::map<int64_t, Times> by_length;
  Times of_process;
  for (uint64_t i = 0; i < 2 * kProcesses; ++i) {
    const uint64_t seed = i < kProcesses ? i + 1 : 0;
    const std::string command = absl::StrCat(
        options.self, " first-call-child --threads=", options.threads, " --seed=", seed);
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return absl::UnavailableError("can't start " + command);
    long long seq = 0;
    double first = 0, warm = 0;
    while (std::fscanf(pipe, "%lld %lf %lf", &seq, &first, &warm) == 3) {
      Times& times = seed == 0 ? of_process : by_length[seq];
      times.first.push_back(first);
      times.warm.push_back(warm);
    }
    if (pclose(pipe) != 0) return absl::InternalError(command + " failed");
  }
  std::vector<double> ratios;
  std::vector<std::vector<std::string>> rows{{"seq", "best first ms", "median warm ms", "ratio"}};
  for (const auto& [seq, times] : by_length) {
    ratios.push_back(times.best() / times.usual());
    rows.push_back(times.Row(absl::StrCat(seq)));
  }
  rows.push_back(of_process.Row("process, 5"));
  std::cout << Table(rows);
  PrintLast({{"suite", "first-call"},
             {"sizes", ratios.size()},
             {"processes", kProcesses},
             {"worst_ratio", Percentile(ratios, 100)},
             {"median_ratio", Percentile(ratios, 50)},
             {"process_first_ratio", of_process.best() / of_process.usual()}});
  return absl::OkStatus();
}

absl::Status Gemm(const SuiteOptions& options) {
  Engine engine({.threads = 1});
  std::vector<std::vector<std::string>> rows{{"K x N", "M", "GFLOP/s", "of FMA peak"}};
  double worst = 1e9;
  for (const auto& [k, n] : std::vector<std::pair<int64_t, int64_t>>{{384, 384}, {768, 256}}) {
    absl::StatusOr<Function> f = Prepared(engine, TraceProduct(k, n));
    if (!f.ok()) return f.status();
    f->wait_for_versions();
    for (int64_t m : {1, 2, 4, 5, 8, 16, 17, 37, 64, 128, 384}) {
      absl::StatusOr<Bound> bound = Reserved(*f, {Random({m, k})}, {{"M", m}});
      if (!bound.ok()) return bound.status();
      std::vector<double> rates, shares;
      const int64_t calls = std::max<int64_t>(1, int64_t{20'000'000} / (m * k * n));
      for (int r = 0; r < options.rounds; ++r) {
        const double peak = FmaPeakGflops();  // in turn, so that both see the same machine
        absl::StatusOr<double> s = bound->Calls(calls);
        if (!s.ok()) return s.status();
        rates.push_back(2e-9 * static_cast<double>(m * k * n) / *s);
        shares.push_back(rates.back() / peak);
      }
      const double share = Percentile(shares, 50);
      rows.push_back({absl::StrCat(k, "x", n), absl::StrCat(m), Fixed(Percentile(rates, 50), 1),
                      Fixed(share * 100, 1) + " %"});
      if (m >= 16) worst = std::min(worst, share);
    }
  }
  std::cout << Table(rows);
  PrintLast({{"suite", "gemm"}, {"worst_of_peak_from_16_rows", worst}});
  return absl::OkStatus();
}

absl::Status Versions(const SuiteOptions& options) {
  constexpr int64_t kDepth = 768, kColumns = 768;
  constexpr double kLeast = 0.9;  // of the best version's speed, for the generic one elsewhere
  const std::vector<int64_t> few{1, 2, 3}, elsewhere{4, 5, 8, 17, 64};
  Engine engine({.threads = 1});
  absl::StatusOr<Function> ranges = Prepared(engine, TraceProduct(kDepth, kColumns));
  if (!ranges.ok()) return ranges.status();
  ranges->wait_for_versions();
  const int64_t swaps = engine.counters().versions_swapped;
  // No range version serves more rows: the best that there could be are versions of exact sizes.
  absl::StatusOr<Function> exact =
      engine.compile(TraceProduct(kDepth, kColumns), {.strategy = Strategy::kFullStatic});
  if (!exact.ok()) return exact.status();
  std::vector<Sizes> sizes;
  for (int64_t m : elsewhere) sizes.push_back({{"M", m}});
  if (absl::Status s = exact->prepare(sizes); !s.ok()) return s;

  std::vector<std::vector<std::string>> rows{
      {"version", "M", "generic / version", "generic / generic, spread"}};
  const auto measure = [&](const Function& f, int64_t m,
                           const std::string& version) -> absl::StatusOr<Turns> {
    absl::StatusOr<Turns> t = AgainstGeneric(f, m, kDepth, kColumns, options.rounds);
    if (!t.ok()) return t;
    std::string name = "generic";  // where another one would have had the same kernels
    for (const Function::VersionInfo& v : f.versions())
      if (v.name == version) name = version;
    rows.push_back({name, absl::StrCat(m), Fixed(t->gain, 3),
                    Fixed(t->same_low, 3) + " .. " + Fixed(t->same_high, 3)});
    return t;
  };
  double gain = 0, worst = 1e9;
  for (int64_t m : few) {
    absl::StatusOr<Turns> t = measure(*ranges, m, ranges->versions().front().name);
    if (!t.ok()) return t.status();
    gain = std::max(gain, t->gain - 1 - std::max(t->same_high - 1, 0.0));
  }
  for (int64_t m : elsewhere) {
    absl::StatusOr<Turns> t = measure(*exact, m, absl::StrCat("M == ", m));
    if (!t.ok()) return t.status();
    worst = std::min(worst, 1 / t->gain);
  }
  std::cout << Table(rows);
  PrintLast({{"suite", "versions"},
             {"versions", ranges->versions().size()},
             {"swaps", swaps},
             {"gain_beyond_spread", gain},
             {"worst_generic_over_best_elsewhere", worst}});
  if (worst >= kLeast) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the generic version is at ", Fixed(worst, 3),
                                          " of the best one, wanted ", kLeast));
}

absl::Status CallOverhead(const SuiteOptions& options) {
  Engine engine({.threads = 1});
  std::map<int, double> ns;
  for (int kernels : {1, 8, 64}) {
    Trace t("chain");
    const Dim n = t.dim("n");
    Value x = t.input("x", f32, {n, 4});
    // A sum over the first axis can't be fused with the next: its result is read more than once.
    for (int i = 0; i < kernels; ++i) x = broadcast_to(sum(x, {0}, true), {n, 4});
    absl::StatusOr<Function> f = Prepared(engine, t.finish({sum(x, {0})}, {"y"}));
    if (!f.ok()) return f.status();
    absl::StatusOr<Bound> one = Reserved(*f, {Random({1, 4})}, {{"n", 1}});
    absl::StatusOr<Bound> two = Reserved(*f, {Random({2, 4})}, {{"n", 2}});
    if (!one.ok()) return one.status();
    if (!two.ok()) return two.status();
    std::vector<double> times;
    for (int r = 0; r < options.rounds; ++r) {
      const double start = Now();
      for (int i = 0; i < 500; ++i) {
        if (absl::Status s = f->call_into(one->inputs, one->outputs, one->context); !s.ok())
          return s;
        if (absl::Status s = f->call_into(two->inputs, two->outputs, one->context); !s.ok())
          return s;
      }
      times.push_back((Now() - start) / 1000 * 1e9);
    }
    ns[f->versions().back().kernels] = Percentile(times, 50);
  }
  std::vector<std::vector<std::string>> rows{{"kernels", "ns a call"}};
  for (const auto& [kernels, t] : ns) rows.push_back({absl::StrCat(kernels), Fixed(t, 0)});
  std::cout << Table(rows);
  const auto low = *ns.begin(), high = *ns.rbegin();
  const double slope = (high.second - low.second) / (high.first - low.first);
  PrintLast({{"suite", "call"},
             {"ns_a_kernel", slope},
             {"ns_intercept", low.second - slope * low.first}});
  return absl::OkStatus();
}

}  // namespace lathe::bench
