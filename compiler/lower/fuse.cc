#include "compiler/lower/fuse.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/lower/index_map.h"

namespace lathe::compiler {
namespace {

using ir::Emission;
using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::ValueId;

constexpr int kMaxMembers = 24;  // of a group
constexpr int kMaxInlined = 24;  // values computed inside one group from outside it
constexpr int kNone = -1, kMany = -2;

// Ops that may be computed again for every element of a broadcast behind them.
bool IsCheap(Op op) {
  switch (op) {
    case Op::k_neg:
    case Op::k_abs:
    case Op::k_sign:
    case Op::k_floor:
    case Op::k_ceil:
    case Op::k_round:
    case Op::k_trunc:
    case Op::k_not:
    case Op::k_bit_not:
    case Op::k_and:
    case Op::k_or:
    case Op::k_xor:
    case Op::k_bit_and:
    case Op::k_bit_or:
    case Op::k_bit_xor:
    case Op::k_shift_left:
    case Op::k_shift_right:
    case Op::k_cast:
    case Op::k_bitcast:
    case Op::k_add:
    case Op::k_sub:
    case Op::k_mul:
    case Op::k_maximum:
    case Op::k_minimum:
    case Op::k_relu:
    case Op::k_select:
      return true;
    default:
      return ir::Info(op).traits & ir::kBoolResult;
  }
}

class Fuser {
 public:
  Fuser(const Graph& graph, FusionPlan* plan)
      : graph_(graph),
        plan_(plan),
        uses_(graph.CountUses()),
        group_of_(graph.num_nodes(), kNone),
        ready_(graph.num_nodes(), kNone),
        consumer_(graph.num_nodes(), kNone),
        block_of_(graph.num_nodes(), kNone),
        repeated_(graph.num_nodes(), false),
        ends_in_place_(graph.num_nodes(), false),
        absorbed_(graph.num_nodes(), false),
        partly_(graph.num_nodes(), false) {}

  // Nesting is bounded by kMaxBlockDepth.
  void Run(const ir::Block& block) {
    const int id = blocks_++;
    for (ValueId v : block.nodes) block_of_[v] = id;
    const size_t first_group = building_.size();
    for (ValueId v : block.nodes) Assign(v, first_group);
    DecideBuffers(block, id);
    EmitItems(block, id);
  }

 private:
  struct Building {
    Group group;
    int first = 0;  // position of the anchor
    ValueId chain_end = kNoValue;
    bool emitted = false;
  };

  const Node& node(ValueId v) const { return graph_.node(v); }
  Group& group(int g) { return building_[g].group; }

  // --- Which group computes what. ready_[v]: position of the last group that v depends on.
  // ---------

  void Assign(ValueId v, size_t first_group) {
    const Node& n = node(v);
    ++position_;
    for (ValueId o : n.operands) ready_[v] = std::max(ready_[v], ready_[o]);
    if (IsGemm(graph_, v)) {
      Start(v, GroupKind::kGemm);
    } else if (n.op == Op::k_attention && n.type.dtype == f32) {
      Start(v, GroupKind::kAttention);
    } else if (IsRowReduction(graph_, v)) {
      if (!JoinRow(v, first_group)) Start(v, GroupKind::kRow);
    } else if (n.op == Op::k_if) {
      ready_[v] = position_;
    } else {
      TryJoin(v, first_group);
    }
  }

  void Start(ValueId v, GroupKind kind) {
    Building b;
    b.first = position_;
    b.chain_end = v;
    b.group.kind = kind;
    b.group.anchor = v;
    b.group.members = {v};
    if (kind == GroupKind::kRow) {
      b.group.space = graph_.type(node(v).operands[0]).shape;
      b.group.axes = ReducedAxes(node(v));
    }
    group_of_[v] = static_cast<int>(building_.size());
    ready_[v] = position_;
    building_.push_back(std::move(b));
  }

