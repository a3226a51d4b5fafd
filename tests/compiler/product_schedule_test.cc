// The analytic model of products: what it promises, and what is chosen by it.
#include "compiler/lower/product_schedule.h"

#include "gtest/gtest.h"

namespace lathe::compiler {
namespace {

const ScheduleTarget kTargets[] = {{32, 16}, {64, 32}};

TEST(ProductScheduleTest, CyclesGrowWithEverySizeAndNeverBeatThePeak) {
  for (const ScheduleTarget& target : kTargets) {
    for (const int64_t columns : {1, 7, 8, 24, 33, 64, 384, 1536}) {
      for (const int64_t depth : {1, 9, 64, 768}) {
        const ProductShape product{depth, columns};
        const ProductSchedule tiles = ScheduleTiles(target, product);
        double before = 0;
        for (int64_t rows = 1; rows <= 100; ++rows) {
          const double cycles = Cycles(target, tiles, product, rows);
          EXPECT_GE(cycles, before * 0.8) << rows;  // a tile more may leave all of them less full
          before = cycles;
          // 16 multiply-adds a cycle.
          EXPECT_GE(cycles, static_cast<double>(rows * depth * columns) / 16);
          EXPECT_LE(cycles, Cycles(target, tiles, {depth, columns + 1}, rows));
          EXPECT_LT(cycles, Cycles(target, tiles, {depth + 1, columns}, rows));
        }
      }
    }
  }
}

TEST(ProductScheduleTest, TheChosenPanelsAreTheFastestOrTheWidest) {
  for (const ScheduleTarget& target : kTargets) {
    const int64_t lanes = target.native_lanes(f32);
    for (int64_t columns = 1; columns <= 300; ++columns) {
      const ProductShape product{64, columns};
      const ProductSchedule chosen = ScheduleTiles(target, product);
      const ProductSchedule widest = ScheduleTiles(target, {64, 64 * lanes});
      EXPECT_EQ(widest.tile.width, 2 * lanes);
      EXPECT_LE(Cycles(target, chosen, product, 1200), Cycles(target, widest, product, 1200));
    }
    EXPECT_LT(ScheduleTiles(target, {64, 4}).tile.width, 2 * lanes);  // most would be empty
  }
}

// One row of a wide product: a tile of it waits for its own accumulators. Three rows gain a few
// percent, four none.
TEST(ProductScheduleTest, StripsServeAsManyRowsAsTheyPayFor) {
  for (const ScheduleTarget& target : kTargets) {
    for (const bool bytes : {false, true}) {
      const ProductShape product{768, 768, bytes};
      const ProductSchedule tiles = ScheduleTiles(target, product);
      const ProductSchedule strips = ScheduleStrips(target, product);
      EXPECT_EQ(strips.most_rows, 3);
      EXPECT_EQ(strips.tile.width, tiles.tile.width);  // they share the packed weights
      EXPECT_GT(Cycles(target, tiles, product, 1), 1.5 * Cycles(target, strips, product, 1));
    }
    // There is one panel: nothing to work on together.
    EXPECT_EQ(ScheduleStrips(target, {768, 5}).most_rows, 0);
  }
}

}  // namespace
}  // namespace lathe::compiler
