// Matrix products and what exporters make of them.
#include <cctype>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

void MatMulOp(NodeContext& c) { c.Out(0, MatMul(c.In(0), c.In(1))); }

void Gemm(NodeContext& c) {
  V a = c.In(0), b = c.In(1);
  const double alpha = c.Float("alpha", 1), beta = c.Float("beta", 1);
  if (c.Int("transA") != 0) a = Transpose2(a);
  if (c.Int("transB") != 0) b = Transpose2(b);
  V y = MatMul(a, b);
  if (alpha != 1) y = y * alpha;
  if (c.Has(2) && beta != 0) {
    V bias = c.In(2);
    y = y + (beta == 1 ? bias : bias * beta);
  }
  c.Out(0, y);
}

// The first axis behind those of the batch: [m, batch.., k] -> [batch.., m, k].
V BatchFirst(V x) {
  std::vector<int> order;
  for (int i = 1; i + 1 < x.rank(); ++i) order.push_back(i);
  order.insert(order.end(), {0, x.rank() - 1});
  return Permute(x, order);
}

void FusedMatMul(NodeContext& c) {
  V a = c.In(0), b = c.In(1);
  if (!c.ok()) return;
  const double alpha = c.Float("alpha", 1);
  if (c.Int("transBatchA") != 0 && a.rank() > 2) a = BatchFirst(a);
  if (c.Int("transBatchB") != 0 && b.rank() > 2) b = BatchFirst(b);
  if (c.Int("transA") != 0) a = Transpose2(a);
  if (c.Int("transB") != 0) b = Transpose2(b);
  V y = MatMul(a, b);
  c.Out(0, alpha == 1 ? y : y * alpha);
}

// -- einsum

struct Term {
  std::string letters;  // of the axes; 'A'.. with the ellipsis' axes as digits in front
};

// Axes of `x` labelled `labels` in the order of `wanted`, 1 where it has none; a repeated label is
// a diagonal.
V Arrange(NodeContext& c, V x, std::string labels, const std::string& wanted) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const size_t j = labels.find(labels[i], i + 1);
    if (j == std::string::npos) continue;
    // The diagonal: the sum over j where both positions agree.
    const Dim extent = x.dim(static_cast<int>(i));
    c.Require(Eq(extent, x.dim(static_cast<int>(j))), "axes of one label are equal");
    Shape along_i(static_cast<size_t>(x.rank()), 1), along_j = along_i;
    along_i[i] = extent;
    along_j[j] = x.dim(static_cast<int>(j));
    V same = Bin(ir::Op::k_eq, c.Iota(along_i, static_cast<int>(i)),
                 c.Iota(along_j, static_cast<int>(j)));
    x = Reduce(ir::Op::k_sum, Select(same, x, c.Scalar(x.dtype(), 0)), {static_cast<int>(j)},
               false);
    labels.erase(j, 1);
    --i;
  }
  std::vector<int> order;
  Shape shape;
  for (char w : wanted) {
    const size_t at = labels.find(w);
    if (at == std::string::npos) {
      shape.push_back(1);
    } else {
      order.push_back(static_cast<int>(at));
      shape.push_back(x.dim(static_cast<int>(at)));
    }
  }
  return ReshapeTo(Permute(x, order), shape);
}

// a[labels_a] * b[labels_b] summed over what neither `kept` needs: one batched product.
V Contract(NodeContext& c, V a, const std::string& la, V b, const std::string& lb,
           const std::string& kept, std::string* labels) {
  std::string batch, rows, columns, inner;
  std::set<char> seen;
  for (char l : la + lb) {
    if (!seen.insert(l).second) continue;
    const bool in_a = la.find(l) != std::string::npos, in_b = lb.find(l) != std::string::npos;
    if (in_a && in_b) {
      (kept.find(l) != std::string::npos ? batch : inner).push_back(l);
    } else {
      (in_a ? rows : columns).push_back(l);
    }
  }
  V x = Arrange(c, a, la, batch + rows + inner), y = Arrange(c, b, lb, batch + inner + columns);
  if (!c.ok()) return x;
  const int nb = static_cast<int>(batch.size()), nr = static_cast<int>(rows.size()),
            nk = static_cast<int>(inner.size()), nc = static_cast<int>(columns.size());
  // The product below compares only how many there are of all inner positions together.
  for (int i = 0; i < nk; ++i)
    c.Require(Eq(x.dim(nb + nr + i), y.dim(nb + i)), "axes of one label are equal");
  Shape result, bx, by;
  for (int i = 0; i < nb; ++i) {
    bx.push_back(x.dim(i));
    by.push_back(y.dim(i));
    result.push_back(x.dim(i) == Dim(1) ? y.dim(i) : x.dim(i));
  }
  for (int i = 0; i < nr; ++i) result.push_back(x.dim(nb + i));
  for (int i = 0; i < nc; ++i) result.push_back(y.dim(nb + nk + i));
  bx.push_back(Product(x.shape(), nb, nb + nr));
  bx.push_back(Product(x.shape(), nb + nr, x.rank()));
  by.push_back(Product(y.shape(), nb, nb + nk));
  by.push_back(Product(y.shape(), nb + nk, y.rank()));
  *labels = batch + rows + columns;
  return ReshapeTo(MatMul(ReshapeTo(x, bx), ReshapeTo(y, by)), result);
}

