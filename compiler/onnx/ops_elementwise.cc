// Operators that compute each element from the same element of each operand.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/activations.h"
#include "compiler/onnx/importer.h"
#include "ir/visit_dtype.h"

namespace lathe::onnx {
namespace {

Mapper Unary(ir::Op op) {
  return [op](NodeContext& c) { c.Out(0, Un(op, c.In(0))); };
}
// Before opset 7 the second operand broadcasts from `axis` on, where `broadcast` says so.
V Aligned(NodeContext& c, V a, V b) {
  if (c.opset() >= 7 || !c.ok() || c.Int("broadcast") == 0 || !c.HasAttr("axis")) return b;
  const int axis = c.Axis(c.Int("axis"), a.rank());
  Shape shape = b.shape();
  while (static_cast<int>(shape.size()) < a.rank() - axis) shape.push_back(1);
  return ReshapeTo(b, shape);
}
Mapper Binary(ir::Op op) {
  return [op](NodeContext& c) {
    V a = c.In(0), b = c.In(1);
    c.Out(0, Bin(op, a, Aligned(c, a, b)));
  };
}
// Any number of operands, from the left.
Mapper Variadic(ir::Op op) {
  return [op](NodeContext& c) {
    V result = c.In(0);
    for (int i = 1; i < c.num_inputs(); ++i) result = Bin(op, result, c.In(i));
    c.Out(0, result);
  };
}

void Mean(NodeContext& c) {
  const DType type = c.In(0).dtype(), wide = ComputeType(type);
  V result = Cast(c.In(0), wide);
  for (int i = 1; i < c.num_inputs(); ++i) result = result + Cast(c.In(i), wide);
  c.Out(0, Cast(result / static_cast<double>(c.num_inputs()), type));
}

void Mod(NodeContext& c) {
  c.Out(0, Bin(c.Int("fmod") != 0 ? ir::Op::k_rem : ir::Op::k_mod, c.In(0), c.In(1)));
}

// Whether an exponent of integers is known, and every float type holds it.
bool IsSmallExponent(NodeContext& c, int input) {
  constexpr int64_t kMost = 256;
  const absl::StatusOr<std::optional<Tensor>> t = c.importer().Content(c.InVal(input));
  if (!t.ok()) c.Fail(t.status());
  if (!t.ok() || !*t || !IsInt((*t)->dtype())) return false;
  const Tensor flat = (*t)->Contiguous();
  return VisitDType(flat.dtype(), [&](auto type) {
    const auto* v = flat.data<decltype(type)>();
    return std::all_of(v, v + flat.num_elements(), [](auto e) {
      const double exponent = static_cast<double>(e);
      return exponent >= -kMost && exponent <= kMost;
    });
  });
}

void Pow(NodeContext& c) {
  V x = c.In(0), y = Aligned(c, x, c.In(1));
  if (!c.ok()) return;
  const DType to = x.dtype();
  if (to != y.dtype()) {  // a type that holds both, then back
    const DType of = y.dtype();
    const bool wide = to == f64 || of == f64 || IsInt(to) || (IsInt(of) && SizeOf(of) >= 4);
    DType common = wide ? f64 : f32;
    if (!IsFloat(to) && !IsFloat(of)) common = i64;
    if (IsFloat(to) && IsSmallExponent(c, 1)) common = to;
    x = Cast(x, common);
    y = Cast(y, common);
  }
  c.Out(0, Cast(Bin(ir::Op::k_pow, x, y), to));
}

void Clip(NodeContext& c) {
  V x = c.In(0);
  if (c.opset() < 11) {
    if (c.HasAttr("min")) x = Bin(ir::Op::k_maximum, x, c.Float("min"));
    if (c.HasAttr("max")) x = Bin(ir::Op::k_minimum, x, c.Float("max"));
  } else {
    if (c.Has(1)) x = Maximum(x, c.In(1));
    if (c.Has(2)) x = Minimum(x, c.In(2));
  }
  c.Out(0, x);
}

void Where(NodeContext& c) { c.Out(0, Select(c.In(0), c.In(1), c.In(2))); }

// The type that the attribute `to` says; before opset 6 by its name.
DType TargetType(NodeContext& c) {
  const Attribute* to = c.Find("to");
  if (to == nullptr || to->kind != Attribute::Kind::kString) return c.DTypeAttr("to");
  for (int32_t type = kFloat; type <= kBfloat16; ++type) {
    if (ElementTypeName(type) != to->s) continue;
    const absl::StatusOr<DType> found = ToDType(type);
    if (found.ok()) return *found;
    c.Fail(found.status());
  }
  c.Fail(absl::StrCat("there is no element type '", to->s, "'"));
  return f32;
}

void CastTo(NodeContext& c) {
  V x = c.In(0);
  c.Out(0, Cast(x, TargetType(c)));
}

void BitCast(NodeContext& c) {
  V x = c.In(0);
  const DType to = c.DTypeAttr("to");
  if (!c.ok()) return;
  if (x.dtype() == to) return c.Out(0, x);
  if (IsNarrowFloat(x.dtype()) || IsNarrowFloat(to))
    return c.Unsupported(absl::StrCat("bits of ", Name(x.dtype()), " as ", Name(to)));
  if (x.dtype() == bool_) x = Cast(x, u8);
  if (to == bool_) return c.Out(0, Cast(x, bool_));
  ir::Attrs attrs;
  attrs.dtype = to;
  c.Out(0, x.dtype() == to ? x : c.Create(ir::Op::k_bitcast, {x}, std::move(attrs)));
}

void CastLike(NodeContext& c) {
  V x = c.In(0), like = c.In(1);
  c.Out(0, Cast(x, like.dtype()));
}

void Identity(NodeContext& c) { c.OutVal(0, c.InVal(0)); }

// In inference nothing is dropped.
void Dropout(NodeContext& c) {
  if (c.Has(2)) {
    const std::optional<std::vector<int64_t>> training = c.Constants(2);
    if (!training) return;
    if (training->size() == 1 && (*training)[0] != 0)
      return c.Unsupported("training_mode is on; training isn't supported");
  }
  V x = c.In(0);
  c.Out(0, x);
  if (c.WantsOutput(1)) {
    const bool mask_is_bool = c.opset() >= 10;
    c.Out(1, c.Fill(x.shape(), mask_is_bool ? bool_ : x.dtype(), 1));
  }
}

void IsInf(NodeContext& c) {
  V x = c.In(0);
  const double inf = std::numeric_limits<double>::infinity();
  const bool low = c.Int("detect_negative", 1) != 0, high = c.Int("detect_positive", 1) != 0;
  if (low && high) return c.Out(0, Un(ir::Op::k_is_inf, x));
  if (low || high) return c.Out(0, Bin(ir::Op::k_eq, x, high ? inf : -inf));
  if (c.ok()) c.Out(0, c.Fill(x.shape(), bool_, 0));
}

void BitShift(NodeContext& c) {
  const std::string direction = c.Str("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    return c.Fail(absl::StrCat("direction is '", direction, "'; wanted LEFT or RIGHT"));
  c.Out(0,
        Bin(direction == "LEFT" ? ir::Op::k_shift_left : ir::Op::k_shift_right, c.In(0), c.In(1)));
}

// -- activations

void LeakyRelu(NodeContext& c) { c.Out(0, LeakyReluOf(c.In(0), c.Float("alpha", 0.01))); }
void PRelu(NodeContext& c) {
  V x = c.In(0), slope = c.In(1);
  if (!c.ok()) return;
  if (c.opset() < 7 && slope.rank() == 1 && x.rank() > 2) {  // one a channel
    Shape shape(static_cast<size_t>(x.rank() - 1), 1);
    shape[0] = slope.dim(0);
    slope = ReshapeTo(slope, shape);
  }
  c.Out(0, Select(Bin(ir::Op::k_lt, x, 0.0), x * slope, x));
}
void Elu(NodeContext& c) { c.Out(0, EluOf(c.In(0), c.Float("alpha", 1))); }
void Celu(NodeContext& c) {
  const double alpha = c.Float("alpha", 1);
  V x = c.In(0);
  c.Out(0, Select(Bin(ir::Op::k_gt, x, 0.0), x, alpha * Un(ir::Op::k_expm1, x / alpha)));
}
void Selu(NodeContext& c) {
  const bool old = c.opset() < 6;  // the numbers had fewer digits
  const double alpha = c.Float("alpha", old ? 1.6732 : 1.67326319217681884765625);
  const double gamma = c.Float("gamma", old ? 1.0507 : 1.05070102214813232421875);
  c.Out(0, gamma * EluOf(c.In(0), alpha));
}
void HardSigmoid(NodeContext& c) {
  c.Out(0, HardSigmoidOf(c.In(0), c.Float("alpha", 0.2), c.Float("beta", 0.5)));
}
void HardSwish(NodeContext& c) {
  V x = c.In(0);
  c.Out(0, x * Clamp(x / 6.0 + 0.5, 0, 1));
}
void Softplus(NodeContext& c) { c.Out(0, SoftplusOf(c.In(0))); }
void Mish(NodeContext& c) {
  V x = c.In(0);
  c.Out(0, x * Tanh(SoftplusOf(x)));
}
void Softsign(NodeContext& c) { c.Out(0, SoftsignOf(c.In(0))); }
void ThresholdedRelu(NodeContext& c) {
  V x = c.In(0);
  c.Out(0, Select(Bin(ir::Op::k_gt, x, c.Float("alpha", 1)), x, x.c->Scalar(x.dtype(), 0)));
}
void Shrink(NodeContext& c) {
  V x = c.In(0);
  const DType type = x.dtype();
  if (!IsFloat(type)) x = Cast(x, f64);  // the bounds are fractions
  const double bias = c.Float("bias"), lambda = c.Float("lambd", 0.5);
  V zero = c.Scalar(x.dtype(), 0);
  V y = Select(Bin(ir::Op::k_gt, x, lambda), x - bias, zero);
  c.Out(0, Cast(Select(Bin(ir::Op::k_lt, x, -lambda), x + bias, y), type));
}
V TanhGelu(V x) {
  constexpr double kRoot = 0.7978845608028654;  // sqrt(2 / pi)
  return 0.5 * x * (1.0 + Tanh(kRoot * (x + 0.044715 * (x * x * x))));
}
void Gelu(NodeContext& c) {
  V x = c.In(0);
  const std::string how = c.Str("approximate", "none");
  c.Out(0, how == "tanh" ? TanhGelu(x) : Un(ir::Op::k_gelu, x));
}
void FastGelu(NodeContext& c) {
  V x = c.In(0);
  if (c.Has(1)) x = x + c.In(1);
  c.Out(0, TanhGelu(x));
}
void BiasGelu(NodeContext& c) { c.Out(0, Un(ir::Op::k_gelu, c.In(0) + c.In(1))); }
void QuickGelu(NodeContext& c) {
  V x = c.In(0);
  c.Out(0, x * Sigmoid(x * c.Float("alpha", 1.702)));
}
void Swish(NodeContext& c) {
  V x = c.In(0);
  const double alpha = c.Float("alpha", 1);
  c.Out(0, alpha == 1 ? Un(ir::Op::k_silu, x) : x * Sigmoid(x * alpha));
}

}  // namespace

std::vector<Mapping> ElementwiseMappings() {
  return {
      {"", "Abs", Unary(ir::Op::k_abs)},
      {"", "Neg", Unary(ir::Op::k_neg)},
      {"", "Exp", Unary(ir::Op::k_exp)},
      {"", "Log", Unary(ir::Op::k_log)},
      {"", "Sqrt", Unary(ir::Op::k_sqrt)},
      {"", "Reciprocal", [](NodeContext& c) { c.Out(0, 1.0 / c.In(0)); }},
      {"", "Floor", Unary(ir::Op::k_floor)},
      {"", "Ceil", Unary(ir::Op::k_ceil)},
      {"", "Round", Unary(ir::Op::k_round)},
      {"", "Sign", Unary(ir::Op::k_sign)},
      {"", "Sin", Unary(ir::Op::k_sin)},
      {"", "Cos", Unary(ir::Op::k_cos)},
      {"", "Tan", Unary(ir::Op::k_tan)},
      {"", "Asin", Unary(ir::Op::k_asin)},
      {"", "Acos", Unary(ir::Op::k_acos)},
      {"", "Atan", Unary(ir::Op::k_atan)},
      {"", "Sinh", Unary(ir::Op::k_sinh)},
      {"", "Cosh", Unary(ir::Op::k_cosh)},
      {"", "Asinh", Unary(ir::Op::k_asinh)},
      {"", "Acosh", Unary(ir::Op::k_acosh)},
      {"", "Atanh", Unary(ir::Op::k_atanh)},
      {"", "Erf", Unary(ir::Op::k_erf)},
      {"", "Tanh", Unary(ir::Op::k_tanh)},
      {"", "Sigmoid", Unary(ir::Op::k_sigmoid)},
      {"", "Relu", Unary(ir::Op::k_relu)},
      {"", "IsNaN", Unary(ir::Op::k_is_nan)},
      {"", "IsInf", IsInf},
      {"", "Not", Unary(ir::Op::k_not)},
      {"", "BitwiseNot", Unary(ir::Op::k_bit_not)},
      {"", "Add", Binary(ir::Op::k_add)},
      {"", "Sub", Binary(ir::Op::k_sub)},
      {"", "Mul", Binary(ir::Op::k_mul)},
      {"", "Div", Binary(ir::Op::k_div)},
      {"", "Mod", Mod},
      {"", "Pow", Pow},
      {"", "And", Binary(ir::Op::k_and)},
      {"", "Or", Binary(ir::Op::k_or)},
      {"", "Xor", Binary(ir::Op::k_ne)},
      {"", "Equal", Binary(ir::Op::k_eq)},
      {"", "Greater", Binary(ir::Op::k_gt)},
      {"", "GreaterOrEqual", Binary(ir::Op::k_ge)},
      {"", "Less", Binary(ir::Op::k_lt)},
      {"", "LessOrEqual", Binary(ir::Op::k_le)},
      {"", "BitwiseAnd", Binary(ir::Op::k_bit_and)},
      {"", "BitwiseOr", Binary(ir::Op::k_bit_or)},
      {"", "BitwiseXor", Binary(ir::Op::k_bit_xor)},
      {"", "BitShift", BitShift},
      {"", "Max", Variadic(ir::Op::k_maximum)},
      {"", "Min", Variadic(ir::Op::k_minimum)},
      {"", "Sum", Variadic(ir::Op::k_add)},
      {"", "Mean", Mean},
      {"", "Clip", Clip},
      {"", "Where", Where},
      {"", "Cast", CastTo},
      {"", "BitCast", BitCast},
      {"", "CastLike", CastLike},
      {"", "Identity", Identity},
      {"", "Dropout", Dropout},
      {"", "LeakyRelu", LeakyRelu},
      {"", "PRelu", PRelu},
      {"", "Elu", Elu},
      {"", "Celu", Celu},
      {"", "Selu", Selu},
      {"", "HardSigmoid", HardSigmoid},
      {"", "HardSwish", HardSwish},
      {"", "Softplus", Softplus},
      {"", "Softsign", Softsign},
      {"", "Mish", Mish},
      {"", "ThresholdedRelu", ThresholdedRelu},
      {"", "Shrink", Shrink},
      {"", "Gelu", Gelu},
      {"", "Swish", Swish},
      {"com.microsoft", "Gelu", [](NodeContext& c) { c.Out(0, Un(ir::Op::k_gelu, c.In(0))); }},
      {"com.microsoft", "FastGelu", FastGelu},
      {"com.microsoft", "BiasGelu", BiasGelu},
      {"com.microsoft", "QuickGelu", QuickGelu},
  };
}

}  // namespace lathe::onnx
