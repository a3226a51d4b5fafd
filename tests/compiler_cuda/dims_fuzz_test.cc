// What each reader of Kernel IR makes of a size: random expressions stored by a kernel, as machine
// code, as CUDA text on the host, in the evaluator, and from the kernel's own text, against plain
// evaluation. Sizes are 0 and above; operands on the way may be negative.
#include <gtest/gtest.h>

#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/kernel/kernel.h"
#include "tests/cuda/harness.h"
#include "tests/dim/random_dims.h"
#include "tests/llvm/harness.h"

namespace lathe {
namespace {

constexpr int kEach = 60;  // expressions of a kernel
const std::vector<std::vector<int64_t>> kSizes = {{0, 1, 2},  {1, 1, 1}, {3, 7, 5},
                                                  {8, 2, 33}, {2, 0, 9}, {100, 31, 64}};

struct Stores {
  std::shared_ptr<const kernel::Kernel> kernel;
  std::vector<std::shared_ptr<dim::Tree>> trees;
};

bool IsDefined(const dim::Tree& tree) {
  for (const std::vector<int64_t>& sizes : kSizes)
    if (!PlainEvaluate(tree, sizes)) return false;
  return true;
}

// y[i] = expression i, over the sizes a, b, c, in one task.
Stores RandomStores(dim::RandomDims& random, int number) {
  Stores s;
  kernel::KernelBuilder b(absl::StrCat("dims_", number));
  dim::DimContext context;  // of the expressions: a kernel's own has other symbols
  absl::flat_hash_map<dim::SymbolId, Dim> sizes;
  for (const char* name : {"a", "b", "c"}) {
    dim::SymbolId symbol = 0;
    EXPECT_TRUE(dim::IsSymbol(context.Symbol(name), &symbol));
    sizes[symbol] = b.Size(name);
  }
  const int y = b.Buffer("y", i64, kernel::BufferKind::kOutput, kEach);
  b.Tasks(1);
  while (s.trees.size() < kEach) {
    std::shared_ptr<dim::Tree> tree = random.Expression(4);
    if (!IsDefined(*tree)) continue;
    const Dim built = Build(*tree, &context);
    const Dim d = built.ok() ? dim::Substitute(built, sizes, b.dims()) : built;
    if (!d.ok()) continue;
    b.Store(y, static_cast<int64_t>(s.trees.size()), b.Index(d));
    s.trees.push_back(std::move(tree));
  }
  s.kernel = b.Finish();
  return s;
}

TEST(DimsOfKernels, HaveOneValueInAllCode) {
  dim::RandomDims random(dim::FuzzSeed(), 3);
  std::vector<Stores> all;
  std::vector<std::shared_ptr<const kernel::Kernel>> kernels;
  for (int i = 0; i < dim::FuzzRounds(8); ++i) {
    all.push_back(RandomStores(random, i));
    kernels.push_back(all.back().kernel);
  }
  const std::unique_ptr<cuda::HostModule> module = cuda::BuildModule(kernels);
  ASSERT_NE(module, nullptr);
  for (const Stores& s : all) {
    const std::string text = kernel::Print(*s.kernel);
    absl::StatusOr<std::shared_ptr<kernel::Kernel>> read = kernel::ParseKernel(text);
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
    EXPECT_EQ(kernel::Print(**read), text);
    llvm_target::Agreement agreement(*read);
    for (const std::vector<int64_t>& sizes : kSizes) {
      const std::string what = absl::StrCat("sizes ", sizes[0], ", ", sizes[1], ", ", sizes[2]);
      const auto buffers = std::vector{llvm_target::TestBuffer::Canaries(i64, kEach)};
      absl::StatusOr<llvm_target::RunResult> found =
          llvm_target::Interpret(*s.kernel, buffers, sizes, 1);
      ASSERT_TRUE(found.ok()) << found.status();
      for (int i = 0; i < kEach; ++i) {
        const int64_t wanted = *PlainEvaluate(*s.trees[static_cast<size_t>(i)], sizes);
        ASSERT_EQ(found->buffers[0].at<int64_t>(i), wanted) << i << ", " << what << "\n" << text;
      }
      agreement.Check(buffers, sizes, 1, what);
      EXPECT_EQ(Difference(*module, *s.kernel, {cuda::TestBuffer::Canaries(i64, kEach)}, sizes), "")
          << what << "\n"
          << text;
    }
  }
}

}  // namespace
}  // namespace lathe
