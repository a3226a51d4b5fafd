// Reshapes and permutes move behind elementwise ops: f(view(x), c) = view(f(x, c)), where the other
// operands are views of the same kind or repeated, or, behind a product, values that exist before
// it and get the inverse view. So what follows a product (a bias, an activation, a residual) is
// computed on the product itself, views meet and cancel, and a chain of convolutions stays in the
// layout of their products. Elements are moved, not changed.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/pass.h"
#include "compiler/passes/requirements.h"
#include "compiler/passes/rewriter.h"
#include "compiler/passes/rules.h"
#include "ir/shape_rules.h"

namespace lathe::compiler {
namespace {

using ir::Attrs;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::ValueId;

constexpr int kMaxViews = 8;      // moved behind one node
constexpr size_t kMaxSearch = 8;  // nodes looked at for the product behind a value

// The axes of `from` that make up axis `axis` of `to`, if `to` is a reshape of `from` and they are
// whole: [begin, end).
std::optional<std::pair<size_t, size_t>> AxesBehind(const Shape& from, const Shape& to,
                                                    size_t axis) {
  const absl::Span<const Dim> extents(from);
  const Dim before = ir::Volume(absl::Span<const Dim>(to).first(axis));
  if (before == Dim(0)) return std::nullopt;  // it tells no axis from another
  for (size_t begin = 0; begin < from.size(); ++begin) {
    if (ir::Volume(extents.first(begin)) != before || from[begin] == Dim(1)) continue;
    for (size_t end = begin + 1; end <= from.size(); ++end) {
      if (ir::Volume(extents.subspan(begin, end - begin)) == to[axis]) return std::pair(begin, end);
    }
    return std::nullopt;
  }
  return std::nullopt;
}

class Sinker {
 public:
  Sinker(ir::Graph& graph, PassContext& context)
      : graph_(graph), context_(context), rewriter_(graph), rules_(ViewRules()) {}

  void Run() {
    rewriter_.Run([&](ValueId v) {
      order_.resize(std::max(order_.size(), graph_.num_nodes()), 0);
      order_[v] = ++time_;
      if (rules_.Apply(graph_, rewriter_, v, context_)) return;
      const ir::OpInfo& info = ir::Info(graph_.node(v).op);
      if (info.emission == ir::Emission::kElementwise && !(info.traits & ir::kMayFail)) {
        Sink(v);
      } else if (!context_.expanded && SumsUp(v)) {
        SinkBehindReduction(v);
      } else if (graph_.node(v).op == Op::k_concat) {
        SinkBehindConcat(v);
      }
    });
    if (!inverted_) return;
    RestateRequirements(graph_, [&](ValueId v) { return graph_.node(v).op == Op::k_reshape; });
  }

 private:
  bool IsView(ValueId v) const {
    const Op op = graph_.node(v).op;
    return op == Op::k_reshape || op == Op::k_permute;
  }
  ValueId Under(ValueId v) const { return graph_.node(v).operands[0]; }
  const Shape& ShapeOf(ValueId v) const { return graph_.type(v).shape; }

  void Sink(ValueId v) {
    std::vector<ValueId> operands = graph_.node(v).operands;
    std::vector<ValueId> views;  // from the outermost
    while (static_cast<int>(views.size()) < kMaxViews) {
      const auto lead =
          std::find_if(operands.begin(), operands.end(), [&](ValueId o) { return IsView(o); });
      if (lead == operands.end()) break;
      const ValueId view = *lead;
      std::optional<std::vector<ValueId>> before = Before(view, operands);
      if (!before) break;
      views.push_back(view);
      operands = *std::move(before);
    }
    if (views.empty()) return;
    const Node& f = graph_.node(v);
    const DType dtype = f.type.dtype;
    ValueId inner = Insert(f.op, operands, f.attrs, {dtype, ShapeOf(Under(views.back()))}, v);
    for (size_t i = views.size(); i-- > 1;) {
      const Node& view = graph_.node(views[i]);
      inner = Insert(view.op, {inner}, view.attrs, {dtype, view.type.shape}, v);
    }
    const Node& outermost = graph_.node(views[0]);
    rewriter_.Become(v, outermost.op, {inner}, outermost.attrs);
    context_.Count("f(view(x)) = view(f(x))");
    // The view may meet what the rules know.
    rules_.Apply(graph_, rewriter_, v, context_);
  }

  // Whether the op reduces attrs.axes.
  bool SumsUp(ValueId v) const {
    const Op op = graph_.node(v).op;
    return op == Op::k_mean || (ir::Info(op).emission == ir::Emission::kReduction &&
                                op != Op::k_argmax && op != Op::k_argmin);
  }

