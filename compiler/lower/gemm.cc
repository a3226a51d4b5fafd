// GEMM with constant weights and its epilogue. Weights are packed once into panels [N/nr][K][nr];
// tasks are blocks of rows by blocks of panels; micro-kernels write their tile into the result, and
// after the last block of K the epilogue runs over the tile while it is in the nearest cache.
//
// Products of bytes (IsByteGemm) sum whole columns in 32 bits. The tile of one with an epilogue
// goes through scratch, since its sums have another type than the result.
//
// A left operand of windows (a convolution's) is read where it lies: its rows overlap, a step of
// the window apart, and break off at the end of each row of positions; the elements of a window
// come in pieces, which are products that add to one another.
//
// Its schedule is one of product_schedule.h: tiles for any number of rows, strips for few.
#include <algorithm>
#include <cassert>
#include <functional>

#include "absl/strings/str_cat.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/micro.h"
#include "compiler/lower/product_schedule.h"
#include "compiler/lower/space.h"

namespace lathe::compiler {
namespace {

using ir::Node;
using ir::ValueId;
using kernel::kNoReg;
using kernel::Reg;

class GemmLowering {
 public:
  GemmLowering(const LowerContext& c, const Group& group)
      : c_(c),
        group_(group),
        product_(c.graph.node(group.anchor)),
        shape_(ProductOf(c.graph, group.anchor)),
        bytes_(shape_.bytes),
        matrix_(bytes_ ? c.graph.node(product_.operands[1]).operands[0] : product_.operands[1]),
        weights_(c.graph.type(matrix_)),
        depth_(shape_.depth),
        columns_(shape_.columns),
        schedule_(ScheduleTiles(c.target, shape_)),
        tile_(schedule_.tile),
        scope_(c, absl::StrCat("gemm_", group.members.size())),
        b_(scope_.b()),
        panel_rows_(bytes_ ? (depth_ + 3) / 4 : depth_),
        panels_((columns_ + tile_.width - 1) / tile_.width),
        through_scratch_(bytes_ && group.members.size() > 1) {}

  LoweredKernel Run() {
    const Shape& lhs = c_.graph.type(product_.operands[0]).shape;
    graph_rows_ = Volume(Shape(lhs.begin(), lhs.end() - 1));
    rows_ = scope_.Param("rows", graph_rows_);
    MakeRuns();
    const ProductSchedule few = ScheduleStrips(c_.target, shape_);
    const bool strips = few.most_rows > 0 && c_.query.Ask(graph_rows_ <= few.most_rows);
    if (strips) {
      schedule_ = few;
      b_.Assume(rows_ <= few.most_rows);
    }
    OpenBuffers();

    const int64_t panels_per_task = schedule_.task_panels;
    // At least one, so that the task's number has a divisor.
    const int64_t column_blocks =
        std::max<int64_t>(1, (panels_ + panels_per_task - 1) / panels_per_task);
    const Dim row_blocks = strips ? Dim(1) : CeilDiv(rows_, schedule_.task_rows);
    const Dim graph_row_blocks =
        strips ? Min(graph_rows_, 1) : CeilDiv(graph_rows_, schedule_.task_rows);
    const Dim row_block = column_blocks == 1 ? b_.task() : FloorDiv(b_.task(), column_blocks);
    const Dim column_block = column_blocks == 1 ? Dim(0) : Mod(b_.task(), column_blocks);
    const Dim first_panel = column_block * panels_per_task;
    const Dim last_panel = Min(first_panel + panels_per_task, panels_);
    if (strips) {
      Strips(first_panel, last_panel);
    } else {
      // Blocks of rows differ by at most one row.
      const Dim divisor = Max(row_blocks, 1);
      const Dim begin = FloorDiv(rows_ * row_block, divisor);
      const Dim end = FloorDiv(rows_ * (row_block + 1), divisor);
      Tiles(begin, end, first_panel, last_panel);
    }
    const int64_t size = depth_ * columns_;
    const Dim work = bytes_ ? size / 20 + graph_rows_ * std::max<int64_t>(1, size / 150)
                            : graph_rows_ * std::max<int64_t>(1, size / 45);
    return scope_.Finish(graph_row_blocks * column_blocks,
                         (strips ? Min(rows_, 1) : row_blocks) * column_blocks, work,
                         absl::StrCat(schedule_.ToString(), InPlace() ? ", windows in place" : ""));
  }

