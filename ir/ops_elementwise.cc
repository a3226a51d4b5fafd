// Rows of the elementwise ops: operands and result have one shape, the builder broadcasts before.
#include "absl/strings/str_cat.h"
#include "ir/op_rows.h"
#include "ir/reference/evaluators.h"
#include "ir/shape_rules.h"

namespace lathe::ir {
namespace {

// The operands' common shape; of dims that are known to be equal, a constant is preferred.
absl::Status CommonShape(InferContext& c, Shape* shape) {
  *shape = c.operand(0).shape;
  for (size_t i = 1; i < c.node->operands.size(); ++i) {
    const Shape& other = c.operand(i).shape;
    bool same = other.size() == shape->size();
    for (size_t k = 0; same && k < other.size(); ++k) {
      same = KnownEq(c, (*shape)[k], other[k]);
      if (other[k].is_constant()) (*shape)[k] = other[k];
    }
    if (!same) {
      return c.Error(absl::StrCat(
          "operands 0 and ", i, " are ", ToString(c.operand(0).shape), " and ", ToString(other),
          ", not known to be equal; wanted one shape (broadcast an operand, "
          "or declare the dims equal)"));
    }
  }
  return absl::OkStatus();
}

absl::Status InferSameType(InferContext& c) {
  if (absl::Status s = CheckDTypes(c); !s.ok()) return s;
  c.node->type.dtype = c.operand(0).dtype;
  return CommonShape(c, &c.node->type.shape);
}

absl::Status InferCompare(InferContext& c) {
  if (absl::Status s = InferSameType(c); !s.ok()) return s;
  c.node->type.dtype = bool_;
  return absl::OkStatus();
}

absl::Status InferSelect(InferContext& c) {
  if (absl::Status s = CheckOperandIs(c, 0, kBoolType, "the condition"); !s.ok()) return s;
  if (absl::Status s = CheckDTypes(c, 1); !s.ok()) return s;
  c.node->type.dtype = c.operand(1).dtype;
  return CommonShape(c, &c.node->type.shape);
}

absl::Status InferCast(InferContext& c) {
  c.node->type = {*c.node->attrs.dtype, c.operand(0).shape};
  return absl::OkStatus();
}

absl::Status InferBitcast(InferContext& c) {
  if (absl::Status s = CheckDTypes(c); !s.ok()) return s;
  const DType from = c.operand(0).dtype, to = *c.node->attrs.dtype;
  if (to == bool_ || IsNarrowFloat(to) || SizeOf(to) != SizeOf(from))
    return c.Error(absl::StrCat("dtype is ", Name(to), "; wanted a type of the ", SizeOf(from),
                                " bytes of ", Name(from), ", not bool, f16 or bf16"));
  c.node->type = {to, c.operand(0).shape};
  return absl::OkStatus();
}

using Evaluate = absl::StatusOr<Tensor> (*)(const EvalContext&);

// What the rows of one op differ in.
struct Row {
  Op op;
  uint32_t dtypes;
  Evaluate evaluate;
  std::string_view bound, example, doc;
  uint32_t traits = 0;
};

OpInfo Elementwise(const Row& row, int operands, absl::Status (*infer)(InferContext&)) {
  OpInfo info{.op = row.op, .min_operands = operands, .max_operands = operands};
  info.traits = row.traits | kSameShape | (row.dtypes == kFloatTypes ? uint32_t{kFloatOnly} : 0);
  info.dtypes = row.dtypes;
  info.emission = Emission::kElementwise;
  info.infer = infer;
  info.evaluate = row.evaluate;
  info.doc = row.doc;
  info.example = row.example;
  info.bound = row.bound;
  return info;
}

constexpr std::string_view kExact = "exact";
constexpr std::string_view kRounded = "correctly rounded";
constexpr std::string_view kFunction = "4 ULP";

const Row kUnary[] = {
    {Op::k_neg, kNumericTypes, Eval_neg, kExact, "y = neg(x)", "-x; integers wrap."},
    {Op::k_abs, kNumericTypes, Eval_abs, kExact, "y = abs(x)",
     "|x|; the least integer stays itself."},
    {Op::k_exp, kFloatTypes, Eval_exp, kFunction, "y = exp(x)", "e to the x."},
    {Op::k_log, kFloatTypes, Eval_log, kFunction, "y = log(x)", "Natural logarithm; NaN below 0."},
    {Op::k_sqrt, kFloatTypes, Eval_sqrt, kRounded, "y = sqrt(x)", "Square root; sqrt(-0) is -0."},
    {Op::k_rsqrt, kFloatTypes, Eval_rsqrt, kFunction, "y = rsqrt(x)", "1 / sqrt(x)."},
    {Op::k_exp2, kFloatTypes, Eval_exp2, kFunction, "y = exp2(x)", "2 to the x."},
    {Op::k_expm1, kFloatTypes, Eval_expm1, kFunction, "y = expm1(x)",
     "exp(x) - 1, without cancellation."},
    {Op::k_log2, kFloatTypes, Eval_log2, kFunction, "y = log2(x)",
     "Logarithm to base 2; NaN below 0."},
    {Op::k_log1p, kFloatTypes, Eval_log1p, kFunction, "y = log1p(x)",
     "log(1 + x), without cancellation; NaN below -1."},
    {Op::k_tanh, kFloatTypes, Eval_tanh, kFunction, "y = tanh(x)", "Hyperbolic tangent."},
    {Op::k_erf, kFloatTypes, Eval_erf, kFunction, "y = erf(x)", "Error function."},
    {Op::k_sin, kFloatTypes, Eval_sin, kFunction, "y = sin(x)",
     "Sine of radians, for every size of x."},
    {Op::k_cos, kFloatTypes, Eval_cos, kFunction, "y = cos(x)",
     "Cosine of radians, for every size of x."},
    {Op::k_tan, kFloatTypes, Eval_tan, kFunction, "y = tan(x)",
     "Tangent of radians, for every size of x."},
    {Op::k_asin, kFloatTypes, Eval_asin, kFunction, "y = asin(x)",
     "Inverse sine; NaN outside of [-1, 1]."},
    {Op::k_acos, kFloatTypes, Eval_acos, kFunction, "y = acos(x)",
     "Inverse cosine; NaN outside of [-1, 1]."},
    {Op::k_atan, kFloatTypes, Eval_atan, kFunction, "y = atan(x)", "Inverse tangent."},
    {Op::k_sinh, kFloatTypes, Eval_sinh, kFunction, "y = sinh(x)", "Hyperbolic sine."},
    {Op::k_cosh, kFloatTypes, Eval_cosh, kFunction, "y = cosh(x)", "Hyperbolic cosine."},
    {Op::k_asinh, kFloatTypes, Eval_asinh, kFunction, "y = asinh(x)", "Inverse hyperbolic sine."},
    {Op::k_acosh, kFloatTypes, Eval_acosh, kFunction, "y = acosh(x)",
     "Inverse hyperbolic cosine; NaN below 1."},
    {Op::k_atanh, kFloatTypes, Eval_atanh, kFunction, "y = atanh(x)",
     "Inverse hyperbolic tangent; NaN outside of [-1, 1]."},
    {Op::k_floor, kFloatTypes, Eval_floor, kExact, "y = floor(x)", "Largest whole number <= x."},
    {Op::k_ceil, kFloatTypes, Eval_ceil, kExact, "y = ceil(x)", "Smallest whole number >= x."},
    {Op::k_round, kFloatTypes, Eval_round, kExact, "y = round(x)",
     "Nearest whole number, the even one of two."},
    {Op::k_trunc, kFloatTypes, Eval_trunc, kExact, "y = trunc(x)",
     "Whole part: rounds towards zero."},
    {Op::k_sign, kNumericTypes, Eval_sign, kExact, "y = sign(x)",
     "-1, 0 or 1; NaN stays NaN, -0 becomes +0."},
    {Op::k_relu, kNumericTypes, Eval_relu, kExact, "y = relu(x)",
     "maximum(x, 0): NaN stays NaN, -0 becomes +0."},
    {Op::k_sigmoid, kFloatTypes, Eval_sigmoid, kFunction, "y = sigmoid(x)", "1 / (1 + exp(-x))."},
    {Op::k_silu, kFloatTypes, Eval_silu, kFunction, "y = silu(x)", "x * sigmoid(x)."},
    {Op::k_gelu, kFloatTypes, Eval_gelu, "4 ULP or 2^-22 * |x|", "y = gelu(x)",
     "x * (1 + erf(x / sqrt(2))) / 2, without cancellation."},
    {Op::k_not, kBoolType, Eval_not, kExact, "y = not(p)", "Logical negation."},
    {Op::k_bit_not, kIntTypes, Eval_bit_not, kExact, "y = bit_not(k)", "Every bit inverted."},
};

const Row kTest[] = {
    {Op::k_is_nan, kFloatTypes, Eval_is_nan, kExact, "p = is_nan(x)", "Whether x is NaN.",
     kBoolResult},
    {Op::k_is_inf, kFloatTypes, Eval_is_inf, kExact, "p = is_inf(x)",
     "Whether x is an infinity of either sign.", kBoolResult},
};

const Row kBinary[] = {
    {Op::k_add, kNumericTypes, Eval_add, kRounded, "y = add(x, x)", "x + y; integers wrap.",
     kCommutative},
    {Op::k_sub, kNumericTypes, Eval_sub, kRounded, "y = sub(x, x)", "x - y; integers wrap."},
    {Op::k_mul, kNumericTypes, Eval_mul, kRounded, "y = mul(x, x)", "x * y; integers wrap.",
     kCommutative},
    {Op::k_div, kNumericTypes, Eval_div, kRounded, "y = div(x, x)",
     "x / y; integers truncate, and x / 0 is 0."},
    {Op::k_rem, kNumericTypes, Eval_rem, kExact, "y = rem(k, k)",
     "Remainder that goes with div: the sign of x; x rem 0 is 0. Of floats: C fmod."},
    {Op::k_floordiv, kNumericTypes, Eval_floordiv, kExact, "y = floordiv(k, k)",
     "Quotient rounded down; x // 0 is 0. Of floats: floor of the rounded quotient."},
    {Op::k_mod, kNumericTypes, Eval_mod, kExact, "y = mod(k, k)",
     "Remainder that goes with floordiv: the sign of y; x mod 0 is 0. Of floats: rem, plus y where "
     "the signs differ; a zero has the sign of y."},
    {Op::k_pow, kNumericTypes, Eval_pow, "4 ULP; integers: exact", "y = pow(x, x)",
     "x to the y, with the special values of C; integers wrap, and a negative exponent gives the "
     "whole part of 1 / x^-y."},
    {Op::k_atan2, kFloatTypes, Eval_atan2, kFunction, "y = atan2(x, x)",
     "Angle of the point (y, x) given as atan2(y, x), in [-pi, pi]; signs of zero as in C."},
    {Op::k_maximum, kNumericTypes, Eval_maximum, kExact, "y = maximum(x, x)",
     "The larger; NaN if either is NaN; -0 is below +0.", kCommutative},
    {Op::k_minimum, kNumericTypes, Eval_minimum, kExact, "y = minimum(x, x)",
     "The smaller; NaN if either is NaN; -0 is below +0.", kCommutative},
    {Op::k_and, kBoolType, Eval_and, kExact, "y = and(p, p)", "Logical and.", kCommutative},
    {Op::k_or, kBoolType, Eval_or, kExact, "y = or(p, p)", "Logical or.", kCommutative},
    {Op::k_xor, kBoolType, Eval_xor, kExact, "y = xor(p, p)", "Logical exclusive or.",
     kCommutative},
    {Op::k_bit_and, kIntTypes, Eval_bit_and, kExact, "y = bit_and(k, k)", "Bitwise and.",
     kCommutative},
    {Op::k_bit_or, kIntTypes, Eval_bit_or, kExact, "y = bit_or(k, k)", "Bitwise or.", kCommutative},
    {Op::k_bit_xor, kIntTypes, Eval_bit_xor, kExact, "y = bit_xor(k, k)", "Bitwise exclusive or.",
     kCommutative},
    {Op::k_shift_left, kIntTypes, Eval_shift_left, kExact, "y = shift_left(k, k)",
     "x * 2^y, wrapping; 0 for amounts outside of [0, width)."},
    {Op::k_shift_right, kIntTypes, Eval_shift_right, kExact, "y = shift_right(k, k)",
     "x / 2^y rounded down; an amount outside of [0, width) counts as the width."},
};

const Row kCompare[] = {
    {Op::k_eq, kAllTypes, Eval_eq, kExact, "p = eq(x, x)", "x == y; NaN equals nothing.",
     kCommutative | kBoolResult},
    {Op::k_ne, kAllTypes, Eval_ne, kExact, "p = ne(x, x)", "x != y; true if either is NaN.",
     kCommutative | kBoolResult},
    {Op::k_lt, kNumericTypes, Eval_lt, kExact, "p = lt(x, x)", "x < y; false if either is NaN.",
     kBoolResult},
    {Op::k_le, kNumericTypes, Eval_le, kExact, "p = le(x, x)", "x <= y; false if either is NaN.",
     kBoolResult},
    {Op::k_gt, kNumericTypes, Eval_gt, kExact, "p = gt(x, x)", "x > y; false if either is NaN.",
     kBoolResult},
    {Op::k_ge, kNumericTypes, Eval_ge, kExact, "p = ge(x, x)", "x >= y; false if either is NaN.",
     kBoolResult},
};

const Row kSelect = {
    Op::k_select,          kAllTypes,
    Eval_select,           kExact,
    "y = select(p, x, x)", "Where the first operand (bool) is true the second, else the third."};
const Row kCast = {
    Op::k_cast,
    kAllTypes,
    Eval_cast,
    kRounded,
    "y = cast(x, dtype=i32)",
    "Converts elements: float to integer saturates and NaN gives 0; to bool is x != 0."};
const Row kBitcast = {Op::k_bitcast,
                      kIntTypes | TypeSet(f32, f64),
                      Eval_bitcast,
                      kExact,
                      "y = bitcast(x, dtype=i32)",
                      "The bits of an element as another type of the same size."};

}  // namespace

std::vector<OpInfo> ElementwiseOps() {
  std::vector<OpInfo> ops;
  for (const Row& row : kUnary) ops.push_back(Elementwise(row, 1, InferSameType));
  for (const Row& row : kTest) ops.push_back(Elementwise(row, 1, InferCompare));
  for (const Row& row : kBinary) ops.push_back(Elementwise(row, 2, InferSameType));
  for (const Row& row : kCompare) ops.push_back(Elementwise(row, 2, InferCompare));
  ops.push_back(Elementwise(kSelect, 3, InferSelect));
  ops.push_back(Elementwise(kCast, 1, InferCast));
  ops.back().attrs = {{"dtype"}};
  ops.push_back(Elementwise(kBitcast, 1, InferBitcast));
  ops.back().attrs = {{"dtype"}};
  return ops;
}

}  // namespace lathe::ir
