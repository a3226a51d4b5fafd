#include "compiler/lower/product_schedule.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace lathe::compiler {
namespace {

constexpr int64_t kMaxDepth = 512;
constexpr int64_t kTaskColumns = 192;
constexpr int64_t kByteTaskColumns = 64;
constexpr int kTilesPerTask = 4;
constexpr int kMaxStripPanels = 4;
constexpr int kMaxStripRows = 3;    // each number of rows is code of its own
constexpr int kOtherRegisters = 4;  // those that hold no accumulator

// What a core does in a cycle: two vectors of 32 bytes multiplied and added, or one of 64; as many
// bytes loaded, or three elements. A sum can be added to again after four cycles.
constexpr double kBytesPerCycle = 64;
constexpr double kLoadsPerCycle = 3;
constexpr double kLatency = 4;

// A schedule of its own has to promise so much.
constexpr double kGain = 1.05;
// Narrower panels promise less than they seem to: there are more of them to begin and to end.
constexpr double kNarrowGain = 1.2;

// Of one step of K, or of four of bytes.
double StepCycles(const TileShape& tile, int64_t rows, int panels) {
  const double vectors = static_cast<double>(panels) * tile.width / tile.lanes;
  const double vector_cycles = 4.0 * tile.lanes / kBytesPerCycle;
  const double multiply = static_cast<double>(rows) * vectors * std::max(vector_cycles, 0.5);
  const double load =
      vectors * std::max(vector_cycles, 0.5) + static_cast<double>(rows) / kLoadsPerCycle;
  return std::pow(std::pow(multiply, 4) + std::pow(kLatency, 4) + std::pow(load, 4), 0.25);
}

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

TileShape Widest(const ScheduleTarget& target, bool bytes) {
  const int lanes = target.native_lanes(f32);
  // Without an instruction for them, sums of four products need more registers.
  const int rows = target.num_vector_registers >= 32 ? 12 : bytes ? 4 : 6;
  return {rows, 2 * lanes, lanes};
}

ProductSchedule WithTile(const ProductShape& product, const TileShape& tile) {
  ProductSchedule s;
  s.tile = tile;
  s.task_panels =
      std::max<int64_t>(1, (product.bytes ? kByteTaskColumns : kTaskColumns) / tile.width);
  s.task_rows = int64_t{kTilesPerTask} * tile.max_rows;
  const int64_t blocks = std::max<int64_t>(1, CeilDivide(product.depth, kMaxDepth));
  if (product.piece > 0 && product.piece < product.depth) {
    s.block_depth = product.piece * std::max<int64_t>(1, kMaxDepth / product.piece);
    return s;
  }
  s.block_depth = product.bytes
                      ? std::max<int64_t>(1, product.depth)
                      : std::max<int64_t>(1, CeilDivide(CeilDivide(product.depth, blocks), 4) * 4);
  return s;
}

}  // namespace

ProductShape ProductOf(const ir::Graph& graph, ir::ValueId product) {
  const bool bytes = IsByteGemm(graph, product);
  ir::ValueId matrix = graph.node(product).operands[1];
  if (bytes) matrix = graph.node(matrix).operands[0];
  const Shape& shape = graph.type(matrix).shape;
  ProductShape p{shape[shape.size() - 2].constant(), shape.back().constant(), bytes};
  if (bytes) return p;
  if (const auto in_place = WindowsInPlace(graph, product))
    p.piece = graph.node(in_place->windows).attrs.sizes.back().constant();
  return p;
}

std::string ProductSchedule::ToString() const {
  if (form == Form::kStrips)
    return absl::StrCat("strips of up to ", max_panels, " panels, ", tile.width, " wide");
  return absl::StrCat("tiles ", tile.max_rows, "x", tile.width, ", k ", block_depth);
}

int StripPanels(const ScheduleTarget& target, const ProductSchedule& strips, int rows) {
  const int registers = target.num_vector_registers - kOtherRegisters;
  return std::clamp(registers / (rows * (strips.tile.width / strips.tile.lanes)), 1,
                    strips.max_panels);
}

double Cycles(const ScheduleTarget& target, const ProductSchedule& schedule,
              const ProductShape& product, int64_t rows) {
  const auto steps =
      static_cast<double>(product.bytes ? CeilDivide(product.depth, 4) : product.depth);
  const int64_t panels = CeilDivide(product.columns, schedule.tile.width);
  if (schedule.form == ProductSchedule::Form::kStrips) {
    // The last panel, if it is narrower, is worked on alone.
    const int64_t whole = product.columns / schedule.tile.width;
    const int together = StripPanels(target, schedule, static_cast<int>(rows));
    const int64_t strips = whole / together;
    return steps *
           (static_cast<double>(strips) * StepCycles(schedule.tile, rows, together) +
            static_cast<double>(panels - strips * together) * StepCycles(schedule.tile, rows, 1));
  }
  const int64_t tiles = std::max<int64_t>(1, CeilDivide(rows, schedule.tile.max_rows));
  return steps * static_cast<double>(panels * tiles) *
         StepCycles(schedule.tile, CeilDivide(rows, tiles), 1);
}

ProductSchedule ScheduleTiles(const ScheduleTarget& target, const ProductShape& product) {
  ProductSchedule best = WithTile(product, Widest(target, product.bytes));
  if (product.bytes) return best;
  const int lanes = best.tile.lanes;
  for (const int width : {lanes, lanes / 2}) {
    if (width < 4) continue;
    const ProductSchedule narrow =
        WithTile(product, {best.tile.max_rows, width, std::min(lanes, width)});
    const int64_t rows = best.tile.max_rows;
    if (Cycles(target, narrow, product, rows) * kNarrowGain < Cycles(target, best, product, rows))
      best = narrow;
  }
  return best;
}

ProductSchedule ScheduleStrips(const ScheduleTarget& target, const ProductShape& product) {
  const ProductSchedule tiles = ScheduleTiles(target, product);
  ProductSchedule strips = tiles;
  strips.form = ProductSchedule::Form::kStrips;
  strips.max_panels = kMaxStripPanels;
  strips.task_panels = kMaxStripPanels;
  for (int rows = 1; product.piece == 0 && rows <= kMaxStripRows; ++rows) {
    if (Cycles(target, tiles, product, rows) < kGain * Cycles(target, strips, product, rows)) break;
    strips.most_rows = strips.task_rows = rows;
  }
  return strips;
}

TileShape QueryTile(const ScheduleTarget& target, int64_t queries) {
  if (queries == 0) return Widest(target, false);
  return ScheduleTiles(target, {.depth = 1, .columns = queries}).tile;
}

}  // namespace lathe::compiler
