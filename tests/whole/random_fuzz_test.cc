// Random programs through the whole compiler at sizes A, B, A: machine code against the interpreter
// (equal bits where every value is a whole number; otherwise as close as the program itself keeps
// its values when each op's result moves by a few ULP), against the Kernel IR evaluator bit for
// bit, and without a compile in a call. Runs for 30 seconds, or LATHE_FUZZ_SECONDS, or seven
// minutes with LATHE_FULL=1; LATHE_FUZZ_SEED is the first seed. A failure is shrunk and printed as
// text that can be run again.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/samples.h"
#include "tests/compiler/random_graph.h"
#include "tests/whole/amplified.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

double Seconds() {
  if (const char* given = std::getenv("LATHE_FUZZ_SECONDS")) return std::atof(given);
  const char* full = std::getenv("LATHE_FULL");
  return full != nullptr && std::string_view(full) == "1" ? 420 : 30;
}

uint64_t FirstSeed() {
  const char* given = std::getenv("LATHE_FUZZ_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
}

struct Outcome {
  std::string failure;  // empty: none
  bool ran = false;     // some sizes were admitted
};

class Fuzzer {
 public:
  Outcome Try(const ir::Graph& graph, uint64_t seed, bool whole) {
    Engine& engine = *engines_[seed / 2 % 3];
    Outcome outcome;
    absl::StatusOr<Function> f = CompileGraph(engine, graph);
    if (!f.ok()) {
      outcome.failure = absl::StrCat("doesn't compile: ", f.status().ToString());
      return outcome;
    }
    int turn = 0;
    for (uint64_t draw : {seed * 2, seed * 2 + 1, seed * 2}) {
      const std::vector<int64_t> sizes = fuzz::RandomSizes(graph, draw);
      const std::vector<Tensor> inputs = ir::SampleInputs(graph, sizes, seed, whole);
      const bool with_evaluator = turn++ < 2;
      const absl::Status s = whole ? CheckCall(*f, graph, inputs, /*exact=*/true, with_evaluator)
                                   : CheckAmplified(*f, graph, inputs, with_evaluator);
      outcome.ran |= f->call(inputs).ok();
      if (s.ok()) continue;
      outcome.failure =
          absl::StrCat("sizes ", absl::StrJoin(sizes, ", "), ": ", std::string(s.message()));
      return outcome;
    }
    if (engine.counters().compiles_in_calls != 0) outcome.failure = "a call compiled";
    return outcome;
  }

 private:
  std::unique_ptr<Engine> engines_[3] = {
      std::make_unique<Engine>(EngineOptions{.threads = 1, .background_compiles = false}),
      std::make_unique<Engine>(EngineOptions{.threads = 2, .background_compiles = false}),
      std::make_unique<Engine>(
          EngineOptions{.threads = 1, .background_compiles = false, .poison_values = true})};
};

TEST(RandomFuzz, RandomProgramsAreRightAtEverySize) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(Seconds()));
  const uint64_t first = FirstSeed();
  Fuzzer fuzzer;
  int tried = 0, ran = 0, failures = 0;
  for (uint64_t seed = first; Clock::now() < end && failures < 3; ++seed) {
    const bool whole = seed % 2 == 0;
    const ir::Graph graph = fuzz::RandomGraph(seed, {.integer_valued = whole});
    if (!ir::Verify(graph).ok()) continue;  // a claim that the prover no longer finds
    ++tried;
    const Outcome outcome = fuzzer.Try(graph, seed, whole);
    ran += outcome.ran;
    if (outcome.failure.empty()) continue;
    ++failures;
    const ir::Graph small = fuzz::Shrink(graph, [&](const ir::Graph& g) {
      return ir::Verify(g).ok() && !fuzzer.Try(g, seed, whole).failure.empty();
    });
    ADD_FAILURE() << "seed " << seed << (whole ? ", whole numbers" : "") << ": " << outcome.failure
                  << "\nsmallest: " << fuzzer.Try(small, seed, whole).failure << "\n"
                  << ir::Print(small);
  }
  std::printf("seeds from %llu: %d programs, of which %d ran\n",
              static_cast<unsigned long long>(first), tried, ran);
  EXPECT_GT(ran, tried / 2);
}

}  // namespace
}  // namespace lathe::whole
