// The builder's conveniences that broadcast: elementwise ops, matmul, attention.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/ragged.h"
#include "ir/shape_rules.h"

namespace lathe::ir {
namespace {

// The extent of two dims broadcast together; requires what the facts leave open.
absl::StatusOr<Dim> BroadcastDims(InferContext& c, Dim n, Dim m) {
  if (n == m || m == Dim(1)) return n;
  if (n == Dim(1)) return m;
  if (const auto a = RaggedWithTotal(*c.graph, n), b = RaggedWithTotal(*c.graph, m); a && b) {
    return c.Error(absl::StrCat("~", a->name, " and ~", b->name,
                                " are different ragged dims: their rows needn't have the same "
                                "lengths; wanted one of them, or dense values by to_padded"));
  }
  const std::string why =
      absl::StrCat(n.ToString(), " and ", m.ToString(), " must be equal, or one of them 1");
  if (n.is_constant() && m.is_constant())
    return WithHint(c.Error(why), {Hint::Kind::kDims, n.ToString(), m.ToString()});
  if (KnownEq(c, n, m)) return n.is_constant() ? n : m.is_constant() ? m : n;
  if (KnownEq(c, n, 1)) return m;
  if (KnownEq(c, m, 1)) return n;
  if (m.is_constant()) std::swap(n, m);
  Claim claim = EqualOrOne(n, m);
  Dim result = 0;
  const bool n_fixed = n.is_constant() || c.Known(Ne(n, 1));
  const bool m_fixed = !m.is_constant() && c.Known(Ne(m, 1));
  if (n_fixed && m_fixed) {
    claim = Eq(m, n);
    result = n;
  } else if (n.is_constant()) {
    claim = In(m, {std::min<int64_t>(1, n.constant()), std::max<int64_t>(1, n.constant())});
    result = n;
  } else if (n_fixed || m_fixed) {
    if (m_fixed) std::swap(n, m);
    claim = IsOneOf(m, {n, 1});
    result = n;
  } else {
    const bool positive = KnownLe(c, 1, n) && KnownLe(c, 1, m);
    result = positive ? Max(n, m) : Max(n, m) * Min(1, Min(n, m));
  }
  if (absl::Status s = c.Require(claim, why, Eq(n, m).ToString()); !s.ok()) return s;
  return result;
}

// BroadcastTo, unless all dims are known to be those of `shape` already.
absl::StatusOr<ValueId> Widen(Builder& b, const InferContext& c, ValueId v, const Shape& shape) {
  const Shape& from = c.graph->type(v).shape;
  const bool same = std::equal(from.begin(), from.end(), shape.begin(), shape.end(),
                               [&](Dim d, Dim wanted) { return KnownEq(c, d, wanted); });
  return same ? v : b.BroadcastTo(v, shape);
}

}  // namespace

absl::StatusOr<Shape> BroadcastShapes(InferContext& c, absl::Span<const Shape> shapes) {
  size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape result(rank, Dim(1));
  for (const Shape& shape : shapes) {
    const size_t offset = rank - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      absl::StatusOr<Dim> d = BroadcastDims(c, result[offset + i], shape[i]);
      if (!d.ok()) {
        // The two shapes; the message's own place and op stay in front.
        const std::string text(d.status().message());
        return WithMessage(d.status(),
                           absl::StrCat(text, " (axis ", i, " of ", ToString(shape), ")"));
      }
      result[offset + i] = *d;
    }
  }
  return result;
}

absl::StatusOr<ValueId> Builder::BroadcastTo(ValueId v, const Shape& shape) {
  Node n{.op = Op::k_broadcast, .operands = {v}};
  n.location = location_;
  if (v >= graph_->num_nodes())
    return Context(&n).Error(absl::StrCat(graph_->ValueName(v), " is no value of this graph"));
  const Shape& from = graph_->type(v).shape;
  if (from == shape) return v;
  if (from.size() > shape.size()) {
    return Context(&n).Error(absl::StrCat("can't bring ", ToString(from), " to ", ToString(shape),
                                          ", which has a lower rank"));
  }
  Attrs attrs{.shape = shape};
  for (size_t i = 0; i < from.size(); ++i)
    attrs.axes.push_back(static_cast<int64_t>(shape.size() - from.size() + i));
  return Create(Op::k_broadcast, {v}, std::move(attrs));
}

