// Rows of the ops that have no operands.
#include "absl/strings/str_cat.h"
#include "ir/op_rows.h"
#include "ir/reference/evaluators.h"
#include "ir/shape_rules.h"

namespace lathe::ir {
namespace {

absl::Status CheckResultDType(const InferContext& c, DType dtype) {
  if (Contains(Info(c.node->op).dtypes, dtype)) return absl::OkStatus();
  return c.Error(absl::StrCat("can't make elements of type ", Name(dtype)));
}

// The builder sets the type; here it is only judged.
absl::Status InferInput(InferContext& c) { return CheckResultDType(c, c.node->type.dtype); }

absl::Status InferConstant(InferContext& c) {
  const Tensor& tensor = c.node->attrs.tensor;
  if (!tensor.ok()) return c.Error("the tensor could not be made (see Tensor::Make)");
  c.node->type = {tensor.dtype(), Shape(tensor.shape().begin(), tensor.shape().end())};
  return absl::OkStatus();
}

absl::Status InferIota(InferContext& c) {
  Attrs& a = c.node->attrs;
  if (absl::Status s = CheckResultDType(c, *a.dtype); !s.ok()) return s;
  c.node->type = {*a.dtype, *a.shape};
  return NormalizeAxis(c, &*a.axis, c.node->type.rank());
}

absl::Status InferSize(InferContext& c) {
  c.node->type = {i64, {}};
  return absl::OkStatus();
}

// No divisor is 0. The depth is that of `d`.
absl::Status RequireDivisors(InferContext& c, Dim d) {
  if (d.is_constant()) return absl::OkStatus();
  const dim::Expr e = dim::Decompose(d);
  const bool divides = e.kind == dim::ExprKind::kFloorDiv || e.kind == dim::ExprKind::kMod ||
                       e.kind == dim::ExprKind::kCeilDiv;
  if (divides && !e.operands[1].is_constant()) {
    absl::Status s =
        c.Require(Ne(e.operands[1], 0), absl::StrCat(d.ToString(), " may not divide by 0"));
    if (!s.ok()) return s;
  }
  for (Dim operand : e.operands)
    if (absl::Status s = RequireDivisors(c, operand); !s.ok()) return s;
  return absl::OkStatus();
}

absl::Status RequireSize(InferContext& c) { return RequireDivisors(c, *c.node->attrs.dim); }

absl::Status InferRandom(InferContext& c) {
  const Attrs& a = c.node->attrs;
  if (absl::Status s = CheckResultDType(c, *a.dtype); !s.ok()) return s;
  if (a.distribution != "uniform" && a.distribution != "normal") {
    return c.Error(
        absl::StrCat("distribution is '", a.distribution, "'; wanted 'uniform' or 'normal'"));
  }
  c.node->type = {*a.dtype, *a.shape};
  return absl::OkStatus();
}

}  // namespace

std::vector<OpInfo> SourceOps() {
  return {
      {.op = Op::k_input,
       .attrs = {{"name"}},
       .dtypes = kAllTypes,
       .emission = Emission::kSource,
       .infer = InferInput,
       .doc = "A tensor that the caller gives; its shape binds the symbols that occur in it.",
       .example = "x: f32[batch, 768]",
       .bound = "exact"},
      {.op = Op::k_constant,
       .dtypes = kAllTypes,
       .emission = Emission::kSource,
       .infer = InferConstant,
       .doc = "A tensor whose elements are part of the program.",
       .example = "y = constant(f32[2]{1, 2})",
       .bound = "exact"},
      {.op = Op::k_iota,
       .attrs = {{"shape"}, {"axis"}, {"dtype"}},
       .dtypes = kNumericTypes,
       .emission = Emission::kSource,
       .infer = InferIota,
       .evaluate = Eval_iota,
       .doc = "Each element is its index along `axis`, wrapped or rounded to `dtype`.",
       .example = "y = iota(shape=[n, 4], axis=0, dtype=i32)",
       .bound = "exact"},
      {.op = Op::k_size,
       .attrs = {{"dim"}},
       .dtypes = 1 << int(DType::kI64),
       .emission = Emission::kSource,
       .infer = InferSize,
       .require = RequireSize,
       .evaluate = Eval_size,
       .doc = "The value of a dim expression, an i64 scalar.",
       .example = "y = size(dim=4*n)",
       .bound = "exact"},
      {.op = Op::k_random,
       .attrs = {{"shape"}, {"seed"}, {"distribution"}, {"dtype"}},
       .dtypes = kFloatTypes,
       .emission = Emission::kSource,
       .infer = InferRandom,
       .evaluate = Eval_random,
       .doc =
           "Philox random numbers that depend on seed and element index alone: `uniform` in [0, 1) "
           "or standard `normal`.",
       .example = "y = random(shape=[n, 4], seed=1, distribution=\"normal\", dtype=f32)",
       .bound = "exact"},
  };
}

}  // namespace lathe::ir
