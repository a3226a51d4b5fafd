// The element types beside bool, i32, i64, f32 and f64, with the answers written out: where a value
// wraps, saturates or rounds, and that narrow floats are computed in f32.
#include <gtest/gtest.h>

#include <limits>

#include "ir/compare.h"
#include "ir/graph.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

template <typename T>
Tensor Repeated(int64_t n, double value) {
  return Of<T>({n}, std::vector<double>(static_cast<size_t>(n), value));
}

TEST(ElementTypes, IntegersWrapInTheirOwnWidth) {
  CheckCase(
      {"n"}, R"(
x: u8[$n]
y: i16[$n]
output s = sum(x, axes=[0])
output p = x + x*x
output q = neg(y) - 1
output t = sum(y, axes=[0])
)",
      {{{300},
        {Repeated<uint8_t>(300, 17), Repeated<int16_t>(300, -32768)},
        {Of<uint8_t>({}, {300 * 17 % 256}), Repeated<uint8_t>(300, (17 + 289) % 256),
         Repeated<int16_t>(300, 32767), Of<int16_t>({}, {0})},
        ""},
       {{1},
        {Of<uint8_t>({1}, {255}), Of<int16_t>({1}, {1})},
        {Of<uint8_t>({}, {255}), Of<uint8_t>({1}, {0}), Of<int16_t>({1}, {-2}),
         Of<int16_t>({}, {1})},
        ""},
       {{0},
        {Of<uint8_t>({0}, {}), Of<int16_t>({0}, {})},
        {Of<uint8_t>({}, {0}), Of<uint8_t>({0}, {}), Of<int16_t>({0}, {}), Of<int16_t>({}, {0})},
        ""}});
}

TEST(ElementTypes, TypesWithoutASignCompareAndDivideAsSuch) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const auto u64s = [](const std::vector<uint64_t>& v) {
    return Tensor::FromVector<uint64_t>({static_cast<int64_t>(v.size())}, v);
  };
  CheckCase({"n"}, R"(
x: u64[$n]
y: u64[$n]
output a = x < y
output b = div(x, y)
output c = mod(x, y)
output d = maximum(x, y)
output e = cast(x, f64)
)",
            {{{4},
              {u64s({kMost, 1, kMost - 1, 7}), u64s({1, kMost, 10, 0})},
              {Bool({4}, {false, true, false, false}), u64s({kMost, 0, kMost / 10, 0}),
               u64s({0, 1, (kMost - 1) % 10, 0}), u64s({kMost, kMost, kMost - 1, 7}),
               Of<double>({4}, {0x1p64, 1, 0x1p64, 7})},
              ""}});
}

TEST(ElementTypes, FloatsSaturateAndIntegersWrapInCasts) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CheckCase(
      {"n"}, R"(
x: f32[$n]
k: i32[$n]
output a = cast(x, i8)
output b = cast(x, u8)
output c = cast(x, u32)
output d = cast(k, u8)
output e = cast(k, i16)
)",
      {{{6},
        {F32({6}, {300, -300, -0.5, 254.9F, 5e9, nan}), I32({6}, {-1, 256, 40000, 0, 7, 300})},
        {Of<int8_t>({6}, {127, -128, 0, 127, 127, 0}), Of<uint8_t>({6}, {255, 0, 0, 254, 255, 0}),
         Of<uint32_t>({6}, {300, 0, 0, 254, 4294967295.0, 0}),
         Of<uint8_t>({6}, {255, 0, 64, 0, 7, 44}), Of<int16_t>({6}, {-1, 256, -25536, 0, 7, 300})},
        ""}});
}

TEST(ElementTypes, EachOpOfAChainOfNarrowFloatsRounds) {
  // 2048 + 1 is no f16: the first sum rounds to 2048, and so does the second.
  CheckCase({"n"}, R"(
x: f16[$n]
y: bf16[$n]
output a = (x + 1) + 1
output b = (y + 1) - 1
output c = x * x
)",
            {{{3},
              {Of<Half>({3}, {2048, 0.1, 300}), Of<BFloat16>({3}, {256, 0.1, -1})},
              {Of<Half>({3}, {2048, Half(Half(Half(0.1) + 1) + 1), 302}),
               Of<BFloat16>({3}, {255, BFloat16(BFloat16(BFloat16(0.1) + 1) - 1), -1}),
               Of<Half>({3}, {std::numeric_limits<double>::infinity(), Half(0.1) * Half(0.1),
                              std::numeric_limits<double>::infinity()})},
              ""}});
}

