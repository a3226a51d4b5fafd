#include "ir/windows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

using dim::DimConstraint;
using dim::FactSet;

absl::Status BadNumber(const char* what, int64_t found, const std::string& wanted) {
  return absl::InvalidArgumentError(absl::StrCat(what, " is ", found, ", wanted ", wanted));
}

absl::Status CheckWindow(const Window& w, bool transposed) {
  if (w.stride < 1) return BadNumber("the stride", w.stride, "1 or more");
  if (w.dilation < 1) return BadNumber("the dilation", w.dilation, "1 or more");
  if (w.kernel.is_constant() && w.kernel.constant() < 1)
    return BadNumber("the kernel", w.kernel.constant(), "1 or more");
  for (Dim pad : {w.pad_low, w.pad_high}) {
    if (w.auto_pad == AutoPad::kExplicit && pad.is_constant() && pad.constant() < 0)
      return BadNumber("the padding", pad.constant(), "0 or more");
  }
  const int64_t most = std::max(w.stride, w.dilation) - 1;
  if (transposed && (w.output_padding < 0 || w.output_padding > most)) {
    return BadNumber("the output padding", w.output_padding,
                     absl::StrCat("0..", most, ", below the stride or the dilation"));
  }
  if (transposed && w.ceil_mode)
    return absl::InvalidArgumentError("a transposed convolution has no ceil mode");
  return absl::OkStatus();
}

absl::Status CheckWhole(const AxisRule& rule) {
  for (Dim d : {rule.extent, rule.pad_low, rule.pad_high}) {
    if (!d.ok()) return d.status();
  }
  return absl::OkStatus();
}

Dim Simple(Dim d, const FactSet* facts) {
  if (facts == nullptr || !d.ok() || d.is_constant()) return d;
  const dim::Interval range = facts->Range(d);
  return range.min == range.max ? Dim(range.min) : facts->Simplify(d);
}

// A need that holds for no size stays, so that the caller's error names it.
void AddNeed(AxisRule* rule, const Claim& claim, std::string why) {
  const Dim gap = claim.rhs - claim.lhs;
  if (claim.relation == Relation::kLe && gap.is_constant() && gap.constant() >= 0) return;
  if (claim.relation == Relation::kEq && gap == Dim(0)) return;
  rule->needs.push_back({claim, std::move(why)});
}

void AddWindowNeeds(const Window& w, AxisRule* rule) {
  AddNeed(rule, Dim(1) <= w.kernel, "a window has at least one element");
  if (w.auto_pad != AutoPad::kExplicit) return;
  for (Dim pad : {w.pad_low, w.pad_high})
    AddNeed(rule, Dim(0) <= pad, "padding may not be negative");
}

bool IsSame(const Window& w) {
  return w.auto_pad == AutoPad::kSameUpper || w.auto_pad == AutoPad::kSameLower;
}

void SplitPadding(const Window& w, Dim total, AxisRule* rule) {
  const Dim less = FloorDiv(total, 2);
  rule->pad_low = w.auto_pad == AutoPad::kSameUpper ? less : total - less;
  rule->pad_high = total - rule->pad_low;
}

Dim PadsOf(const Window& w) {
  return w.auto_pad == AutoPad::kExplicit ? w.pad_low + w.pad_high : Dim(0);
}

// What the first window leaves free of the padded input.
Dim Slack(Dim input, const Window& w) { return input + PadsOf(w) - w.Reach(); }

// What is demanded by numbers alone.
DimConstraint NumbersOf(DimConstraint c) {
  c.equal_to.clear();
  c.multiple_of.clear();
  return c;
}

}  // namespace

