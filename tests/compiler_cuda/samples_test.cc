// Every op of the table: the CUDA text of its kernels gives the evaluator's bits on the host, and
// compiles for every architecture.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/cuda_text.h"
#include "tests/compiler_cuda/lowered_samples.h"
#include "tests/cuda/harness.h"

namespace lathe::compiler {
namespace {

using cuda::HostModule;
using cuda::TestBuffer;
using ir::ValueId;
using kernel::Kernel;

constexpr int64_t kExtents[] = {0, 1, 2, 3, 7, 8, 31, 32, 33};
constexpr int64_t kSmall[] = {2, 1, 3, 0};
constexpr int kNumRuns = 9;
constexpr size_t kBatch = 128;            // kernels of one NVRTC program
constexpr int64_t kMaxElements = 40'000;  // of one value; larger runs add time and nothing else

TestBuffer OfTensor(const Tensor& t) {
  TestBuffer b{t.dtype(), std::vector<uint8_t>(static_cast<size_t>(t.num_bytes()))};
  if (!b.bytes.empty()) std::memcpy(b.bytes.data(), t.raw(), b.bytes.size());
  return b;
}

// Runs a sample's kernels one after the other at one assignment of sizes.
class SampleRun {
 public:
  SampleRun(const LoweredSample& sample, std::vector<int64_t> sizes)
      : sample_(sample), sizes_(std::move(sizes)) {}

  // Whether the graph admits these sizes, and they are small enough.
  bool Admitted() const {
    for (const dim::Fact& f : sample_.graph.facts().facts()) {
      if (!dim::Evaluate(f.claim, sizes_).value_or(false)) return false;
    }
    for (ValueId v = 0; v < sample_.graph.num_nodes(); ++v) {
      const int64_t elements = Elements(v);
      if (elements < 0 || elements > kMaxElements) return false;
    }
    return true;
  }

  // `module_of` finds the module that holds a kernel.
  void Run(const std::map<std::string, const HostModule*>& module_of, uint64_t seed) {
    const std::vector<Tensor> inputs =
        ir::SampleInputs(sample_.graph, sizes_, seed, /*integer_valued=*/false);
    for (size_t i = 0; i < inputs.size(); ++i) {
      values_[sample_.graph.inputs[i]] = OfTensor(inputs[i]);
    }
    for (const SampleKernel& k : sample_.kernels) {
      if (k.text.empty()) continue;
      const std::string difference = RunKernel(*module_of.at(k.text), k);
      EXPECT_EQ(difference, "") << sample_.label << ", sizes " << absl::StrJoin(sizes_, ", ")
                                << ", kernel " << k.lowered.kernel->name << "\n"
                                << k.text;
      if (!difference.empty()) return;
    }
  }

 private:
  int64_t Elements(ValueId v) const {
    int64_t n = 1;
    for (Dim d : sample_.graph.type(v).shape) {
      n *= dim::Evaluate(d, sizes_).value_or(-1);
    }
    return n;
  }

  TestBuffer Contents(ValueId v) const {
    if (auto it = values_.find(v); it != values_.end()) return it->second;
    const ir::Node& n = sample_.graph.node(v);
    if (n.op == ir::Op::k_constant) return OfTensor(n.attrs.tensor);
    return TestBuffer::Canaries(n.type.dtype, Elements(v));
  }

  std::string RunKernel(const HostModule& module, const SampleKernel& k) {
    std::vector<TestBuffer> buffers, after;
    std::vector<int64_t> sizes;
    for (const KernelArg& a : k.lowered.args) {
      if (a.kind == KernelArg::kValue) buffers.push_back(Contents(a.value));
    }
    for (Dim d : k.lowered.sizes) {
      const absl::StatusOr<int64_t> value = dim::Evaluate(d, sizes_);
      if (!value.ok()) return value.status().ToString();
      sizes.push_back(*value);
    }
    const std::string difference =
        cuda::Difference(module, *k.lowered.kernel, buffers, sizes, &after);
    size_t next = 0;
    for (const KernelArg& a : k.lowered.args) {
      if (a.kind == KernelArg::kValue && next < after.size()) values_[a.value] = after[next++];
    }
    return difference;
  }

  const LoweredSample& sample_;
  std::vector<int64_t> sizes_;
  std::map<ValueId, TestBuffer> values_;
};

// Assignments of sizes, each extent at each of the first two symbols; the first comes again last.
std::vector<std::vector<int64_t>> SizesOf(const LoweredSample& s) {
  const int symbols = s.graph.dims()->num_symbols();
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

TEST(Samples, HostGivesTheBitsOfTheEvaluator) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<SampleKernel> kernels = DistinctKernels(/*all_symbolic_only=*/false);
  ASSERT_GT(kernels.size(), 200u);
  // Two modules, compiled at the same time.
  std::vector<std::shared_ptr<const Kernel>> halves[2];
  for (size_t i = 0; i < kernels.size(); ++i) halves[i % 2].push_back(kernels[i].lowered.kernel);
  std::unique_ptr<HostModule> modules[2];
  std::thread other([&] { modules[1] = cuda::BuildModule(halves[1]); });
  modules[0] = cuda::BuildModule(halves[0]);
  other.join();
  ASSERT_TRUE(modules[0] != nullptr && modules[1] != nullptr);
  std::map<std::string, const HostModule*> module_of;
  for (size_t i = 0; i < kernels.size(); ++i) module_of[kernels[i].text] = modules[i % 2].get();
  const auto built = std::chrono::steady_clock::now();
  int runs = 0;
  for (const LoweredSample& s : LoweredSamples()) {
    uint64_t seed = 1;
    for (const std::vector<int64_t>& sizes : SizesOf(s)) {
      SampleRun run(s, sizes);
      if (!run.Admitted()) continue;
      run.Run(module_of, seed++);
      ++runs;
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(runs, 1000);
  const std::chrono::duration<double> build = built - start;
  const std::chrono::duration<double> run = std::chrono::steady_clock::now() - built;
  std::printf("%zu samples, %zu kernels, %d runs; %.1f s to build, %.1f s to run\n",
              LoweredSamples().size(), kernels.size(), runs, build.count(), run.count());
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
  const std::vector<SampleKernel> kernels = DistinctKernels(/*all_symbolic_only=*/!full);
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
