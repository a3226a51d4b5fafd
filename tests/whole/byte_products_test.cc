// Products of bytes with constant matrices: every value of both sides, rows around tiles and
// strips, K around words and N around panels; the interpreter's bits and the evaluator's, on each
// target.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/graph.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

// A matrix constant of the text form that takes all values from `least` on.
std::string Matrix(const char* type, int64_t k, int64_t n, int least) {
  std::string text = absl::StrCat("constant(", type, "[", k, ", ", n, "]{");
  for (int64_t i = 0; i < k * n; ++i)
    absl::StrAppend(&text, i > 0 ? ", " : "", (i * i * 31 + i * 7) % 256 + least);
  return absl::StrCat(text, "})");
}

Tensor Bytes(DType t, std::vector<int64_t> shape, int seed) {
  Tensor x(t, std::move(shape));
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.data<uint8_t>()[i] = static_cast<uint8_t>((i * 89 + seed * 31 + i * i * 3) % 256);
  return x;
}

struct Size {
  int64_t k, n;
};
class ByteProducts : public testing::TestWithParam<Size> {};

TEST_P(ByteProducts, HaveTheBitsOfInterpreterAndEvaluator) {
  const auto [k, n] = GetParam();
  for (DType left : {u8, i8}) {
    const std::string w = Matrix("i8", k, n, -128), unsigned_w = Matrix("u8", k, n, 0);
    const std::string name = Name(left);
    const std::string text = absl::StrCat(
        "dim m\nx: ", name, "[m, ", k, "]\nz: ", name, "[m, 1]\nscale: f32[]\nbias: f32[", n, "]\n",
        "c = cast(x, dtype=i32)\nw = cast(", w, ", dtype=i32)\nu = cast(", unsigned_w,
        ", dtype=i32)\n",
        "output plain = c @ w\n"  // no epilogue
        "p = (c - cast(z, dtype=i32)) @ w\n"
        "output y = cast(p, dtype=f32) * scale + bias\n"
        "output r = cast(c @ (u - 128), dtype=u8)\n"  // an epilogue to bytes
        "output s = cast(c @ (u - 3), dtype=i64)\n");
    const absl::StatusOr<ir::Graph> graph = ir::Parse(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const char* cpu : {"", "avx2"}) {
      Engine engine({.threads = 2, .cpu = cpu});
      const absl::StatusOr<Function> f = CompileGraph(engine, *graph);
      ASSERT_TRUE(f.ok()) << f.status();
      for (int64_t m : {5, 0, 1, 2, 3, 13, 61, 5}) {
        Tensor scale(f32, {}), bias(f32, {n});
        *scale.data<float>() = 0.37f;
        for (int64_t j = 0; j < n; ++j) bias.data<float>()[j] = static_cast<float>(j) - 0.3f;
        const absl::Status s =
            CheckCall(*f, *graph, {Bytes(left, {m, k}, 1), Bytes(left, {m, 1}, 2), scale, bias},
                      /*exact=*/true, /*with_evaluator=*/m <= 13);
        EXPECT_TRUE(s.ok()) << s << "\n" << name << " m " << m << ", k " << k << ", n " << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ByteProducts,
                         testing::Values(Size{1, 1}, Size{2, 33}, Size{3, 16}, Size{4, 32},
                                         Size{5, 65}, Size{7, 31}, Size{64, 130}, Size{131, 40}),
                         [](const auto& test) {
                           return absl::StrCat(test.param.k, "x", test.param.n);
                         });

TEST(ByteProducts, SumsWrapAsThoseOf32Bits) {
  // 255 * 127 * K passes 2^31 at K of 66,313.
  const int64_t k = 70'000;
  const std::string text =
      absl::StrCat("dim m\nx: u8[m, ", k, "]\noutput y = cast(x, dtype=i32) @ cast(constant(i8[", k,
                   ", 2]{127*", 2 * k, "}), dtype=i32)\n");
  const absl::StatusOr<ir::Graph> graph = ir::Parse(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const char* cpu : {"", "avx2"}) {
    Engine engine({.threads = 1, .cpu = cpu});
    const absl::StatusOr<Function> f = CompileGraph(engine, *graph);
    ASSERT_TRUE(f.ok()) << f.status();
    Tensor x(u8, {2, k});
    std::fill_n(x.data<uint8_t>(), x.num_elements(), uint8_t{255});
    EXPECT_TRUE(CheckCall(*f, *graph, {x}, true, false).ok());
  }
}

}  // namespace
}  // namespace lathe::whole
