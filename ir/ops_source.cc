// Rows of the ops that have no operands.
#include "absl/strings/str_cat.h"
#include "ir/attr_text.h"
#include "ir/hint.h"
#include "ir/input_data.h"
#include "ir/op_rows.h"
#include "ir/reference/evaluators.h"
#include "ir/shape_rules.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

absl::Status CheckResultDType(const InferContext& c, DType dtype) {
  if (Contains(Info(c.node->op).dtypes, dtype)) return absl::OkStatus();
  return c.Error(absl::StrCat("can't make elements of type ", Name(dtype)));
}

// Elements that give sizes: whole numbers, few of them, each a symbol of its own.
absl::Status CheckElements(const InferContext& c) {
  const Shape& elements = *c.node->attrs.elements;
  const ValueType& type = c.node->type;
  const Dim count = Volume(type.shape);
  if (!IsIndex(type.dtype) || count != Dim(static_cast<int64_t>(elements.size())) ||
      elements.size() > static_cast<size_t>(kMaxElementDims)) {
    return c.Error(absl::StrCat(type.ToString(), " has ", elements.size(),
                                " elements as sizes; wanted i32 or i64 with a name for each of "
                                "its elements, at most ",
                                kMaxElementDims));
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    dim::SymbolId symbol = 0;
    bool fits = dim::IsSymbol(elements[i], &symbol);
    for (size_t k = 0; k < i; ++k) fits = fits && elements[k] != elements[i];
    if (fits) continue;
    return c.Error(absl::StrCat("element ", i, " is to give ", elements[i].ToString(),
                                "; wanted a name that no other element gives"));
  }
  return absl::OkStatus();
}

absl::Status CheckOffsets(const InferContext& c) {
  const Shape& sizes = *c.node->attrs.offsets;
  const ValueType& type = c.node->type;
  if (!IsIndex(type.dtype) || type.rank() != 1) {
    return c.Error(absl::StrCat(type.ToString(),
                                " as offsets of a ragged dim; wanted i32 or i64, [rows + 1]"));
  }
  dim::SymbolId symbol = 0;
  bool fits = sizes.size() == 2;
  for (Dim d : sizes) fits = fits && (d.is_constant() || dim::IsSymbol(d, &symbol));
  if (fits) return absl::OkStatus();
  return c.Error(absl::StrCat("offsets=", ToString(sizes),
                              "; wanted two names or numbers: all rows together, the longest one"));
}

// The builder sets the type; here it is only judged.
absl::Status InferInput(InferContext& c) {
  const Attrs& a = c.node->attrs;
  if (absl::Status s = CheckResultDType(c, c.node->type.dtype); !s.ok()) return s;
  if (a.elements && a.offsets) return c.Error("gives elements and offsets; wanted one of them");
  if (a.elements) return CheckElements(c);
  return a.offsets ? CheckOffsets(c) : absl::OkStatus();
}

absl::Status InferShapeOf(InferContext& c) {
  c.node->type = {i64, {c.operand(0).rank()}};
  return absl::OkStatus();
}

// The sizes as scalars, one behind the other.
absl::StatusOr<ValueId> ExpandShapeOf(Builder& b, const Node& n) {
  std::vector<ValueId> parts;
  const Shape shape = b.graph()->type(n.operands[0]).shape;
  if (shape.empty()) return b.Constant(Tensor(i64, {0}));
  for (Dim d : shape) {
    LATHE_ASSIGN_OR_RETURN(const ValueId size, b.Create(Op::k_size, {}, {.dim = d}));
    LATHE_ASSIGN_OR_RETURN(parts.emplace_back(),
                           b.Create(Op::k_reshape, {size}, {.shape = Shape{1}}));
  }
  if (parts.size() == 1) return parts[0];
  return b.Create(Op::k_concat, parts, {.axis = 0});
}

absl::Status InferConstant(InferContext& c) {
  const Tensor& tensor = c.node->attrs.tensor;
  if (!tensor.ok()) {
    return c.Error(
        "the tensor is invalid: it could not be made (see Tensor::Make), or it was moved from");
  }
  if (tensor.raw() == nullptr && tensor.num_elements() != 0) {
    return c.Error(absl::StrCat("the tensor ", TypeText(tensor), " has a null pointer"));
  }
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

absl::Status RequireSize(InferContext& c) { return RequireDivisors(c, *c.node->attrs.dim); }

absl::Status InferRandom(InferContext& c) {
  const Attrs& a = c.node->attrs;
  if (absl::Status s = CheckResultDType(c, *a.dtype); !s.ok()) return s;
  if (a.distribution != "uniform" && a.distribution != "normal") {
    return WithHint(c.Error(absl::StrCat("distribution is '", a.distribution,
                                         "'; wanted 'uniform' or 'normal'")),
                    {Hint::Kind::kAttr, "distribution", "\"uniform\""});
  }
  c.node->type = {*a.dtype, *a.shape};
  return absl::OkStatus();
}

}  // namespace

std::vector<OpInfo> SourceOps() {
  return {
      {.op = Op::k_input,
       .attrs = {{"name"}, {"elements", false}, {"offsets", false}},
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
       .dtypes = TypeSet(f32, f64),
       .emission = Emission::kSource,
       .infer = InferRandom,
       .evaluate = Eval_random,
       .doc =
           "Philox random numbers that depend on seed and element index alone: `uniform` in [0, 1) "
           "or standard `normal`.",
       .example = "y = random(shape=[n, 4], seed=1, distribution=\"normal\", dtype=f32)",
       .bound = "exact"},
      {.op = Op::k_shape_of,
       .min_operands = 1,
       .max_operands = 1,
       .dtypes = kAllTypes,
       .emission = Emission::kComposite,
       .infer = InferShapeOf,
       .expand = ExpandShapeOf,
       .doc = "The operand's dims as i64[rank]; its elements are never looked at.",
       .example = "y = shape_of(x)",
       .bound = "exact"},
  };
}

}  // namespace lathe::ir