  // f(permute(x)) = permute(f(x)) where f leaves the last axis of x: it reads x in order, with
  // neighbours side by side.
  void SinkBehindReduction(ValueId v) {
    const Node& n = graph_.node(v);
    const ValueId view = n.operands[0];
    if (graph_.node(view).op != Op::k_permute) return;
    const std::vector<int64_t> order = graph_.node(view).attrs.axes;
    const Shape& shape = ShapeOf(Under(view));
    Attrs attrs = n.attrs;
    for (int64_t& axis : attrs.axes) axis = order[static_cast<size_t>(axis)];
    std::sort(attrs.axes.begin(), attrs.axes.end());
    if (attrs.axes.empty() || attrs.axes.back() + 1 == static_cast<int64_t>(shape.size())) return;
    std::vector<int64_t> left, back;  // axes of x that the result has; its order of them
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t axis = static_cast<int64_t>(i);
      if (attrs.keep_dims || !std::binary_search(attrs.axes.begin(), attrs.axes.end(), axis))
        left.push_back(axis);
    }
    for (const int64_t axis : order) {
      const auto at = std::find(left.begin(), left.end(), axis);
      if (at != left.end()) back.push_back(at - left.begin());
    }
    const ir::ValueType type = {n.type.dtype, ir::ReducedShape(shape, attrs.axes, attrs.keep_dims)};
    const ValueId inner = Insert(n.op, {Under(view)}, std::move(attrs), type, v);
    PermuteBack(v, inner, std::move(back));
  }

  // concat(permute(x), permute(y)) = permute(concat(x, y)).
  void SinkBehindConcat(ValueId v) {
    const Node& n = graph_.node(v);
    if (graph_.node(n.operands[0]).op != Op::k_permute) return;
    const std::vector<int64_t> order = graph_.node(n.operands[0]).attrs.axes;
    std::vector<ValueId> under;
    for (const ValueId o : n.operands) {
      if (graph_.node(o).op != Op::k_permute || graph_.node(o).attrs.axes != order) return;
      under.push_back(Under(o));
    }
    Attrs attrs = n.attrs;
    attrs.axis = order[static_cast<size_t>(*attrs.axis)];
    Shape shape = n.type.shape;
    for (size_t i = 0; i < order.size(); ++i)
      shape[static_cast<size_t>(order[i])] = n.type.shape[i];
    const ir::ValueType type = {n.type.dtype, shape};
    const ValueId inner = Insert(Op::k_concat, std::move(under), std::move(attrs), type, v);
    PermuteBack(v, inner, order);
  }

  void PermuteBack(ValueId v, ValueId inner, std::vector<int64_t> order) {
    context_.Count("f(view(x)) = view(f(x))");
    if (std::is_sorted(order.begin(), order.end())) return rewriter_.Replace(v, inner);
    Attrs attrs;
    attrs.axes = std::move(order);
    rewriter_.Become(v, Op::k_permute, {inner}, std::move(attrs));
    rules_.Apply(graph_, rewriter_, v, context_);
  }

  // The operands as they are before `view`, or nothing if one can't be had. Decided before anything
  // is inserted.
  std::optional<std::vector<ValueId>> Before(ValueId view, const std::vector<ValueId>& operands) {
    const ValueId product = ProductBehind(Under(view));
    std::vector<int> how;
    for (ValueId o : operands) {
      if (SameView(o, view)) {
        how.push_back(0);
      } else if (graph_.node(o).op == Op::k_broadcast && CanPull(o, view)) {
        how.push_back(1);
      } else if (product != kNoValue && CanInvert(o, product)) {
        how.push_back(2);
      } else {
        return std::nullopt;
      }
    }
    std::vector<ValueId> before;
    for (size_t i = 0; i < operands.size(); ++i) {
      before.push_back(how[i] == 0   ? Under(operands[i])
                       : how[i] == 1 ? Pull(operands[i], view)
                                     : Invert(operands[i], view));
    }
    return before;
  }

  bool SameView(ValueId a, ValueId b) const {
    const Node& x = graph_.node(a);
    const Node& y = graph_.node(b);
    return x.op == y.op && x.attrs.axes == y.attrs.axes && x.type.shape == y.type.shape &&
           ShapeOf(x.operands[0]) == ShapeOf(y.operands[0]);
  }

  // The product that `x` is, or is computed from element by element, views in between.
  ValueId ProductBehind(ValueId x) const {
    std::vector<ValueId> search = {x};
    for (size_t i = 0; i < search.size() && i < kMaxSearch; ++i) {
      const Node& n = graph_.node(search[i]);
      if (n.op == Op::k_matmul) return search[i];
      if (ir::Info(n.op).emission != ir::Emission::kElementwise && !IsView(search[i])) continue;
      search.insert(search.end(), n.operands.begin(), n.operands.end());
    }
    return kNoValue;
  }

