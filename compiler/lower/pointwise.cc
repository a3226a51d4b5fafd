// Pointwise groups: any index map. The result's axes are merged where every access allows it, the
// last one runs along the lanes, tasks are blocks of rows by chunks of the last axis.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/space.h"

namespace lathe::compiler {
namespace {

using ir::ValueId;
using kernel::kNoReg;
using kernel::Reg;

constexpr int kRowsPerTask = 8;
constexpr int64_t kChunk = 8192;  // elements of the last axis per task
constexpr int kLanes = 32;
constexpr int64_t kShort = 8;  // a loop that fills no vector

// Axes of extent 1 stay at 0 and need no loop; but the rows of a ragged dim are never lanes, so
// that behind them the last axis stays.
std::vector<AxisRun> MakeRuns(const ir::Graph& graph, const Shape& shape,
                              const std::vector<ValueId>& inside, const std::vector<bool>& merge) {
  const bool ragged = std::any_of(inside.begin(), inside.end(), [&](ValueId v) {
    return ir::Info(graph.node(v).op).emission == ir::Emission::kSegment;
  });
  std::vector<AxisRun> runs;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Dim(1) && !(ragged && i + 1 == shape.size())) continue;
    if (!runs.empty() && runs.back().back() + 1 == i && merge[i - 1]) {
      runs.back().push_back(i);
    } else {
      runs.push_back({i});
    }
  }
  return runs;
}

// Computes one vector, or one element, of the result at row `row` and position `j` of the last run.
using ElementFn = std::function<void(Dim row, Dim j, VectorAxis axis)>;

// Loops over `rows` x `inner` in tasks.
class TiledLoops {
 public:
  TiledLoops(KernelScope& scope, Dim graph_rows, Dim rows, Dim graph_inner)
      : b_(scope.b()),
        graph_rows_(graph_rows),
        rows_(rows),
        graph_inner_(graph_inner),
        inner_(scope.Param("n", graph_inner)),
        one_chunk_(graph_inner.is_constant() && graph_inner.constant() <= kChunk) {}

  Dim inner() const { return inner_; }
  Dim KernelTasks() const { return Blocks(rows_) * (one_chunk_ ? 1 : CeilDiv(inner_, kChunk)); }
  Dim GraphTasks() const {
    return Blocks(graph_rows_) * (one_chunk_ ? 1 : CeilDiv(graph_inner_, kChunk));
  }

  void Run(const ElementFn& element) {
    const Dim chunks = Max(CeilDiv(inner_, kChunk), 1);
    const Dim block = one_chunk_ ? b_.task() : FloorDiv(b_.task(), chunks);
    const Dim begin = one_chunk_ ? Dim(0) : Mod(b_.task(), chunks) * kChunk;
    const Dim end = one_chunk_ ? inner_ : Min(begin + kChunk, inner_);
    if (rows_ == Dim(1)) return Row(0, begin, end, element);
    b_.For("row", block * kRowsPerTask, Min(block * kRowsPerTask + kRowsPerTask, rows_), 1,
           [&](Dim row) { Row(row, begin, end, element); });
  }

 private:
  static Dim Blocks(Dim rows) { return rows == Dim(1) ? Dim(1) : CeilDiv(rows, kRowsPerTask); }

  void Row(Dim row, Dim begin, Dim end, const ElementFn& element) {
    if (graph_inner_ == Dim(1)) return element(row, 0, VectorAxis{});
    const bool constant = graph_inner_.is_constant();
    const bool has_full = !constant || graph_inner_.constant() >= kLanes;
    const bool has_tail = !constant || graph_inner_.constant() % kLanes != 0;
    const Dim full = has_full ? end - Mod(end - begin, kLanes) : begin;
    dim::SymbolId symbol = 0;
    if (has_full) {
      b_.For("j", begin, full, kLanes, [&](Dim j) {
        dim::IsSymbol(j, &symbol);
        element(row, j, VectorAxis{symbol, kLanes, kNoReg, kLanes});
      });
    }
    if (has_tail) {
      b_.For("j", full, end, kLanes, [&](Dim j) {
        dim::IsSymbol(j, &symbol);
        element(row, j, VectorAxis{symbol, kLanes, b_.Mask(end - j, kLanes), end - j});
      });
    }
  }

