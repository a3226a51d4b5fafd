// The store of packed weights.
#include "compiler/plan/weights.h"

#include <gtest/gtest.h>

namespace lathe::compiler {
namespace {

Tensor Filled(float value) {
  Tensor t(f32, {3, 5});
  for (int i = 0; i < 15; ++i) t.data<float>()[i] = value;
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

}  // namespace
}  // namespace lathe::compiler