absl::StatusOr<AxisRule> ConvExtent(Dim input, const Window& w, const FactSet* facts) {
  LATHE_RETURN_IF_ERROR(CheckWindow(w, /*transposed=*/false));
  AxisRule rule;
  AddWindowNeeds(w, &rule);
  if (IsSame(w)) {
    rule.extent = Simple(CeilDiv(input, w.stride), facts);
    // (extent - 1) * stride + reach - input, where stride * extent - input is -input % stride.
    const Dim missing = w.Reach() - w.stride + Simple(Mod(-input, w.stride), facts);
    SplitPadding(w, Simple(Max(0, missing), facts), &rule);
  } else {
    const Dim slack = Slack(input, w);
    if (w.auto_pad == AutoPad::kExplicit) {
      rule.pad_low = w.pad_low;
      rule.pad_high = w.pad_high;
    }
    rule.extent = FloorDiv(slack, w.stride) + 1;
    if (w.ceil_mode)
      rule.extent = Min(CeilDiv(slack, w.stride) + 1, CeilDiv(input + rule.pad_low, w.stride));
    const Claim fits = w.ceil_mode ? Dim(0) <= rule.extent : Dim(-w.stride) <= slack;
    AddNeed(&rule, fits,
            absl::StrCat("windows of ", w.kernel.ToString(), " over ", input.ToString(),
                         " give an extent of 0 or more"));
  }
  rule.extent = Simple(rule.extent, facts);
  LATHE_RETURN_IF_ERROR(CheckWhole(rule));
  return rule;
}

absl::StatusOr<AxisRule> ConvTransposeExtent(Dim input, const Window& w, const FactSet* facts) {
  LATHE_RETURN_IF_ERROR(CheckWindow(w, /*transposed=*/true));
  AxisRule rule;
  AddWindowNeeds(w, &rule);
  const Dim whole = w.stride * (input - 1) + w.output_padding + w.Reach();
  if (IsSame(w)) {
    rule.extent = input * w.stride;
    SplitPadding(w, Simple(Max(0, whole - rule.extent), facts), &rule);
  } else {
    if (w.auto_pad == AutoPad::kExplicit) {
      rule.pad_low = w.pad_low;
      rule.pad_high = w.pad_high;
    }
    rule.extent = whole - PadsOf(w);
    AddNeed(&rule, Dim(0) <= rule.extent,
            absl::StrCat("a transposed window of ", w.kernel.ToString(), " over ", input.ToString(),
                         " gives an extent of 0 or more"));
  }
  rule.extent = Simple(rule.extent, facts);
  LATHE_RETURN_IF_ERROR(CheckWhole(rule));
  return rule;
}

absl::StatusOr<std::vector<Claim>> InputClaims(Dim input, const Window& w,
                                               const DimConstraint& output) {
  LATHE_RETURN_IF_ERROR(output.Validate());
  LATHE_ASSIGN_OR_RETURN(const AxisRule rule, ConvExtent(input, w));
  const DimConstraint numbers = NumbersOf(output);
  if (IsSame(w) || w.ceil_mode) return numbers.Claims(rule.extent);
  // q = slack // stride + 1, so q >= m where slack >= (m - 1) * stride, and so on.
  const Dim other = Slack(input, w) - input;
  std::vector<Claim> claims;
  if (numbers.min.has_value())
    claims.push_back((Dim(*numbers.min) - 1) * w.stride - other <= input);
  if (numbers.max.has_value()) claims.push_back(input <= Dim(*numbers.max) * w.stride - 1 - other);
  const Dim modulus = Dim(w.stride) * numbers.divisible_by.value_or(1);
  if (numbers.divisible_by.value_or(1) != 1) {
    const Dim offset = other - (Dim(numbers.remainder.value_or(0)) - 1) * w.stride;
    const Dim residue = Mod(input + offset, modulus);
    if (w.stride == 1) {
      claims.push_back(Eq(residue, 0));
    } else {
      claims.push_back(residue <= w.stride - 1);
    }
  }
  for (const Claim& c : claims) {
    for (Dim d : {c.lhs, c.rhs}) {
      if (!d.ok()) return d.status();
    }
  }
  return claims;
}

absl::StatusOr<std::vector<Claim>> InputClaimsTransposed(Dim input, const Window& w,
                                                         const DimConstraint& output) {
  LATHE_RETURN_IF_ERROR(output.Validate());
  LATHE_ASSIGN_OR_RETURN(const AxisRule rule, ConvTransposeExtent(input, w));
  return NumbersOf(output).Claims(rule.extent);  // linear in the input: FactSet solves it exactly
}

absl::StatusOr<AxisRule> ResizeByScale(Dim input, int64_t numerator, int64_t denominator) {
  if (numerator < 1) return BadNumber("the scale's numerator", numerator, "1 or more");
  if (denominator < 1) return BadNumber("the scale's denominator", denominator, "1 or more");
  AxisRule rule{.extent = FloorDiv(input * numerator, denominator)};
  LATHE_RETURN_IF_ERROR(CheckWhole(rule));
  return rule;
}

