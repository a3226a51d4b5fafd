// Window rules against enumerations of window positions, forwards and backwards.
#include "ir/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace lathe::ir {
namespace {

using dim::DimConstraint;
using ::testing::HasSubstr;

class WindowsTest : public testing::Test {
 protected:
  dim::DimContext context;
  Dim n = context.Symbol("n"), k = context.Symbol("k"), lo = context.Symbol("lo"),
      hi = context.Symbol("hi");
  std::mt19937_64 random{11};

  int64_t Int(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  }
  static int64_t At(Dim d, const std::vector<int64_t>& values) {
    const absl::StatusOr<int64_t> v = dim::Evaluate(d, values);
    EXPECT_TRUE(v.ok()) << d.ToString() << ": " << v.status();
    return v.value_or(-1000);
  }
  static bool Holds(const Claim& c, const std::vector<int64_t>& values) {
    const absl::StatusOr<bool> h = dim::Evaluate(c, values);
    EXPECT_TRUE(h.ok()) << c.ToString() << ": " << h.status();
    return h.ok() && *h;
  }
  static bool Admitted(const AxisRule& rule, const std::vector<int64_t>& values) {
    for (const Need& need : rule.needs) {
      if (!Holds(need.claim, values)) return false;
    }
    return true;
  }
  static std::string Text(const absl::StatusOr<AxisRule>& r) {
    return r.ok() ? r->extent.ToString() : std::string(r.status().message());
  }
};

// A padded axis of `total` elements, of which the first `real` are input or low padding.
int64_t CountWindows(int64_t total, int64_t real, int64_t reach, int64_t stride, bool ceil) {
  int64_t count = 0;
  for (int64_t start = 0;; start += stride) {
    const bool inside = start + reach <= total;
    // In ceil mode one more window where elements remain that no whole one has reached.
    const bool reaches_rest = count == 0 || start - stride + reach < total;
    if (!inside && !(ceil && reaches_rest)) return count;
    if (ceil && start >= real) return count;
    ++count;
  }
}

TEST_F(WindowsTest, ConvAgreesWithAnEnumerationOfPositions) {
  for (int round = 0; round < 3000; ++round) {
    Window w{
        .kernel = k, .stride = Int(1, 4), .dilation = Int(1, 3), .pad_low = lo, .pad_high = hi};
    w.ceil_mode = Int(0, 1) == 1;
    if (Int(0, 3) == 0) w.auto_pad = AutoPad::kValid;
    const std::vector<int64_t> v = {Int(0, 20), Int(1, 5), Int(0, 4), Int(0, 4)};
    const absl::StatusOr<AxisRule> rule = ConvExtent(n, w);
    ASSERT_TRUE(rule.ok()) << rule.status();
    const int64_t low = At(rule->pad_low, v), high = At(rule->pad_high, v);
    const int64_t reach = (v[1] - 1) * w.dilation + 1, total = v[0] + low + high;
    const int64_t extent = At(rule->extent, v);
    if (reach <= total) {
      ASSERT_EQ(extent, CountWindows(total, v[0] + low, reach, w.stride, w.ceil_mode));
      ASSERT_TRUE(Admitted(*rule, v));
    }
    ASSERT_EQ(Admitted(*rule, v), extent >= 0) << rule->extent.ToString();
    if (reach > total && !w.ceil_mode) {
      ASSERT_LE(extent, 0);
    }
  }
}

// An extent of exactly 0 is empty; one below 0 is an error that names the dim, never clamped away;
// nothing can be resized to something only if there is something.
TEST_F(WindowsTest, Z9_ExtentsOfZeroAndBelow) {
  const absl::StatusOr<AxisRule> r = ConvExtent(n, {.kernel = 5, .stride = 2});
  ASSERT_TRUE(r.ok()) << r.status();
  ASSERT_EQ(r->needs.size(), 1u);
  EXPECT_THAT(r->needs[0].claim.ToString(), HasSubstr("n"));
  for (int64_t size : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const std::vector<int64_t> values{size, 1, 0, 0};
    const int64_t positions = CountWindows(size, size, 5, 2, false);
    // (size - 5) // 2 + 1: -1 and -2 for sizes 1 and below, 0 for 3 and 4.
    const int64_t formula = (size - 5 >= 0 ? (size - 5) / 2 : -((5 - size + 1) / 2)) + 1;
    EXPECT_EQ(Admitted(*r, values), formula >= 0) << size;
    if (formula >= 0) {
      EXPECT_EQ(At(r->extent, values), positions) << size;
    }
  }
  const AxisRule resized = ResizeTo(n, 4);
  EXPECT_FALSE(Admitted(resized, {0, 1, 0, 0}));
  EXPECT_TRUE(Admitted(resized, {1, 1, 0, 0}));
}

TEST_F(WindowsTest, SamePaddingKeepsTheExtentAndCoversTheInput) {
  for (int round = 0; round < 2000; ++round) {
    Window w{.kernel = k, .stride = Int(1, 4), .dilation = Int(1, 3)};
    w.auto_pad = Int(0, 1) == 0 ? AutoPad::kSameUpper : AutoPad::kSameLower;
    const std::vector<int64_t> v = {Int(0, 20), Int(1, 5), 0, 0};
    const AxisRule rule = *ConvExtent(n, w);
    const int64_t low = At(rule.pad_low, v), high = At(rule.pad_high, v);
    const int64_t reach = (v[1] - 1) * w.dilation + 1, extent = At(rule.extent, v);
    ASSERT_EQ(extent, (v[0] + w.stride - 1) / w.stride);
    ASSERT_TRUE(Admitted(rule, v));
    ASSERT_GE(low, 0);
    ASSERT_GE(high, 0);
    ASSERT_EQ(w.auto_pad == AutoPad::kSameUpper ? high - low : low - high, (low + high) % 2);
    if (v[0] == 0) continue;
    ASSERT_EQ(CountWindows(v[0] + low + high, v[0] + low, reach, w.stride, false), extent);
    // No more padding than that takes: one element less, and a window is gone.
    if (low + high > 0) {
      ASSERT_LT(CountWindows(v[0] + low + high - 1, v[0] + low, reach, w.stride, false), extent);
    }
  }
}

TEST_F(WindowsTest, TransposedConvCoversWhatItsWindowsReach) {
  for (int round = 0; round < 2000; ++round) {
    Window w{
        .kernel = k, .stride = Int(1, 4), .dilation = Int(1, 3), .pad_low = lo, .pad_high = hi};
    w.output_padding = Int(0, std::max(w.stride, w.dilation) - 1);
    const std::vector<int64_t> v = {Int(1, 12), Int(1, 5), Int(0, 3), Int(0, 3)};
    const AxisRule rule = *ConvTransposeExtent(n, w);
    int64_t end = 0;
    for (int64_t i = 0; i < v[0]; ++i) {
      for (int64_t tap = 0; tap < v[1]; ++tap)
        end = std::max(end, i * w.stride + tap * w.dilation + 1);
    }
    ASSERT_EQ(At(rule.extent, v), end + w.output_padding - v[2] - v[3]);
    ASSERT_EQ(Admitted(rule, v), At(rule.extent, v) >= 0);
    // A convolution with the same window leads back to the input's extent.
    if (At(rule.extent, v) > 0 && w.dilation <= w.stride) {
      const Dim out = At(rule.extent, v);
      const AxisRule back = *ConvExtent(out, {.kernel = v[1],
                                              .stride = w.stride,
                                              .dilation = w.dilation,
                                              .pad_low = v[2],
                                              .pad_high = v[3]});
      ASSERT_EQ(back.extent, Dim(v[0]));
    }
    w.auto_pad = AutoPad::kSameUpper;
    const AxisRule same = *ConvTransposeExtent(n, w);
    ASSERT_EQ(At(same.extent, v), v[0] * w.stride);
    const int64_t whole = end + w.output_padding;
    ASSERT_EQ(At(same.pad_low + same.pad_high, v), std::max<int64_t>(0, whole - v[0] * w.stride));
  }
}

DimConstraint RandomNumbers(std::mt19937_64* random) {
  const auto pick = [&](uint64_t m) { return static_cast<int64_t>((*random)() % m); };
  DimConstraint c;
  if (pick(2) == 0) c.min = pick(6);
  if (pick(2) == 0) c.max = pick(9);
  if (pick(2) == 0) {
    c.divisible_by = 1 + pick(4);
    c.remainder = pick(static_cast<uint64_t>(*c.divisible_by));
  }
  return c;
}

// The claims about the input hold exactly where the output's extent is as demanded.
TEST_F(WindowsTest, InputClaimsAreExact) {
  for (int round = 0; round < 1500; ++round) {
    Window w{.kernel = Int(1, 5),
             .stride = Int(1, 4),
             .dilation = Int(1, 2),
             .pad_low = Int(0, 3),
             .pad_high = Int(0, 3)};
    const int mode = static_cast<int>(Int(0, 5));
    if (mode == 0) w.ceil_mode = true;
    if (mode == 1) w.auto_pad = AutoPad::kSameUpper;
    if (mode == 2) w.auto_pad = AutoPad::kValid;
    const DimConstraint wanted = RandomNumbers(&random);
    for (const bool transposed : {false, true}) {
      if (transposed && w.ceil_mode) continue;
      const AxisRule rule = transposed ? *ConvTransposeExtent(n, w) : *ConvExtent(n, w);
      const absl::StatusOr<std::vector<Claim>> claims =
          transposed ? InputClaimsTransposed(n, w, wanted) : InputClaims(n, w, wanted);
      ASSERT_TRUE(claims.ok()) << claims.status();
      for (int64_t size = 0; size <= 24; ++size) {
        bool holds = true;
        for (const Claim& c : *claims) holds = holds && Holds(c, {size, 0, 0, 0});
        ASSERT_EQ(holds, wanted.Admits(At(rule.extent, {size, 0, 0, 0})))
            << wanted.ToString() << " of " << rule.extent.ToString() << " at " << size;
      }
    }
  }
}

// FactSet draws the same ends from a fact about the output's expression, without these rules.
TEST_F(WindowsTest, FactsAboutTheOutputReachTheInput) {
  for (int round = 0; round < 300; ++round) {
    const Window w{.kernel = Int(1, 5),
                   .stride = Int(1, 4),
                   .dilation = Int(1, 2),
                   .pad_low = Int(0, 3),
                   .pad_high = Int(0, 3)};
    const DimConstraint wanted{.min = Int(1, 5), .max = Int(5, 9)};
    dim::FactSet facts(&context);
    const AxisRule rule = *ConvExtent(n, w);
    for (const Claim& c : wanted.Claims(rule.extent))
      ASSERT_TRUE(facts.Add(c, dim::Standing::kDeclared, {}).ok());
    dim::Interval exact{INT64_MAX, INT64_MIN};
    for (int64_t size = 0; size <= 100; ++size) {
      if (!wanted.Admits(At(rule.extent, {size, 0, 0, 0}))) continue;
      exact = {std::min(exact.min, size), std::max(exact.max, size)};
    }
    EXPECT_EQ(facts.Range(n).min, exact.min) << rule.extent.ToString();
    EXPECT_EQ(facts.Range(n).max, exact.max) << rule.extent.ToString();
    const std::vector<Claim> claims = *InputClaims(n, w, wanted);
    for (const Claim& c : claims) EXPECT_TRUE(facts.Proves(c)) << c.ToString();
  }
  // Congruences: a stride of 1, and transposed ones by their stride.
  dim::FactSet facts(&context);
  const Window same{.kernel = 3, .pad_low = 1, .pad_high = 1};
  const std::vector<Claim> conv = *InputClaims(n, same, {.divisible_by = 8, .remainder = 5});
  for (const Claim& c : conv) ASSERT_TRUE(facts.Add(c, dim::Standing::kDeclared, {}).ok());
  EXPECT_EQ(facts.CongruenceOf(n).modulus, 8);
  EXPECT_EQ(facts.CongruenceOf(n).remainder, 5);
  const std::vector<Claim> transposed =
      *InputClaimsTransposed(k, {.kernel = 2, .stride = 2}, {.divisible_by = 6});
  for (const Claim& c : transposed) ASSERT_TRUE(facts.Add(c, dim::Standing::kDeclared, {}).ok());
  EXPECT_EQ(facts.CongruenceOf(k).modulus, 3);
}

TEST_F(WindowsTest, TextsAreThoseThatPeopleWrite) {
  EXPECT_EQ(Text(ConvExtent(n, {.kernel = 3, .stride = 2, .pad_low = 1, .pad_high = 1})),
            "ceildiv(n, 2)");
  EXPECT_EQ(Text(ConvExtent(n, {.kernel = 3, .pad_low = 1, .pad_high = 1})), "n");
  EXPECT_EQ(Text(ConvTransposeExtent(n, {.kernel = 2, .stride = 2})), "2*n");
  dim::FactSet facts(&context);
  ASSERT_TRUE(facts.AddSpec(&n, "4..1024, % 8 == 0", {}).ok());
  const Window same{.kernel = 3, .stride = 2, .auto_pad = AutoPad::kSameUpper};
  EXPECT_EQ(Text(ConvExtent(n, same, &facts)), "n // 2");
  EXPECT_EQ(ConvExtent(n, same, &facts)->pad_high, Dim(1));
  EXPECT_EQ(ConvExtent(n, same, &facts)->pad_low, Dim(0));
}

TEST_F(WindowsTest, WrongNumbersAreNamed) {
  EXPECT_EQ(Text(ConvExtent(n, {.stride = 0})), "the stride is 0, wanted 1 or more");
  EXPECT_EQ(Text(ConvExtent(n, {.dilation = -1})), "the dilation is -1, wanted 1 or more");
  EXPECT_EQ(Text(ConvExtent(n, {.kernel = 0})), "the kernel is 0, wanted 1 or more");
  EXPECT_EQ(Text(ConvExtent(n, {.pad_low = -2})), "the padding is -2, wanted 0 or more");
  EXPECT_EQ(Text(ConvTransposeExtent(n, {.stride = 2, .output_padding = 2})),
            "the output padding is 2, wanted 0..1, below the stride or the dilation");
  EXPECT_THAT(Text(ConvTransposeExtent(n, {.ceil_mode = true})), HasSubstr("no ceil mode"));
  EXPECT_THAT(Text(ConvExtent(n, {.kernel = INT64_MAX, .dilation = 3})), HasSubstr("overflow"));
  EXPECT_EQ(Text(ResizeByScale(n, 1, 0)), "the scale's denominator is 0, wanted 1 or more");
  EXPECT_EQ(Text(SplitEven(n, 0)), "the number of parts is 0, wanted 1 or more");
  EXPECT_EQ(Text(SliceExtent(n, 0, 1, 0)), "the step is 0, wanted any other number");
  // A window that fits nowhere is a need that no size satisfies, for the caller to report.
  const AxisRule rule = *ConvExtent(2, {.kernel = 9});
  ASSERT_EQ(rule.needs.size(), 1u);
  EXPECT_FALSE(Holds(rule.needs[0].claim, {}));
}

TEST_F(WindowsTest, ResizeSplitTileAndPad) {
  const Dim m = k;
  for (int64_t size = 0; size <= 17; ++size) {
    for (int64_t other = -3; other <= 6; ++other) {
      const std::vector<int64_t> v = {size, other, 0, 0};
      EXPECT_EQ(Admitted(ResizeTo(n, m), v), other >= 0 && (size > 0 || other == 0));
      EXPECT_EQ(Admitted(TileExtent(n, m), v), other >= 0);
      EXPECT_EQ(At(TileExtent(n, m).extent, v), size * other);
      EXPECT_EQ(Admitted(SplitSizes(n, {m, 3}), v), other >= 0 && other + 3 == size);
    }
    for (int64_t parts = 1; parts <= 6; ++parts) {
      const std::vector<int64_t> v = {size, 0, 0, 0};
      EXPECT_EQ(At(ResizeByScale(n, parts, 3)->extent, v), size * parts / 3);
      EXPECT_EQ(Admitted(*SplitEven(n, parts), v), size % parts == 0);
      if (size % parts == 0) {
        EXPECT_EQ(At(SplitEven(n, parts)->extent, v) * parts, size);
      }
      int64_t left = size;
      const int64_t chunk = (size + parts - 1) / parts;
      const std::vector<Dim> pieces = *SplitUneven(n, parts);
      for (Dim piece : pieces) {
        EXPECT_EQ(At(piece, v), std::min(chunk, left));
        left -= At(piece, v);
      }
      EXPECT_EQ(left, 0);
    }
  }
}

TEST_F(WindowsTest, PadMatchesWhatItsModesCanFill) {
  for (const PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect}) {
    const AxisRule rule = PadExtent(n, lo, hi, mode);
    for (int64_t size = 0; size <= 5; ++size) {
      for (int64_t low = -4; low <= 5; ++low) {
        for (int64_t high = -4; high <= 5; ++high) {
          const std::vector<int64_t> v = {size, 0, low, high};
          // What is left after taking away, and whether the rest can be filled from it.
          const int64_t from = std::max<int64_t>(0, -low);
          const int64_t to = size - std::max<int64_t>(0, -high);
          const auto fills = [&](int64_t amount, int64_t available) {
            if (amount <= 0 || mode == PadMode::kConstant) return true;
            return mode == PadMode::kEdge ? available >= 1 : amount <= available - 1;
          };
          const bool right = from <= to && fills(low, to) && fills(high, size - from);
          EXPECT_EQ(Admitted(rule, v), right) << size << " " << low << " " << high;
          if (right) {
            EXPECT_EQ(At(rule.extent, v), size + low + high);
          }
        }
      }
    }
  }
}

