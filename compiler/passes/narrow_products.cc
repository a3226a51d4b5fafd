// 32-bit products of bytes with constant matrices get the form that the GEMM schedule serves with
// sums of products of bytes, cast(u8) @ cast(constant i8). What stands in its way moves behind the
// product, where it costs a term an element:
//   (x - z) @ w = x @ w - z * columns(w)                    z: one number, or one a row
//   x @ w = (x + 128) @ w - 128 * columns(w)                x: i8
//   x @ w = x @ (w - c) + c * rows(x)                       w - c in -128..127
// with the sums of w's columns, a constant, and of x's rows. Integers wrap, so all this is exact.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/match.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/rewriter.h"

namespace lathe::compiler {
namespace {

using ir::Attrs;
using ir::Node;
using ir::Op;
using ir::ValueId;
using ir::ValueType;

constexpr size_t kMaxViews = 8;  // between a cast and the product

bool IsByte(DType t) { return t == u8 || t == i8; }

// A constant matrix as bytes: the element is bytes[k, n] + offset.
struct ByteMatrix {
  Tensor bytes;  // i8
  int64_t offset = 0;
};

int64_t ElementOf(const Tensor& t, int64_t i) {
  if (t.dtype() == i8) return t.data<int8_t>()[i];
  if (t.dtype() == u8) return t.data<uint8_t>()[i];
  return t.data<int32_t>()[i];
}

class ProductNarrower {
 public:
  ProductNarrower(ir::Graph& graph, PassContext& context)
      : graph_(graph), context_(context), find_(graph), rewriter_(graph) {}

  bool Run() {
    rewriter_.Run([&](ValueId v) {
      if (find_.Is(v, Op::k_matmul) && find_.node(v).type.dtype == i32) Narrow(v);
    });
    return changed_;
  }

 private:
  // x - zero as i32, where x is of bytes, under views; without a zero kNoValue.
  struct Left {
    ValueId bytes = ir::kNoValue;
    ValueId zero = ir::kNoValue;  // under its broadcast
    std::vector<int64_t> axes;    // of the broadcast
    bool cast_zero = false;       // the zero isn't i32 yet
    std::vector<ValueId> views;   // the outermost first
  };

  std::optional<Left> LeftOf(ValueId v) const {
    Left left;
    while (left.views.size() < kMaxViews &&
           (find_.Is(v, Op::k_permute) || find_.Is(v, Op::k_reshape))) {
      left.views.push_back(v);
      v = find_.arg(v, 0);
    }
    ValueId cast = v;
    if (find_.Is(v, Op::k_sub)) {
      cast = find_.arg(v, 0);
      ValueId zero = find_.arg(v, 1);
      if (find_.Is(zero, Op::k_cast)) {
        zero = find_.arg(zero, 0);
        left.cast_zero = true;
      }
      const Node& repeated = find_.node(zero);
      if (repeated.op != Op::k_broadcast || !IsInt(repeated.type.dtype)) return std::nullopt;
      left.zero = repeated.operands[0];
      left.axes = repeated.attrs.axes;
      if (!left.views.empty() && !left.axes.empty()) return std::nullopt;
      const int64_t last = repeated.type.rank() - 1;
      for (size_t i = 0; i < left.axes.size(); ++i) {
        if (left.axes[i] == last && find_.shape(left.zero)[i] != Dim(1)) return std::nullopt;
      }
    }
    if (!find_.Is(cast, Op::k_cast)) return std::nullopt;
    left.bytes = find_.arg(cast, 0);
    if (!IsByte(graph_.type(left.bytes).dtype)) return std::nullopt;
    return left;
  }

  // The elements of a constant that is repeated over the rows of a matrix, if v is that: one, or
  // one a column.
  std::optional<Tensor> ColumnsOf(ValueId v, int64_t columns) const {
    if (find_.Is(v, Op::k_cast)) v = find_.arg(v, 0);
    if (!find_.Is(v, Op::k_broadcast)) return std::nullopt;
    const std::vector<int64_t> axes = find_.node(v).attrs.axes;
    v = find_.arg(v, 0);
    if (find_.Is(v, Op::k_cast)) v = find_.arg(v, 0);
    const Node& n = find_.node(v);
    if (n.op != Op::k_constant || !(IsByte(n.type.dtype) || n.type.dtype == i32))
      return std::nullopt;
    const int64_t count = n.attrs.tensor.num_elements();
    const bool each = count == columns && !axes.empty() && axes.back() == 1 &&
                      n.type.shape.back() == Dim(columns);
    if (count != 1 && !each) return std::nullopt;
    return n.attrs.tensor.Contiguous();
  }

