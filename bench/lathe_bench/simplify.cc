// What simplification removes: divisions of sizes in kernels, and checks of a call. Each program is
// compiled as it was written (passes skipped, no declared facts), with the passes alone, and with
// the passes and its declared facts.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/lathe_bench/suites.h"
#include "examples/encoder.h"
#include "examples/serve_report.h"
#include "lathe/lathe.h"
#include "runtime/function_state.h"

namespace lathe::bench {
namespace {

struct Counts {
  int kernels = 0, divisions = 0, inner = 0, checks = 0;
};

// %s stands for the declared facts.
struct Sample {
  const char* name;
  const char* facts;
  const char* text;
};

constexpr Sample kSamples[] = {
    {"split and join", "dim n in 1..4096, n % 16 == 0\ndim m in 1..64",
     "x: f32[m, n]\n"
     "a = reshape(x, [m, n//16, 16])\n"
     "b = reshape(permute(a, [0, 2, 1]), [m, n])\n"
     "output exp(b)\n"},
    {"chunks of a row", "dim n in 1..4096, n % 64 == 0",
     "x: f32[n]\n"
     "output softmax(reshape(x, [n//64, 64]), axis=-1)\n"},
    {"patches", "dim h in 8..1024, h % 8 == 0\ndim w in 8..1024, w % 8 == 0",
     "x: f32[3, h, w]\n"
     "a = reshape(x, [3, h//8, 8, w//8, 8])\n"
     "output reshape(permute(a, [1, 3, 0, 2, 4]), [h//8 * (w//8), 192]) * 2\n"},
};

absl::StatusOr<Counts> Count(Engine& engine, absl::StatusOr<Program> program, bool passes) {
  CompileOptions options;
  options.strategy = Strategy::kFullDynamic;
  if (!passes) options.skip_passes = {"refine_shapes", "canonicalize"};
  absl::StatusOr<Function> f = engine.compile(std::move(program), options);
  if (!f.ok()) return f.status();
  if (absl::Status s = f->prepare(); !s.ok()) return s;
  Counts counts;
  for (const rt::GroupReport& g : f->state()->table()->versions().back()->groups) {
    ++counts.kernels;
    counts.divisions += g.divisions;
    counts.inner += g.inner_divisions;
  }
  counts.checks =
      static_cast<int>(f->state()->plan().checks.size() + f->state()->plan().dim_axes.size());
  return counts;
}

std::string WithoutFacts(std::string facts) {
  std::string dims;
  for (size_t at = facts.find("dim "); at != facts.npos; at = facts.find("dim ", at + 1)) {
    absl::StrAppend(&dims, facts.substr(at, facts.find(' ', at + 4) - at), "\n");
  }
  return dims;
}

}  // namespace

absl::Status Simplification(const SuiteOptions& options) {
  Engine engine({.threads = options.threads, .background_compiles = false});
  std::vector<std::vector<std::string>> rows = {
      {"program", "facts", "passes", "kernels", "divisions", "in inner loops", "checks"}};
  nlohmann::ordered_json json;
  auto row = [&](const std::string& name, bool facts, bool passes,
                 absl::StatusOr<Program> program) -> absl::Status {
    const absl::StatusOr<Counts> c = Count(engine, std::move(program), passes);
    if (!c.ok()) return c.status();
    rows.push_back({name, facts ? "yes" : "no", passes ? "yes" : "no", absl::StrCat(c->kernels),
                    absl::StrCat(c->divisions), absl::StrCat(c->inner), absl::StrCat(c->checks)});
    json["rows"].push_back({{"program", name},
                            {"facts", facts},
                            {"passes", passes},
                            {"kernels", c->kernels},
                            {"divisions", c->divisions},
                            {"inner_divisions", c->inner},
                            {"checks", c->checks}});
    return absl::OkStatus();
  };
  for (const auto& [facts, passes] : {std::pair(false, false), {false, true}, {true, true}}) {
    examples::EncoderConfig config;
    if (!facts) config.batch_facts = "?";
    absl::Status s = row("encoder", facts, passes, examples::TraceEncoder(config));
    if (!s.ok()) return s;
  }
  for (const Sample& sample : kSamples) {
    for (const auto& [facts, passes] : {std::pair(false, false), {false, true}, {true, true}}) {
      const std::string dims = facts ? sample.facts : WithoutFacts(sample.facts);
      absl::Status s =
          row(sample.name, facts, passes, Program::parse(absl::StrCat(dims, "\n", sample.text)));
      if (!s.ok()) return s;
    }
  }
  std::cout << examples::Table(rows) << json.dump() << std::endl;
  return absl::OkStatus();
}

}  // namespace lathe::bench
