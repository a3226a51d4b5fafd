// Row of `windows`: what convolution and pooling read, as a view.
#include "absl/strings/str_cat.h"
#include "ir/op_rows.h"
#include "ir/reference/evaluators.h"
#include "ir/shape_rules.h"
#include "ir/status_macros.h"
#include "ir/windows.h"

namespace lathe::ir {
namespace {

// Calls use(axis of the operand, its rule) for each of the last axes.
template <typename Use>
absl::Status ForEachWindow(const InferContext& c, const Use& use) {
  const Attrs& a = c.node->attrs;
  const ValueType& x = c.operand(0);
  const size_t count = a.sizes.size(), rank = x.shape.size();
  if (count == 0 || count > rank) {
    return c.Error(absl::StrCat("sizes has ", count, " entries; wanted one for each of the last ",
                                "axes, 1..", rank));
  }
  const auto check_length = [&](size_t found, std::string_view attr) {
    if (found == count) return absl::OkStatus();
    return c.Error(absl::StrCat(std::string(attr), " has ", found, " entries; wanted ", count,
                                ", as many as sizes"));
  };
  LATHE_RETURN_IF_ERROR(check_length(a.steps.size(), "steps"));
  LATHE_RETURN_IF_ERROR(check_length(a.dilations.size(), "dilations"));
  LATHE_RETURN_IF_ERROR(check_length(a.low.size(), "low"));
  LATHE_RETURN_IF_ERROR(check_length(a.high.size(), "high"));
  for (size_t i = 0; i < count; ++i) {
    if (a.steps[i] > kMaxDim || a.dilations[i] > kMaxDim) {
      return c.Error(absl::StrCat("steps[", i, "] is ", a.steps[i], " and dilations[", i, "] ",
                                  a.dilations[i], "; wanted 1..2^40"));
    }
    const size_t axis = rank - count + i;
    const absl::StatusOr<AxisRule> rule = ConvExtent(x.shape[axis], {.kernel = a.sizes[i],
                                                                     .stride = a.steps[i],
                                                                     .dilation = a.dilations[i],
                                                                     .pad_low = a.low[i],
                                                                     .pad_high = a.high[i]});
    if (!rule.ok()) {
      return c.Error(absl::StrCat("axis ", axis, " of ", x.ToString(), ": ",
                                  std::string(rule.status().message())));
    }
    LATHE_RETURN_IF_ERROR(use(axis, *rule));
  }
  return absl::OkStatus();
}

absl::Status InferWindows(InferContext& c) {
  ValueType type = c.operand(0);
  LATHE_RETURN_IF_ERROR(ForEachWindow(c, [&](size_t axis, const AxisRule& rule) {
    type.shape[axis] = rule.extent;
    return absl::OkStatus();
  }));
  const std::vector<Dim>& sizes = c.node->attrs.sizes;
  type.shape.insert(type.shape.end(), sizes.begin(), sizes.end());
  c.node->type = std::move(type);
  return absl::OkStatus();
}

absl::Status RequireWindows(InferContext& c) {
  return ForEachWindow(c, [&](size_t axis, const AxisRule& rule) {
    for (const Need& need : rule.needs) {
      LATHE_RETURN_IF_ERROR(c.Require(need.claim, absl::StrCat("axis ", axis, ": ", need.why)));
    }
    return absl::OkStatus();
  });
}

}  // namespace

std::vector<OpInfo> WindowOps() {
  return {
      {.op = Op::k_windows,
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {{"sizes"}, {"steps"}, {"dilations"}, {"low"}, {"high"}, {"value"}},
       .dtypes = kAllTypes,
       .emission = Emission::kView,
       .infer = InferWindows,
       .require = RequireWindows,
       .evaluate = Eval_windows,
       .doc = "Windows over the last axes, which `sizes` counts: [.., d1, ..] becomes "
              "[.., o1, .., w1, ..] with oi positions of a window of wi elements. Element (o, w) "
              "of an axis is the operand's at o*steps - low + w*dilations, or `value` outside; "
              "o = (low + d + high - dilations*(w - 1) - 1) // steps + 1.",
       .example = "y = windows(x, sizes=[3], steps=[1], dilations=[1], low=[1], high=[1], value=0)",
       .bound = "exact"},
  };
}

}  // namespace lathe::ir
