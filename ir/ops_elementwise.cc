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
    {Op::k_tanh, kFloatTypes, Eval_tanh, kFunction, "y = tanh(x)", "Hyperbolic tangent."},
    {Op::k_erf, kFloatTypes, Eval_erf, kFunction, "y = erf(x)", "Error function."},
    {Op::k_sin, kFloatTypes, Eval_sin, kFunction, "y = sin(x)",
     "Sine of radians, for every size of x."},
    {Op::k_cos, kFloatTypes, Eval_cos, kFunction, "y = cos(x)",
     "Cosine of radians, for every size of x."},
    {Op::k_floor, kFloatTypes, Eval_floor, kExact, "y = floor(x)", "Largest whole number <= x."},
    {Op::k_relu, kNumericTypes, Eval_relu, kExact, "y = relu(x)",
     "maximum(x, 0): NaN stays NaN, -0 becomes +0."},
    {Op::k_sigmoid, kFloatTypes, Eval_sigmoid, kFunction, "y = sigmoid(x)", "1 / (1 + exp(-x))."},
    {Op::k_silu, kFloatTypes, Eval_silu, kFunction, "y = silu(x)", "x * sigmoid(x)."},
    {Op::k_gelu, kFloatTypes, Eval_gelu, "4 ULP or 2^-22 * |x|", "y = gelu(x)",
     "x * (1 + erf(x / sqrt(2))) / 2, without cancellation."},
    {Op::k_not, kBoolType, Eval_not, kExact, "y = not(p)", "Logical negation."},
};

const Row kBinary[] = {
    {Op::k_add, kNumericTypes, Eval_add, kRounded, "y = add(x, x)", "x + y; integers wrap.",
     kCommutative},
    {Op::k_sub, kNumericTypes, Eval_sub, kRounded, "y = sub(x, x)", "x - y; integers wrap."},
    {Op::k_mul, kNumericTypes, Eval_mul, kRounded, "y = mul(x, x)", "x * y; integers wrap.",
     kCommutative},
    {Op::k_div, kNumericTypes, Eval_div, kRounded, "y = div(x, x)",
     "x / y; integers truncate, and x / 0 is 0."},
    {Op::k_rem, kIntTypes, Eval_rem, kExact, "y = rem(k, k)",
     "Remainder that goes with div: the sign of x; x rem 0 is 0."},
    {Op::k_floordiv, kIntTypes, Eval_floordiv, kExact, "y = floordiv(k, k)",
     "Quotient rounded down; x // 0 is 0."},
    {Op::k_mod, kIntTypes, Eval_mod, kExact, "y = mod(k, k)",
     "Remainder that goes with floordiv: the sign of y; x mod 0 is 0."},
    {Op::k_maximum, kNumericTypes, Eval_maximum, kExact, "y = maximum(x, x)",
     "The larger; NaN if either is NaN; -0 is below +0.", kCommutative},
    {Op::k_minimum, kNumericTypes, Eval_minimum, kExact, "y = minimum(x, x)",
     "The smaller; NaN if either is NaN; -0 is below +0.", kCommutative},
    {Op::k_and, kBoolType, Eval_and, kExact, "y = and(p, p)", "Logical and.", kCommutative},
    {Op::k_or, kBoolType, Eval_or, kExact, "y = or(p, p)", "Logical or.", kCommutative},
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

}  // namespace

std::vector<OpInfo> ElementwiseOps() {
  std::vector<OpInfo> ops;
  for (const Row& row : kUnary) ops.push_back(Elementwise(row, 1, InferSameType));
  for (const Row& row : kBinary) ops.push_back(Elementwise(row, 2, InferSameType));
  for (const Row& row : kCompare) ops.push_back(Elementwise(row, 2, InferCompare));
  ops.push_back(Elementwise(kSelect, 3, InferSelect));
  ops.push_back(Elementwise(kCast, 1, InferCast));
  ops.back().attrs = {{"dtype"}};
  return ops;
}

}  // namespace lathe::ir
