// Rules of the elementwise ops. Read the discipline in rules.h first: floats have -0, NaN,
// infinity.
#include <cmath>

#include "compiler/passes/rules.h"
#include "ir/visit_dtype.h"

namespace lathe::compiler {
namespace {

using ir::Attrs;
using ir::Op;
using ir::ValueId;

bool IsFloatNode(const Match& m) { return IsFloat(m.in(0).type.dtype); }

// op(op(x)) where the second changes nothing more.
bool Idempotent(Match& m) { return m.Is(0, m.node().op) && m.Replace(m.arg(0)); }

// op(op(x)) where the second undoes the first.
bool Involution(Match& m) { return m.Is(0, m.node().op) && m.Replace(m.in(0).operands[0]); }

// op(x, neutral) = x. The neutral element of add is -0 for floats, 0 for integers.
bool SecondIsNeutral(Match& m, double neutral) {
  return m.IsAll(1, neutral) && m.Replace(m.arg(0));
}

bool SameOperands(const Match& m, size_t i, size_t j) { return m.arg(i) == m.arg(j); }

// For commutative ops, so that the other rules look in one place.
bool ConstantLast(Match& m) {
  const ir::Node& n = m.node();
  if (n.operands.size() != 2 || !(ir::Info(n.op).traits & ir::kCommutative)) return false;
  if (!m.IsConstant(0) || m.IsConstant(1)) return false;
  return m.Become(n.op, {m.arg(1), m.arg(0)}, n.attrs);
}

// x / 2^k = x * 2^-k: both round the same real number once. 2^-k itself must not round or overflow.
bool DivideByPowerOfTwo(Match& m) {
  double c = 0;
  if (!IsFloatNode(m) || !m.AllFloat(1, &c) || !std::isfinite(c) || c == 0) return false;
  int exponent = 0;
  if (std::fabs(std::frexp(c, &exponent)) != 0.5) return false;
  const DType dtype = m.node().type.dtype;
  const double inverse = 1 / c;
  if (!std::isfinite(inverse) || inverse == 0 || std::fabs(c) == 1) return false;
  Attrs constant;
  const bool exact = VisitDType(dtype, [&](auto type) {
    using T = decltype(type);
    const T rounded = static_cast<T>(inverse);
    constant.tensor = Tensor::Scalar(rounded);
    return static_cast<double>(rounded) == inverse;
  });
  if (!exact) return false;
  ValueId factor = m.Insert(Op::k_constant, {}, std::move(constant), {dtype, {}});
  if (m.node().type.rank() > 0) {
    Attrs wide;
    wide.shape = m.node().type.shape;
    factor = m.Insert(Op::k_broadcast, {factor}, std::move(wide), m.node().type);
  }
  return m.Become(Op::k_mul, {m.arg(0), factor});
}

bool AddOfNegated(Match& m) {
  if (m.Is(1, Op::k_neg)) return m.Become(Op::k_sub, {m.arg(0), m.in(1).operands[0]});
  return m.Is(0, Op::k_neg) && m.Become(Op::k_sub, {m.arg(1), m.in(0).operands[0]});
}

bool SubOfNegated(Match& m) {
  return m.Is(1, Op::k_neg) && m.Become(Op::k_add, {m.arg(0), m.in(1).operands[0]});
}

// Integers are left alone: the least one is its own negation, which division tells apart.
bool SignsCancel(Match& m) {
  if (!IsFloatNode(m) || !m.Is(0, Op::k_neg) || !m.Is(1, Op::k_neg)) return false;
  return m.Become(m.node().op, {m.in(0).operands[0], m.in(1).operands[0]});
}

// Without a sign, -1 is the greatest value: a product wraps alike, a quotient doesn't.
bool ByMinusOne(Match& m) {
  if (m.node().op == Op::k_div && IsUnsigned(m.node().type.dtype)) return false;
  return m.IsAll(1, -1) && m.Become(Op::k_neg, {m.arg(0)});
}

bool AbsOfNegated(Match& m) {
  if (IsUnsigned(m.node().type.dtype)) return false;
  return m.Is(0, Op::k_neg) && m.Become(Op::k_abs, {m.in(0).operands[0]});
}

// maximum(-0, +0) is +0, as relu(-0) is.
bool MaximumWithZero(Match& m) { return m.IsAll(1, 0) && m.Become(Op::k_relu, {m.arg(0)}); }

bool SelectOfNot(Match& m) {
  return m.Is(0, Op::k_not) && m.Become(Op::k_select, {m.in(0).operands[0], m.arg(2), m.arg(1)});
}

bool SelectDecided(Match& m) {
  if (m.IsAll(0, 1)) return m.Replace(m.arg(1));
  return m.IsAll(0, 0) && m.Replace(m.arg(2));
}

// The comparison that holds exactly where `op` doesn't; NaN makes the order ones differ for floats.
bool NotOfComparison(Match& m) {
  const ir::Node& inner = m.in(0);
  if (inner.operands.size() != 2) return false;
  const bool ordered = IsFloat(m.at(inner.operands[0]).type.dtype);
  const auto become = [&](Op op) { return m.Become(op, inner.operands); };
  switch (inner.op) {
    case Op::k_eq:
      return become(Op::k_ne);
    case Op::k_ne:
      return become(Op::k_eq);
    case Op::k_lt:
      return !ordered && become(Op::k_ge);
    case Op::k_le:
      return !ordered && become(Op::k_gt);
    case Op::k_gt:
      return !ordered && become(Op::k_le);
    case Op::k_ge:
      return !ordered && become(Op::k_lt);
    default:
      return false;
  }
}

}  // namespace

std::vector<Rule> ArithmeticRules() {
  return {
      {"f(c, x) = f(x, c)", {}, ConstantLast},
      {"neg(neg(x)) = x", {Op::k_neg}, Involution},
      {"not(not(x)) = x", {Op::k_not, Op::k_bit_not}, Involution},
      {"not(a < b) = a >= b", {Op::k_not}, NotOfComparison},
      {"f(f(x)) = f(x)",
       {Op::k_abs, Op::k_relu, Op::k_floor, Op::k_ceil, Op::k_round, Op::k_trunc, Op::k_sign},
       Idempotent},
      {"abs(neg(x)) = abs(x)", {Op::k_abs}, AbsOfNegated},
      {"x + -0 = x",
       {Op::k_add},
       [](Match& m) { return SecondIsNeutral(m, IsFloatNode(m) ? -0.0 : 0.0); }},
      {"x - 0 = x", {Op::k_sub}, [](Match& m) { return SecondIsNeutral(m, 0.0); }},
      {"x * 1 = x", {Op::k_mul}, [](Match& m) { return SecondIsNeutral(m, 1); }},
      {"x / 1 = x", {Op::k_div}, [](Match& m) { return SecondIsNeutral(m, 1); }},
      {"k // 1 = k",  // of floats it is floor
       {Op::k_floordiv},
       [](Match& m) { return !IsFloatNode(m) && SecondIsNeutral(m, 1); }},
      {"p and true = p", {Op::k_and}, [](Match& m) { return SecondIsNeutral(m, 1); }},
      {"p or false = p", {Op::k_or}, [](Match& m) { return SecondIsNeutral(m, 0); }},
      {"x * -1 = -x", {Op::k_mul, Op::k_div}, ByMinusOne},
      {"x / 2^k = x * 2^-k", {Op::k_div}, DivideByPowerOfTwo},
      {"x + -y = x - y", {Op::k_add}, AddOfNegated},
      {"x - -y = x + y", {Op::k_sub}, SubOfNegated},
      {"-x * -y = x * y", {Op::k_mul, Op::k_div}, SignsCancel},
      {"pow(x, 1) = x", {Op::k_pow}, [](Match& m) { return SecondIsNeutral(m, 1); }},
      {"pow(x, 2) = x * x",
       {Op::k_pow},
       [](Match& m) {
         return m.IsAll(1, 2) && m.Become(Op::k_mul, {m.arg(0), m.arg(0)});
       }},
      {"f(x, x) = x",
       {Op::k_maximum, Op::k_minimum, Op::k_and, Op::k_or, Op::k_bit_and, Op::k_bit_or},
       [](Match& m) { return SameOperands(m, 0, 1) && m.Replace(m.arg(0)); }},
      {"maximum(x, 0) = relu(x)", {Op::k_maximum}, MaximumWithZero},
      {"select(p, x, x) = x",
       {Op::k_select},
       [](Match& m) { return SameOperands(m, 1, 2) && m.Replace(m.arg(1)); }},
      {"select(not(p), x, y) = select(p, y, x)", {Op::k_select}, SelectOfNot},
      {"select(true, x, y) = x", {Op::k_select}, SelectDecided},
  };
}

}  // namespace lathe::compiler
