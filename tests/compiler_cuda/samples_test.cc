// Every op of the table: the CUDA text of its kernels gives the evaluator's bits on the host and
// what the interpreter gives within the op's bound, and compiles for every architecture.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/cuda_text.h"
#include "ir/interpreter.h"
#include "tests/compiler_cuda/lowered_samples.h"
#include "tests/cuda/harness.h"
#include "tests/whole/op_bound.h"

namespace lathe::compiler {
namespace {

using cuda::HostModule;
using ir::ValueId;
using kernel::Kernel;

constexpr int64_t kExtents[] = {0, 1, 2, 3, 7, 8, 31, 32, 33};
constexpr int64_t kSmall[] = {2, 1, 3, 0};
constexpr int kNumRuns = 9;
constexpr size_t kBatch = 128;            // kernels of one NVRTC program
constexpr int64_t kMaxElements = 40'000;  // of one value; larger runs add time and nothing else

// Whether the graph admits these sizes, and they are small enough.
bool Admitted(const LoweredGraph& g, const std::vector<int64_t>& sizes) {
  for (const dim::Fact& f : g.graph.facts().facts()) {
    if (!dim::Evaluate(f.claim, sizes).value_or(false)) return false;
  }
  const HostRun run(g, sizes);
  for (ValueId v = 0; v < g.graph.num_nodes(); ++v) {
    const int64_t elements = run.Elements(v);
    if (elements < 0 || elements > kMaxElements) return false;
  }
  return true;
}

// The texts give what the evaluator does, and their outputs what the interpreter does.
void Check(const LoweredSample& s, const std::vector<int64_t>& sizes, const ModuleOfText& modules,
           uint64_t seed, int* compared) {
  SCOPED_TRACE(absl::StrCat(s.label, ", sizes ", absl::StrJoin(sizes, ", ")));
  const bool whole = seed % 2 == 0;
  const std::vector<Tensor> inputs = ir::SampleInputs(s.lowered.graph, sizes, seed, whole);
  HostRun run(s.lowered, sizes);
  ASSERT_EQ(run.Run(modules, inputs), "");
  if (!s.lowered.HasAllTexts()) return;
  const absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(s.source, inputs);
  ASSERT_EQ(run.failed(), !wanted.ok()) << wanted.status();
  if (!wanted.ok()) return;
  const absl::StatusOr<std::vector<Tensor>> wanted64 =
      ir::Interpret(s.source, inputs, {.in_f64 = true});
  ASSERT_TRUE(wanted64.ok()) << wanted64.status();
  const std::vector<Tensor> found = run.Outputs();
  for (size_t i = 0; i < found.size(); ++i) {
    const absl::Status within =
        whole::WithinOpBound(s.op, inputs, whole, found[i], (*wanted)[i], (*wanted64)[i]);
    ASSERT_TRUE(within.ok()) << "output " << i << ": " << within;
  }
  ++*compared;
}

// Assignments of sizes, each extent at each of the first two symbols; the first comes again last.
std::vector<std::vector<int64_t>> SizesOf(const LoweredSample& s) {
  const int symbols = s.lowered.graph.dims()->num_symbols();
  std::vector<std::vector<int64_t>> all;
  for (int run = 0; run < (symbols == 0 ? 1 : kNumRuns); ++run) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < symbols; ++i) {
      sizes.push_back(i < 2 ? kExtents[(run * (i == 0 ? 1 : 5) + 8) % kNumRuns]
                            : kSmall[(run + i) % 4]);
    }
    all.push_back(std::move(sizes));
  }
  all.push_back(all.front());
  return all;
}

TEST(Samples, HostGivesTheBitsOfTheEvaluatorAndWhatTheInterpreterDoes) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<GraphKernel> kernels = DistinctKernels(/*all_symbolic_only=*/false);
  ASSERT_GT(kernels.size(), 200u);
  // Two modules, compiled at the same time.
  std::vector<std::shared_ptr<const Kernel>> halves[2];
  for (size_t i = 0; i < kernels.size(); ++i) halves[i % 2].push_back(kernels[i].lowered.kernel);
  std::unique_ptr<HostModule> modules[2];
  std::thread other([&] { modules[1] = cuda::BuildModule(halves[1]); });
  modules[0] = cuda::BuildModule(halves[0]);
  other.join();
  ASSERT_TRUE(modules[0] != nullptr && modules[1] != nullptr);
  ModuleOfText module_of;
  for (size_t i = 0; i < kernels.size(); ++i) module_of[kernels[i].text] = modules[i % 2].get();
  const auto built = std::chrono::steady_clock::now();
  int runs = 0, compared = 0;
  for (const LoweredSample& s : LoweredSamples()) {
    uint64_t seed = 1;
    for (const std::vector<int64_t>& sizes : SizesOf(s)) {
      if (!Admitted(s.lowered, sizes)) continue;
      Check(s, sizes, module_of, seed++, &compared);
      ++runs;
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(runs, 1000);
  EXPECT_GT(compared, runs * 9 / 10);
  const std::chrono::duration<double> build = built - start;
  const std::chrono::duration<double> run = std::chrono::steady_clock::now() - built;
  std::printf(
      "%zu samples, %zu kernels, %d runs, %d compared with the interpreter; %.1f s to "
      "build, %.1f s to run\n",
      LoweredSamples().size(), kernels.size(), runs, compared, build.count(), run.count());
}

class NvrtcTest : public testing::TestWithParam<int> {};

// NVRTC takes about 50 ms a kernel. With LATHE_FULL every text is compiled for every architecture;
// otherwise those of wholly symbolic samples are, each for one architecture by turns.
TEST_P(NvrtcTest, CompilesTheTexts) {
  const std::shared_ptr<cuda::Nvrtc> nvrtc = cuda::OpenNvrtc();
  if (nvrtc == nullptr) GTEST_SKIP() << "no NVRTC";
  const bool full = std::getenv("LATHE_FULL") != nullptr;
  const size_t turn = static_cast<size_t>(GetParam());
  const char* arch = cuda::kArchitectures[turn];
  const std::vector<GraphKernel> kernels = DistinctKernels(/*all_symbolic_only=*/!full);
  std::vector<std::string> texts;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (full || i % std::size(cuda::kArchitectures) == turn) texts.push_back(kernels[i].text);
  }
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < texts.size(); i += kBatch) {
    const size_t count = std::min(kBatch, texts.size() - i);
    const absl::StatusOr<cuda::Cubin> cubin =
        nvrtc->Compile(cuda::CudaProgram(absl::MakeConstSpan(texts).subspan(i, count)), arch);
    ASSERT_TRUE(cubin.ok()) << cubin.status();
    EXPECT_EQ(cubin->kernels.size(), count);
    for (const cuda::KernelResources& k : cubin->kernels) {
      EXPECT_EQ(k.spill_store_bytes + k.spill_load_bytes, 0) << k.name;
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%zu kernels for %s in %.1f s\n", texts.size(), arch, seconds.count());
}

INSTANTIATE_TEST_SUITE_P(Architectures, NvrtcTest,
                         testing::Range(0, static_cast<int>(std::size(cuda::kArchitectures))),
                         [](const auto& test) { return cuda::kArchitectures[test.param]; });

}  // namespace
}  // namespace lathe::compiler
