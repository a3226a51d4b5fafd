// Row groups: reductions over one space with everything computed between and after them, one
// kernel, a row at a time. A row takes as many passes as its reductions depend on each other;
// values that a later pass needs again are kept in a row of scratch if computing them again would
// cost more.
//
// Order of sums (docs/semantics.md): element i goes to partial i mod 32, then the partials are
// halved.
#include <algorithm>
#include <functional>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/reduce.h"
#include "compiler/lower/space.h"

namespace lathe::compiler {
namespace {

using ir::Node;
using ir::Op;
using ir::ValueId;
using kernel::kNoReg;
using kernel::Reg;

constexpr int kLanes = 32;
constexpr int kRowsPerTask = 4;

bool Contains(const std::vector<int64_t>& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

// The coordinates of a row group: which axes make the row number, which the position in the row.
struct RowSpace {
  RowSpace(const LowerContext& c, const Group& group, KernelScope& scope,
           const std::vector<ValueId>& inside)
      : shape(group.space), axes(group.axes) {
    const std::vector<bool> merge = MergeableAxes(c, shape, inside, group.members);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (Contains(axes, i)) continue;
      const bool joins = i > 0 && !runs.empty() && runs.back().back() == i - 1 && merge[i - 1];
      if (joins) {
        runs.back().push_back(i);
      } else {
        runs.push_back({i});
      }
    }
    for (const AxisRun& run : runs) {
      graph_rows = graph_rows * RunExtent(shape, run);
      row_shape.push_back(scope.Param("n", RunExtent(shape, run)));
    }
    rows = Volume(row_shape);
    for (int64_t a : axes) {
      graph_length = graph_length * shape[static_cast<size_t>(a)];
      reduced_shape.push_back(scope.Map(shape[static_cast<size_t>(a)]));
    }
    length = Volume(reduced_shape);
  }

  Coords RowCoords(Dim row) const {
    Coords coords(shape.size(), Dim(0));
    const Coords at = Delinearize(row_shape, row);
    for (size_t i = 0; i < runs.size(); ++i) SetRun(runs[i], at[i], &coords);
    return coords;
  }
  Coords ElementCoords(Coords coords, Dim j) const {
    const Coords at = Delinearize(reduced_shape, j);
    for (size_t i = 0; i < axes.size(); ++i) coords[static_cast<size_t>(axes[i])] = at[i];
    return coords;
  }
  // Coordinates of a per-row value: reduced axes dropped, or kept with extent 1.
  Coords PerRowCoords(const Coords& row_coords, size_t rank) const {
    if (rank == shape.size()) return row_coords;
    Coords coords;
    for (size_t i = 0; i < shape.size(); ++i)
      if (!Contains(axes, i)) coords.push_back(row_coords[i]);
    return coords;
  }

  const Shape& shape;
  const std::vector<int64_t>& axes;
  std::vector<AxisRun> runs;
  Shape row_shape, reduced_shape;
  Dim graph_rows = 1, rows = 1, graph_length = 1, length = 1;
};

// In which pass each member is computed.
class PassPlan {
 public:
  PassPlan(const LowerContext& c, const Group& group) : c_(c), group_(group) {
    for (ValueId m : group.members) in_group_.insert(m);
    for (ValueId m : group.members) Place(m);
    for (ValueId m : group.members)
      if (IsReduction(op(m))) passes_ = std::max(passes_, pass_[m] + 1);
    for (ValueId m : group.members)
      if (IsFull(m) && c.plan.IsBuffer(m)) store_pass_ = std::max(store_pass_, pass_[m]);
    CountNeeds();
  }

  int num_passes() const { return std::max(passes_, store_pass_ + 1); }
  // Reductions: the pass that accumulates. Full values: the first pass that can compute them.
  // Per-row values: after which pass they exist (-1: before all).
  int pass(ValueId v) const { return pass_.at(v); }
  bool IsFull(ValueId m) const { return full_.contains(m); }
  bool InGroup(ValueId v) const { return in_group_.contains(v); }
  // Full values, members or computed inside from outside, that live in scratch between passes.
  const std::vector<ValueId>& cached() const { return cached_; }
  // The passes that read full value `v`.
  const std::set<int>& needs(ValueId v) const { return needs_.at(v); }

