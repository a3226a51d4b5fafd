#pragma once
// PartialShape: what is known of a value's shape before it is fixed: the rank or not even that, and
// for each axis a number, a size expression, or nothing.
//
//   PartialShape a = PartialShape::Of({batch, std::nullopt, 768});   // [batch, ?, 768]
//   absl::StatusOr<PartialShape> b = PartialShape::Parse("[?, 128, 768]", &context);
//   absl::StatusOr<PartialShape> m = Merge(a, *b);                   // [batch, 128, 768]
//
// Shape specs are made of it. A value; its Dims live in the context of the
// program that they are for, and that program's facts sharpen the answers where they are given.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lathe/dim.h"

namespace lathe {

namespace dim {
class DimContext;
class FactSet;
}  // namespace dim

class PartialShape {
 public:
  using Entry = std::optional<Dim>;  // nullopt: nothing is known of the axis
  // One dimension of an ONNX TensorShapeProto: dim_value, or dim_param, or neither.
  struct OnnxDim {
    std::optional<int64_t> value;
    std::string param;
  };

  static PartialShape OfUnknownRank() { return PartialShape(Made(), false, {}); }
  static PartialShape Of(std::vector<Entry> entries) {
    return PartialShape(Made(), true, std::move(entries));
  }
  static PartialShape FromShape(const Shape& shape) {
    return PartialShape(Made(), true, {shape.begin(), shape.end()});
  }
  // A dim_param that reads as a size ("batch", "2*seq + 1") becomes that size, with new names as
  // symbols of `context`; any other text ("batch size") becomes a symbol whose name is made of it,
  // one and the same wherever the text occurs. A negative dim_value says nothing, as in practice.
  static PartialShape FromOnnx(absl::Span<const OnnxDim> dims, dim::DimContext* context);
  // "[batch, ?, 768]", "(2*s, _)", "[...]" (rank unknown). InvalidArgument names the column.
  static absl::StatusOr<PartialShape> Parse(std::string_view text, dim::DimContext* context);
  std::string ToString() const;  // Parse reads it back

  bool has_rank() const { return has_rank_; }
  int rank() const { return static_cast<int>(entries_.size()); }  // requires has_rank()
  const std::vector<Entry>& entries() const { return entries_; }  // empty if the rank is unknown
  const Entry& entry(int axis) const { return entries_[static_cast<size_t>(axis)]; }

  bool IsStatic() const;        // the rank is known and every axis is a number
  bool IsFullyDynamic() const;  // no axis is a number: no axis at all counts only without a rank
  // The axes that are numbers, and their numbers; and the axes that aren't.
  std::vector<std::pair<int, int64_t>> StaticDims() const;
  std::vector<int> DynamicIndices() const;

  // The number of elements: 0 if some axis is 0, else known if every axis is; poisoned (not ok())
  // if the product passes int64.
  std::optional<Dim> NumElements() const;

  // Every axis as simple as the facts allow: `seq` becomes 8 where it is known to be 8.
  PartialShape Refined(const dim::FactSet& facts) const;
  // The shape with a new symbol, named `hint`_d<axis>, for each axis of which nothing is known;
  // FailedPrecondition if the rank is unknown.
  absl::StatusOr<Shape> ToShape(dim::DimContext* context, std::string_view hint) const;

  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.has_rank_ == b.has_rank_ && a.entries_ == b.entries_;
  }

 private:
  struct Made {};  // keeps braced lists in calls from becoming a PartialShape
  PartialShape(Made, bool has_rank, std::vector<Entry> entries)
      : has_rank_(has_rank), entries_(std::move(entries)) {}

  bool has_rank_ = false;
  std::vector<Entry> entries_;
};

// False only if no sizes (that satisfy the facts, if given) make the two the same shape.
bool Compatible(const PartialShape& a, const PartialShape& b, const dim::FactSet* facts = nullptr);

// What both say of one value: for each axis the more definite entry (a number before an expression
// before nothing). InvalidArgument if they are not compatible, with both shapes and where they came
// from. `required`, if given, gets the equalities that must hold for the two to agree and that
// aren't known to.
absl::StatusOr<PartialShape> Merge(const PartialShape& a, const PartialShape& b,
                                   const dim::FactSet* facts = nullptr,
                                   std::string_view source_a = "one shape",
                                   std::string_view source_b = "the other",
                                   std::vector<Claim>* required = nullptr);

}  // namespace lathe
