// Rows of matmul and attention.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/op_rows.h"
#include "ir/reference/evaluators.h"
#include "ir/shape_rules.h"

namespace lathe::ir {
namespace {

Shape BatchOf(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

absl::Status InferMatmul(InferContext& c) {
  if (absl::Status s = CheckDTypes(c); !s.ok()) return s;
  const ValueType& a = c.operand(0);
  const ValueType& b = c.operand(1);
  if (a.rank() < 2 || (b.rank() != 2 && b.rank() != a.rank())) {
    return c.Error(absl::StrCat("operands are ", ToString(a.shape), " and ", ToString(b.shape),
                                "; wanted [.., m, k] and [.., k, n] or [k, n]"));
  }
  c.node->type = a;
  c.node->type.shape.back() = b.shape.back();
  return absl::OkStatus();
}

absl::Status RequireMatmul(InferContext& c) {
  const Shape& a = c.operand(0).shape;
  const Shape& b = c.operand(1).shape;
  if (absl::Status s = RequireEqualShapes(
          c, {a.back()}, {b[b.size() - 2]},
          absl::StrCat("the inner dims of ", ToString(a), " and ", ToString(b), " are equal"));
      !s.ok()) {
    const bool transposed = b.size() == 2 && KnownEq(c, a.back(), b.back());
    return transposed ? WithFirstHint(s, {Hint::Kind::kWrap, "permute(", ", axes=[1, 0])", 1}) : s;
  }
  if (b.size() == 2) return absl::OkStatus();
  return RequireEqualShapes(
      c, BatchOf(a), BatchOf(b),
      absl::StrCat("the batch dims of ", ToString(a), " and ", ToString(b), " are equal"));
}

absl::Status InferAttention(InferContext& c) {
  const ValueType& q = c.operand(0);
  const bool has_mask = c.node->operands.size() == 4;
  for (size_t i = 0; i < 3; ++i) {
    if (absl::Status s = CheckOperandIs(c, i, kFloatTypes, absl::StrCat("operand ", i)); !s.ok())
      return s;
    if (c.operand(i).dtype == q.dtype && c.operand(i).rank() == q.rank() && q.rank() >= 2) continue;
    return c.Error(
        absl::StrCat("operand ", i, " is ", c.operand(i).ToString(), " beside q ", q.ToString(),
                     "; wanted q[.., s, d], k[.., t, d], v[.., t, e] of one type and rank"));
  }
  if (has_mask) {
    const uint32_t types = kBoolType | TypeSet(q.dtype);
    if (absl::Status s = CheckOperandIs(c, 3, types, "the mask"); !s.ok()) return s;
  }
  std::optional<double>& scale = c.node->attrs.scale;
  const Dim depth = q.shape.back();
  if (!scale) {
    if (!depth.is_constant() || depth.constant() < 1) {
      return c.Error(absl::StrCat("the depth of q ", q.ToString(), " is ", depth.ToString(),
                                  ", so there is no default for the scale; give scale="));
    }
    scale = 1.0 / std::sqrt(static_cast<double>(depth.constant()));
  }
  c.node->type = q;
  c.node->type.shape.back() = c.operand(2).shape.back();
  return absl::OkStatus();
}

absl::Status RequireAttention(InferContext& c) {
  const Shape& q = c.operand(0).shape;
  const Shape& k = c.operand(1).shape;
  const Shape& v = c.operand(2).shape;
  const size_t s_axis = q.size() - 2;
  Shape wanted_k = BatchOf(q);
  wanted_k.push_back(k[s_axis]);
  Shape wanted_v = wanted_k, wanted_mask = BatchOf(q);
  wanted_k.push_back(q.back());
  wanted_v.push_back(v.back());
  if (absl::Status s = RequireEqualShapes(c, k, wanted_k, "k is [.., t, d] for q [.., s, d]");
      !s.ok())
    return s;
  if (absl::Status s = RequireEqualShapes(c, v, wanted_v, "v is [.., t, e] for k [.., t, d]");
      !s.ok())
    return s;
  if (c.node->operands.size() < 4) return absl::OkStatus();
  wanted_mask.push_back(q[s_axis]);
  wanted_mask.push_back(k[s_axis]);
  return RequireEqualShapes(c, c.operand(3).shape, wanted_mask, "the mask is [.., s, t]");
}

}  // namespace

std::vector<OpInfo> ContractOps() {
  return {
      {.op = Op::k_matmul,
       .min_operands = 2,
       .max_operands = 2,
       .dtypes = kNumericTypes,
       .emission = Emission::kContraction,
       .infer = InferMatmul,
       .require = RequireMatmul,
       .evaluate = Eval_matmul,
       .doc = "Matrix product of [.., m, k] with [.., k, n], or with [k, n] for every batch; sums "
              "ascend in k; 0 if k is 0.",
       .example = "y = matmul(x, w)",
       .bound = "k * eps * sum |terms|"},
      {.op = Op::k_attention,
       .min_operands = 3,
       .max_operands = 4,
       .attrs = {{"scale", false}, {"causal", false}, {"empty_row_nan", false}},
       .traits = kFloatOnly,
       .dtypes = kFloatTypes,
       .emission = Emission::kAttention,
       .infer = InferAttention,
       .require = RequireAttention,
       .evaluate = Eval_attention,
       .doc = "softmax(scale * q @ k^T + mask) @ v for q[.., s, d], k[.., t, d], v[.., t, e]; "
              "scale is "
              "1/sqrt(d) if not given; a bool mask says what may be seen; causal aligns "
              "bottom-right; a row that sees nothing is 0 (NaN with empty_row_nan).",
       .example = "y = attention(x, x, x, causal=true)",
       .bound = "(d + t/32 + 32) * eps * max |v|"},
  };
}

}  // namespace lathe::ir
