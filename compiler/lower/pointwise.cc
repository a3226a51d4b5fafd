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

std::vector<AxisRun> MakeRuns(size_t rank, const std::vector<bool>& merge) {
  std::vector<AxisRun> runs;
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0 && merge[i - 1]) {
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
  SplitAxes(KernelScope& scope, ValueId root) : scope_(scope) {
    parts_.resize(scope.graph().type(root).shape.size());
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
    for (const ReshapeRun& run :
         ReshapeRuns(scope_.MapShape(from), scope_.MapShape(n.type.shape))) {
      if (run.to_end - run.to_begin != 1 || run.from_end - run.from_begin < 2) continue;
      const auto at = std::find(places_.begin(), places_.end(), coords[run.to_begin]);
      if (at == places_.end()) continue;
      Shape& parts = parts_[static_cast<size_t>(at - places_.begin())];
      if (parts.empty()) parts = Shape(from.begin() + run.from_begin, from.begin() + run.from_end);
    }
  }

  KernelScope& scope_;
  Coords places_;
  std::vector<Shape> parts_;
};

}  // namespace

LoweredKernel LowerPointwise(const LowerContext& c, const Group& group) {
  const ValueId root = group.anchor;
  const Shape& shape = c.graph.type(root).shape;
  KernelScope scope(c, absl::StrCat("pointwise_", std::string(ir::Name(c.graph.node(root).op))));
  const std::vector<ValueId> inside = ComputedInside(c, {root});
  const std::vector<AxisRun> runs = MakeRuns(shape.size(), MergeableAxes(c, shape, inside, {}));
  const std::vector<Shape> parts = SplitAxes(scope, root).parts();
  // The loops, outermost first: a run, or each part of an axis that is split.
  Shape loop_shape;
  for (const AxisRun& run : runs) {
    const Shape& split = parts[run.back()];
    if (run.size() == 1 && !split.empty()) {
      loop_shape.insert(loop_shape.end(), split.begin(), split.end());
    } else {
      loop_shape.push_back(RunExtent(shape, run));
    }
  }
  const Dim graph_inner = loop_shape.empty() ? Dim(1) : loop_shape.back();
  Dim graph_rows = 1;
  Shape row_shape;
  for (size_t i = 0; i + 1 < loop_shape.size(); ++i) {
    graph_rows = graph_rows * loop_shape[i];
    row_shape.push_back(scope.Param("n", loop_shape[i]));
  }
  TiledLoops loops(scope, graph_rows, Volume(row_shape), graph_inner);
  const int out = scope.Output(root);
  loops.Run([&](Dim row, Dim j, VectorAxis axis) {
    Coords coords(shape.size(), Dim(0));
    Coords at = Delinearize(row_shape, row);
    at.push_back(j);
    size_t next = 0;
    for (const AxisRun& run : runs) {
      const Shape& split = parts[run.back()];
      if (run.size() == 1 && !split.empty()) {
        Join join{0, scope.MapShape(split),
                  Coords(at.begin() + next, at.begin() + next + split.size())};
        join.joined = FlatIndex(join.parts, join.coords);
        coords[run.back()] = join.joined;
        scope.AddJoin(std::move(join));
        next += split.size();
      } else {
        SetRun(run, at[next++], &coords);
      }
    }
    ElementEmitter e(scope, axis);
    const Reg r = e.Compute(root, coords);
    e.StoreAt(out, row * loops.inner() + j, r);
  });
  return scope.Finish(loops.GraphTasks(), loops.KernelTasks(),
                      Work(Volume(shape), ElementCost(c.graph, inside)), "32 lanes");
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