  void Join(ValueId v, int g) {
    group(g).members.push_back(v);
    group_of_[v] = g;
    ready_[v] = building_[g].first;
    building_[g].chain_end = v;
  }

  bool OthersReady(ValueId v, int g) const {
    for (ValueId o : node(v).operands)
      if (group_of_[o] != g && ready_[o] >= building_[g].first) return false;
    return true;
  }

  bool IsArgGroup(int g) { return IsArgExtremum(node(group(g).anchor).op); }

  bool JoinRow(ValueId v, size_t first_group) {
    if (IsArgExtremum(node(v).op)) return false;
    const Shape& space = graph_.type(node(v).operands[0]).shape;
    const int last = static_cast<int>(building_.size()) - 1;
    for (int g = last; g >= static_cast<int>(first_group) && g > last - 4; --g) {
      const Group& row = group(g);
      if (row.kind == GroupKind::kRow && !IsArgGroup(g) && row.space == space &&
          row.axes == ReducedAxes(node(v)) && row.members.size() < kMaxMembers &&
          OthersReady(v, g)) {
        Join(v, g);
        return true;
      }
    }
    return false;
  }

  void TryJoin(ValueId v, size_t first_group) {
    int best = kNone;
    for (ValueId o : node(v).operands) {
      const int g = group_of_[o];
      if (g < static_cast<int>(first_group) || group(g).members.size() >= kMaxMembers) continue;
      if (best != kNone && building_[g].first <= building_[best].first) continue;
      if (Fits(v, o, g) && OthersReady(v, g)) best = g;
    }
    if (best != kNone) Join(v, best);
  }

  bool Fits(ValueId v, ValueId operand, int g) {
    const Node& n = node(v);
    const Group& in = group(g);
    const bool elementwise = ir::Info(n.op).emission == Emission::kElementwise;
    if (in.kind == GroupKind::kRow) {
      if (IsArgGroup(g)) return false;
      // Values of the whole space are stored by their position in the row.
      const bool full = n.type.shape == in.space;
      if (full && !AreTrailing(in.axes, in.space.size())) return false;
      if (elementwise) return full || n.type.shape == graph_.type(operand).shape;
      return IsRowBroadcast(graph_, v, in.space, in.axes);
    }
    if (building_[g].chain_end != operand || uses_[operand] != 1) return false;
    // One result: a product of bytes behind reads what is under a cast of bytes.
    if (in.kind == GroupKind::kGemm)
      return elementwise && !(n.op == Op::k_cast && graph_.type(operand).dtype == u8) &&
             (n.type.dtype == f32 || IsByteGemm(graph_, in.anchor)) &&
             n.type.shape == graph_.type(in.anchor).shape;
    // Attention: permutes, then reshapes.
    if (n.op == Op::k_permute) return node(operand).op != Op::k_reshape;
    return n.op == Op::k_reshape;
  }

  // --- Which values get a buffer: one pass from the results upwards.
  // -------------------------------

  void Need(ValueId v) { plan_->buffered[v] = true; }

  void DecideBuffers(const ir::Block& block, int id) {
    for (ValueId r : block.results) NeedFromOutside(r);
    for (size_t i = block.nodes.size(); i-- > 0;) {
      const ValueId v = block.nodes[i];
      const Node& n = node(v);
      if (n.op == Op::k_constant) {
        if (!n.type.shape.empty()) Need(v);
        continue;
      }
      if (n.op == Op::k_input || n.op == Op::k_if) {
        Need(v);
        for (const ir::Block& b : n.blocks) NeedOuterUses(b, id);
        continue;
      }
      const int g = group_of_[v];
      if (absorbed_[v] && consumer_[v] == kNone && !plan_->buffered[v]) continue;
      if (g != kNone) {
        if (consumer_[v] != kNone) Need(v);
      } else if (!plan_->buffered[v] && !CanInline(v)) {
        Need(v);
      }
      for (size_t k = 0; k < n.operands.size(); ++k) Use(v, k, g);
    }
  }