TEST(ElementTypes, SumsAndProductsOfNarrowFloatsAreHeldInF32) {
  // In f16 a sum of ones would stay at 2048, in bf16 at 256.
  CheckCase(
      {"n"}, R"(
x: f16[$n]
y: bf16[$n]
w: bf16[$n, 1]
output s = sum(x, axes=[0])
output t = sum(y, axes=[0])
output m = mean(x, axes=[0])
output p = matmul(reshape(y, [1, $n]), w)
)",
      {{{4096},
        {Repeated<Half>(4096, 1), Repeated<BFloat16>(4096, 1),
         Of<BFloat16>({4096, 1}, std::vector<double>(4096, 0.5))},
        {Of<Half>({}, {4096}), Of<BFloat16>({}, {4096}), Of<Half>({}, {1}),
         Of<BFloat16>({1, 1}, {2048})},
        ""},
       {{1},
        {Repeated<Half>(1, 3), Repeated<BFloat16>(1, 3), Of<BFloat16>({1, 1}, {3})},
        {Of<Half>({}, {3}), Of<BFloat16>({}, {3}), Of<Half>({}, {3}), Of<BFloat16>({1, 1}, {9})},
        ""}});
}

// Constant weights of f16 are products' weights like those of f32.
TEST(ElementTypes, AModelOfHalvesIsRight) {
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<ir::Graph> graph = ir::Parse(R"(
dim n
x: f16[n, 16]
w = cast(randn([16, 48], seed=1), f16)
b = cast(randn([48], seed=2), f16)
g = cast(randn([48], seed=3), f16)
h = gelu(matmul(x, w) + b)
output y = softmax(rms_norm(h, g, epsilon=1e-5), axis=1)
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<Function> f = CompileGraph(engine, *graph);
  ASSERT_TRUE(f.ok()) << f.status();
  for (int64_t n : {0, 1, 3, 7, 33}) {
    Tensor x(f16, {n, 16});
    for (int64_t i = 0; i < x.num_elements(); ++i)
      x.data<Half>()[i] = Half(static_cast<double>(i % 17) / 8 - 1);
    const absl::Status s = CheckCall(*f, *graph, {x}, /*exact=*/false, true);
    EXPECT_TRUE(s.ok()) << n << ": " << s;
  }
}

// Gathers, concatenations, pads and slices move narrow floats as they are.
TEST(ElementTypes, ViewsMoveEveryWidth) {
  CheckCase({"n"}, R"(
x: f16[$n, 3]
y: i8[$n, 3]
i: i64[2]
output a = concat(gather(x, i, axis=0), slice(x, starts=[0, 0], limits=[1, 3], steps=[1, 1]), axis=0)
output b = pad(permute(y, axes=[1, 0]), low=[0, 1], high=[0, 0], value=-200)
)",
            {{{2},
              {Of<Half>({2, 3}, {1, 2, 3, 4, 5, 6}), Of<int8_t>({2, 3}, {1, 2, 3, 4, 5, 6}),
               I64({2}, {1, -2})},
              {Of<Half>({3, 3}, {4, 5, 6, 1, 2, 3, 1, 2, 3}),
               Of<int8_t>({3, 3}, {-128, 1, 4, -128, 2, 5, -128, 3, 6})},
              ""}});
}

TEST(ElementTypes, EveryHalfConvertsBothWays) {
  Engine engine({.threads = 1, .background_compiles = false});
  for (DType t : {f16, bf16}) {
    const std::string name = Name(t);
    const Function f = CompileText(engine, "dim n\nx: " + name + "[n]\ny = cast(x, f32)\n" +
                                               "output y\noutput z = cast(y * 1, " + name + ")\n");
    Tensor x(t, {65536});
    for (int i = 0; i < 65536; ++i) x.data<uint16_t>()[i] = static_cast<uint16_t>(i);
    absl::StatusOr<std::vector<Tensor>> found = f.call({x});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(ir::SameBits((*found)[1], x).ok()) << ir::SameBits((*found)[1], x);
    for (int i = 0; i < 65536; ++i) {
      const float wanted = t == f16 ? float{Half::FromBits(static_cast<uint16_t>(i))}
                                    : float{BFloat16::FromBits(static_cast<uint16_t>(i))};
      const float y = (*found)[0].data<float>()[i];
      ASSERT_TRUE(y == wanted || (y != y && wanted != wanted)) << i;
    }
  }
}

}  // namespace
}  // namespace lathe::whole
