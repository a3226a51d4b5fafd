#include "ir/philox.h"

#include <cmath>

#include "gtest/gtest.h"

namespace lathe::ir {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, KnownAnswersOfThePaper) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformIsInRangeAndEven) {
  double sum = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    const float u = PhiloxUniform(7, i);
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    ASSERT_EQ(std::floor(PhiloxUniformF64(7, i) * 0x1p24) * 0x1p-24, u);
    sum += u;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

TEST(Philox, NormalIsBoxMullerOfLibm) {
  for (uint64_t i = 0; i < 100000; ++i) {
    const Words w = Philox4x32({static_cast<uint32_t>(i), 0, 0, 0}, {11, 0});
    const double u = (w[0] + 1.0) * 0x1p-32, v = w[1] * 0x1p-32;
    const double wanted = std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
    ASSERT_NEAR(PhiloxNormalF64(11, i), wanted, 1e-13) << i;
    ASSERT_EQ(PhiloxNormal(11, i), static_cast<float>(PhiloxNormalF64(11, i)));
  }
}

TEST(Philox, NormalHasMeanZeroAndVarianceOne) {
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    const double x = PhiloxNormal(3, i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.015);
  EXPECT_NEAR(squares / 100000, 1, 0.02);
}

TEST(Philox, IntegerStaysInRange) {
  bool low = false, high = false;
  for (uint64_t i = 0; i < 1000; ++i) {
    const int64_t v = PhiloxInteger(1, i, -3, 4);
    ASSERT_GE(v, -3);
    ASSERT_LE(v, 4);
    low |= v == -3;
    high |= v == 4;
  }
  EXPECT_TRUE(low && high);
  EXPECT_EQ(PhiloxInteger(1, 0, 5, 5), 5);
  PhiloxInteger(1, 0, INT64_MIN, INT64_MAX);
}

TEST(Philox, SeedAndIndexUseAll64Bits) {
  EXPECT_NE(PhiloxUniform(1, 0), PhiloxUniform(1 + (uint64_t{1} << 32), 0));
  EXPECT_NE(PhiloxUniform(1, 0), PhiloxUniform(1, uint64_t{1} << 32));
}

}  // namespace
}  // namespace lathe::ir
