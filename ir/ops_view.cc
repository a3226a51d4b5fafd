// Rows of the ops that move elements without computing any: index maps and gather.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/hint.h"
#include "ir/op_rows.h"
#include "ir/reference/evaluators.h"
#include "ir/shape_rules.h"
#include "ir/volumes.h"

namespace lathe::ir {
namespace {

absl::Status CheckLength(const InferContext& c, size_t found, std::string_view attr, int rank) {
  if (found == static_cast<size_t>(rank)) return absl::OkStatus();
  const absl::Status error = c.Error(absl::StrCat(
      std::string(attr), " has ", found, " entries; wanted ", rank, ", the operand's rank"));
  std::vector<int64_t> identity;
  for (int i = 0; i < rank; ++i) identity.push_back(attr == "axes" ? i : attr == "steps" ? 1 : 0);
  return WithHint(error, {Hint::Kind::kAttr, std::string(attr),
                          absl::StrCat("[", absl::StrJoin(identity, ", "), "]")});
}

absl::Status InferBroadcast(InferContext& c) {
  const Attrs& a = c.node->attrs;
  const ValueType& x = c.operand(0);
  const int rank = static_cast<int>(a.shape->size());
  if (absl::Status s = CheckLength(c, a.axes.size(), "axes", x.rank()); !s.ok()) return s;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    if (a.axes[i] < 0 || a.axes[i] >= rank || (i > 0 && a.axes[i] <= a.axes[i - 1])) {
      return c.Error(absl::StrCat("axes[", i, "] is ", a.axes[i],
                                  "; wanted ascending axes of the result, 0..", rank - 1));
    }
  }
  c.node->type = {x.dtype, *a.shape};
  return absl::OkStatus();
}

// If `target` is what BroadcastShapes makes of `from` and another dim, that dim. The larger one
// alone is that only where neither is 0.
std::optional<Dim> PartnerInBroadcast(const InferContext& c, Dim from, Dim target) {
  const dim::Expr product = dim::Decompose(target);
  const std::vector<Dim> atoms =
      product.kind == dim::ExprKind::kMul ? product.operands : std::vector<Dim>{target};
  for (Dim atom : atoms) {
    const dim::Expr e = dim::Decompose(atom);
    if (e.kind != dim::ExprKind::kMax) continue;
    for (int side : {0, 1}) {
      const Dim n = e.operands[side], m = e.operands[1 - side];
      if (n != from) continue;
      if (Max(n, m) * Min(1, Min(n, m)) == target) return m;
      if (Max(n, m) == target && KnownLe(c, 1, n) && KnownLe(c, 1, m)) return m;
    }
  }
  return std::nullopt;
}

absl::Status RequireBroadcast(InferContext& c) {
  const Attrs& a = c.node->attrs;
  const ValueType& x = c.operand(0);
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const Dim n = x.shape[i], m = (*a.shape)[a.axes[i]];
    if (n == Dim(1) || KnownEq(c, n, m) || KnownEq(c, n, 1)) continue;
    std::string why =
        absl::StrCat("axis ", i, " of ", x.ToString(), " must be ", m.ToString(), " or 1");
    std::string declare = Eq(n, m).ToString();
    Claim claim = IsOneOf(n, {m, 1});
    if (m.is_constant()) {
      claim = m.constant() == 1
                  ? Eq(n, 1)
                  : In(n, {std::min<int64_t>(1, m.constant()), std::max<int64_t>(1, m.constant())});
    } else if (c.Known(Ne(n, 1))) {
      claim = Eq(n, m);
    } else if (const std::optional<Dim> other = PartnerInBroadcast(c, n, m)) {
      claim = EqualOrOne(n, *other);
      declare = Eq(n, *other).ToString();
      why = absl::StrCat(n.ToString(), " and ", other->ToString(),
                         " must be equal, or one of them 1");
    }
    if (absl::Status s = c.Require(claim, why, declare); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status InferReshape(InferContext& c) {
  c.node->type = {c.operand(0).dtype, *c.node->attrs.shape};
  return absl::OkStatus();
}

absl::Status RequireReshape(InferContext& c) {
  const Shape& from = c.operand(0).shape;
  const Shape& to = *c.node->attrs.shape;
  if (KnownEqualVolumes(c, from, to)) return absl::OkStatus();
  const std::string why = absl::StrCat("the element counts of ", ToString(from), " and ",
                                       ToString(to), " must be equal");
  Factors a = FactorsOf(from), b = FactorsOf(to);
  if (a.overflow || b.overflow)
    return ErrorAt(*c.node, absl::StatusCode::kOutOfRange,
                   absl::StrCat(why, ", and one overflows"));
  Cancel(&a, &b);
  if (a.symbolic.empty() && b.symbolic.empty() && a.constant != b.constant) {
    absl::Status error = c.Error(absl::StrCat(why, "; ", a.constant, " and ", b.constant,
                                              " remain when common factors are left out"));
    for (size_t i = to.size(); i-- > 0;) {  // one extent may be left to follow from the others
      Shape open = to;
      open[i] = -1;
      error = WithHint(error, {Hint::Kind::kAttr, "shape", ToString(open)});
    }
    return error;
  }
  if (const std::optional<Claim> division = MissingDivision(from, to)) {
    return c.Require(*division, why);
  }
  return c.Require(Eq(Volume(from), Volume(to)), why);
}

absl::Status InferPermute(InferContext& c) {
  std::vector<int64_t>& axes = c.node->attrs.axes;
  const ValueType& x = c.operand(0);
  if (absl::Status s = CheckLength(c, axes.size(), "axes", x.rank()); !s.ok()) return s;
  std::vector<int64_t> sorted = axes;
  if (absl::Status s = NormalizeAxes(c, &sorted, x.rank()); !s.ok()) return s;
  c.node->type = {x.dtype, {}};
  for (int64_t& axis : axes) {
    if (absl::Status s = NormalizeAxis(c, &axis, x.rank()); !s.ok()) return s;
    c.node->type.shape.push_back(x.shape[axis]);
  }
  return absl::OkStatus();
}

absl::Status InferSlice(InferContext& c) {
  const Attrs& a = c.node->attrs;
  const ValueType& x = c.operand(0);
  if (absl::Status s = CheckLength(c, a.starts.size(), "starts", x.rank()); !s.ok()) return s;
  if (absl::Status s = CheckLength(c, a.limits.size(), "limits", x.rank()); !s.ok()) return s;
  if (absl::Status s = CheckLength(c, a.steps.size(), "steps", x.rank()); !s.ok()) return s;
  c.node->type = {x.dtype, {}};
  for (size_t i = 0; i < a.steps.size(); ++i) {
    if (a.steps[i] == 0 || a.steps[i] < -kMaxDim || a.steps[i] > kMaxDim)
      return c.Error(
          absl::StrCat("steps[", i, "] is ", a.steps[i], "; wanted 1..2^40 or -2^40..-1"));
    const Dim span = a.limits[i] - a.starts[i];
    c.node->type.shape.push_back(a.steps[i] > 0 ? CeilDiv(span, a.steps[i])
                                                : CeilDiv(-span, -a.steps[i]));
  }
  return absl::OkStatus();
}

absl::Status RequireSlice(InferContext& c) {
  const Attrs& a = c.node->attrs;
  const Shape& shape = c.operand(0).shape;
  const auto require_le = [&](Dim low, Dim high, const std::string& why) {
    return KnownLe(c, low, high) ? absl::OkStatus() : c.Require(low <= high, why);
  };
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool up = a.steps[i] > 0;
    // Upwards 0 <= start <= limit <= extent; downwards -1 <= limit <= start <= extent - 1.
    const Dim low = up ? a.starts[i] : a.limits[i], high = up ? a.limits[i] : a.starts[i];
    const std::string axis = absl::StrCat("the slice of axis ", i, " of ", ToString(shape));
    if (absl::Status s = require_le(up ? 0 : -1, low, absl::StrCat(axis, " starts inside it"));
        !s.ok())
      return s;
    if (absl::Status s =
            require_le(low, high, absl::StrCat(axis, " has its start before its limit"));
        !s.ok())
      return s;
    if (absl::Status s =
            require_le(high, up ? shape[i] : shape[i] - 1, absl::StrCat(axis, " ends inside it"));
        !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::Status InferPad(InferContext& c) {
  const Attrs& a = c.node->attrs;
  const ValueType& x = c.operand(0);
  if (absl::Status s = CheckLength(c, a.low.size(), "low", x.rank()); !s.ok()) return s;
  if (absl::Status s = CheckLength(c, a.high.size(), "high", x.rank()); !s.ok()) return s;
  c.node->type = {x.dtype, {}};
  for (size_t i = 0; i < a.low.size(); ++i)
    c.node->type.shape.push_back(a.low[i] + x.shape[i] + a.high[i]);
  return absl::OkStatus();
}

absl::Status RequirePad(InferContext& c) {
  const Attrs& a = c.node->attrs;
  for (size_t i = 0; i < a.low.size(); ++i) {
    for (Dim amount : {a.low[i], a.high[i]}) {
      if (KnownLe(c, 0, amount)) continue;
      const std::string why = absl::StrCat("padding of axis ", i, " may not be negative");
      if (absl::Status s = c.Require(amount >= 0, why); !s.ok())
        return WithHint(s, {Hint::Kind::kNumber, amount.ToString(), "0"});
    }
  }
  return absl::OkStatus();
}

absl::Status InferConcat(InferContext& c) {
  if (absl::Status s = CheckDTypes(c); !s.ok()) return s;
  const ValueType& first = c.operand(0);
  int64_t& axis = *c.node->attrs.axis;
  if (absl::Status s = NormalizeAxis(c, &axis, first.rank()); !s.ok()) return s;
  c.node->type = first;
  for (size_t i = 1; i < c.node->operands.size(); ++i) {
    const ValueType& x = c.operand(i);
    if (x.rank() != first.rank()) {
      // The lower one gets an axis in front, where its other dims may fit.
      const bool first_lower = first.rank() < x.rank();
      Shape shape = first_lower ? first.shape : x.shape;
      shape.insert(shape.begin(), 1);
      return WithHint(
          c.Error(absl::StrCat("operands 0 and ", i, " have ranks ", first.rank(), " and ",
                               x.rank(), "; wanted one rank")),
          {Hint::Kind::kWrap, "reshape(", absl::StrCat(", shape=", ToString(shape), ")"),
           first_lower ? 0 : static_cast<int>(i)});
    }
    c.node->type.shape[axis] += x.shape[axis];
  }
  return absl::OkStatus();
}

absl::Status RequireConcat(InferContext& c) {
  const int64_t axis = *c.node->attrs.axis;
  const Shape& first = c.operand(0).shape;
  for (size_t i = 1; i < c.node->operands.size(); ++i) {
    Shape other = c.operand(i).shape;
    other[axis] = first[axis];
    const std::string what = absl::StrCat("operands 0 and ", i, " agree but for axis ", axis);
    if (absl::Status s = RequireEqualShapes(c, first, other, what); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status InferGather(InferContext& c) {
  const ValueType& data = c.operand(0);
  const ValueType& indices = c.operand(1);
  if (absl::Status s = CheckOperandIs(c, 1, kIndexTypes, "operand 1, the indices,"); !s.ok())
    return s;
  int64_t& axis = *c.node->attrs.axis;
  if (absl::Status s = NormalizeAxis(c, &axis, data.rank()); !s.ok()) return s;
  Shape shape(data.shape.begin(), data.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  c.node->type = {data.dtype, shape};
  return absl::OkStatus();
}

}  // namespace

std::vector<OpInfo> ViewOps() {
  std::vector<OpInfo> ops = {
      {.op = Op::k_broadcast,
       .attrs = {{"shape"}, {"axes"}},
       .infer = InferBroadcast,
       .require = RequireBroadcast,
       .evaluate = Eval_broadcast,
       .doc = "Repeats elements: operand axis i is axis axes[i] of the result and has its extent "
              "or 1; "
              "the other axes are new.",
       .example = "y = broadcast(x, shape=[8, n, 4], axes=[1, 2])"},
      {.op = Op::k_reshape,
       .attrs = {{"shape"}},
       .infer = InferReshape,
       .require = RequireReshape,
       .evaluate = Eval_reshape,
       .doc = "The same elements in row-major order under another shape of equal count.",
       .example = "y = reshape(x, shape=[4*n])"},
      {.op = Op::k_permute,
       .attrs = {{"axes"}},
       .infer = InferPermute,
       .evaluate = Eval_permute,
       .doc = "Axis i of the result is axis axes[i] of the operand.",
       .example = "y = permute(x, axes=[1, 0])"},
      {.op = Op::k_slice,
       .attrs = {{"starts"}, {"limits"}, {"steps"}},
       .infer = InferSlice,
       .require = RequireSlice,
       .evaluate = Eval_slice,
       .doc =
           "Every steps[i]-th element from starts[i] up to, without, limits[i]; downwards if the "
           "step is negative. Starts and limits lie inside the axis.",
       .example = "y = slice(x, starts=[0, 1], limits=[n, 4], steps=[1, 2])"},
      {.op = Op::k_pad,
       .attrs = {{"low"}, {"high"}, {"value"}},
       .infer = InferPad,
       .require = RequirePad,
       .evaluate = Eval_pad,
       .doc = "Adds low[i] elements before and high[i] after axis i, each equal to `value`.",
       .example = "y = pad(x, low=[0, 1], high=[n, 0], value=0)"},
      {.op = Op::k_concat,
       .min_operands = 1,
       .max_operands = kManyOperands,
       .attrs = {{"axis"}},
       .infer = InferConcat,
       .require = RequireConcat,
       .evaluate = Eval_concat,
       .doc = "The operands one after another along `axis`; the other dims are equal.",
       .example = "y = concat(x, x, axis=0)"},
      {.op = Op::k_gather,
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {{"axis"}, {"unchecked", false}},
       .traits = kMayFail,
       .emission = Emission::kGather,
       .infer = InferGather,
       .evaluate = Eval_gather,
       .doc =
           "Takes slices of operand 0 along `axis` at the indices of operand 1 (numpy's take); a "
           "negative index counts from the end, one out of range is an error. `unchecked`: an "
           "index "
           "outside, negative ones included, gives 0.",
       .example = "y = gather(x, k, axis=0)"},
  };
  for (OpInfo& op : ops) {
    if (op.max_operands == 0) op.min_operands = op.max_operands = 1;
    if (op.op != Op::k_gather) op.emission = Emission::kView;
    op.dtypes = kAllTypes;
    op.bound = "exact";
  }
  return ops;
}

}  // namespace lathe::ir
