// Rewriting a Dim whose tree is far larger than its graph.
#include <gtest/gtest.h>

#include "ir/dim/context.h"

namespace lathe::dim {
namespace {

TEST(SharedParts, DivisorsAreReplacedOnceEach) {
  DimContext context;
  const Dim n = context.Symbol("n"), m = context.Symbol("m");
  Dim d = n;
  for (int i = 0; i < 40; ++i) d = FloorDiv(d, m) + Mod(d, m);
  const Dim safe = WithoutZeroDivisors(d);
  for (int64_t size : {0, 5, 100}) {
    EXPECT_EQ(*Evaluate(safe, {size, 0}), *Evaluate(safe, {size, 1})) << "a divisor of 0 is 1";
    EXPECT_EQ(*Evaluate(safe, {size, 3}), *Evaluate(d, {size, 3}));
  }
  EXPECT_FALSE(Evaluate(d, {5, 0}).ok());
}

}  // namespace
}  // namespace lathe::dim
