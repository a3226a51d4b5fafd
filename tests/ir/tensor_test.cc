#include "lathe/tensor.h"

#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Tensor, OwnedIsAlignedZeroAndContiguous) {
  Tensor t(f32, {3, 5});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % 64, 0u);
  EXPECT_EQ(t.num_elements(), 15);
  EXPECT_EQ(t.num_bytes(), 60);
  EXPECT_THAT(t.strides(), ElementsAre(5, 1));
  EXPECT_TRUE(t.is_contiguous());
  for (int i = 0; i < 15; ++i) EXPECT_EQ(t.data<float>()[i], 0.0f);
}

TEST(Tensor, RankZeroHasOneElementAndDefaultHasNone) {
  EXPECT_EQ(Tensor::Scalar(3.5f).num_elements(), 1);
  EXPECT_EQ(Tensor::Scalar(3.5f).ToString(), "f32[]{3.5}");
  EXPECT_EQ(Tensor().num_elements(), 0);
  EXPECT_EQ(Tensor().rank(), 1);
  EXPECT_EQ(Tensor().ToString(), "f32[0]{}");
}

TEST(Tensor, RefusesWhatCannotExist) {
  EXPECT_FALSE(Tensor(f32, {2, -1}).ok());
  EXPECT_THAT(Tensor::Make(f32, {2, -1}).status().message(), HasSubstr("axis 1 is -1"));
  const int64_t big = int64_t{1} << 32;
  EXPECT_EQ(Tensor::Make(f32, {big, big}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Tensor::Make(f64, {big, big / 4}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Tensor::Make(f32, {int64_t{1} << 59}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(Tensor(f32, {big, big}).ok());
  EXPECT_EQ(Tensor(f32, {big, big}).num_elements(), 0);
}

TEST(Tensor, ZeroExtentWinsOverAnOverflow) {
  const int64_t big = int64_t{1} << 40;
  Tensor t(f64, {big, big, 0});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t.num_elements(), 0);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(t.Clone().shape(), t.shape());
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor a = Tensor::FromVector<int32_t>({2}, {1, 2});
  Tensor shared = a, cloned = a.Clone();
  a.data<int32_t>()[0] = 9;
  EXPECT_EQ(shared.data<int32_t>()[0], 9);
  EXPECT_EQ(cloned.data<int32_t>()[0], 1);
  EXPECT_EQ(a.Contiguous().raw(), a.raw());
}

TEST(Tensor, StridedViewsGather) {
  std::vector<int32_t> base = {0, 1, 2, 3, 4, 5};
  Tensor transposed = Tensor::View(base.data(), i32, {3, 2}, {1, 3});
  EXPECT_FALSE(transposed.is_contiguous());
  EXPECT_EQ(transposed.Contiguous().ToString(), "i32[3, 2]{0, 3, 1, 4, 2, 5}");
  Tensor reversed = Tensor::View(base.data() + 5, i32, {3}, {-2});
  EXPECT_EQ(reversed.ToString(), "i32[3]{5, 3, 1}");
  Tensor repeated = Tensor::View(base.data() + 2, i32, {2, 2}, {0, 1});
  EXPECT_EQ(repeated.ToString(), "i32[2, 2]{2, 3, 2, 3}");
}

TEST(Tensor, StridesOfExtentOneDoNotMatter) {
  std::vector<float> base(8);
  EXPECT_TRUE(Tensor::View(base.data(), f32, {1, 4}, {4672, 1}).is_contiguous());
  EXPECT_FALSE(Tensor::View(base.data(), f32, {2, 2}, {4, 1}).is_contiguous());
}

TEST(Tensor, MisalignedViewsAreCopiedByteByByte) {
  std::vector<char> bytes(17);
  const double values[2] = {1.5, -2.5};
  std::memcpy(bytes.data() + 1, values, sizeof values);
  Tensor v = Tensor::View(bytes.data() + 1, f64, {2}, {1});
  EXPECT_EQ(v.Clone().data<double>()[1], -2.5);
  EXPECT_EQ(v.ToString(), "f64[2]{1.5, -2.5}");
}

TEST(Tensor, ViewsThatMakeNoSenseAreNotOk) {
  float x = 0;
  EXPECT_FALSE(Tensor::View(&x, f32, {1, 1}, {1}).ok());
  EXPECT_FALSE(Tensor::View(&x, f32, {-1}).ok());
  EXPECT_FALSE(Tensor::View(&x, f32, {-1}).Clone().ok());
}

TEST(Tensor, PrintsShortestNumbersAndStopsAt64) {
  EXPECT_EQ(Tensor::FromVector<bool>({2}, {true, false}).ToString(), "bool[2]{true, false}");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Tensor::FromVector<float>({4}, {0.1f, -0.0f, inf, 1e20f}).ToString(),
            "f32[4]{0.1, -0, inf, 1e+20}");
  EXPECT_THAT(Tensor(i64, {65}).ToString(), HasSubstr("0, ...}"));
}

}  // namespace
}  // namespace lathe