TEST_F(WindowsTest, SliceCountsAsNumpyDoes) {
  const Dim start = lo, limit = hi;
  for (int64_t step : {-3, -2, -1, 1, 2, 3}) {
    const AxisRule rule = *SliceExtent(n, start, limit, step);
    EXPECT_TRUE(rule.needs.empty());
    for (int64_t size = 0; size <= 6; ++size) {
      for (int64_t from = -8; from <= 8; ++from) {
        for (int64_t to = -8; to <= 8; ++to) {
          int64_t count = 0;
          int64_t first = from < 0 ? from + size : from, last = to < 0 ? to + size : to;
          first = std::clamp<int64_t>(first, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
          last = std::clamp<int64_t>(last, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
          for (int64_t i = first; step > 0 ? i < last : i > last; i += step) ++count;
          EXPECT_EQ(At(rule.extent, {size, 0, from, to}), count);
          EXPECT_EQ(At(SliceExtent(n, from, to, step)->extent, {size, 0, 0, 0}), count);
        }
      }
    }
  }
  EXPECT_EQ(Text(SliceExtent(n, 0, INT64_MAX, 1)), "n");
  EXPECT_EQ(At(SliceExtent(n, -3, INT64_MAX, 1)->extent, {2, 0, 0, 0}), 2);
  EXPECT_EQ(At(SliceExtent(n, -1, INT64_MIN, -1)->extent, {5, 0, 0, 0}), 5);
}

}  // namespace
}  // namespace lathe::ir