  kernel::KernelBuilder& b_;
  Dim graph_rows_, rows_, graph_inner_, inner_;
  bool one_chunk_;
};

// The axes of the space that a reshape of the group splits again, with the dims that it splits them
// into: loops over those dims need no division to find the reshape's operand.
class SplitAxes {
 public:
  SplitAxes(KernelScope& scope, ValueId root)
      : scope_(scope), space_(scope.graph().type(root).shape) {
    parts_.resize(space_.size());
    for (size_t i = 0; i < parts_.size(); ++i)
      places_.push_back(scope.b().dims()->Symbol(absl::StrCat("_axis", i)));
    Visit(root, places_);
  }

  // Graph dims; empty for an axis that isn't split.
  const std::vector<Shape>& parts() const { return parts_; }

 private:
  void Visit(ValueId v, const Coords& coords) {
    const ir::Node& n = scope_.graph().node(v);
    for (const ValueId o : n.operands) {
      if (scope_.plan().IsBuffer(o)) continue;  // read at its flat position
      if (ir::Info(n.op).emission == ir::Emission::kElementwise) {
        if (scope_.graph().type(o).shape == n.type.shape) Visit(o, coords);
        continue;
      }
      const bool view = n.op == ir::Op::k_broadcast || n.op == ir::Op::k_permute ||
                        n.op == ir::Op::k_reshape || n.op == ir::Op::k_slice;
      if (!view) continue;
      if (n.op == ir::Op::k_reshape) Split(n, coords);
      Visit(o, OperandCoords(scope_.graph(), v, coords, scope_.map()));
    }
  }

  void Split(const ir::Node& n, const Coords& coords) {
    const Shape& from = scope_.graph().type(n.operands[0]).shape;
    for (const ReshapeRun& run : ReshapeRuns(from, n.type.shape, scope_.map())) {
      if (run.to_end - run.to_begin != 1 || run.from_end - run.from_begin < 2) continue;
      const auto at = std::find(places_.begin(), places_.end(), coords[run.to_begin]);
      if (at == places_.end()) continue;
      const size_t axis = static_cast<size_t>(at - places_.begin());
      // Behind a slice the axis may be shorter than its parts together.
      if (space_[axis] != n.type.shape[run.to_begin]) continue;
      Shape& parts = parts_[axis];
      if (parts.empty()) parts = Shape(from.begin() + run.from_begin, from.begin() + run.from_end);
    }
  }

  KernelScope& scope_;
  const Shape space_;  // graph dims of the result
  Coords places_;
  std::vector<Shape> parts_;
};

// The loops over a result, outermost first: a run of axes, or each part of an axis that is split.
class LoopNest {
 public:
  LoopNest(KernelScope& scope, ValueId root, std::vector<AxisRun> runs,
           const std::vector<Shape>& parts)
      : scope_(scope), rank_(scope.graph().type(root).shape.size()), runs_(std::move(runs)) {
    const Shape& shape = scope.graph().type(root).shape;
    for (const AxisRun& run : runs_) {
      const bool split = run.size() == 1 && !parts[run.back()].empty();
      const Shape loops = split ? parts[run.back()] : Shape{RunExtent(shape, run)};
      extents_.insert(extents_.end(), loops.begin(), loops.end());
      splits_.push_back(split ? loops : Shape());
    }
  }

  const Shape& extents() const { return extents_; }  // over the graph's symbols

