// A constant factor a column behind a product with a constant matrix goes into the matrix:
// (x @ w + t) * s = x @ (w * s) + t * s, as it does where batch norm follows a convolution; and the
// constants that are then added become one. Only where the product, its matrix and what is between
// have no other user, all new constants are finite, and no zero changes its sign. Results are
// rounded otherwise, within the bound of the product (docs/numerics.md).
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/evaluate.h"
#include "compiler/passes/match.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/rewriter.h"
#include "ir/visit_dtype.h"

namespace lathe::compiler {
namespace {

using ir::Attrs;
using ir::Node;
using ir::Op;
using ir::ValueId;

// Whether fn holds for every element.
template <typename Fn>
bool All(const Tensor& t, Fn&& fn) {
  for (int64_t i = 0; i < t.num_elements(); ++i)
    if (!fn(t.dtype() == f64 ? t.data<double>()[i] : double{t.data<float>()[i]})) return false;
  return true;
}

bool AllFinite(const Tensor& t) {
  return All(t, [](double x) { return std::isfinite(x); });
}

class ScaleFolder {
 public:
  ScaleFolder(ir::Graph& graph, PassContext& context)
      : graph_(graph), context_(context), find_(graph), rewriter_(graph) {}

  void Run() {
    rewriter_.Run([&](ValueId v) {
      const Op op = graph_.node(v).op;
      if (op == Op::k_mul || op == Op::k_div) Scale(v);
      if (op == Op::k_add || op == Op::k_sub) Add(v);
    });
  }

 private:
  // product, or product + term, both used here alone.
  struct Affine {
    ValueId product = ir::kNoValue;
    ValueId term = ir::kNoValue;  // a broadcast constant, or none
    Op join = Op::k_add;          // or sub
  };

  // A constant that is repeated along the rows of v's shape: a scalar, or one element a column (and
  // for a batch of matrices a matrix).
  bool IsColumns(ValueId v) const {
    const Node& n = find_.node(v);
    if (n.op != Op::k_broadcast || !find_.Is(n.operands[0], Op::k_constant)) return false;
    if (!find_.node(n.operands[0]).attrs.tensor.is_contiguous()) return false;
    for (int64_t axis : n.attrs.axes) {
      if (axis == n.type.rank() - 2) return false;
    }
    return n.type.dtype == f32 || n.type.dtype == f64;
  }

  std::optional<Affine> AffineOf(ValueId v) const {
    Affine a;
    if (!find_.UsedOnce(v)) return std::nullopt;
    if (find_.Is(v, Op::k_add) || find_.Is(v, Op::k_sub)) {
      a.join = find_.node(v).op;
      a.term = find_.arg(v, 1);
      a.product = find_.arg(v, 0);
      if (a.join == Op::k_add && !IsColumns(a.term)) std::swap(a.term, a.product);
      if (!IsColumns(a.term) || !find_.UsedOnce(a.product)) return std::nullopt;
    } else {
      a.product = v;
    }
    if (!find_.Is(a.product, Op::k_matmul)) return std::nullopt;
    const ValueId matrix = find_.arg(a.product, 1);
    if (!find_.Is(matrix, Op::k_constant) || !find_.UsedOnce(matrix)) return std::nullopt;
    return a;
  }

  // c, which repeats over `from`, repeated over the matrices of the product instead.
  std::optional<Tensor> OverMatrix(ValueId c, const Node& matrix) const {
    const Node& from = find_.node(c);
    Node wide = from;
    const int64_t last = from.type.rank() - 1;
    for (int64_t& axis : wide.attrs.axes) {
      if (matrix.type.rank() == from.type.rank()) continue;
      if (axis != last) return std::nullopt;
      axis = matrix.type.rank() - 1;
    }
    wide.attrs.shape = matrix.type.shape;
    wide.type.shape = matrix.type.shape;
    return EvaluateNode(graph_, wide, {find_.node(from.operands[0]).attrs.tensor});
  }

  // Whether an element other than 0 has become 0 or subnormal. Both are dense.
  static bool Underflows(const Tensor& before, const Tensor& after) {
    return VisitDType(after.dtype(), [&](auto type) {
      using T = decltype(type);
      for (int64_t i = 0; i < after.num_elements(); ++i) {
        const double was = static_cast<double>(before.data<T>()[i]);
        const double is = std::fabs(static_cast<double>(after.data<T>()[i]));
        if (was != 0 && is < static_cast<double>(std::numeric_limits<T>::min())) return true;
      }
      return false;
    });
  }

  std::optional<Tensor> Evaluate(Op op, const Tensor& a, const Tensor& b) const {
    Node n{.op = op};
    n.type = {a.dtype(), Shape(a.shape().begin(), a.shape().end())};
    std::optional<Tensor> result = EvaluateNode(graph_, n, {a, b});
    if (!result || !AllFinite(*result)) return std::nullopt;
    if ((op == Op::k_mul || op == Op::k_div) && Underflows(a, *result)) return std::nullopt;
    return result;
  }