AxisRule ResizeTo(Dim input, Dim output) {
  AxisRule rule{.extent = output};
  AddNeed(&rule, Dim(0) <= output, "an extent may not be negative");
  AddNeed(&rule, Min(output, 1) <= input,
          absl::StrCat("an extent of 0 can't be resized to ", output.ToString()));
  return rule;
}

absl::StatusOr<AxisRule> SplitEven(Dim input, int64_t parts) {
  if (parts < 1) return BadNumber("the number of parts", parts, "1 or more");
  AxisRule rule{.extent = FloorDiv(input, parts)};
  AddNeed(&rule, Eq(Mod(input, parts), 0),
          absl::StrCat(input.ToString(), " is to be split into ", parts, " equal parts"));
  return rule;
}

absl::StatusOr<std::vector<Dim>> SplitUneven(Dim input, int64_t parts, const FactSet* facts) {
  if (parts < 1) return BadNumber("the number of parts", parts, "1 or more");
  const Dim chunk = CeilDiv(input, parts);
  std::vector<Dim> pieces;
  for (int64_t i = 0; i < parts; ++i) {
    pieces.push_back(Simple(Max(0, Min(chunk, input - i * chunk)), facts));
    if (!pieces.back().ok()) return pieces.back().status();
  }
  return pieces;
}

AxisRule SplitSizes(Dim input, absl::Span<const Dim> sizes) {
  AxisRule rule;
  for (Dim size : sizes) {
    rule.extent += size;
    AddNeed(&rule, Dim(0) <= size, "a part may not have a negative size");
  }
  AddNeed(&rule, Eq(rule.extent, input), absl::StrCat("the parts together are ", input.ToString()));
  return rule;
}

AxisRule TileExtent(Dim input, Dim repeats) {
  AxisRule rule{.extent = input * repeats};
  AddNeed(&rule, Dim(0) <= repeats, "a number of repeats may not be negative");
  return rule;
}

AxisRule PadExtent(Dim input, Dim low, Dim high, PadMode mode) {
  AxisRule rule{.extent = input + low + high, .pad_low = low, .pad_high = high};
  const std::string of = absl::StrCat(" of ", input.ToString());
  AddNeed(&rule, Dim(0) <= input + Min(low, 0) + Min(high, 0),
          absl::StrCat("no more is taken away than there is", of));
  if (mode == PadMode::kConstant) return rule;
  for (const auto& [amount, opposite] : {std::pair(low, high), std::pair(high, low)}) {
    // What is taken away at the other side can't be repeated.
    const Dim left = input + Min(opposite, 0);
    if (mode == PadMode::kEdge) {
      AddNeed(&rule, Min(amount, 1) <= Max(left, 0),
              absl::StrCat("there is an element", of, " to repeat"));
    } else {
      AddNeed(&rule, amount <= Max(left - 1, 0),
              absl::StrCat("all but one", of, " can be mirrored at most"));
    }
  }
  return rule;
}

absl::StatusOr<AxisRule> SliceExtent(Dim input, Dim start, Dim limit, int64_t step,
                                     const FactSet* facts) {
  if (step == 0) return BadNumber("the step", 0, "any other number");
  if (step == INT64_MIN) return BadNumber("the step", step, "-2^63 + 1 or more");
  const Dim low = step > 0 ? 0 : -1, high = step > 0 ? input : input - 1;
  // Literals beyond every extent stand for the ends, so that nothing overflows.
  constexpr int64_t kFar = int64_t{1} << 40;
  const auto clamp = [&](Dim bound) {
    if (bound.is_constant() && bound.constant() >= kFar) return high;
    if (bound.is_constant() && bound.constant() <= -kFar) return low;
    if (bound == Dim(0) && step > 0) return bound;  // inside whatever the extent
    const Dim wraps = Min(1, Max(0, -bound));       // 1 if it counts from the end
    return Min(Max(bound + input * wraps, low), high);
  };
  const Dim from = clamp(start), to = clamp(limit);
  const Dim span = step > 0 ? to - from : from - to;
  const Dim length = span == input ? span : Max(0, span);
  AxisRule rule{.extent = Simple(CeilDiv(length, step > 0 ? step : -step), facts)};
  LATHE_RETURN_IF_ERROR(CheckWhole(rule));
  return rule;
}

}  // namespace lathe::ir