absl::StatusOr<ValueId> Builder::Elementwise(Op op, std::vector<ValueId> operands, Attrs attrs) {
  Node n{.op = op, .operands = operands};
  n.location = location_;
  Attempt attempt(*this);
  InferContext c = Context(&n);
  std::vector<Shape> shapes;
  for (ValueId v : operands) {
    if (v >= graph_->num_nodes())
      return c.Error(absl::StrCat("operand ", graph_->ValueName(v), " is no value of this graph"));
    shapes.push_back(graph_->type(v).shape);
  }
  absl::StatusOr<Shape> shape = BroadcastShapes(c, shapes);
  if (!shape.ok()) return shape.status();
  for (ValueId& v : operands) {
    absl::StatusOr<ValueId> wide = Widen(*this, c, v, *shape);
    if (!wide.ok()) return wide.status();
    v = *wide;
  }
  return attempt.Kept(Create(op, std::move(operands), std::move(attrs)));
}

absl::StatusOr<ValueId> Builder::MatMul(ValueId a, ValueId b) {
  Node n{.op = Op::k_matmul, .operands = {a, b}};
  n.location = location_;
  Attempt attempt(*this);
  InferContext c = Context(&n);
  for (ValueId v : {a, b}) {
    if (v >= graph_->num_nodes())
      return c.Error(absl::StrCat("operand ", graph_->ValueName(v), " is no value of this graph"));
    if (graph_->type(v).rank() == 0)
      return WithHint(c.Error("an operand is a scalar; wanted rank 1 or more, or * for a product"),
                      {Hint::Kind::kWord, "*", ""});
  }
  const bool a_is_row = graph_->type(a).rank() == 1, b_is_column = graph_->type(b).rank() == 1;
  const auto reshaped = [&](ValueId* v, Shape shape) {
    absl::StatusOr<ValueId> r = Reshape(*v, std::move(shape));
    if (r.ok()) *v = *r;
    return r.status();
  };
  if (a_is_row) {
    if (absl::Status s = reshaped(&a, {1, graph_->type(a).shape[0]}); !s.ok()) return s;
  }
  if (b_is_column) {
    if (absl::Status s = reshaped(&b, {graph_->type(b).shape[0], 1}); !s.ok()) return s;
  }
  Shape sa = graph_->type(a).shape, sb = graph_->type(b).shape;
  if (sb.size() > 2) {
    absl::StatusOr<Shape> batch =
        BroadcastShapes(c, {Shape(sa.begin(), sa.end() - 2), Shape(sb.begin(), sb.end() - 2)});
    if (!batch.ok()) return batch.status();
    for (auto [v, shape] : {std::pair(&a, &sa), std::pair(&b, &sb)}) {
      Shape wide = *batch;
      wide.insert(wide.end(), shape->end() - 2, shape->end());
      absl::StatusOr<ValueId> w = Widen(*this, c, *v, wide);
      if (!w.ok()) return w.status();
      *v = *w;
    }
  }
  absl::StatusOr<ValueId> product = Create(Op::k_matmul, {a, b});
  if (!product.ok() || (!a_is_row && !b_is_column)) return attempt.Kept(std::move(product));
  Shape shape = graph_->type(*product).shape;
  if (b_is_column) shape.pop_back();
  if (a_is_row) shape.erase(shape.end() - (b_is_column ? 1 : 2));
  return attempt.Kept(Reshape(*product, shape));
}

absl::StatusOr<ValueId> Builder::Attention(ValueId q, ValueId k, ValueId v, ValueId mask,
                                           Attrs attrs) {
  std::vector<ValueId> operands = {q, k, v};
  if (mask != kNoValue) operands.push_back(mask);
  Node n{.op = Op::k_attention, .operands = operands};
  n.location = location_;
  Attempt attempt(*this);
  InferContext c = Context(&n);
  std::vector<Shape> batches;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] >= graph_->num_nodes()) {
      return c.Error(
          absl::StrCat("operand ", graph_->ValueName(operands[i]), " is no value of this graph"));
    }
    const Shape& shape = c.operand(i).shape;
    if (i == 3) continue;  // the mask follows the others
    if (shape.size() < 2)
      return c.Error(
          absl::StrCat("operand ", i, " is ", c.operand(i).ToString(), "; wanted rank 2 or more"));
    batches.emplace_back(shape.begin(), shape.end() - 2);
  }
  absl::StatusOr<Shape> batch = BroadcastShapes(c, batches);
  if (!batch.ok()) return batch.status();
  const Dim s_extent = c.operand(0).shape[batches[0].size()];
  const Dim t_extent = c.operand(1).shape[batches[1].size()];
  for (size_t i = 0; i < operands.size(); ++i) {
    const Shape own = c.operand(i).shape;
    Shape wide = *batch;
    if (i < 3) {
      wide.insert(wide.end(), own.end() - 2, own.end());
    } else {
      wide.push_back(s_extent);
      wide.push_back(t_extent);
    }
    absl::StatusOr<ValueId> w = Widen(*this, c, operands[i], wide);
    if (!w.ok()) return w.status();
    operands[i] = *w;
  }
  return attempt.Kept(Create(Op::k_attention, std::move(operands), std::move(attrs)));
}

}  // namespace lathe::ir
