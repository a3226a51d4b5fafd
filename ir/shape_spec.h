#pragma once
// ShapeSpec: a shape as people write it, as a value: kinds of sizes, claims beside them.
//
//   "f32[batch, seq<=8192, 768]"     "(batch, 768)"     "b, 2*s, _ where s >= 1, s % 8 == 0"
//
// Kinds of an entry (docs/text_form.md):
//   768                      static
//   ?  None  _               unbounded: a new symbol, named after the input and the axis
//   seq<=8192  1..8192       bounded; without a name, of a new symbol
//   batch  2*s + 1           symbolic
//   seq % 64 == 0  ?%64==0   divisible
//   batch in {1, 2, 4}       a finite set
//   ~seq                     ragged (packed rows of different lengths)
//   data(k <= n)             found while the program runs, within a bound
// `...` stands for any number of axes and needs a rank before it becomes a shape. Who uses it: the
// text parser and Trace::input (one entry at a time), importers, tools.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/dim/facts.h"
#include "ir/dim/parse.h"
#include "lathe/dtype.h"
#include "lathe/shape.h"

namespace lathe::ir {

enum class DimKind : uint8_t {
  kStatic,
  kUnbounded,
  kBounded,
  kSymbolic,
  kDivisible,
  kSet,
  kRagged,
  kData,
};
std::string_view Name(DimKind kind);  // "static", "unbounded", ...

struct DimSpec {
  DimKind kind = DimKind::kStatic;
  Dim dim;                    // the number, symbol or expression
  bool named = true;          // false: the text gave no name, `dim` is a new symbol
  std::vector<Claim> claims;  // what the entry says of it

  std::string ToString() const;  // "seq <= 8192", "1..8192", "? % 64 == 0", "~seq"
};

// The name of a size that has none: "x_d1".
std::string NameOfUnknown(std::string_view subject, int axis);

// One entry at the parser's place; stops before `,`, a closing bracket or the end. Sizes without a
// name become symbols of `context`, which is the parser's, called NameOfUnknown(subject, axis).
absl::StatusOr<DimSpec> ReadDimSpec(dim::Parser* parser, dim::DimContext* context,
                                    std::string_view subject, int axis);

struct ShapeSpec {
  std::optional<DType> dtype;
  std::vector<DimSpec> dims;
  std::optional<size_t> ellipsis;  // `...` stands before dims[*ellipsis] (or at the end)
  std::vector<Claim> where;        // claims beside the shape

  // New names become symbols of `context`; no fact is added. Errors are InvalidArgument and name
  // the column, what was found and what was wanted.
  static absl::StatusOr<ShapeSpec> Parse(std::string_view text, dim::DimContext* context,
                                         std::string_view subject = "x");
  std::string ToString() const;  // Parse reads it back

  // `...` replaced by new symbols so that the rank is `rank`; InvalidArgument if it can't be.
  absl::StatusOr<ShapeSpec> WithRank(int rank, dim::DimContext* context,
                                     std::string_view subject = "x") const;
  absl::StatusOr<Shape> ToShape() const;  // FailedPrecondition while there is `...`
  PartialShape ToPartial() const;  // unbounded entries are unknown ones; with `...` so is the rank
  // All claims, as declared facts. FailedPrecondition with the conflict if they can't hold.
  absl::Status Declare(dim::FactSet* facts, const dim::Source& source) const;
};

}  // namespace lathe::ir