 private:
  Op op(ValueId v) const { return c_.graph.node(v).op; }

  void Place(ValueId m) {
    const Node& n = c_.graph.node(m);
    int pass = IsReduction(n.op) ? 0 : -1;
    bool full = false;
    for (ValueId o : n.operands) {
      if (!in_group_.contains(o)) continue;
      const bool per_row = !IsFull(o);
      pass = std::max(pass,
                      IsReduction(n.op) || IsFullNode(m) ? pass_[o] + (per_row ? 1 : 0) : pass_[o]);
      full |= !per_row;
    }
    if (!IsReduction(n.op) && (full || IsFullNode(m))) {
      full_.insert(m);
      pass = std::max(pass, 0);
    }
    pass_[m] = pass;
  }

  // Full by its shape. Where per-row and full shapes agree (reduced extents of 1) a value is
  // per-row if all its operands in the group are.
  bool IsFullNode(ValueId m) const {
    const Node& n = c_.graph.node(m);
    if (n.type.shape != group_.space) return false;
    if (n.op == Op::k_broadcast) return true;
    bool any = false, all_per_row = true;
    for (ValueId o : n.operands) {
      if (!in_group_.contains(o)) continue;
      any = true;
      all_per_row &= !IsFull(o);
    }
    return !(any && all_per_row);
  }

  void CountNeeds() {
    // From the last member up, so that users come first.
    for (size_t i = group_.members.size(); i-- > 0;) {
      const ValueId m = group_.members[i];
      const Node& n = c_.graph.node(m);
      std::set<int> at;
      if (IsReduction(n.op)) at = {pass_[m]};
      if (IsFull(m)) {
        at = needs_[m];
        if (c_.plan.IsBuffer(m)) at.insert(pass_[m]);
        needs_[m] = at;
        if (at.size() > 1 && n.op != Op::k_broadcast && WorthKeeping(m)) {
          cached_.push_back(m);
          at = {*at.begin()};
        }
      }
      for (ValueId o : n.operands)
        if (IsFull(o) || IsInlinedFull(o)) needs_[o].insert(at.begin(), at.end());
    }
    for (const auto& [v, at] : needs_)
      if (!in_group_.contains(v) && at.size() > 1 && WorthKeeping(v)) cached_.push_back(v);
    std::sort(cached_.begin(), cached_.end());
  }

  bool IsInlinedFull(ValueId v) const {
    return !in_group_.contains(v) && !c_.plan.IsBuffer(v) && c_.graph.type(v).shape == group_.space;
  }

  // More than one load or costly arithmetic behind it.
  bool WorthKeeping(ValueId v) const {
    const std::vector<ValueId> inside = ComputedInside(c_, {v});
    std::set<ValueId> loads;
    for (ValueId w : inside) {
      if (in_group_.contains(w) && w != v) continue;
      for (ValueId o : c_.graph.node(w).operands)
        if (c_.plan.IsBuffer(o) && !in_group_.contains(o)) loads.insert(o);
    }
    return loads.size() > 1 || ElementCost(c_.graph, inside) > 0.5;
  }

  const LowerContext& c_;
  const Group& group_;
  std::set<ValueId> in_group_, full_;
  absl::flat_hash_map<ValueId, int> pass_;
  absl::flat_hash_map<ValueId, std::set<int>> needs_;
  std::vector<ValueId> cached_;
  int passes_ = 0, store_pass_ = -1;
};

class RowLowering {
 public:
  RowLowering(const LowerContext& c, const Group& group)
      : c_(c),
        group_(group),
        inside_(ComputedInside(c, group.members)),
        scope_(c, absl::StrCat("row_", group.members.size())),
        b_(scope_.b()),
        space_(c, group, scope_, inside_),
        passes_(c, group) {}

