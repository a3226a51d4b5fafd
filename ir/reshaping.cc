// The builder's conveniences on shapes: reshape with -1, slices as numpy writes them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/shape_rules.h"
#include "ir/volumes.h"

namespace lathe::ir {
namespace {

// Offers an extent of the target that divides what is there to be divided, if one is near.
absl::Status DoesNotDivide(const InferContext& c, const std::string& quotient, int64_t total,
                           const Shape& rest) {
  absl::Status error =
      c.Error(absl::StrCat(quotient, " without remainder: ", ToString(rest), " doesn't divide it"));
  constexpr int64_t kMostTries = 1 << 16;
  for (Dim d : rest) {
    if (!d.is_constant()) continue;
    int64_t fits = std::min(d.constant(), std::abs(total));
    const int64_t least = std::max<int64_t>(fits - kMostTries, 1);
    while (fits > least && total % fits != 0) --fits;
    if (total % fits != 0) continue;
    error = WithHint(error, {Hint::Kind::kNumber, d.ToString(), absl::StrCat(fits)});
  }
  return error;
}

// The extent that -1 stands for: the element count of `from` divided by the rest of the target.
// What cancels does so for every size; what remains must divide.
absl::StatusOr<Dim> SolveMissing(InferContext& c, const Shape& from, const Shape& rest) {
  const auto quotient = [&] {
    return absl::StrCat("-1 stands for the element count of ", ToString(from),
                        " divided by that of ", ToString(rest));
  };
  Factors total = FactorsOf(from), divisor = FactorsOf(rest);
  if (total.overflow || divisor.overflow)
    return ErrorAt(*c.node, absl::StatusCode::kOutOfRange,
                   absl::StrCat(quotient(), ", and one of them overflows"));
  if (divisor.constant == 0)
    return WithHint(
        c.Error(absl::StrCat(quotient(), ", which is 0; give the extent instead of -1")),
        {Hint::Kind::kNumber, "-1", "1"});
  Cancel(&total, &divisor);
  const Dim a = total.Product(), b = divisor.Product();
  if (a.is_constant() && b.is_constant() && a.constant() % b.constant() != 0)
    return DoesNotDivide(c, quotient(), a.constant(), rest);
  if (b == Dim(1)) return a;
  if (!b.is_constant()) {
    if (absl::Status s = c.Require(Ne(b, 0), absl::StrCat(quotient(), ", which may not be 0"));
        !s.ok())
      return s;
  }
  if (absl::Status s = c.Require(Eq(Mod(a, b), 0), absl::StrCat(quotient(), " without remainder"));
      !s.ok())
    return s;
  return FloorDiv(a, b);
}

// A literal beyond every extent means "to the end"; replaced so that nothing overflows.
bool IsBeyond(Dim d) { return d.is_constant() && d.constant() >= kMaxDim; }
bool IsBefore(Dim d) { return d.is_constant() && d.constant() <= -kMaxDim; }

// numpy's reading of a slice bound: negative counts from the end, then clamped to low..high.
Dim ClampBound(const InferContext& c, Dim bound, Dim extent, Dim low, Dim high) {
  if (IsBeyond(bound)) return high;
  if (IsBefore(bound)) return low;
  if (KnownLe(c, bound, -1)) return SmallerOf(c, LargerOf(c, bound + extent, low), high);
  if (!KnownLe(c, 0, bound)) {
    const Dim is_negative = Min(1, Max(0, -bound));
    return SmallerOf(c, LargerOf(c, bound + extent * is_negative, low), high);
  }
  return SmallerOf(c, bound, high);
}

}  // namespace

absl::StatusOr<ValueId> Builder::Reshape(ValueId v, Shape target) {
  Node n{.op = Op::k_reshape, .operands = {v}};
  n.location = location_;
  Attempt attempt(*this);
  InferContext c = Context(&n);
  if (v >= graph_->num_nodes())
    return c.Error(absl::StrCat(graph_->ValueName(v), " is no value of this graph"));
  const Shape from = graph_->type(v).shape;
  Dim* missing = nullptr;
  Shape rest;
  for (Dim& d : target) {
    if (d != Dim(-1)) {
      if (d.is_constant() && d.constant() < 0)
        return WithHint(c.Error(absl::StrCat("the target ", ToString(target), " has the extent ",
                                             d.constant(), "; wanted >= 0, or -1 once")),
                        {Hint::Kind::kNumber, d.ToString(), "-1"});
      rest.push_back(d);
    } else if (missing != nullptr) {
      return WithHint(
          c.Error(absl::StrCat("the target ", ToString(target), " has -1 twice; wanted once")),
          {Hint::Kind::kNumber, "-1", "1"});
    } else {
      missing = &d;
    }
  }
  if (missing != nullptr) {
    absl::StatusOr<Dim> solved = SolveMissing(c, from, rest);
    if (!solved.ok()) return solved.status();
    *missing = *solved;
  }
  if (target == from) return attempt.Kept(v);
  return attempt.Kept(Create(Op::k_reshape, {v}, {.shape = std::move(target)}));
}

absl::StatusOr<ValueId> Builder::Slice(ValueId v, int64_t axis, Dim start, Dim limit,
                                       int64_t step) {
  Node n{.op = Op::k_slice, .operands = {v}};
  n.location = location_;
  InferContext c = Context(&n);
  if (v >= graph_->num_nodes())
    return c.Error(absl::StrCat(graph_->ValueName(v), " is no value of this graph"));
  if (step == 0) return c.Error("the step is 0; wanted any other number");
  step = std::clamp(step, -kMaxDim, kMaxDim);
  const Shape shape = graph_->type(v).shape;
  if (absl::Status s = NormalizeAxis(c, &axis, static_cast<int>(shape.size())); !s.ok()) return s;
  Attrs attrs;
  for (size_t i = 0; i < shape.size(); ++i) {
    attrs.starts.push_back(0);
    attrs.limits.push_back(shape[i]);
    attrs.steps.push_back(1);
  }
  const Dim extent = shape[axis];
  const Dim low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  start = ClampBound(c, start, extent, low, high);
  limit = ClampBound(c, limit, extent, low, high);
  limit = step > 0 ? LargerOf(c, start, limit) : SmallerOf(c, start, limit);
  attrs.starts[axis] = start;
  attrs.limits[axis] = limit;
  attrs.steps[axis] = step;
  return Create(Op::k_slice, {v}, std::move(attrs));
}

absl::StatusOr<ValueId> Builder::Index(ValueId v, int64_t axis, Dim index) {
  Node n{.op = Op::k_slice, .operands = {v}};
  n.location = location_;
  Attempt attempt(*this);
  InferContext c = Context(&n);
  if (v >= graph_->num_nodes())
    return c.Error(absl::StrCat(graph_->ValueName(v), " is no value of this graph"));
  const Shape shape = graph_->type(v).shape;
  if (absl::Status s = NormalizeAxis(c, &axis, static_cast<int>(shape.size())); !s.ok()) return s;
  const Dim extent = shape[axis];
  const std::string why = absl::StrCat("index ", index.ToString(), " is outside of axis ", axis,
                                       " of ", ToString(shape));
  const Dim given = index;
  if (index.is_constant() && index.constant() < 0) index += extent;
  if (extent.is_constant() && index.is_constant() &&
      (index.constant() < 0 || index.constant() >= extent.constant())) {
    const int64_t last = extent.constant() - 1;
    return WithHint(
        c.Error(absl::StrCat(why, "; wanted ", -extent.constant(), "..", last)),
        {Hint::Kind::kNumber, given.ToString(), absl::StrCat(index.constant() < 0 ? 0 : last)});
  }
  for (const Claim& claim : {Claim(0 <= index), Claim(index < extent)}) {
    if (absl::Status s = c.Require(claim, why); !s.ok()) return s;
  }
  Attrs attrs;
  for (Dim d : shape) {
    attrs.starts.push_back(0);
    attrs.limits.push_back(d);
    attrs.steps.push_back(1);
  }
  attrs.starts[axis] = index;
  attrs.limits[axis] = index + 1;
  return attempt.Kept(Create(Op::k_slice, {v}, std::move(attrs)));
}

}  // namespace lathe::ir