void Einsum(NodeContext& c) {
  std::string equation;
  for (char ch : c.Str("equation"))
    if (std::isspace(static_cast<unsigned char>(ch)) == 0) equation.push_back(ch);
  const size_t arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (char ch : equation.substr(0, arrow)) {
    if (ch == ',') {
      terms.emplace_back();
    } else {
      terms.back().push_back(ch);
    }
  }
  std::vector<V> xs = c.InAll();
  if (!c.ok()) return;
  if (terms.size() != xs.size())
    return c.Fail(
        absl::StrCat("the equation has ", terms.size(), " terms for ", xs.size(), " inputs"));
  // The axes of "..." get the labels 0, 1, .. from the right, so that they broadcast as numpy's do.
  int widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t dots = terms[i].find("...");
    if (dots == std::string::npos) continue;
    const int wide = xs[i].rank() - static_cast<int>(terms[i].size() - 3);
    if (wide < 0 || wide > 9) return c.Fail("the ellipsis stands for too many axes");
    widest = std::max(widest, wide);
    std::string digits;
    for (int k = wide; k-- > 0;) digits.push_back(static_cast<char>('0' + k));
    terms[i].replace(dots, 3, digits);
  }
  std::string ellipsis;
  for (int k = widest; k-- > 0;) ellipsis.push_back(static_cast<char>('0' + k));
  std::string output;
  if (arrow != std::string::npos) {
    output = equation.substr(arrow + 2);
    const size_t dots = output.find("...");
    if (dots != std::string::npos) output.replace(dots, 3, ellipsis);
  } else {
    std::map<char, int> counts;
    for (const std::string& t : terms)
      for (char l : t) ++counts[l];
    output = ellipsis;
    for (const auto& [l, n] : counts)
      if (n == 1 && std::isalpha(static_cast<unsigned char>(l)) != 0) output.push_back(l);
  }
  for (size_t i = 0; i < terms.size(); ++i)
    if (static_cast<int>(terms[i].size()) != xs[i].rank())
      return c.Fail(
          absl::StrCat("term ", i, " of the equation doesn't fit ", xs[i].type().ToString()));
  // From the left, two at a time; what no later term and not the output needs is summed.
  V x = xs[0];
  std::string labels = terms[0];
  for (size_t i = 1; i < xs.size() && c.ok(); ++i) {
    std::string later = output;
    for (size_t k = i + 1; k < terms.size(); ++k) later += terms[k];
    std::set<char> unique(labels.begin(), labels.end());
    x = Contract(c, x, labels, xs[i], terms[i], later, &labels);
  }
  std::string rest;
  std::vector<int> summed;
  std::string all = output;
  for (char l : labels)
    if (all.find(l) == std::string::npos && rest.find(l) == std::string::npos) rest.push_back(l);
  x = Arrange(c, x, labels, output + rest);
  for (size_t i = 0; i < rest.size(); ++i) summed.push_back(static_cast<int>(output.size() + i));
  c.Out(0, Reduce(ir::Op::k_sum, x, summed, false));
}

}  // namespace

std::vector<Mapping> ProductMappings() {
  return {
      {"", "MatMul", MatMulOp},
      {"", "Gemm", Gemm},
      {"", "Einsum", Einsum},
      {"com.microsoft", "FusedMatMul", FusedMatMul},
  };
}

}  // namespace lathe::onnx
