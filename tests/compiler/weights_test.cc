// The store of packed weights.
#include "compiler/plan/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lathe::compiler {
namespace {

// More than half of a first slab.
Tensor Filled(float value) {
  Tensor t(f32, {100, 100});
  std::fill_n(t.data<float>(), t.num_elements(), value);
  return t;
}

TEST(WeightStore, KeepsNoEntriesOfWeightsThatAreGone) {
  WeightStore store;
  const auto kept = store.Panels(Filled(1), Packing::kPanels, 8);
  ASSERT_TRUE(kept.ok());
  for (int i = 2; i < 20; ++i) {
    EXPECT_TRUE(store.Panels(Filled(static_cast<float>(i)), Packing::kPanels, 8).ok());
    EXPECT_LE(store.size(), 2u);
  }
  const auto again = store.Panels(Filled(1), Packing::kPanels, 8);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->data, kept->data);
}

TEST(WeightStore, MatricesShareSlabsThatGoWithTheLastOfThem) {
  WeightStore store;
  std::vector<rt::Constant> kept;
  int64_t bytes = 0;
  for (int i = 0; i < 200; ++i) {
    const int64_t n = 1 + i * 37 % 300;  // odd sizes; the largest takes more than a first slab
    Tensor t(f32, {100, n});
    for (int64_t k = 0; k < 100 * n; ++k) t.data<float>()[k] = static_cast<float>(i * 100 + k);
    const auto packed = store.Panels(t, Packing::kPanels, 16);
    ASSERT_TRUE(packed.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(packed->data.get()) % 64, 0u);
    kept.push_back(*packed);
    bytes += packed->bytes;
  }
  EXPECT_GE(store.slab_bytes(), bytes);
  EXPECT_LE(store.slab_bytes(), 3 * bytes);
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(static_cast<const float*>(kept[i].data.get())[0], static_cast<float>(i * 100));
  }
  const auto at = [](const rt::Constant& c) { return static_cast<const char*>(c.data.get()); };
  std::sort(kept.begin(), kept.end(),
            [&](const rt::Constant& a, const rt::Constant& b) { return at(a) < at(b); });
  for (size_t i = 1; i < kept.size(); ++i) {
    EXPECT_LE(at(kept[i - 1]) + kept[i - 1].bytes, at(kept[i]));
  }
  kept.clear();
  EXPECT_EQ(store.slab_bytes(), 0);
}

TEST(WeightStore, AMatrixBeyondASlabHasABlockOfItsOwn) {
  WeightStore store;
  const int64_t k = 1024, n = 2048;  // 8 MiB
  Tensor t(f32, {k, n});
  std::fill_n(t.data<float>(), t.num_elements(), 1.0f);
  const auto packed = store.Panels(t, Packing::kPanels, 16);
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(store.slab_bytes(), 4 * k * n);
}

}  // namespace
}  // namespace lathe::compiler