  // The result's coordinates at these positions of the loops, and how split axes came together.
  Coords CoordsAt(const Coords& at, std::vector<Join>* joins) const {
    Coords coords(rank_, Dim(0));
    size_t next = 0;
    for (size_t i = 0; i < runs_.size(); ++i) {
      const size_t count = std::max<size_t>(1, splits_[i].size());
      if (splits_[i].empty()) {
        SetRun(runs_[i], at[next], &coords);
      } else {
        const auto begin = at.begin() + static_cast<int64_t>(next);
        Join join{0, scope_.MapShape(splits_[i]),
                  Coords(begin, begin + static_cast<int64_t>(count))};
        join.joined = FlatIndex(join.parts, join.coords);
        coords[runs_[i].back()] = join.joined;
        joins->push_back(std::move(join));
      }
      next += count;
    }
    return coords;
  }

 private:
  KernelScope& scope_;
  size_t rank_;
  std::vector<AxisRun> runs_;
  std::vector<Shape> splits_;  // of each run; empty: none
  Shape extents_;
};

// For each loop the number of buffers, of all or of those under windows, that are read at far or
// unknown steps along it.
class FarReads {
 public:
  FarReads(KernelScope& scope, ValueId root, const LoopNest& nest, bool all) : scope_(scope) {
    for (size_t i = 0; i < nest.extents().size(); ++i)
      places_.push_back(scope.b().dims()->Symbol(absl::StrCat("_loop", i)));
    far_.resize(places_.size());
    Visit(root, nest.CoordsAt(places_, &joins_), all);
  }
  const std::vector<int>& far() const { return far_; }
  bool any() const { return any_; }

 private:
  // The depth is bounded by the number of values that fusion puts into one group.
  void Visit(ValueId v, const Coords& coords, bool counts) {
    const ir::Node& n = scope_.graph().node(v);
    if (n.operands.empty()) return;
    const ValueId o = n.operands[0];
    switch (n.op) {
      case ir::Op::k_broadcast:
      case ir::Op::k_permute:
      case ir::Op::k_reshape:
      case ir::Op::k_slice:
        return Read(o, OperandCoords(scope_.graph(), v, coords, scope_.map(), joins_), counts);
      case ir::Op::k_windows:
        return Read(o, WindowCoords(scope_.graph(), v, coords, scope_.map()), true);
      default:
        break;
    }
    if (IsReduction(n.op)) return Read(o, UnreducedCoords(scope_.graph(), n, coords), counts);
    if (ir::Info(n.op).emission != ir::Emission::kElementwise) return;
    for (const ValueId operand : n.operands) {
      if (scope_.graph().type(operand).shape == n.type.shape) Read(operand, coords, counts);
    }
  }

  void Read(ValueId v, const Coords& coords, bool counts) {
    if (!scope_.plan().IsBuffer(v)) return Visit(v, coords, counts);
    if (!counts) return;
    any_ = true;
    const Dim flat = FlatIndex(scope_.MapShape(scope_.graph().type(v).shape), coords);
    for (size_t i = 0; i < places_.size(); ++i) {
      dim::SymbolId id = 0;
      Dim stride, rest;
      dim::IsSymbol(places_[i], &id);
      const bool near = dim::SplitAffine(flat, id, &stride, &rest) && stride.is_constant() &&
                        stride.constant() >= 0 && stride.constant() <= kNear;
      far_[i] += near ? 0 : 1;
    }
  }

  static constexpr int64_t kNear = 2;  // elements

  KernelScope& scope_;
  Coords places_;
  std::vector<Join> joins_;
  std::vector<int> far_;
  bool any_ = false;
};

