// Mutated model files, all the way: an error or a program that compiles, never a crash.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>

#include "gtest/gtest.h"
#include "ir/interpreter.h"
#include "ir/samples.h"
#include "lathe/engine.h"
#include "lathe/onnx.h"
#include "tests/onnx/case_runner.h"
#include "tests/util/golden.h"

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;

constexpr char kDistribution[] = "/usr/share/libonnx-testdata/data";

std::string Mutated(std::string bytes, std::mt19937_64& random) {
  const size_t edits = 1 + random() % 3;
  for (size_t i = 0; i < edits && !bytes.empty(); ++i) {
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        bytes[at] = static_cast<char>(random() % 4 == 0 ? 0xff : random() % 256);
        break;
      case 2:
        bytes.erase(at, 1 + random() % 4);
        break;
      default:
        bytes.insert(at, bytes.substr(random() % bytes.size(), 1 + random() % 8));
        break;
    }
  }
  return bytes;
}

// A call of every size `size`, and the interpreter's answer to the same inputs; false if the call
// would need much memory or is refused by both.
bool AgreesWithTheInterpreter(const Function& f, const ir::Graph& graph, int64_t size) {
  const std::vector<int64_t> sizes(static_cast<size_t>(graph.dims()->num_symbols()), size);
  const std::vector<Tensor> inputs = ir::SampleInputs(graph, sizes, 1, true);
  for (const Tensor& t : inputs)
    if (!t.ok()) return false;
  const absl::StatusOr<std::vector<Tensor>> got = f.call(inputs);
  if (absl::IsResourceExhausted(got.status())) return false;
  const absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(graph, inputs);
  EXPECT_EQ(got.ok(), wanted.ok()) << got.status() << wanted.status();
  if (!got.ok() || !wanted.ok()) return false;
  for (size_t i = 0; i < got->size(); ++i) EXPECT_EQ(Difference((*got)[i], (*wanted)[i], 1e-3), "");
  return true;
}

TEST(Mutation, AThousandModelsGiveErrorsOrRightAnswers) {
  if (!fs::exists(kDistribution)) GTEST_SKIP() << "NOT CHECKED: install libonnx-testdata";
  std::vector<fs::path> models;
  constexpr size_t kLargest = 16 << 10;
  for (const auto& entry : fs::recursive_directory_iterator(kDistribution))
    if (entry.path().filename() == "model.onnx" && entry.file_size() < kLargest)
      models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  const char* named = std::getenv("LATHE_FUZZ_SEED");
  const uint64_t seed = named == nullptr ? 20261130 : std::strtoull(named, nullptr, 10);
  std::mt19937_64 random(seed);
  EngineOptions options;
  options.threads = 1;
  options.background_compiles = false;
  options.max_arena_bytes = int64_t{64} << 20;
  Engine engine(options);
  const fs::path file =
      fs::temp_directory_path() / ("lathe_mutation_" + std::to_string(::getpid()));
  int loaded = 0, prepared = 0, called = 0;
  constexpr int kFiles = 1000;
  for (int i = 0; i < kFiles; ++i) {
    const fs::path& model = models[random() % models.size()];
    std::ofstream(file, std::ios::binary) << Mutated(ReadFile(model), random);
    SCOPED_TRACE(model.string() + ", file " + std::to_string(i) + " of seed " +
                 std::to_string(seed));
    absl::StatusOr<OnnxModel> m = load_onnx(file.string());
    if (!m.ok()) {
      EXPECT_FALSE(m.status().message().empty());
      continue;
    }
    ++loaded;
    std::optional<ir::Graph> graph;  // what the program had before it was compiled
    if (!m->program.is_staged()) graph = m->program.graph().Clone();
    absl::StatusOr<Function> f = engine.compile(std::move(m->program));
    if (!f.ok() || !f->prepare().ok()) continue;
    ++prepared;
    if (graph && AgreesWithTheInterpreter(*f, *graph, 1 + i % 3)) ++called;
  }
  fs::remove(file);
  std::cout << kFiles << " files, " << loaded << " loaded, " << prepared << " compiled, " << called
            << " called\n";
  EXPECT_GT(prepared, kFiles / 20);
  EXPECT_GT(called, kFiles / 40);
}

}  // namespace
}  // namespace lathe::onnx
