#pragma once
// Schedules of products as data, and the analytic model that chooses between them.
//
// Tiles hold `rows` x `width` accumulators of one panel of weights and serve any number of rows;
// strips hold fewer rows of several panels, so that a product of few rows fills the registers too.
// Every schedule sums in the same order: the choice moves time, never bits.
#include <string>

#include "compiler/lower/lower.h"

namespace lathe::compiler {

// The tile of a micro-kernel.
struct TileShape {
  int max_rows;  // its accumulators fill the register file
  int width;     // nr: columns of a panel
  int lanes;     // of one register
};

// Rows of a [rows, depth] x [depth, columns] product are open.
struct ProductShape {
  int64_t depth = 0, columns = 0;
  bool bytes = false;  // u8 x i8 in i32, four of K at a time
  int64_t piece = 0;   // of windows in place: elements of K that lie together; 0: none are
};

// Of a group of the kind kGemm, by its matmul.
ProductShape ProductOf(const ir::Graph& graph, ir::ValueId product);

struct ProductSchedule {
  enum class Form : uint8_t { kTiles, kStrips };
  Form form = Form::kTiles;
  TileShape tile{};
  int64_t block_depth = 1;  // of one block of K: its panel stays near the core
  int64_t task_panels = 1;  // panels of a task
  int64_t task_rows = 1;    // tiles: rows of a task, at most
  int max_panels = 1;       // strips: worked on at once, at most
  int64_t most_rows = 0;    // strips: what it serves; tiles: 0, any number
  std::string ToString() const;
};

// The panels that a strip of `rows` rows works on at once.
int StripPanels(const ScheduleTarget& target, const ProductSchedule& strips, int rows);

// Estimated cycles of one core for `rows` rows, which the schedule serves. A step of K is bound by
// its multiply-adds, by the time until an accumulator can be added to again, and by its loads; near
// a draw the bounds add up. Columns that only fill the last panel cost as the others.
double Cycles(const ScheduleTarget& target, const ProductSchedule& schedule,
              const ProductShape& product, int64_t rows);

// The fastest for many rows.
ProductSchedule ScheduleTiles(const ScheduleTarget& target, const ProductShape& product);
// For few rows, with the panels of ScheduleTiles. most_rows: as long as it pays; 0 if it never
// does, or for windows in place, which tiles alone walk.
ProductSchedule ScheduleStrips(const ScheduleTarget& target, const ProductShape& product);

// Attention's: a block of queries as wide as a tile, for up to `queries` of them (0: any number).
TileShape QueryTile(const ScheduleTarget& target, int64_t queries);

}  // namespace lathe::compiler