  // A whole value that doesn't wait for the product.
  bool CanInvert(ValueId v, ValueId product) const {
    const Op op = graph_.node(v).op;
    if (op == Op::k_input) return true;
    return op != Op::k_broadcast && op != Op::k_constant && order_[v] < order_[product];
  }

  ValueId Invert(ValueId v, ValueId view) {
    inverted_ = true;
    const Node of = graph_.node(view);
    const Shape shape = ShapeOf(of.operands[0]);
    Attrs attrs;
    if (of.op == Op::k_reshape) {
      attrs.shape = shape;
    } else {
      attrs.axes.resize(of.attrs.axes.size());
      for (size_t i = 0; i < of.attrs.axes.size(); ++i)
        attrs.axes[static_cast<size_t>(of.attrs.axes[i])] = static_cast<int64_t>(i);
    }
    const ValueId view_back =
        Insert(of.op, {v}, std::move(attrs), {graph_.type(v).dtype, shape}, view);
    order_[view_back] = graph_.node(v).op == Op::k_input ? 0 : order_[v];
    return view_back;
  }

  // Where the axes of a repeated value lie before the view.
  std::optional<std::vector<int64_t>> PulledAxes(const Node& repeated, ValueId view) const {
    const Node& of = graph_.node(view);
    std::vector<int64_t> axes;
    for (size_t i = 0; i < repeated.attrs.axes.size(); ++i) {
      const size_t axis = static_cast<size_t>(repeated.attrs.axes[i]);
      if (of.op == Op::k_permute) {
        axes.push_back(of.attrs.axes[axis]);
        continue;
      }
      if (ShapeOf(repeated.operands[0])[i] != of.type.shape[axis]) return std::nullopt;
      const auto behind = AxesBehind(ShapeOf(of.operands[0]), of.type.shape, axis);
      if (!behind || behind->second != behind->first + 1) return std::nullopt;
      axes.push_back(static_cast<int64_t>(behind->first));
    }
    if (of.op == Op::k_reshape && !std::is_sorted(axes.begin(), axes.end())) return std::nullopt;
    return axes;
  }

  bool CanPull(ValueId v, ValueId view) const {
    const Node& n = graph_.node(v);
    return (graph_.node(view).op == Op::k_permute ||
            graph_.node(n.operands[0]).op == Op::k_constant) &&
           PulledAxes(n, view).has_value();
  }

  ValueId Pull(ValueId v, ValueId view) {
    const Node of = graph_.node(v);
    ValueId repeated = of.operands[0];
    Attrs attrs;
    attrs.axes = *PulledAxes(of, view);
    if (!std::is_sorted(attrs.axes.begin(), attrs.axes.end())) {
      const std::vector<int64_t> axes = attrs.axes;
      std::vector<int64_t> order(axes.size());
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
        return axes[static_cast<size_t>(x)] < axes[static_cast<size_t>(y)];
      });
      std::sort(attrs.axes.begin(), attrs.axes.end());
      repeated = Reordered(repeated, std::move(order), v);
    }
    attrs.shape = ShapeOf(Under(view));
    return Insert(Op::k_broadcast, {repeated}, attrs, {of.type.dtype, *attrs.shape}, v);
  }

  // permute(x), as a reshape or x itself where only extents of 1 move.
  ValueId Reordered(ValueId x, std::vector<int64_t> order, ValueId like) {
    const DType dtype = graph_.type(x).dtype;
    Shape shape;
    std::vector<int64_t> moved;
    for (const int64_t a : order) {
      shape.push_back(ShapeOf(x)[static_cast<size_t>(a)]);
      if (shape.back() != Dim(1)) moved.push_back(a);
    }
    Attrs attrs;
    if (std::is_sorted(moved.begin(), moved.end())) {
      while (graph_.node(x).op == Op::k_reshape) x = Under(x);
      if (ShapeOf(x) == shape) return x;
      attrs.shape = shape;
      return Insert(Op::k_reshape, {x}, std::move(attrs), {dtype, shape}, like);
    }
    attrs.axes = std::move(order);
    return Insert(Op::k_permute, {x}, std::move(attrs), {dtype, shape}, like);
  }

  ValueId Insert(Op op, std::vector<ValueId> operands, Attrs attrs, ir::ValueType type,
                 ValueId like) {
    const ValueId v =
        rewriter_.Insert(op, std::move(operands), std::move(attrs), std::move(type), like);
    order_.resize(graph_.num_nodes(), time_);
    return v;
  }

  ir::Graph& graph_;
  PassContext& context_;
  Rewriter rewriter_;
  const RuleTable rules_;
  std::vector<int> order_;  // when a value is there, of those visited or inserted
  int time_ = 0;
  bool inverted_ = false;  // a view was inserted that was not there
};

}  // namespace

absl::Status SinkViews(ir::Graph& graph, PassContext& context) {
  Sinker(graph, context).Run();
  return absl::OkStatus();
}

}  // namespace lathe::compiler
