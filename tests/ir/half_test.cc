#include "lathe/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ir/reference/common.h"
#include "lathe/tensor.h"

namespace lathe {
namespace {

// A format's numbers by the definition of its bits.
template <typename T>
struct Format;
template <>
struct Format<Half> {
  static constexpr int kMantissa = 10, kBias = 15;
};
template <>
struct Format<BFloat16> {
  static constexpr int kMantissa = 7, kBias = 127;
};

template <typename T>
double ValueOf(uint16_t bits) {
  constexpr int kMantissa = Format<T>::kMantissa, kBias = Format<T>::kBias;
  const int exponent = (bits & 0x7fff) >> kMantissa, fraction = bits & ((1 << kMantissa) - 1);
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == 2 * kBias + 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const double digits = exponent == 0 ? fraction : fraction + (1 << kMantissa);
  return sign * std::ldexp(digits, std::max(exponent, 1) - kBias - kMantissa);
}

// The nearest number of the format, ties to the even one: by search among all of them. What lies
// half a unit or more above the largest is infinite.
template <typename T>
uint16_t Nearest(long double v) {
  static const std::vector<double>& numbers = *[] {
    auto* all = new std::vector<double>;
    for (uint32_t bits = 0; std::isfinite(ValueOf<T>(static_cast<uint16_t>(bits))); ++bits)
      all->push_back(ValueOf<T>(static_cast<uint16_t>(bits)));
    all->push_back(2 * all->back() - (*all)[all->size() - 2]);  // stands for infinity
    return all;
  }();
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  v = std::fabs(v);
  const auto above = std::lower_bound(numbers.begin(), numbers.end(), v,
                                      [](double number, long double x) { return number < x; });
  size_t i = static_cast<size_t>(above - numbers.begin());
  if (i == numbers.size()) return static_cast<uint16_t>(sign | (i - 1));
  if (i > 0) {
    const long double down = v - numbers[i - 1], up = numbers[i] - v;
    if (down < up || (down == up && i % 2 == 1)) --i;
  }
  return static_cast<uint16_t>(sign | i);
}

template <typename T>
class NarrowFloat : public testing::Test {};
using NarrowFloats = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(NarrowFloat, NarrowFloats);

TYPED_TEST(NarrowFloat, EveryValueIsThatOfItsBitsAndComesBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const uint16_t bits = static_cast<uint16_t>(i);
    const float found = TypeParam::FromBits(bits);
    const double wanted = ValueOf<TypeParam>(bits);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(found)))) << bits;
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint64_t>(static_cast<double>(found)), std::bit_cast<uint64_t>(wanted));
    ASSERT_EQ(TypeParam(found).bits, bits);
    ASSERT_EQ(TypeParam(wanted).bits, bits);
  }
}

TYPED_TEST(NarrowFloat, RoundsToTheNearestWithTiesToEven) {
  std::mt19937_64 random(3);
  for (uint32_t i = 0; i < 0x7fff; ++i) {
    const uint16_t bits = static_cast<uint16_t>(i);
    const double low = ValueOf<TypeParam>(bits);
    double high = ValueOf<TypeParam>(static_cast<uint16_t>(bits + 1));
    if (std::isnan(high)) break;
    if (std::isinf(high)) high = 2 * low - ValueOf<TypeParam>(static_cast<uint16_t>(bits - 1));
    const double middle = low + (high - low) / 2;
    const double inside = low + (high - low) * std::ldexp(static_cast<double>(random() >> 12), -52);
    for (double v :
         {low, middle, std::nextafter(middle, low), std::nextafter(middle, high), inside}) {
      for (double x : {v, -v}) {
        ASSERT_EQ(TypeParam(x).bits, Nearest<TypeParam>(x)) << x;
        const float f = static_cast<float>(x);
        ASSERT_EQ(TypeParam(f).bits, Nearest<TypeParam>(f)) << f;
      }
    }
  }
  for (double v : {1e300, 1e-300, std::numeric_limits<double>::denorm_min(), 0.0}) {
    EXPECT_EQ(TypeParam(v).bits, Nearest<TypeParam>(v));
    EXPECT_EQ(TypeParam(-v).bits, Nearest<TypeParam>(-v));
  }
}

TYPED_TEST(NarrowFloat, IntegersRoundOnce) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20000; ++i) {
    // Around halves between two numbers, where rounding twice would err.
    const uint64_t top = (0x100 + random() % 0x100) << (random() % 56);
    const uint64_t word = random() % 2 == 0 ? random() >> (random() % 64) : top + random() % 5 - 2;
    const int64_t number = static_cast<int64_t>(word);
    ASSERT_EQ(TypeParam(word).bits, Nearest<TypeParam>(static_cast<long double>(word))) << word;
    ASSERT_EQ(TypeParam(number).bits, Nearest<TypeParam>(static_cast<long double>(number)));
    const int32_t small = static_cast<int32_t>(word);
    ASSERT_EQ(TypeParam(small).bits, Nearest<TypeParam>(small));
  }
}

TEST(Half, IsAnElementOfTensors) {
  const Tensor t = Tensor::FromVector<Half>({3}, {Half(1.5), Half(-0.1), Half(1e9)});
  EXPECT_EQ(t.dtype(), f16);
  EXPECT_EQ(t.num_bytes(), 6);
  EXPECT_EQ(t.ToString(), "f16[3]{1.5, -0.099975586, inf}");
  EXPECT_EQ(Tensor::Scalar(BFloat16(3.14159)).ToString(), "bf16[]{3.140625}");
  EXPECT_EQ(Tensor::FromVector<uint8_t>({2}, {0, 255}).ToString(), "u8[2]{0, 255}");
  EXPECT_EQ(Tensor::FromVector<int8_t>({2}, {-128, 127}).ToString(), "i8[2]{-128, 127}");
}

TEST(Conversions, SaturateWrapAndRoundOnce) {
  using ir::reference::Convert;
  EXPECT_EQ(Convert<int8_t>(200.0f), 127);
  EXPECT_EQ(Convert<int8_t>(-1e30f), -128);
  EXPECT_EQ(Convert<uint8_t>(-0.5f), 0);
  EXPECT_EQ(Convert<uint8_t>(-3.0), 0);
  EXPECT_EQ(Convert<uint8_t>(255.9), 255);
  EXPECT_EQ(Convert<uint16_t>(65536.0f), 65535);
  EXPECT_EQ(Convert<uint32_t>(4294967296.0f), 4294967295u);
  EXPECT_EQ(Convert<uint64_t>(1e30), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Convert<uint64_t>(std::numeric_limits<float>::quiet_NaN()), 0u);
  EXPECT_EQ(Convert<uint64_t>(0x1.8p63), 0xc000000000000000u);
  EXPECT_EQ(Convert<int8_t>(int64_t{300}), 44);
  EXPECT_EQ(Convert<uint8_t>(int8_t{-1}), 255);
  EXPECT_EQ(Convert<uint64_t>(int8_t{-1}), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Convert<float>(std::numeric_limits<uint64_t>::max()), 0x1p64f);
  EXPECT_EQ(Convert<int16_t>(Half(-1e9)), -32768);
  EXPECT_EQ(Convert<ir::reference::Bool>(Half(-0.0)).byte, 0);
  EXPECT_EQ(Convert<ir::reference::Bool>(Half::FromBits(0x7e00)).byte, 1);
}

}  // namespace
}  // namespace lathe
