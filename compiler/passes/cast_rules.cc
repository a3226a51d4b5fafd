// Rules of cast, and elementwise ops on repeated scalars.
#include <limits>
#include <type_traits>

#include "compiler/passes/rules.h"
#include "ir/visit_dtype.h"

namespace lathe::compiler {
namespace {

using ir::Attrs;
using ir::Op;
using ir::ValueId;

// Bits of precision: those of an integer without its sign, those of a float's mantissa.
int Digits(DType t) {
  return VisitDType(t, [](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, Half>) return 11;
    if constexpr (std::is_same_v<T, BFloat16>) return 8;
    return std::numeric_limits<T>::digits;
  });
}

// Every value of `from` is a value of `to`: a bool is 0 or 1, an i32 fits 53 bits.
bool IsLossless(DType from, DType to) {
  if (from == to || from == bool_) return true;
  if (to == bool_) return false;
  if (IsFloat(from)) return (to == f32 && IsNarrowFloat(from)) || to == f64;
  // Integers keep their sign; all of them are in the range of a float that has their digits.
  return (IsUnsigned(from) || !IsUnsigned(to)) && Digits(from) <= Digits(to);
}

// With a lossless first step, the second sees the same number that a direct cast sees. But to an
// integer a float saturates, where an integer wraps.
bool CastOfCast(Match& m) {
  if (!m.Is(0, Op::k_cast)) return false;
  const ValueId x = m.in(0).operands[0];
  const DType from = m.at(x).type.dtype, middle = m.in(0).type.dtype, to = m.node().type.dtype;
  if (!IsLossless(from, middle)) return false;
  if (IsInt(from) && IsFloat(middle) && IsInt(to) && !IsLossless(from, to)) return false;
  if (from == to) return m.Replace(x);
  return m.Become(Op::k_cast, {x}, m.node().attrs);
}

// f(broadcast(c), ...) = broadcast(f(c, ...)) for scalar constants, evaluated at once.
bool ElementwiseOfScalars(Match& m) {
  const ir::OpInfo& info = ir::Info(m.node().op);
  if (info.emission != ir::Emission::kElementwise || m.node().type.rank() == 0) return false;
  std::vector<Tensor> scalars;
  for (size_t i = 0; i < m.node().operands.size(); ++i) {
    if (!m.Is(i, Op::k_broadcast)) return false;
    const ir::Node& scalar = m.at(m.in(i).operands[0]);
    if (scalar.op != Op::k_constant || scalar.type.rank() != 0) return false;
    scalars.push_back(scalar.attrs.tensor);
  }
  std::optional<Tensor> value = m.EvaluateAsScalar(scalars);
  if (!value) return false;
  Attrs constant, wide;
  constant.tensor = *std::move(value);
  wide.shape = m.node().type.shape;
  const ValueId result =
      m.Insert(Op::k_constant, {}, std::move(constant), {m.node().type.dtype, {}});
  return m.Become(Op::k_broadcast, {result}, std::move(wide));
}

}  // namespace

std::vector<Rule> CastRules() {
  return {
      {"cast(x) = x", {Op::k_cast}, [](Match& m) { return m.Replace(m.arg(0)); }},
      {"cast(cast(x)) = cast(x)", {Op::k_cast}, CastOfCast},
      {"f(broadcast(c)) = broadcast(f(c))", {}, ElementwiseOfScalars},
  };
}

}  // namespace lathe::compiler
