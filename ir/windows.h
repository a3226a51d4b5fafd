#pragma once
// Extents of one axis under windows and other ops that change an extent by a rule: convolution and
// pooling, transposed convolution, resize, split, tile, pad, slice. The rule of windows and the
// importer's convolutions call it; the others are there for whoever asks what a layer makes of
// sizes before it is built. Every function gives the output's extent as a Dim, and the facts that
// it needs (standing: required): exactly the sizes that satisfy them are right. An extent of 0
// gives an empty result, one below 0 is an error.
//
//   Window w{.kernel = 3, .stride = 2, .pad_low = 1, .pad_high = 1};
//   AxisRule r = *ConvExtent(height, w);             // r.extent: ceildiv(height, 2)
//   InputClaims(height, w, {.min = 4, .divisible_by = 2})   // what height must be for that
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/dim/constraint.h"
#include "ir/dim/facts.h"
#include "lathe/dim.h"

namespace lathe::ir {

struct Need {
  Claim claim;
  std::string why;  // "the window of 3 fits at least up to its start"
};

struct AxisRule {
  Dim extent;
  std::vector<Need> needs;        // none that is true for all sizes >= 0
  Dim pad_low = 0, pad_high = 0;  // as applied: auto_pad is resolved
};

enum class AutoPad : uint8_t {
  kExplicit,   // pad_low and pad_high as given
  kValid,      // none
  kSameUpper,  // so that the output has ceildiv(input, stride); an odd element goes to the end
  kSameLower,  // the same; to the beginning
};

struct Window {
  Dim kernel = 1;                    // >= 1
  int64_t stride = 1, dilation = 1;  // >= 1
  Dim pad_low = 0, pad_high = 0;     // >= 0
  AutoPad auto_pad = AutoPad::kExplicit;
  // Pooling: also windows that reach beyond the end, if they start inside the input or its low
  // padding.
  bool ceil_mode = false;
  int64_t output_padding = 0;  // transposed only: 0 .. max(stride, dilation) - 1

  Dim Reach() const { return dilation * (kernel - 1) + 1; }  // elements from first to last tap
};

// Convolution and pooling. `facts`, here and below, may be null; they make the Dims simpler.
// InvalidArgument says which number of the window is out of its range.
absl::StatusOr<AxisRule> ConvExtent(Dim input, const Window& w,
                                    const dim::FactSet* facts = nullptr);
// stride * (input - 1) + output_padding + reach - pads; with kSame*: stride * input.
absl::StatusOr<AxisRule> ConvTransposeExtent(Dim input, const Window& w,
                                             const dim::FactSet* facts = nullptr);

// Backwards: the claims about the input's extent that hold exactly where the output's extent (of
// ConvExtent, or of ConvTransposeExtent) satisfies the numbers of `output` (min, max, divisible_by
// and remainder; `equal_to` and `multiple_of` are left out). Without padding that depends on the
// input they are bounds and residues of the input itself:
//   output >= m                 input >= (m - 1) * stride + reach - pads
//   output <= m                 input <= m * stride - 1 + reach - pads
//   output % d == r             (input - reach + pads - (r - 1) * stride) % (stride * d) < stride
// The last is a congruence of the input itself where the stride is 1. With ceil_mode or kSame* the
// claims are about the output's expression, which FactSet takes apart.
absl::StatusOr<std::vector<Claim>> InputClaims(Dim input, const Window& w,
                                               const dim::DimConstraint& output);
absl::StatusOr<std::vector<Claim>> InputClaimsTransposed(Dim input, const Window& w,
                                                         const dim::DimConstraint& output);

// floor(input * numerator / denominator), exactly; both >= 1.
absl::StatusOr<AxisRule> ResizeByScale(Dim input, int64_t numerator, int64_t denominator);
// To `output`: nothing can be made of an extent of 0.
AxisRule ResizeTo(Dim input, Dim output);

// `parts` equal pieces, which must divide the input; `extent` is that of one.
absl::StatusOr<AxisRule> SplitEven(Dim input, int64_t parts);
// Pieces of ceildiv(input, parts) elements, the last ones shorter or empty; no needs.
absl::StatusOr<std::vector<Dim>> SplitUneven(Dim input, int64_t parts,
                                             const dim::FactSet* facts = nullptr);
// Pieces of given sizes: each >= 0, and together the input. `extent` is their sum.
AxisRule SplitSizes(Dim input, absl::Span<const Dim> sizes);

AxisRule TileExtent(Dim input, Dim repeats);  // repeats >= 0

enum class PadMode : uint8_t {
  kConstant,
  kEdge,     // repeats the first and last element, which must exist
  kReflect,  // mirrors without the edge: at most input - 1 on each side
};
// Amounts below 0 take elements away, from their own side only.
AxisRule PadExtent(Dim input, Dim low, Dim high, PadMode mode = PadMode::kConstant);

// numpy's slice start:limit:step: negative bounds count from the end, then clamp. step isn't 0.
absl::StatusOr<AxisRule> SliceExtent(Dim input, Dim start, Dim limit, int64_t step,
                                     const dim::FactSet* facts = nullptr);

}  // namespace lathe::ir