// The loop that runs along the lanes: the last one; where that is short, or with windows, whose own
// axes are, the last of those that are long and read neighbouring elements.
size_t VectorLoop(KernelScope& scope, ValueId root, const std::vector<ValueId>& inside,
                  const LoopNest& nest) {
  const bool windows = std::any_of(inside.begin(), inside.end(), [&](ValueId v) {
    return scope.graph().node(v).op == ir::Op::k_windows;
  });
  size_t best = nest.extents().size() - 1;
  const auto is_short = [&](size_t i) {
    return nest.extents()[i].is_constant() && nest.extents()[i].constant() < kShort;
  };
  if (!windows && !is_short(best)) return best;
  const FarReads reads(scope, root, nest, /*all=*/!windows);
  if (!reads.any()) return best;
  const auto cost = [&](size_t i) { return std::pair(is_short(i), reads.far()[i]); };
  for (size_t i = best; i-- > 0;)
    if (cost(i) < cost(best)) best = i;
  return best;
}

// How many elements are read for one of the result.
Dim Taps(const ir::Graph& graph, const std::vector<ValueId>& inside) {
  Dim taps = 1;
  for (const ValueId v : inside) {
    if (!IsWindowReduction(graph, v)) continue;
    const Shape& operand = graph.type(graph.node(v).operands[0]).shape;
    for (const int64_t axis : ReducedAxes(graph.node(v)))
      taps = taps * operand[static_cast<size_t>(axis)];
  }
  return taps;
}

}  // namespace

LoweredKernel LowerPointwise(const LowerContext& c, const Group& group) {
  const ValueId root = group.anchor;
  const Shape& shape = c.graph.type(root).shape;
  KernelScope scope(c, absl::StrCat("pointwise_", std::string(ir::Name(c.graph.node(root).op))));
  const std::vector<ValueId> inside = ComputedInside(c, {root});
  const LoopNest nest(scope, root,
                      MakeRuns(c.graph, shape, inside, MergeableAxes(c, shape, inside, {})),
                      SplitAxes(scope, root).parts());
  const size_t vector = nest.extents().empty() ? 0 : VectorLoop(scope, root, inside, nest);
  // The loop along the lanes is the innermost one.
  Dim graph_rows = 1, graph_inner = 1;
  Shape row_shape;
  for (size_t i = 0; i < nest.extents().size(); ++i) {
    if (i == vector) {
      graph_inner = nest.extents()[i];
      continue;
    }
    graph_rows = graph_rows * nest.extents()[i];
    row_shape.push_back(scope.Param("n", nest.extents()[i]));
  }
  const bool in_order = vector + 1 >= nest.extents().size();
  TiledLoops loops(scope, graph_rows, Volume(row_shape), graph_inner);
  const int out = scope.Output(root);
  loops.Run([&](Dim row, Dim j, VectorAxis axis) {
    Coords at = Delinearize(row_shape, row);
    if (!nest.extents().empty()) at.insert(at.begin() + static_cast<int64_t>(vector), j);
    std::vector<Join> joins;
    const Coords coords = nest.CoordsAt(at, &joins);
    for (Join& join : joins) scope.AddJoin(std::move(join));
    ElementEmitter e(scope, axis);
    const Reg r = e.Compute(root, coords);
    const Dim flat = in_order ? row * loops.inner() + j : FlatIndex(scope.MapShape(shape), coords);
    e.StoreAt(out, flat, r);
  });
  return scope.Finish(loops.GraphTasks(), loops.KernelTasks(),
                      Work(Volume(shape) * Taps(c.graph, inside), ElementCost(c.graph, inside)),
                      "32 lanes");
}

LoweredKernel LowerCopy(const LowerContext& c, ValueId from, ValueId to) {
  const Dim volume = Volume(c.graph.type(from).shape);
  KernelScope scope(c, "copy");
  TiledLoops loops(scope, 1, 1, volume);
  const int out = scope.Output(to), in = scope.Input(from);
  loops.Run([&](Dim, Dim j, VectorAxis axis) {
    ElementEmitter e(scope, axis);
    const Reg r = e.LoadAt(in, j);
    e.StoreAt(out, j, r);
  });
  return scope.Finish(loops.GraphTasks(), loops.KernelTasks(), Work(volume, 0.15), "32 lanes");
}

}  // namespace lathe::compiler