 private:
  // Leading axes that the epilogue may walk as one row number.
  void MakeRuns() {
    const Shape& shape = product_.type.shape;
    const std::vector<ValueId> inside = ComputedInside(c_, group_.members);
    const std::vector<bool> merge = MergeableAxes(c_, shape, inside, group_.members);
    for (size_t i = 0; i + 1 < shape.size(); ++i) {
      if (i > 0 && merge[i - 1]) {
        runs_.back().push_back(i);
      } else {
        runs_.push_back({i});
      }
    }
    for (const AxisRun& run : runs_) row_shape_.push_back(scope_.Param("n", RunExtent(shape, run)));
  }

  void OpenBuffers() {
    ValueId base = bytes_ ? BytesOf(c_.graph, product_.operands[0]) : product_.operands[0];
    if (InPlace()) base = OpenWindows(*WindowsInPlace(c_.graph, group_.anchor));
    while (!c_.plan.IsBuffer(base)) base = c_.graph.node(base).operands[0];
    lhs_ = scope_.Input(base);
    const int64_t matrices = weights_.shape.size() == 3 ? weights_.shape[0].constant() : 1;
    packed_ = scope_.Packed(matrix_, bytes_ ? Packing::kBytePanels : Packing::kPanels, tile_.width,
                            matrices * panels_ * panel_rows_ * tile_.width);
    assert(group_.outputs.size() == 1);
    out_ = scope_.Output(group_.outputs[0]);
    if (through_scratch_ || columns_ % tile_.width != 0) {
      const int64_t rows = std::max<int64_t>(
          tile_.max_rows, through_scratch_ ? schedule_.most_rows * schedule_.max_panels : 0);
      tile_buffer_ =
          scope_.Scratch("tile", bytes_ ? i32 : f32, rows * tile_.width, rows * tile_.width);
    }
  }

  bool InPlace() const { return shape_.piece > 0; }
  bool InPieces() const { return InPlace() && shape_.piece != depth_; }

  // The windows' axes: `outer_` are the rows of positions, of `positions_` each, `step_` elements
  // apart, the groups first; `taps_` are the pieces of a window. Gives what the elements are in.
  ValueId OpenWindows(const InPlaceWindows& in_place) {
    const Node& windows = c_.graph.node(in_place.windows);
    const ir::Attrs& a = windows.attrs;
    const Shape& shape = windows.type.shape;
    const Shape& under = c_.graph.type(windows.operands[0]).shape;
    const size_t rank = under.size(), first = rank - a.sizes.size();
    const size_t along = in_place.grouped ? rank - 2 : rank - 1;
    grouped_ = in_place.grouped;
    positions_ = scope_.Param("positions", shape[along]);
    Dim stride = 1;
    for (size_t i = rank; i-- > 0;) {
      const size_t k = i - first;
      const Dim step = stride * (i < first ? 1 : a.steps[k]);
      if (i == along) {
        step_ = step;
      } else if (i < along) {
        outer_.insert(outer_.begin(), Stride{scope_.Map(shape[i]), step});
      }
      if (i >= first && i + 1 < rank)
        taps_.insert(taps_.begin(), Stride{a.sizes[k], stride * a.dilations[k]});
      stride *= i + 1 == rank ? scope_.Param("width", under[i]) : scope_.Map(under[i]);
    }
    if (grouped_) outer_.insert(outer_.begin(), Stride{shape[rank - 1], a.steps.back()});
    return windows.operands[0];
  }

  // An axis and how far apart its entries begin in the left operand; several are walked as one.
  struct Stride {
    Dim extent, stride;
  };
  static Coords Entry(const std::vector<Stride>& axes, Dim flat) {
    Shape extents;
    for (const Stride& s : axes) extents.push_back(s.extent);
    return Delinearize(extents, flat);
  }
  static Dim Offset(const std::vector<Stride>& axes, const Coords& at) {
    Dim offset = 0;
    for (size_t i = 0; i < axes.size(); ++i) offset += at[i] * axes[i].stride;
    return offset;
  }

  // Rows that lie lda() apart in the left operand, the first of them at `a`; of group `group`.
  struct Rows {
    Dim begin, end, a, group = 0;
  };
  Dim lda() const { return InPlace() ? step_ : depth_; }

  void ForEachSegment(Dim begin, Dim end, const std::function<void(Rows)>& body) {
    if (!InPlace()) return body({begin, end, begin * depth_});
    const Dim divisor = Max(positions_, 1);
    b_.For("outer", FloorDiv(begin, divisor), CeilDiv(end, divisor), 1, [&](Dim outer) {
      const Dim start = outer * positions_;
      const Dim from = Max(begin, start);
      const Coords at = Entry(outer_, outer);
      body({from, Min(end, start + positions_), Offset(outer_, at) + (from - start) * step_,
            grouped_ ? at[0] : Dim(0)});
    });
  }