  LoweredKernel Run() {
    for (ValueId m : group_.outputs) out_[m] = scope_.Output(m);
    for (ValueId v : passes_.cached())
      if (!out_.contains(v))
        scratch_[v] = scope_.Scratch(absl::StrCat("keep", v), c_.graph.type(v).dtype, space_.length,
                                     space_.graph_length);
    const Dim first = b_.task() * kRowsPerTask;
    b_.For("row", first, Min(first + kRowsPerTask, space_.rows), 1, [&](Dim row) { Row(row); });
    const Dim elements = space_.graph_rows * space_.graph_length;
    return scope_.Finish(CeilDiv(space_.graph_rows, kRowsPerTask),
                         CeilDiv(space_.rows, kRowsPerTask),
                         Work(elements, ElementCost(c_.graph, OfElements())),
                         absl::StrCat(passes_.num_passes(), " passes, ", passes_.cached().size(),
                                      " kept, 32 lanes"));
  }

 private:
  // What is computed for each element, not once a row or once in all.
  std::vector<ValueId> OfElements() const {
    std::vector<ValueId> values;
    for (ValueId v : inside_) {
      const Dim count = Volume(c_.graph.type(v).shape);
      const bool seldom = count == space_.graph_rows || count == Dim(1);
      if (!seldom || IsReduction(c_.graph.node(v).op)) values.push_back(v);
    }
    return values;
  }

  void Row(Dim row) {
    row_ = row;
    row_values_.clear();
    row_coords_ = space_.RowCoords(row);
    EmitPerRow(-1, row);
    for (int p = 0; p < passes_.num_passes(); ++p) {
      Pass(p);
      EmitPerRow(p, row);
    }
  }

  // Per-row values that exist after pass p, reductions finished.
  void EmitPerRow(int p, Dim row) {
    ElementEmitter e(scope_, VectorAxis{});
    for (const auto& [v, r] : row_values_) e.Define(v, r);
    for (ValueId m : group_.members) {
      const Node& n = c_.graph.node(m);
      if (passes_.IsFull(m) || passes_.pass(m) != p) continue;
      Reg r;
      if (IsReduction(n.op)) {
        const Reg lanes = b_.Get(accumulators_.at(m));
        r = FinishReduction(b_, n, b_.Reduce(LaneReductionOp(n.op), lanes), space_.length);
      } else {
        std::vector<Reg> operands;
        for (ValueId o : n.operands)
          operands.push_back(
              e.Emit(o, space_.PerRowCoords(row_coords_, c_.graph.type(o).shape.size())));
        r = e.Apply(m, std::move(operands));
      }
      e.Define(m, r);
      row_values_[m] = r;
      if (out_.contains(m)) b_.Store(out_.at(m), row, r);
    }
  }

  void Pass(int p) {
    bool any = false;
    for (ValueId m : group_.members) {
      const Node& n = c_.graph.node(m);
      if (IsReduction(n.op) && passes_.pass(m) == p) {
        accumulators_[m] = b_.Var(ReductionIdentity(b_, n.op, {n.type.dtype, kLanes}));
        any = true;
      }
      any |= passes_.IsFull(m) && passes_.pass(m) == p && out_.contains(m);
    }
    if (!any) return;
    const bool constant = space_.graph_length.is_constant();
    const bool has_full = !constant || space_.graph_length.constant() >= kLanes;
    const bool has_tail = !constant || space_.graph_length.constant() % kLanes != 0;
    const Dim full = has_full ? space_.length - Mod(space_.length, kLanes) : Dim(0);
    if (has_full) b_.For("j", 0, full, kLanes, [&](Dim j) { Body(p, j, kNoReg); });
    if (has_tail)
      b_.For("j", full, space_.length, kLanes,
             [&](Dim j) { Body(p, j, b_.Mask(space_.length - j, kLanes)); });
  }