  // The constants behind two repeated ones, joined; repeated like the one that has more axes.
  struct Repeated {
    Tensor tensor;
    std::vector<int64_t> axes;
  };
  std::optional<Repeated> Join(Op op, ValueId a, ValueId b) const {
    const Node& x = find_.node(a);
    const Node& y = find_.node(b);
    const Node& like = x.attrs.axes.size() >= y.attrs.axes.size() ? x : y;
    const Tensor whole[2] = {find_.node(x.operands[0]).attrs.tensor,
                             find_.node(y.operands[0]).attrs.tensor};
    const std::vector<int64_t>* const axes[2] = {&x.attrs.axes, &y.attrs.axes};
    const ir::ValueType type = graph_.type(like.operands[0]);
    Tensor wide[2];
    for (int i : {0, 1}) {
      if (*axes[i] == like.attrs.axes &&
          whole[i].num_elements() == find_.node(like.operands[0]).attrs.tensor.num_elements()) {
        wide[i] = whole[i];
      } else if (axes[i]->empty()) {
        Node n{.op = Op::k_broadcast};
        n.type = type;
        n.attrs.shape = type.shape;
        std::optional<Tensor> t = EvaluateNode(graph_, n, {whole[i]});
        if (!t) return std::nullopt;
        wide[i] = *std::move(t);
      } else {
        return std::nullopt;
      }
    }
    std::optional<Tensor> t = Evaluate(op, wide[0], wide[1]);
    if (!t) return std::nullopt;
    return Repeated{*std::move(t), like.attrs.axes};
  }

  void Scale(ValueId v) {
    const Op op = find_.node(v).op;
    ValueId value = find_.arg(v, 0), factor = find_.arg(v, 1);
    if (op == Op::k_mul && !IsColumns(factor)) std::swap(value, factor);
    if (!IsColumns(factor)) return;
    const std::optional<Affine> a = AffineOf(value);
    if (!a) return;
    const Node matrix = find_.node(find_.arg(a->product, 1));
    if (matrix.attrs.tensor.num_bytes() > context_.fold_bytes) return;
    std::optional<Repeated> term;
    if (a->term != ir::kNoValue) {
      term = Join(op, a->term, factor);
      if (!term) return;
    }
    // The sign of a zero stays: a factor above 0 keeps it, a term other than 0 hides it, unless
    // the sum cancels.
    const Tensor factors = find_.node(find_.arg(factor, 0)).attrs.tensor;
    const bool keeps_zeros = All(factors, [](double x) { return x > 0; }) ||
                             (term && All(term->tensor, [](double x) { return x != 0; }));
    if (!keeps_zeros) return;
    const std::optional<Tensor> wide = OverMatrix(factor, matrix);
    if (!wide) return;
    std::optional<Tensor> scaled = Evaluate(op, matrix.attrs.tensor.Contiguous(), *wide);
    if (!scaled) return;
    const ir::ValueType type = graph_.type(v);
    const ValueId w = Constant(*std::move(scaled), v);
    std::vector<ValueId> operands = {find_.arg(a->product, 0), w};
    context_.Count("x @ w * s = x @ (w * s)");
    if (!term) {
      rewriter_.Become(v, Op::k_matmul, std::move(operands));
      return;
    }
    const ValueId product = rewriter_.Insert(Op::k_matmul, std::move(operands), {}, type, v);
    const ValueId repeated = Repeat(*std::move(term), type, v);
    rewriter_.Become(v, a->join, {product, repeated});
  }

  // (product + t) + u = product + (t + u)
  void Add(ValueId v) {
    const Op op = find_.node(v).op;
    ValueId value = find_.arg(v, 0), more = find_.arg(v, 1);
    if (op == Op::k_add && !IsColumns(more)) std::swap(value, more);
    if (!IsColumns(more)) return;
    const std::optional<Affine> a = AffineOf(value);
    if (!a || a->term == ir::kNoValue) return;
    // p + (t + u), p + (t - u), p - (t - u), p - (t + u)
    std::optional<Repeated> sum = Join(a->join == op ? Op::k_add : Op::k_sub, a->term, more);
    if (!sum) return;
    const ValueId repeated = Repeat(*std::move(sum), graph_.type(v), v);
    context_.Count("x @ w + t + u = x @ w + (t + u)");
    rewriter_.Become(v, a->join, {a->product, repeated});
  }

  ValueId Constant(Tensor t, ValueId user) {
    ir::ValueType type{t.dtype(), Shape(t.shape().begin(), t.shape().end())};
    Attrs attrs;
    attrs.tensor = std::move(t);
    return rewriter_.Insert(Op::k_constant, {}, std::move(attrs), std::move(type), user);
  }
  ValueId Repeat(Repeated r, ir::ValueType type, ValueId user) {
    const ValueId row = Constant(std::move(r.tensor), user);
    Attrs attrs;
    attrs.axes = std::move(r.axes);
    attrs.shape = type.shape;
    return rewriter_.Insert(Op::k_broadcast, {row}, std::move(attrs), type, user);
  }

  ir::Graph& graph_;
  PassContext& context_;
  const Finder find_;
  Rewriter rewriter_;
};

}  // namespace

absl::Status FoldScale(ir::Graph& graph, PassContext& context) {
  ScaleFolder(graph, context).Run();
  return absl::OkStatus();
}

}  // namespace lathe::compiler
