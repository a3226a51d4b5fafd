// Products of bytes: the forms that become cast(u8) @ cast(constant i8), what stays, and that the
// compiled code has the interpreter's bits at odd sizes.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compiler/passes_util.h"

namespace lathe::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTwo = "dim m\nx: u8[m, 2]\ns: i8[m, 2]\n";

TEST(NarrowProductsTest, WhatStandsInTheWayMovesBehindTheProduct) {
  const std::string head = "dim m\nx: u8[m, 2]\ns: i8[m, 2]\nzx: u8[]\nzr: u8[m, 1]\n";
  for (const char* product : {
           // Constants of 32 bits, of unsigned bytes, and less a zero point for all or a column.
           "x32 @ constant(i32[2, 2]{1, 2, 3, -4})",
           "x32 @ cast(constant(u8[2, 2]{1, 2, 3, 4}), dtype=i32)",
           "x32 @ (cast(constant(u8[2, 2]{11, 12, 13, 14}), dtype=i32) - 10)",
           "x32 @ (cast(constant(u8[2, 2]{11, 22, 13, 24}), dtype=i32) - constant(i32[2]{10, 20}))",
           // The left zero point: a number, or one a row.
           "(x32 - 7) @ cast(constant(i8[2, 2]{1, 2, 3, 4}), dtype=i32)",
           "(x32 - cast(zx, dtype=i32)) @ cast(constant(i8[2, 2]{1, 2, 3, 4}), dtype=i32)",
           "(x32 - cast(zr, dtype=i32)) @ cast(constant(i8[2, 2]{1, 2, 3, 4}), dtype=i32)",
           // Signed bytes on the left.
           "cast(s, dtype=i32) @ cast(constant(i8[2, 2]{1, 2, 3, 4}), dtype=i32)",
           "(cast(s, dtype=i32) - cast(zr, dtype=i32)) @ constant(i32[2, 2]{-128, 127, 5, 0})",
           // Views between the cast and the product.
           "permute(reshape(x32 - cast(zx, dtype=i32), [2, m]), axes=[1, 0]) @ "
           "constant(i32[2, 2]{1, 2, 3, 4})",
           "permute(reshape(cast(s, dtype=i32), [2, m]), axes=[1, 0]) @ "
           "constant(i32[2, 2]{1, 2, 3, 4})",
           // Right-hand sides out of i8's range, but not wider than 256.
           "x32 @ constant(i32[2, 2]{0, 255, 100, 200})",
           "(x32 - cast(zx, dtype=i32)) @ constant(i32[2, 2]{1000, 1255, 1100, 1200})",
       }) {
    const std::string text =
        absl::StrCat(head, "x32 = cast(x, dtype=i32)\noutput y = ", product, "\n");
    ir::Graph after = Rewritten(text, NarrowProducts);
    EXPECT_THAT(Text(after.Clone()), HasSubstr("constant(i8[2, 2]{")) << product;
    for (int64_t m : {0, 1, 3}) EXPECT_EQ(Difference(Parsed(text), after, {m}), 0) << product;
    PassContext again;
    EXPECT_TRUE(NarrowProducts(after, again).ok());
    EXPECT_FALSE(again.changed) << product;
  }
}

TEST(NarrowProductsTest, TheFormThatTheExporterWrites) {
  const std::string text = absl::StrCat(kTwo, R"(
z: u8[]
scale: f32[]
w = cast(constant(i8[2, 3]{1, -2, 3, -128, 127, 6}), dtype=i32) - cast(constant(i8[]{0}), dtype=i32)
p = (cast(x, dtype=i32) - cast(z, dtype=i32)) @ w
output y = cast(p, dtype=f32) * scale
)");
  EXPECT_THAT(Plan(text), HasSubstr("gemm (matmul sub cast mul) -> "));
  EXPECT_EQ(Text(Rewritten(text, NarrowProducts)), R"(dim m
x: u8[m, 2]
s: i8[m, 2]
z: u8[]
scale: f32[]
%4 = constant(i8[2, 3]{1, -2, 3, -128, 127, 6})
%5: i32[m, 2] = cast(x, dtype=i32)
%6: i32[] = cast(z, dtype=i32)
%7: i32[2, 3] = cast(%4, dtype=i32)
%8 = constant(i32[3]{-127, 125, 9})
%9: i32[m, 3] = broadcast(%8, shape=[m, 3], axes=[1])
%10: i32[m, 3] = broadcast(%6, shape=[m, 3], axes=[])
%11: i32[m, 3] = mul(%10, %9)
%12: i32[m, 3] = matmul(%5, %7)
%13: i32[m, 3] = sub(%12, %11)
%14: f32[m, 3] = cast(%13, dtype=f32)
%15: f32[m, 3] = broadcast(scale, shape=[m, 3], axes=[])
%16: f32[m, 3] = mul(%14, %15)
output y = %16
)");
}

TEST(NarrowProductsTest, WhatIsNotOfBytesStays) {
  for (const char* lines : {
           "output y = cast(x, dtype=i64) @ constant(i64[2, 2]{1, 2, 3, 4})\n",
           "output y = cast(x, dtype=i32) @ constant(i32[2, 2]{1, 2, 3, 300})\n",  // too wide
           "w: i8[2, 2]\noutput y = cast(x, dtype=i32) @ cast(w, dtype=i32)\n",    // not constant
           "i: i32[m, 2]\noutput y = i @ constant(i32[2, 2]{1, 2, 3, 4})\n",
           // A zero point for each element of a row, and a right one for each row.
           "z: i32[2]\noutput y = (cast(x, dtype=i32) - z) @ constant(i32[2, 2]{1, 2, 3, 4})\n",
           "output y = cast(x, dtype=i32) @ (cast(constant(u8[2, 2]{1, 2, 3, 4}), dtype=i32)"
           " - constant(i32[2, 1]{1000000, 7}))\n",
       }) {
    ExpectStays(absl::StrCat(kTwo, lines), NarrowProducts);
  }
}