  std::optional<ByteMatrix> MatrixOf(ValueId v) const {
    ValueId zero = ir::kNoValue;
    if (find_.Is(v, Op::k_sub)) {
      zero = find_.arg(v, 1);
      v = find_.arg(v, 0);
    }
    if (find_.Is(v, Op::k_cast)) v = find_.arg(v, 0);
    const Node& n = find_.node(v);
    const bool right_type = IsByte(n.type.dtype) || n.type.dtype == i32;
    if (n.op != Op::k_constant || n.type.rank() != 2 || !right_type) return std::nullopt;
    const Tensor w = n.attrs.tensor.Contiguous();
    const int64_t rows = w.shape()[0], columns = w.shape()[1];
    Tensor zeros;
    if (zero != ir::kNoValue) {
      std::optional<Tensor> found = ColumnsOf(zero, columns);
      if (!found) return std::nullopt;
      zeros = *std::move(found);
    }
    const int64_t num_zeros = zero == ir::kNoValue ? 0 : zeros.num_elements();
    bool no_zeros = true;
    for (int64_t j = 0; j < num_zeros; ++j) no_zeros = no_zeros && ElementOf(zeros, j) == 0;
    if (no_zeros && w.dtype() == i8) return ByteMatrix{w};
    // Differences of 32-bit elements would wrap; those of bytes don't.
    if (!no_zeros && (w.dtype() == i32 || zeros.dtype() == i32)) {
      for (int64_t j = 0; j < num_zeros; ++j)
        if (std::abs(ElementOf(zeros, j)) > 255) return std::nullopt;
      if (w.dtype() == i32) return std::nullopt;
    }
    const auto element = [&](int64_t i, int64_t j) {
      const int64_t z = no_zeros ? 0 : ElementOf(zeros, num_zeros == 1 ? 0 : j);
      return ElementOf(w, i * columns + j) - z;
    };
    int64_t least = 0, most = 0;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t e = element(i, j);
        if (i + j == 0) least = most = e;
        least = std::min(least, e), most = std::max(most, e);
      }
    }
    ByteMatrix m;
    if (most - least > 255) return std::nullopt;
    if (least < -128 || most > 127) m.offset = least + 128;
    m.bytes = Tensor(i8, {rows, columns});
    if (!m.bytes.ok()) return std::nullopt;
    int8_t* to = m.bytes.data<int8_t>();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) *to++ = static_cast<int8_t>(element(i, j) - m.offset);
    return m;
  }

  void Narrow(ValueId v) {
    const ValueId lhs = find_.arg(v, 0), rhs = find_.arg(v, 1);
    const std::optional<Left> left = LeftOf(lhs);
    if (!left) return;
    const bool of_i8 = graph_.type(left->bytes).dtype == i8;
    const bool narrow_matrix = find_.Is(rhs, Op::k_cast) &&
                               find_.Is(find_.arg(rhs, 0), Op::k_constant) &&
                               graph_.type(find_.arg(rhs, 0)).dtype == i8;
    const bool plain = left->zero == ir::kNoValue && left->views.empty() && !of_i8;
    if (narrow_matrix && plain) return;  // has the form
    std::optional<ByteMatrix> matrix = MatrixOf(rhs);
    if (!matrix) return;
    context_.Count("narrowed products");
    changed_ = true;

    const ValueType type = graph_.type(v), wide_left = graph_.type(lhs);
    const ValueId bytes = UnderViews(left->bytes, left->views, v);
    const ValueId x = of_i8 ? AsUnsigned(bytes, v) : bytes;
    const Tensor columns = SumOfColumns(matrix->bytes);
    const ValueId w = Cast(Constant(std::move(matrix->bytes), v), i32, v);
    const std::vector<ValueId> operands = {Cast(x, i32, v), w};
    std::vector<std::pair<Op, ValueId>> terms;
    if (of_i8) {
      Tensor times128(i32, {columns.num_elements()});
      for (int64_t j = 0; j < columns.num_elements(); ++j)
        times128.data<int32_t>()[j] =
            static_cast<int32_t>(static_cast<uint32_t>(columns.data<int32_t>()[j]) * 128u);
      terms.push_back(
          {Op::k_sub, Repeat(Constant(std::move(times128), v), {type.rank() - 1}, type, v)});
    }
    if (left->zero != ir::kNoValue) {
      const ValueId zero = left->cast_zero ? Cast(left->zero, i32, v) : left->zero;
      terms.push_back(
          {Op::k_sub, Product(Repeat(zero, left->axes, type, v),
                              Repeat(Constant(columns, v), {type.rank() - 1}, type, v), type, v)});
    }
    if (matrix->offset != 0) {
      Attrs sum;
      sum.axes = {wide_left.rank() - 1};
      sum.keep_dims = true;
      ValueType rows_type = wide_left;
      rows_type.shape.back() = 1;
      const ValueId rows = rewriter_.Insert(Op::k_sum, {lhs}, std::move(sum), rows_type, v);
      std::vector<int64_t> axes;
      for (int64_t i = 0; i < type.rank(); ++i) axes.push_back(i);
      const Tensor offset = Tensor::Scalar(static_cast<int32_t>(matrix->offset));
      terms.push_back({Op::k_add, Product(Repeat(rows, std::move(axes), type, v),
                                          Repeat(Constant(offset, v), {}, type, v), type, v)});
    }
    if (terms.empty()) return rewriter_.Become(v, Op::k_matmul, operands);
    ValueId result = rewriter_.Insert(Op::k_matmul, operands, {}, type, v);
    for (size_t i = 0; i + 1 < terms.size(); ++i)
      result = rewriter_.Insert(terms[i].first, {result, terms[i].second}, {}, type, v);
    rewriter_.Become(v, terms.back().first, {result, terms.back().second});
  }

  // x under the views that lay upon its cast.
  ValueId UnderViews(ValueId x, const std::vector<ValueId>& views, ValueId user) {
    for (size_t i = views.size(); i-- > 0;) {
      const Op op = graph_.node(views[i]).op;
      Attrs attrs = graph_.node(views[i]).attrs;
      const ValueType type{graph_.type(x).dtype, graph_.type(views[i]).shape};
      x = rewriter_.Insert(op, {x}, std::move(attrs), type, user);
    }
    return x;
  }

  // x + 128 of i8, as u8.
  ValueId AsUnsigned(ValueId x, ValueId user) {
    const ValueId bits = Cast(x, u8, user);
    const ValueType type = graph_.type(bits);
    const ValueId top = Constant(Tensor::Scalar<uint8_t>(128), user);
    return rewriter_.Insert(Op::k_bit_xor, {bits, Repeat(top, {}, type, user)}, {}, type, user);
  }

  static Tensor SumOfColumns(const Tensor& w) {
    const int64_t rows = w.shape()[0], columns = w.shape()[1];
    std::vector<uint32_t> sums(static_cast<size_t>(columns));
    const int8_t* from = w.data<int8_t>();
    for (int64_t i = 0; i < rows; ++i)
      for (uint32_t& sum : sums) sum += static_cast<uint32_t>(int32_t{*from++});
    Tensor t(i32, {columns});
    std::copy(sums.begin(), sums.end(), t.data<uint32_t>());
    return t;
  }

  ValueId Cast(ValueId v, DType dtype, ValueId user) {
    ValueType type = graph_.type(v);
    type.dtype = dtype;
    Attrs to;
    to.dtype = dtype;
    return rewriter_.Insert(Op::k_cast, {v}, std::move(to), std::move(type), user);
  }
  ValueId Constant(Tensor t, ValueId user) {
    ValueType type{t.dtype(), Shape(t.shape().begin(), t.shape().end())};
    Attrs attrs;
    attrs.tensor = std::move(t);
    return rewriter_.Insert(Op::k_constant, {}, std::move(attrs), std::move(type), user);
  }
  ValueId Repeat(ValueId v, std::vector<int64_t> axes, ValueType type, ValueId user) {
    type.dtype = graph_.type(v).dtype;
    Attrs attrs;
    attrs.axes = std::move(axes);
    attrs.shape = type.shape;
    return rewriter_.Insert(Op::k_broadcast, {v}, std::move(attrs), std::move(type), user);
  }
  ValueId Product(ValueId a, ValueId b, const ValueType& type, ValueId user) {
    return rewriter_.Insert(Op::k_mul, {a, b}, {}, type, user);
  }

  ir::Graph& graph_;
  PassContext& context_;
  const Finder find_;
  Rewriter rewriter_;
  bool changed_ = false;
};

}  // namespace

absl::Status NarrowProducts(ir::Graph& graph, PassContext& context) {
  if (!ProductNarrower(graph, context).Run()) return absl::OkStatus();
  // Products that share their left side have each made its bytes.
  return EliminateCommon(graph, context);
}

}  // namespace lathe::compiler