  void Use(ValueId v, size_t k, int g) {
    const Node& n = node(v);
    const ValueId o = n.operands[k];
    if (g != kNone && group(g).anchor == v && IsByteGemm(graph_, v)) return Absorb(v, k);
    if (g != kNone && group_of_[o] == g) return;
    const int by = g != kNone           ? g
                   : plan_->buffered[v] ? kPointwise + static_cast<int>(v)
                                        : consumer_[v];
    consumer_[o] = consumer_[o] == kNone || consumer_[o] == by ? by : kMany;
    const bool expanding = (n.op == Op::k_broadcast || n.op == Op::k_windows) && g == kNone;
    if (expanding || (repeated_[v] && g == kNone && !plan_->buffered[v])) repeated_[o] = true;
    if (g != kNone && group(g).anchor == v) {
      if (group(g).kind == GroupKind::kGemm) Need(UnderReshapes(k == 0 ? RowsOf(v) : o));
      if (group(g).kind == GroupKind::kAttention) Need(UnderStridedViews(o));
    }
    // Read more than once an element, or at indices that data decides.
    const bool contracts = g == kNone && (n.op == Op::k_matmul || n.op == Op::k_attention ||
                                          (IsReduction(n.op) && !IsWindowReduction(graph_, v)));
    if (n.op == Op::k_gather && k == 1 && !ReadsEveryIndex(graph_, v)) NeedFromOutside(o);
    if (n.op == Op::k_slice || n.op == Op::k_windows || (n.op == Op::k_gather && k == 0))
      partly_[o] = true;
    if (g == kNone && partly_[v] && !plan_->buffered[v]) partly_[o] = true;
    if (n.op == Op::k_gather && k == 0) Need(UnderReshapes(o));
    if (contracts && !IsView(node(o).op)) Need(o);
    // A product reads what lies under its operand's views once a row or column.
    if (contracts && !IsReduction(n.op)) repeated_[o] = true;
    // Windows overlap: what is computed for them is computed once.
    const Emission under = ir::Info(node(o).op).emission;
    if (n.op == Op::k_windows && under == Emission::kElementwise && !IsSingle(o)) Need(o);
    if (n.op == Op::k_windows && node(o).op == Op::k_reshape) Need(UnderStridedViews(o));
    // A reduction of windows ends with what is computed from it alone.
    if (g == kNone && uses_[o] == 1 && ir::Info(n.op).emission == Emission::kElementwise &&
        n.type.shape == graph_.type(o).shape)
      ends_in_place_[o] = true;
    // Its rows begin where the offsets say: nothing composes with that.
    const Emission by_itself = ir::Info(n.op).emission;
    if (by_itself == Emission::kSegment) NeedFromOutside(o);
    if (by_itself == Emission::kSequential) NeedFromOutside(UnderReshapes(o));
  }

  // The casts under a product of bytes are read through.
  void Absorb(ValueId product, size_t k) {
    ValueId v = node(product).operands[k];
    for (; node(v).op != Op::k_cast; v = node(v).operands[0]) absorbed_[v] = true;
    absorbed_[v] = true;
    NeedFromOutside(UnderReshapes(node(v).operands[0]));
  }

  ValueId UnderReshapes(ValueId v) const {
    while (!plan_->buffered[v] && node(v).op == Op::k_reshape && group_of_[v] == kNone)
      v = node(v).operands[0];
    return v;
  }

  // What the left operand of a GEMM is read from, less reshapes.
  ValueId RowsOf(ValueId product) const {
    if (IsByteGemm(graph_, product)) return BytesOf(graph_, node(product).operands[0]);
    const std::optional<InPlaceWindows> in_place = WindowsInPlace(graph_, product);
    return in_place ? node(in_place->windows).operands[0] : node(product).operands[0];
  }

