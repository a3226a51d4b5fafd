// What each reader of Kernel IR makes of a size: random expressions stored by a kernel, as machine
// code, as CUDA text on the host, in the evaluator, and from the kernel's own text, against plain
// evaluation. Sizes are 0 and above; operands on the way may be negative. Where sizes are bounded,
// CUDA text computes in 32 bits what fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/cuda/cuda_text.h"
#include "codegen/kernel/kernel.h"
#include "tests/cuda/harness.h"
#include "tests/dim/random_dims.h"
#include "tests/llvm/harness.h"

namespace lathe {
namespace {

constexpr int kEach = 60;  // expressions of a kernel
const std::vector<std::vector<int64_t>> kSizes = {{0, 1, 2},  {1, 1, 1}, {3, 7, 5},
                                                  {8, 2, 33}, {2, 0, 9}, {100, 31, 64}};

using AllSizes = std::vector<std::vector<int64_t>>;

struct Stores {
  std::shared_ptr<const kernel::Kernel> kernel;
  std::vector<std::shared_ptr<dim::Tree>> trees;
  AllSizes sizes;
};

// No less than any number on the way.
double Magnitude(const dim::Tree& t, const std::vector<int64_t>& sizes) {
  if (t.op == dim::Tree::kConst) return static_cast<double>(std::abs(t.value));
  if (t.op == dim::Tree::kSymbol) return static_cast<double>(sizes[static_cast<size_t>(t.value)]);
  const double a = Magnitude(*t.a, sizes), b = Magnitude(*t.b, sizes);
  return t.op == dim::Tree::kMul ? std::max({a, b, a * b}) : a + b + 1;
}

bool IsDefined(const dim::Tree& tree, const AllSizes& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [&](const std::vector<int64_t>& at) {
    return Magnitude(tree, at) < 0x1p62 && PlainEvaluate(tree, at).has_value();
  });
}

// y[i] = expression i, over the sizes a, b, c, in one task. `bounds`: the most that sizes are, or
// -1; the kernel states it.
Stores RandomStores(dim::RandomDims& random, int number, const std::vector<int64_t>& bounds,
                    AllSizes all_sizes) {
  Stores s;
  s.sizes = std::move(all_sizes);
  kernel::KernelBuilder b(absl::StrCat("dims_", number));
  dim::DimContext context;  // of the expressions: a kernel's own has other symbols
  absl::flat_hash_map<dim::SymbolId, Dim> sizes;
  for (const char* name : {"a", "b", "c"}) {
    dim::SymbolId symbol = 0;
    EXPECT_TRUE(dim::IsSymbol(context.Symbol(name), &symbol));
    const Dim size = sizes[symbol] = b.Size(name);
    if (bounds[symbol] < 0) continue;
    b.Assume(Dim(0) <= size);
    b.Assume(size <= bounds[symbol]);
  }
  const int y = b.Buffer("y", i64, kernel::BufferKind::kOutput, kEach);
  b.Tasks(1);
  while (s.trees.size() < kEach) {
    std::shared_ptr<dim::Tree> tree = random.Expression(4);
    if (!IsDefined(*tree, s.sizes)) continue;
    const Dim built = Build(*tree, &context);
    const Dim d = built.ok() ? dim::Substitute(built, sizes, b.dims()) : built;
    if (!d.ok()) continue;
    b.Store(y, static_cast<int64_t>(s.trees.size()), b.Index(d));
    s.trees.push_back(std::move(tree));
  }
  s.kernel = b.Finish();
  return s;
}

void CheckAll(const std::vector<Stores>& all) {
  std::vector<std::shared_ptr<const kernel::Kernel>> kernels;
  for (const Stores& s : all) kernels.push_back(s.kernel);
  const std::unique_ptr<cuda::HostModule> module = cuda::BuildModule(kernels);
  ASSERT_NE(module, nullptr);
  for (const Stores& s : all) {
    const std::string text = kernel::Print(*s.kernel);
    absl::StatusOr<std::shared_ptr<kernel::Kernel>> read = kernel::ParseKernel(text);
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
    EXPECT_EQ(kernel::Print(**read), text);
    llvm_target::Agreement agreement(*read);
    for (const std::vector<int64_t>& sizes : s.sizes) {
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

TEST(DimsOfKernels, HaveOneValueInAllCode) {
  dim::RandomDims random(dim::FuzzSeed(), 3);
  std::vector<Stores> all;
  for (int i = 0; i < dim::FuzzRounds(8); ++i) {
    all.push_back(RandomStores(random, i, {-1, -1, -1}, kSizes));
    const std::string text = cuda::CudaText(*all.back().kernel).value();
    EXPECT_FALSE(absl::StrContains(text, "lathe_i32 d"));
  }
  CheckAll(all);
}

// At the bounds, where what is taken for narrow is largest.
TEST(DimsOfKernels, AreNarrowInCudaTextWhereBoundsAllowIt) {
  dim::RandomDims random(dim::FuzzSeed(), 3);
  std::vector<Stores> all;
  for (int i = 0; i < dim::FuzzRounds(8); ++i) {
    constexpr int64_t kBounds[] = {9, 1000, 46340, 46341, int64_t{1} << 30, INT32_MAX, -1};
    std::vector<int64_t> bounds;
    for (int j = 0; j < 3; ++j) bounds.push_back(kBounds[random.Int(0, 6)]);
    AllSizes sizes = {{0, 0, 0}, {1, 1, 1}};
    for (int turn = 0; turn < 8; ++turn) {
      std::vector<int64_t> at;
      for (const int64_t most : bounds) {
        const int64_t n = most < 0 ? int64_t{1} << 31 : most;
        at.push_back(random.Chance(60) ? n : random.Int(0, n));
      }
      sizes.push_back(at);
    }
    all.push_back(RandomStores(random, i, bounds, sizes));
    const std::string text = cuda::CudaText(*all.back().kernel).value();
    const auto [least, most] = std::minmax_element(bounds.begin(), bounds.end());
    const bool narrow = *most <= 46341 && *least >= 0;
    EXPECT_TRUE(absl::StrContains(text, narrow ? "lathe_i32 d" : "lathe_i64 d"));
  }
  CheckAll(all);
}

}  // namespace
}  // namespace lathe