  // The product of `panels` panels into the result, or through scratch.
  MicroCall Call(const Rows& rows, Dim panel, Dim k, Dim depth, int panels, bool to_scratch) {
    MicroCall call;
    call.lhs = bytes_ ? MicroLhs::kBytes : MicroLhs::kRowMajor;
    call.a = lhs_;
    call.b = packed_;
    call.c = to_scratch ? tile_buffer_ : out_;
    call.a_offset = rows.a;
    call.b_offset = (rows.group * panels_ + panel) * (panel_rows_ * tile_.width) + k * tile_.width;
    call.c_offset = to_scratch ? Dim(0) : rows.begin * columns_ + panel * tile_.width;
    call.lda = lda();
    call.ldc = to_scratch ? Dim(panels * tile_.width) : Dim(columns_);
    call.k = depth;
    call.accumulate = k == Dim(0) ? Dim(0) : Min(k, 1);
    call.panels = panels;
    call.panel_stride = panel_rows_ * tile_.width;
    return call;
  }

  // A tile of one panel over `depth` of K from `k` on; of windows in place, whole pieces.
  void Product(const Rows& tile, Dim panel, Dim k, Dim depth, bool to_scratch) {
    const auto emit = [&](Dim a, Dim from, Dim length) {
      const Rows rows{tile.begin, tile.end, a, tile.group};
      EmitMicroSwitch(b_, c_.micro, tile_, tile.end - tile.begin, tile_.max_rows,
                      Call(rows, panel, from, length, 1, to_scratch));
    };
    if (!InPieces()) return emit(tile.a + k, k, depth);
    const int64_t piece = shape_.piece;
    b_.For("piece", FloorDiv(k, piece), FloorDiv(k + depth, piece), 1,
           [&](Dim p) { emit(tile.a + Offset(taps_, Entry(taps_, p)), p * piece, piece); });
  }

  void ForEachTileOf(Rows rows, const std::function<void(Rows tile)>& body) {
    ForEachTile(b_, rows.end - rows.begin, tile_.max_rows, [&](Dim at, Dim count) {
      body({rows.begin + at, rows.begin + at + count, rows.a + at * lda(), rows.group});
    });
  }

  void Tiles(Dim begin, Dim end, Dim first_panel, Dim last_panel) {
    const int64_t whole = columns_ / tile_.width;
    auto block = [&](Dim k, Dim depth, bool always_last) {
      b_.For("panel", first_panel, Min(last_panel, whole), 1, [&](Dim panel) {
        ForEachSegment(begin, end, [&](Rows segment) {
          ForEachTileOf(segment, [&](Rows tile) {
            Product(tile, panel, k, depth, through_scratch_);
            auto epilogue = [&] {
              Epilogue(tile.begin, tile.end - tile.begin, panel * tile_.width, tile_.width,
                       tile_.width);
            };
            if (always_last) {
              epilogue();
            } else if (group_.members.size() > 1) {
              b_.If(k + schedule_.block_depth >= depth_, epilogue);
            }
          });
        });
      });
    };
    const int64_t step = schedule_.block_depth;
    if (depth_ <= step) {
      block(0, depth_, true);
    } else {
      b_.For("k", 0, depth_, step, [&](Dim k) { block(k, Min(step, depth_ - k), false); });
    }
    if (columns_ % tile_.width != 0)
      b_.If(last_panel > whole,
            [&] { ForEachSegment(begin, end, [&](Rows segment) { EdgePanel(segment, whole); }); });
  }

  // The last panel is narrower than a tile: through scratch, K in one piece.
  void EdgePanel(Rows rows, int64_t panel) {
    ForEachTileOf(rows, [&](Rows tile) {
      const Dim count = tile.end - tile.begin;
      Product(tile, panel, 0, depth_, true);
      if (through_scratch_) {
        Epilogue(tile.begin, count, panel * tile_.width, columns_ - panel * tile_.width,
                 tile_.width);
      } else {
        EdgeRows(tile.begin, count, panel);
      }
    });
  }