  ValueId UnderStridedViews(ValueId v) const {
    ValueId base = v;
    while (!plan_->buffered[base] && IsView(node(base).op) && group_of_[base] == kNone)
      base = node(base).operands[0];
    return IsStrided(graph_, v, base) ? base : v;
  }

  bool CanInline(ValueId v) {
    const Node& n = node(v);
    const int by = consumer_[v];
    const bool index_only =
        IsView(n.op) || n.op == Op::k_iota || n.op == Op::k_size || n.op == Op::k_windows;
    const Emission emission = ir::Info(n.op).emission;
    const bool light = index_only || emission == Emission::kElementwise || n.op == Op::k_pad ||
                       n.op == Op::k_concat || n.op == Op::k_gather || n.op == Op::k_random ||
                       (ends_in_place_[v] && IsWindowReduction(graph_, v));
    if (!light) return false;
    // A gather may fail: all of it is computed, whoever needs how much, or repeats it how often.
    if (n.op == Op::k_gather && !n.attrs.unchecked && (by == kNone || partly_[v] || repeated_[v]))
      return false;
    if (!index_only && by == kMany && !IsSingle(v)) return false;
    if (!index_only && repeated_[v] && !IsCheap(n.op) && !IsSingle(v)) return false;
    return ++inlined_[by] <= kMaxInlined;
  }

  bool IsSingle(ValueId v) const {
    const Shape& s = graph_.type(v).shape;
    return std::all_of(s.begin(), s.end(), [](Dim d) { return d == Dim(1); });
  }

  void NeedFromOutside(ValueId v) {
    Need(v);
    consumer_[v] = kMany;
  }

  // Values of block `id` that a nested block uses.
  void NeedOuterUses(const ir::Block& block, int id) {
    auto need = [&](ValueId o) {
      if (block_of_[o] == id) NeedFromOutside(o);
    };
    for (ValueId v : block.nodes) {
      std::for_each(node(v).operands.begin(), node(v).operands.end(), need);
      if (IsGemm(graph_, v)) need(UnderReshapes(RowsOf(v)));
      for (const ir::Block& b : node(v).blocks) NeedOuterUses(b, id);
    }
    std::for_each(block.results.begin(), block.results.end(), need);
  }

  // --- Execution order: depth first from the results, groups as a whole.
  // ---------------------------

  void EmitItems(const ir::Block& block, int id) {
    std::vector<std::pair<ValueId, bool>> stack;
    for (ValueId v : block.nodes) {
      stack.push_back({v, false});
      while (!stack.empty()) {
        const auto [w, expanded] = stack.back();
        stack.pop_back();
        const int g = group_of_[w];
        if (block_of_[w] != id || Emitted(w)) continue;
        if (expanded) {
          Emit(w);
          continue;
        }
        stack.push_back({w, true});
        auto visit = [&](ValueId o) {
          if (block_of_[o] == id && !Emitted(o) && (g == kNone || group_of_[o] != g))
            stack.push_back({o, false});
        };
        if (g == kNone) {
          VisitOperands(w, visit);
        } else {
          for (ValueId m : group(g).members) VisitOperands(m, visit);
        }
      }
    }
  }

  template <typename Visit>
  void VisitOperands(ValueId v, const Visit& visit) {
    for (ValueId o : node(v).operands) visit(o);
    for (const ir::Block& b : node(v).blocks) VisitBlock(b, visit);
  }
  template <typename Visit>
  void VisitBlock(const ir::Block& block, const Visit& visit) {
    for (ValueId v : block.nodes) VisitOperands(v, visit);
    for (ValueId r : block.results) visit(r);
  }

  bool Emitted(ValueId v) const {
    return group_of_[v] == kNone ? emitted_.contains(v) : building_[group_of_[v]].emitted;
  }

