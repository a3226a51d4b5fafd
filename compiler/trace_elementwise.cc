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
LATHE_BINARY(maximum, maximum)
LATHE_BINARY(minimum, minimum)
LATHE_BINARY(logical_and, and)
LATHE_BINARY(logical_or, or)
LATHE_BINARY(equal, eq)
LATHE_BINARY(not_equal, ne)
LATHE_BINARY(less, lt)
LATHE_BINARY(less_equal, le)
LATHE_BINARY(greater, gt)
LATHE_BINARY(greater_equal, ge)

LATHE_UNARY(logical_not, not )
LATHE_UNARY(abs, abs)
LATHE_UNARY(exp, exp)
LATHE_UNARY(log, log)
LATHE_UNARY(sqrt, sqrt)
LATHE_UNARY(rsqrt, rsqrt)
LATHE_UNARY(tanh, tanh)
LATHE_UNARY(erf, erf)
LATHE_UNARY(sin, sin)
LATHE_UNARY(cos, cos)
LATHE_UNARY(floor, floor)
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

Value cast(const Value& x, DType to, Loc loc) {
  return TraceState::Op("cast", {&x, 1}, loc, [&](ir::Builder& b, const TraceState::Ids& ids) {
    ir::Attrs attrs;
    attrs.dtype = to;
    return b.Create(Op::k_cast, ids, std::move(attrs));
  });
}

}  // namespace lathe