  void EdgeRows(Dim row, Dim rows, int64_t panel) {
    const int64_t left = columns_ - panel * tile_.width;
    b_.Barrier();
    b_.For("r", 0, rows, 1, [&](Dim r) {
      const Reg mask = b_.Mask(left, tile_.width);
      const Reg x = b_.Load(tile_buffer_, r * tile_.width, tile_.width);
      b_.Store(out_, (row + r) * columns_ + panel * tile_.width, x, 1, mask);
    });
    Epilogue(row, rows, panel * tile_.width, left, tile_.width);
  }

  void Strips(Dim first_panel, Dim last_panel) {
    const int64_t whole = columns_ / tile_.width;
    const Dim end = Min(last_panel, whole);
    std::function<void(int)> serve = [&](int rows) {
      const int together = StripPanels(c_.target, schedule_, rows);
      auto strip = [&](Dim panel, int panels) {
        EmitMicroCall(b_, c_.micro, tile_, rows,
                      Call({0, rows, 0}, panel, 0, depth_, panels, through_scratch_));
        const int64_t width = panels * tile_.width;
        Epilogue(0, rows, panel * tile_.width, width, width);
      };
      const Dim strips = FloorDiv(Max(end - first_panel, 0), together);
      b_.For("strip", 0, strips, 1, [&](Dim s) { strip(first_panel + s * together, together); });
      b_.For("panel", first_panel + strips * together, end, 1, [&](Dim panel) { strip(panel, 1); });
    };
    std::function<void(int)> choose = [&](int rows) {
      if (rows == schedule_.most_rows) return serve(rows);
      b_.If(
          Eq(rows_, rows), [&] { serve(rows); }, [&] { choose(rows + 1); });
    };
    choose(1);
    if (columns_ % tile_.width != 0)
      b_.If(last_panel > whole, [&] { EdgePanel({0, rows_, 0}, whole); });
  }

  // The chain of elementwise values behind the product over rows x width columns: in place, or from
  // scratch with rows of `stride` elements.
  void Epilogue(Dim row, Dim rows, Dim column, int64_t width, int64_t stride) {
    if (group_.members.size() == 1) return;
    if (through_scratch_) b_.Barrier();
    const int lanes = static_cast<int>(std::min<int64_t>(32, tile_.width));
    b_.For("r", row, row + rows, 1, [&](Dim r) {
      Coords coords(product_.type.shape.size(), Dim(0));
      const Coords at = Delinearize(row_shape_, r);
      for (size_t i = 0; i < runs_.size(); ++i) SetRun(runs_[i], at[i], &coords);
      b_.For("j", column, column + width, lanes, [&](Dim j) {
        dim::SymbolId symbol = 0;
        dim::IsSymbol(j, &symbol);
        const Dim left = column + width - j;
        const Reg mask = width % lanes == 0 ? kNoReg : b_.Mask(left, lanes);
        ElementEmitter e(scope_, VectorAxis{symbol, lanes, mask, left});
        coords.back() = j;
        const Dim flat = r * columns_ + j;
        e.Define(group_.anchor, through_scratch_
                                    ? e.LoadAt(tile_buffer_, (r - row) * stride + (j - column))
                                    : e.LoadAt(out_, flat));
        for (size_t i = 1; i < group_.members.size(); ++i) {
          const ValueId m = group_.members[i];
          std::vector<Reg> operands;
          for (ValueId o : c_.graph.node(m).operands) operands.push_back(e.Emit(o, coords));
          e.Define(m, e.Apply(m, std::move(operands)));
        }
        e.StoreAt(out_, flat, e.Emit(group_.outputs[0], coords));
      });
    });
  }

  const LowerContext& c_;
  const Group& group_;
  const Node& product_;
  const ProductShape shape_;
  const bool bytes_;
  const ValueId matrix_;  // the constant
  const ir::ValueType& weights_;
  const int64_t depth_, columns_;
  ProductSchedule schedule_;
  const TileShape tile_;
  KernelScope scope_;
  kernel::KernelBuilder& b_;
  const int64_t panel_rows_;  // elements of a panel's column
  const int64_t panels_;
  const bool through_scratch_;
  Dim graph_rows_, rows_;
  std::vector<AxisRun> runs_;
  Shape row_shape_;
  // Of windows in place.
  bool grouped_ = false;
  Dim positions_ = 0, step_ = 0;
  std::vector<Stride> outer_, taps_;
  int lhs_ = 0, packed_ = 0, out_ = 0, tile_buffer_ = 0;
};

}  // namespace

LoweredKernel LowerGemm(const LowerContext& c, const Group& group) {
  return GemmLowering(c, group).Run();
}

}  // namespace lathe::compiler