  void Emit(ValueId v) {
    const Node& n = node(v);
    if (const int g = group_of_[v]; g != kNone) {
      building_[g].emitted = true;
      for (ValueId m : group(g).members)
        if (plan_->buffered[m]) group(g).outputs.push_back(m);
      if (!group(g).outputs.empty()) AddGroup(group(g));
      return;
    }
    emitted_.insert({v, true});
    if (n.op == Op::k_gather && !ReadsEveryIndex(graph_, v)) {
      Group check;
      check.kind = GroupKind::kIndexCheck;
      check.anchor = v;
      check.members = {v};
      AddGroup(std::move(check));
    }
    if (n.op == Op::k_if) {
      plan_->items.push_back({FusedItem::kIf, -1, v});
      Run(n.blocks[0]);
      plan_->items.push_back({FusedItem::kElse, -1, v});
      Run(n.blocks[1]);
      plan_->items.push_back({FusedItem::kEndIf, -1, v});
    } else if (plan_->buffered[v] && n.op != Op::k_input && n.op != Op::k_constant) {
      Group single;
      const Emission emission = ir::Info(n.op).emission;
      if (emission == Emission::kSegment) single.kind = GroupKind::kSegment;
      if (emission == Emission::kSequential) single.kind = GroupKind::kSequential;
      single.anchor = v;
      single.members = single.outputs = {v};
      AddGroup(std::move(single));
    }
  }

  void AddGroup(Group g) {
    plan_->items.push_back({FusedItem::kGroup, static_cast<int>(plan_->groups.size()), kNoValue});
    plan_->groups.push_back(std::move(g));
  }

  static constexpr int kPointwise = 1 << 24;  // consumer ids above it are pointwise roots

  const Graph& graph_;
  FusionPlan* plan_;
  const std::vector<int> uses_;
  std::vector<int> group_of_, ready_, consumer_, block_of_;
  std::vector<bool> repeated_;       // a broadcast reads its elements more than once
  std::vector<bool> ends_in_place_;  // its only use is elementwise
  std::vector<bool> absorbed_;       // read through by products of bytes
  std::vector<bool> partly_;         // a slice or a gather may leave some of its elements unread
  absl::flat_hash_map<ValueId, bool> emitted_;
  absl::flat_hash_map<int, int> inlined_;  // by consumer
  std::vector<Building> building_;
  int position_ = 0, blocks_ = 0;
};

}  // namespace

const char* Name(GroupKind kind) {
  switch (kind) {
    case GroupKind::kPointwise:
      return "pointwise";
    case GroupKind::kRow:
      return "row";
    case GroupKind::kGemm:
      return "gemm";
    case GroupKind::kAttention:
      return "attention";
    case GroupKind::kSegment:
      return "segment";
    case GroupKind::kSequential:
      return "sequential";
    case GroupKind::kIndexCheck:
      return "index check";
  }
  return "?";
}

FusionPlan Fuse(const Graph& graph) {
  FusionPlan plan;
  plan.buffered.assign(graph.num_nodes(), false);
  Fuser(graph, &plan).Run(graph.body);
  return plan;
}

std::string FusionPlan::ToString(const Graph& graph) const {
  std::string text;
  for (const FusedItem& item : items) {
    if (item.kind != FusedItem::kGroup) {
      const char* const kWords[] = {"", "if ", "else ", "end if "};
      absl::StrAppend(&text, kWords[item.kind], graph.ValueName(item.node), "\n");
      continue;
    }
    const Group& g = groups[item.group];
    absl::StrAppend(&text, compiler::Name(g.kind), " (",
                    absl::StrJoin(g.members, " ",
                                  [&](std::string* out, ValueId v) {
                                    absl::StrAppend(out, std::string(ir::Name(graph.node(v).op)));
                                  }),
                    ") -> ",
                    absl::StrJoin(g.outputs, ", ",
                                  [&](std::string* out, ValueId v) {
                                    absl::StrAppend(out, graph.ValueName(v), ": ",
                                                    graph.type(v).ToString());
                                  }),
                    "\n");
  }
  return text;
}

}  // namespace lathe::compiler