  void Body(int p, Dim j, Reg mask) {
    dim::SymbolId symbol = 0;
    dim::IsSymbol(j, &symbol);
    ElementEmitter e(scope_, VectorAxis{symbol, kLanes, mask, space_.length - j});
    for (const auto& [v, r] : row_values_) e.Define(v, r);
    const Coords coords = space_.ElementCoords(row_coords_, j);
    const Dim flat =
        row_ * space_.length + j;  // of full values; then the reduced axes are the last
    // Kept values: computed and stored in the first pass that needs them, loaded in later ones.
    for (ValueId v : passes_.cached()) {
      const std::set<int>& needs = passes_.needs(v);
      if (!needs.contains(p) && !(out_.contains(v) && passes_.pass(v) == p)) continue;
      if (p > *needs.begin()) {
        const Reg r = out_.contains(v) ? e.LoadAt(out_.at(v), flat) : e.LoadAt(scratch_.at(v), j);
        if (passes_.InGroup(v)) {
          e.Define(v, r);
        } else {  // may be read at other places, too
          e.Remember(v, coords, r);
        }
      }
    }
    for (ValueId m : group_.members) DefineFull(e, m, p, coords, flat, j);
    for (ValueId m : group_.members) {
      const Node& n = c_.graph.node(m);
      if (!IsReduction(n.op) || passes_.pass(m) != p) continue;
      Reg x = b_.Splat(EmitElement(e, n.operands[0], p, coords, j), kLanes);
      if (mask != kNoReg) x = b_.Select(mask, x, ReductionIdentity(b_, n.op, {n.type.dtype, 1}));
      b_.Set(accumulators_.at(m), b_.Bin(ReductionOp(n.op), b_.Get(accumulators_.at(m)), x));
    }
  }

  // Full members in order: each pass computes those that it needs.
  void DefineFull(ElementEmitter& e, ValueId m, int p, const Coords& coords, Dim flat, Dim j) {
    if (!passes_.IsFull(m) || !passes_.needs(m).contains(p)) return;
    const bool kept =
        std::find(passes_.cached().begin(), passes_.cached().end(), m) != passes_.cached().end();
    const int first = *passes_.needs(m).begin();
    if (kept && p > first) return;  // defined by its load
    const Node& n = c_.graph.node(m);
    std::vector<Reg> operands;
    for (ValueId o : n.operands) operands.push_back(EmitElement(e, o, p, coords, j));
    const Reg r = n.op == Op::k_broadcast ? operands[0] : e.Apply(m, std::move(operands));
    e.Define(m, r);
    if (out_.contains(m) && passes_.pass(m) == p) e.StoreAt(out_.at(m), flat, r);
    if (kept && !out_.contains(m)) e.StoreAt(scratch_.at(m), j, r);
  }

  // An operand at this element: a member (defined), or computed from outside, kept if planned. What
  // is from outside has the extents of the space, if not the same dims: facts may make them equal.
  Reg EmitElement(ElementEmitter& e, ValueId o, int p, const Coords& coords, Dim j) {
    const Reg r = e.Emit(o, coords);
    if (scratch_.contains(o) && !passes_.InGroup(o) && p == *passes_.needs(o).begin())
      e.StoreAt(scratch_.at(o), j, r);
    return r;
  }

  const LowerContext& c_;
  const Group& group_;
  const std::vector<ValueId> inside_;
  KernelScope scope_;
  kernel::KernelBuilder& b_;
  RowSpace space_;
  PassPlan passes_;
  absl::flat_hash_map<ValueId, int> out_, scratch_, accumulators_;
  absl::flat_hash_map<ValueId, Reg> row_values_;
  Dim row_;
  Coords row_coords_;
};

}  // namespace

LoweredKernel LowerRow(const LowerContext& c, const Group& group) {
  if (IsArgExtremum(c.graph.node(group.anchor).op)) return LowerArgExtremumRow(c, group);
  return RowLowering(c, group).Run();
}

}  // namespace lathe::compiler