// K and N around the width of words, registers and panels; rows around tiles and strips. `$K` and
// `$N` stand for the sizes, `$W` for the elements.
std::string Sized(const std::string& text, int64_t k, int64_t n, int least) {
  std::string elements;
  for (int64_t i = 0; i < k * n; ++i)
    absl::StrAppend(&elements, i > 0 ? ", " : "", (i * i * 31 + i * 7) % 256 + least);
  std::string out = text;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"$K", absl::StrCat(k)},
                                 {"$N", absl::StrCat(n)},
                                 {"$W", elements}}) {
    for (size_t at = 0; (at = out.find(from, at)) != std::string::npos; at += to.size())
      out.replace(at, from.size(), to);
  }
  return out;
}

TEST(ByteProductTest, HasTheInterpretersBitsAtOddSizes) {
  const char* const kTexts[] = {
      // The product alone; one that shares its left side; with an epilogue of three types.
      "dim m\nraw: u8[m, $K]\nx = raw * 97 + 201\nw = constant(i8[$K, $N]{$W})\n"
      "output y = cast(x, dtype=i32) @ cast(w, dtype=i32)\n",
      "dim m\nraw: u8[m, $K]\nx = raw * 97 + 201\nz: u8[]\nscale: f32[]\nb: f32[$N]\nw = "
      "constant(i8[$K, $N]{$W})\n"
      "c = cast(x, dtype=i32) - cast(z, dtype=i32)\n"
      "output y = cast(c @ cast(w, dtype=i32), dtype=f32) * scale + b\n"
      "output t = c @ (cast(w, dtype=i32) * 2 - 1)\n"
      "output r = cast(c @ cast(w, dtype=i32), dtype=u8)\n",
      "dim m\nraw: i8[m, 2, $K]\nx = raw * 97 + 101\nz: i8[m, 1, 1]\nw = constant(i8[$K, $N]{$W})\n"
      "p = (cast(x, dtype=i32) - cast(z, dtype=i32)) @ cast(w, dtype=i32)\n"
      "output y = cast(p, dtype=f32) * 0.5\n",
  };
  for (const char* text : kTexts) {
    for (const auto& [k, n] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {3, 2}, {4, 33}, {5, 31}, {7, 64}, {16, 65}, {18, 130}, {131, 32}}) {
      const std::string sized = Sized(text, k, n, -128);
      EXPECT_EQ(CompiledDifference(sized, {{1}, {0}, {2}, {3}, {4}, {7}, {13}, {50}, {1}}), 0)
          << sized.substr(0, 200);
    }
  }
}

TEST(ByteProductTest, UnsignedMatricesWithAnyZeroPoint) {
  for (int zero : {0, 1, 100, 128, 255}) {
    const std::string text =
        Sized(absl::StrCat("dim m\nx: u8[m, $K]\nw = constant(u8[$K, $N]{$W})\n"
                           "output y = cast(x, dtype=i32) @ (cast(w, dtype=i32) - ",
                           zero, ")\n"),
              9, 40, 0);
    EXPECT_EQ(CompiledDifference(text, {{5}, {0}, {1}, {5}}), 0);
    EXPECT_THAT(Plan(text), HasSubstr("gemm (matmul")) << zero;
  }
}

TEST(ByteProductTest, EmptyDimsGiveZeros) {
  for (const char* text : {"dim m\nx: u8[m, 0]\noutput y = cast(x, dtype=i32) @ "
                           "cast(constant(i8[0, 5]{}), dtype=i32)\n",
                           "dim m\nx: u8[m, 5]\noutput y = cast(x, dtype=i32) @ "
                           "cast(constant(i8[5, 0]{}), dtype=i32)\n"})
    EXPECT_EQ(CompiledDifference(text, {{3}, {0}, {1}}), 0) << text;
}

TEST(ByteProductTest, TheCastOfTheLeftSideIsNotComputed) {
  const std::string plan =
      Plan(Sized("dim m\nf: f32[m, $K]\nx = cast(f, dtype=u8)\nw = constant(i8[$K, $N]{$W})\nc = "
                 "cast(x, dtype=i32)\n"
                 "output y = cast(c @ cast(w, dtype=i32), dtype=f32)\noutput z = c @ (cast(w, "
                 "dtype=i32) * -1)\n",
                 4, 4, -128));
  EXPECT_THAT(plan, HasSubstr("pointwise (cast) -> x: u8[m, 4]"));
  EXPECT_THAT(plan, Not(HasSubstr("i32[m, 4]\npointwise")));
}

TEST(ByteProductTest, ProductsOfOneLeftSideShareItsBytes) {
  const std::string plan = Plan(
      Sized("dim m\ns: i8[$K, m]\nw = constant(i8[$K, $N]{$W})\n"
            "c = permute(cast(s, dtype=i32), axes=[1, 0])\n"
            "output y = c @ cast(w, dtype=i32)\noutput z = c @ (cast(w, dtype=i32) * -1 - 1)\n",
            4, 4, -128));
  EXPECT_EQ(plan.find("pointwise"), plan.rfind("pointwise")) << plan;
  EXPECT_THAT(plan, HasSubstr("u8[m, 4]\ngemm")) << plan;
}

}  // namespace
}  // namespace lathe::compiler
