// Random programs through the whole compiler at sizes A, B, A: machine code against the interpreter
// (equal bits where every value is a whole number; otherwise as close as the program itself keeps
// its values when each op's result moves by a few ULP), against the Kernel IR evaluator bit for
// bit, and without a compile in a call. A quarter of the programs also by a version of its own for
// the sizes A, whose bits are those of the generic code. Runs for 30 seconds, or
// LATHE_FUZZ_SECONDS, or seven minutes with LATHE_FULL=1; LATHE_FUZZ_SEED is the first seed. A
// failure is shrunk and printed as text that can be run again.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/compare.h"
#include "ir/samples.h"
#include "ir/status_macros.h"
#include "runtime/function_state.h"
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
  std::string failure;       // empty: none
  bool ran = false;          // some sizes were admitted
  bool specialised = false;  // a version that isn't the generic one served them
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
    if (outcome.failure.empty() && seed / 2 % 4 == 1) {
      const absl::Status s = TrySpecialised(*f, graph, seed, whole, &outcome.specialised);
      if (!s.ok()) outcome.failure = absl::StrCat("specialised: ", std::string(s.message()));
    }
    return outcome;
  }

 private:
  // A version for sizes that `generic` admits gives its bits and the evaluator's; so does the call
  // of other sizes beside it.
  absl::Status TrySpecialised(const Function& generic, const ir::Graph& graph, uint64_t seed,
                              bool whole, bool* specialised) {
    const std::vector<int64_t> sizes = fuzz::RandomSizes(graph, seed * 2);
    const std::vector<Tensor> inputs = ir::SampleInputs(graph, sizes, seed, whole);
    const absl::StatusOr<std::vector<Tensor>> wanted = generic.call(inputs);
    if (!wanted.ok()) return absl::OkStatus();
    LATHE_ASSIGN_OR_RETURN(const Function f,
                           CompileGraph(specialising_, graph, {.strategy = Strategy::kFullStatic}));
    LATHE_RETURN_IF_ERROR(f.prepare({SizesByName(graph, sizes)}));
    const std::vector<Function::VersionInfo> versions = f.versions();
    if (versions.size() < 2) {  // or none has code of its own
      const std::string why = absl::StrJoin(f.state()->BuildFailures(), "; ");
      const bool fine = !InputsShowSizes(graph) || absl::StrContains(why, "of the generic version");
      return fine ? absl::OkStatus() : absl::InternalError("no version was made: " + why);
    }
    LATHE_ASSIGN_OR_RETURN(const std::vector<Tensor> found, f.call(inputs));
    if (f.versions()[0].calls != 1) return absl::InternalError("the generic version served");
    LATHE_RETURN_IF_ERROR(SameBits(found, *wanted));
    LATHE_RETURN_IF_ERROR(SameAsEvaluator(f, inputs, found, versions[0].name));
    *specialised = true;
    const std::vector<Tensor> others =
        ir::SampleInputs(graph, fuzz::RandomSizes(graph, seed * 2 + 1), seed, whole);
    const absl::StatusOr<std::vector<Tensor>> wanted_others = generic.call(others);
    const absl::StatusOr<std::vector<Tensor>> found_others = f.call(others);
    if (wanted_others.status().code() != found_others.status().code())
      return absl::InternalError(absl::StrCat("other sizes: ", found_others.status().ToString()));
    return wanted_others.ok() ? SameBits(*found_others, *wanted_others) : absl::OkStatus();
  }

  static Sizes SizesByName(const ir::Graph& graph, const std::vector<int64_t>& sizes) {
    Sizes named;
    for (size_t i = 0; i < sizes.size(); ++i)
      named[graph.dims()->SymbolName(static_cast<dim::SymbolId>(i))] = sizes[i];
    return named;
  }

  static bool InputsShowSizes(const ir::Graph& graph) {
    for (ir::ValueId v : graph.inputs)
      for (Dim d : graph.type(v).shape)
        if (!d.is_constant()) return true;
    return false;
  }

  static absl::Status SameBits(const std::vector<Tensor>& found,
                               const std::vector<Tensor>& wanted) {
    for (size_t i = 0; i < wanted.size(); ++i)
      LATHE_RETURN_IF_ERROR(ir::SameBits(found[i], wanted[i]));
    return absl::OkStatus();
  }

  Engine specialising_{{.threads = 1}};
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
  int tried = 0, ran = 0, specialised = 0, failures = 0;
  for (uint64_t seed = first; Clock::now() < end && failures < 3; ++seed) {
    const bool whole = seed % 2 == 0;
    const ir::Graph graph = fuzz::RandomGraph(seed, {.integer_valued = whole});
    if (!ir::Verify(graph).ok()) continue;  // a claim that the prover no longer finds
    ++tried;
    const Outcome outcome = fuzzer.Try(graph, seed, whole);
    ran += outcome.ran;
    specialised += outcome.specialised;
    if (outcome.failure.empty()) continue;
    ++failures;
    const ir::Graph small = fuzz::Shrink(graph, [&](const ir::Graph& g) {
      return ir::Verify(g).ok() && !fuzzer.Try(g, seed, whole).failure.empty();
    });
    ADD_FAILURE() << "seed " << seed << (whole ? ", whole numbers" : "") << ": " << outcome.failure
                  << "\nsmallest: " << fuzzer.Try(small, seed, whole).failure << "\n"
                  << ir::Print(small);
  }
  std::printf("seeds from %llu: %d programs, of which %d ran, %d of them specialised\n",
              static_cast<unsigned long long>(first), tried, ran, specialised);
  EXPECT_GT(ran, tried / 2);
  EXPECT_GT(specialised, tried / 10 - 1);
}

}  // namespace
}  // namespace lathe::whole
