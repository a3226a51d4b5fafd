// Forms that exporters write out and no pass recognises: fusion alone makes them one kernel.
#include "gtest/gtest.h"
#include "tests/compiler/passes_util.h"

namespace lathe::compiler {
namespace {

TEST(RotaryTest, IsOneKernel) {
  EXPECT_EQ(Kernels(R"(
dim n, s
x: f32[n, 2, s, 16]
c: f32[s, 16]
d: f32[s, 16]
output y = x * c + concat(neg(x[:, :, :, 8:]), x[:, :, :, :8], axis=3) * d
)"),
            1);
}

TEST(TransposeTest, AProductOfTransposedOperandsIsOneKernel) {
  EXPECT_EQ(Kernels("dim n\na: f32[n, 3]\nb: f32[n, 4]\n"
                    "output y = permute(a, axes=[1, 0]) @ b\n"),
            1);
  EXPECT_EQ(Kernels("dim n\na: f32[n, 3]\nb: f32[4, 3]\n"
                    "output y = a @ permute(b, axes=[1, 0])\n"),
            1);
}

}  // namespace
}  // namespace lathe::compiler
