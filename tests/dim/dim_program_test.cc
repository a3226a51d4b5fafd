#include "ir/dim/dim_program.h"

#include <gtest/gtest.h>

namespace lathe::dim {
namespace {

TEST(DimProgram, ComputesSlotsFromInputs) {
  DimContext context;
  Dim batch = context.Symbol("batch"), seq = context.Symbol("seq");
  DimProgramBuilder b(&context);
  EXPECT_EQ(b.Input(batch), 0);
  EXPECT_EQ(b.Input(seq), 1);
  int n = b.Slot(batch * seq * 384);
  int same = b.Slot(384 * seq * batch);
  int claim = b.Slot(In(seq, {1, 7}));
  int never = b.Slot(In(seq, {}));
  int less = b.Slot(batch < seq);
  DimProgram p = b.Build();
  EXPECT_EQ(n, same);
  std::vector<int64_t> slots(static_cast<size_t>(p.num_slots()));
  slots[0] = 2;
  slots[1] = 7;
  ASSERT_EQ(p.Run(slots.data()), -1);
  EXPECT_EQ(slots[static_cast<size_t>(n)], 5376);
  EXPECT_EQ(slots[static_cast<size_t>(claim)], 1);
  EXPECT_EQ(slots[static_cast<size_t>(never)], 0);
  EXPECT_EQ(slots[static_cast<size_t>(less)], 1);
}

TEST(DimProgram, SharesCommonParts) {
  DimContext context;
  Dim a = context.Symbol("a"), b = context.Symbol("b");
  DimProgramBuilder builder(&context);
  builder.Input(a);
  builder.Input(b);
  builder.Slot(FloorDiv(a * b, 16) + 1);
  size_t before = builder.Build().instructions().size();
  builder.Slot(FloorDiv(a * b, 16) + 2);
  EXPECT_EQ(builder.Build().instructions().size(), before + 2) << builder.Build().ToString();
}

TEST(DimProgram, OverflowAndDivisionByZeroAreExplained) {
  DimContext context;
  Dim a = context.Symbol("a"), b = context.Symbol("b");
  DimProgramBuilder builder(&context);
  builder.Input(a);
  builder.Input(b);
  builder.Slot(a * b);
  builder.Slot(FloorDiv(a, b));
  DimProgram p = builder.Build();
  std::vector<int64_t> slots(static_cast<size_t>(p.num_slots()));
  slots[0] = int64_t{1} << 40;
  slots[1] = int64_t{1} << 40;
  int failed = p.Run(slots.data());
  ASSERT_GE(failed, 0);
  EXPECT_EQ(p.Explain(failed, slots.data()).message(),
            "a*b = 1099511627776 * 1099511627776 overflows int64, where a = 1099511627776, "
            "b = 1099511627776");
  slots[1] = 0;
  failed = p.Run(slots.data());
  ASSERT_GE(failed, 0);
  EXPECT_EQ(p.Explain(failed, slots.data()).message(),
            "a // b divides by b, which is 0, where a = 1099511627776, b = 0");
  EXPECT_TRUE(p.Explain(-1, slots.data()).ok());
}

TEST(DimProgram, UnknownSymbolsAndPoisonHaveNoSlot) {
  DimContext context;
  Dim a = context.Symbol("a"), b = context.Symbol("b");
  DimProgramBuilder builder(&context);
  builder.Input(a);
  EXPECT_EQ(builder.Slot(a + b), -1);
  EXPECT_EQ(builder.Slot(Min(a, FloorDiv(b, 2))), -1);
  EXPECT_EQ(builder.Slot(a <= b), -1);
  EXPECT_EQ(builder.Slot(FloorDiv(a, 0)), -1);
  EXPECT_GE(builder.Slot(a + 1), 0);
}

}  // namespace
}  // namespace lathe::dim
