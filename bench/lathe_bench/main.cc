// lathe-bench: Lathe's own suites (tables and JSON), and the peer benchmark's contestant.
#include <unistd.h>

#include <iostream>
#include <map>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "bench/lathe_bench/contestant.h"
#include "bench/lathe_bench/suites.h"

ABSL_FLAG(bool, contestant, false, "speak the peer benchmark's line protocol on stdin and stdout");
ABSL_FLAG(int, threads, 2, "threads of the engine, for suites that don't fix it");
ABSL_FLAG(int, rounds, 21, "alternations of each measurement");
ABSL_FLAG(uint64_t, seed, 1, "order of the sizes in a process of `first-call`");
ABSL_FLAG(std::string, trace, "examples/data/azure_conversation_lengths.csv",
          "CSV of request lengths");
ABSL_FLAG(
    std::string, dims, "",
    "sizes of calls, for `model`: batch=1,seq=128;batch=1,seq=7, or @FILE: a CSV file of names "
    "and a line of sizes for each call");
ABSL_FLAG(std::string, dim, "", "facts about dims, for `model`: seq in 1..8192;batch == 4");
ABSL_FLAG(std::string, open, "",
          "axes that the file fixes, to open as dims, for `model`: x:1=width;y:0=batch");
ABSL_FLAG(std::string, inputs, "",
          "inputs for `model` in place of made ones: .npz, .safetensors, or .npy named after its "
          "input; sizes are those of its arrays");

namespace {

constexpr char kUsage[] =
    "lathe-bench SUITE [--threads N] [--rounds N], lathe-bench --contestant,\n"
    "or lathe-bench model FILE.onnx --dims SIZES | --inputs FILE [--dim FACTS] [--open AXES]\n"
    "suites: trace       the encoder over a trace of request lengths\n"
    "        first-call  first call at a size against warm calls, 5 processes\n"
    "        gemm        products in cache against the FMA peak, one core\n"
    "        versions    range versions against the generic one\n"
    "        call        overhead of a call and of a kernel\n"
    "        model       an ONNX model at the sizes of --dims, or of --inputs\n"
    "        simplify    divisions of sizes in kernels, before and after simplification";

std::string Self() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : "lathe-bench";
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(kUsage);
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  if (absl::GetFlag(FLAGS_contestant)) {
    lathe::bench::ServeContestant(std::cin, std::cout);
    return 0;
  }
  const std::map<std::string, absl::Status (*)(const lathe::bench::SuiteOptions&)> suites{
      {"trace", lathe::bench::TraceRun},
      {"first-call", lathe::bench::FirstCall},
      {"first-call-child", lathe::bench::FirstCallChild},
      {"gemm", lathe::bench::Gemm},
      {"versions", lathe::bench::Versions},
      {"call", lathe::bench::CallOverhead},
      {"model", lathe::bench::ModelRun},
      {"simplify", lathe::bench::Simplification}};
  const bool is_model = arguments.size() == 3 && std::string(arguments[1]) == "model";
  const auto suite = arguments.size() == 2 || is_model ? suites.find(arguments[1]) : suites.end();
  if (suite == suites.end()) {
    std::cerr << kUsage << "\n";
    return 2;
  }
  const absl::Status status = suite->second({.threads = absl::GetFlag(FLAGS_threads),
                                             .rounds = absl::GetFlag(FLAGS_rounds),
                                             .seed = absl::GetFlag(FLAGS_seed),
                                             .trace = absl::GetFlag(FLAGS_trace),
                                             .self = Self(),
                                             .model = is_model ? arguments[2] : "",
                                             .dims = absl::GetFlag(FLAGS_dims),
                                             .facts = absl::GetFlag(FLAGS_dim),
                                             .open = absl::GetFlag(FLAGS_open),
                                             .inputs = absl::GetFlag(FLAGS_inputs)});
  if (status.ok()) return 0;
  std::cerr << "lathe-bench: " << status.message() << "\n";
  return 1;
}
