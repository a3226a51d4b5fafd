// The DSL's elementwise operators.
#include "compiler/trace_state.h"

namespace lathe {

using ir::Op;

Value operator+(Operand a, Operand b) { return TraceState::Elementwise(Op::k_add, {{a, b}}); }
Value operator-(Operand a, Operand b) { return TraceState::Elementwise(Op::k_sub, {{a, b}}); }
Value operator*(Operand a, Operand b) { return TraceState::Elementwise(Op::k_mul, {{a, b}}); }
Value operator/(Operand a, Operand b) { return TraceState::Elementwise(Op::k_div, {{a, b}}); }
Value operator-(Operand a) { return TraceState::Elementwise(Op::k_neg, {{a}}); }

#define LATHE_UNARY(name, op) \
  Value name(Operand x) { return TraceState::Elementwise(Op::k_##op, {{x}}); }
#define LATHE_BINARY(name, op) \
  Value name(Operand a, Operand b) { return TraceState::Elementwise(Op::k_##op, {{a, b}}); }

LATHE_BINARY(rem, rem)
LATHE_BINARY(floordiv, floordiv)
LATHE_BINARY(mod, mod)
LATHE_BINARY(pow, pow)
LATHE_BINARY(atan2, atan2)
LATHE_BINARY(maximum, maximum)
LATHE_BINARY(minimum, minimum)
LATHE_BINARY(logical_and, and)
LATHE_BINARY(logical_or, or)
LATHE_BINARY(logical_xor, xor)
LATHE_BINARY(bit_and, bit_and)
LATHE_BINARY(bit_or, bit_or)
LATHE_BINARY(bit_xor, bit_xor)
LATHE_BINARY(shift_left, shift_left)
LATHE_BINARY(shift_right, shift_right)
LATHE_BINARY(equal, eq)
LATHE_BINARY(not_equal, ne)
LATHE_BINARY(less, lt)
LATHE_BINARY(less_equal, le)
LATHE_BINARY(greater, gt)
LATHE_BINARY(greater_equal, ge)

LATHE_UNARY(logical_not, not )
LATHE_UNARY(bit_not, bit_not)
LATHE_UNARY(is_nan, is_nan)
LATHE_UNARY(is_inf, is_inf)
LATHE_UNARY(abs, abs)
LATHE_UNARY(exp, exp)
LATHE_UNARY(log, log)
LATHE_UNARY(sqrt, sqrt)
LATHE_UNARY(rsqrt, rsqrt)
LATHE_UNARY(exp2, exp2)
LATHE_UNARY(expm1, expm1)
LATHE_UNARY(log2, log2)
LATHE_UNARY(log1p, log1p)
LATHE_UNARY(tanh, tanh)
LATHE_UNARY(erf, erf)
LATHE_UNARY(sin, sin)
LATHE_UNARY(cos, cos)
LATHE_UNARY(tan, tan)
LATHE_UNARY(asin, asin)
LATHE_UNARY(acos, acos)
LATHE_UNARY(atan, atan)
LATHE_UNARY(sinh, sinh)
LATHE_UNARY(cosh, cosh)
LATHE_UNARY(asinh, asinh)
LATHE_UNARY(acosh, acosh)
LATHE_UNARY(atanh, atanh)
LATHE_UNARY(floor, floor)
LATHE_UNARY(ceil, ceil)
LATHE_UNARY(round, round)
LATHE_UNARY(trunc, trunc)
LATHE_UNARY(sign, sign)
LATHE_UNARY(relu, relu)
LATHE_UNARY(sigmoid, sigmoid)
LATHE_UNARY(silu, silu)
LATHE_UNARY(gelu, gelu)

#undef LATHE_UNARY
#undef LATHE_BINARY

Value select(Operand condition, Operand a, Operand b) {
  return TraceState::Elementwise(Op::k_select, {{condition, a, b}}, 1);
}

Value clamp(Operand x, Operand low, Operand high) {
  const Value raised = TraceState::Elementwise(Op::k_maximum, {{x, low}});
  return TraceState::Elementwise(Op::k_minimum, {{Operand(raised, x.loc), high}});
}

namespace {

Value WithType(const char* name, Op op, const Value& x, DType to, Loc loc) {
  return TraceState::Op(name, {&x, 1}, loc, [&](ir::Builder& b, const TraceState::Ids& ids) {
    ir::Attrs attrs;
    attrs.dtype = to;
    return b.Create(op, ids, std::move(attrs));
  });
}

}  // namespace

Value cast(const Value& x, DType to, Loc loc) { return WithType("cast", Op::k_cast, x, to, loc); }

Value bitcast(const Value& x, DType to, Loc loc) {
  return WithType("bitcast", Op::k_bitcast, x, to, loc);
}

}  // namespace lathe
