#pragma once
// What the shape rules of the op table (ir/ops_*.cc) and the builder's conveniences share:
// questions about dims, checks of operands and axes, checks of a finished type. Internal to ir/.
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/builder.h"

namespace lathe::ir {

// Status text "op 'name' at file:line: message".
absl::Status ErrorAt(const Node& n, absl::StatusCode code, const std::string& message);

// Identity, or proof from the facts known where the node runs.
bool KnownEq(const InferContext& c, Dim a, Dim b);
// As above; min and max on either side are taken apart first.
bool KnownLe(const InferContext& c, Dim a, Dim b);

// That one of the dims is `d`. Without a product of the differences, which would overflow for dims
// from 2^21 on.
Claim IsOneOf(Dim d, absl::Span<const Dim> dims);
// That n and m are equal, or one of them is 1.
Claim EqualOrOne(Dim n, Dim m);

// The smaller (larger) of two dims, without the min (max) where it is known which one it is.
Dim SmallerOf(const InferContext& c, Dim a, Dim b);
Dim LargerOf(const InferContext& c, Dim a, Dim b);

// The type of the two that holds more: bool, integers by width, floats by width.
DType WiderOf(DType a, DType b);

// All operands from `first` on have one element type, which the op's row admits.
absl::Status CheckDTypes(const InferContext& c, size_t first = 0);
// Operand i has that type exactly; `role` names it in the error ("indices", "condition").
absl::Status CheckOperandIs(const InferContext& c, size_t i, uint32_t types,
                            const std::string& role);

// Brings an axis into 0..rank-1; negative ones count from the end.
absl::Status NormalizeAxis(const InferContext& c, int64_t* axis, int rank);
// The same for a list, sorted, without repeats. An empty list becomes all axes.
absl::Status NormalizeAxes(const InferContext& c, std::vector<int64_t>* axes, int rank);

// The two shapes agree but for what the facts don't decide: that becomes a required claim.
absl::Status RequireEqualShapes(InferContext& c, const Shape& a, const Shape& b,
                                const std::string& what);

// The finished type can exist: rank, dims that are >= 0 (else required) and within kMaxDim, element
// and byte counts of the constant dims within int64. Dims in `checked` are skipped, new ones are
// added.
absl::Status CheckType(InferContext& c, const ValueType& type, absl::flat_hash_set<Dim>* checked);

// The shape without `axes` (ascending), or with 1 there.
Shape ReducedShape(const Shape& shape, const std::vector<int64_t>& axes, bool keep_dims);

// Product of all dims, 1 of none; poisoned on overflow.
Dim Volume(absl::Span<const Dim> shape);

// Attributes by the name in op.h's AttrSpec. `axes` and other lists count as set when not empty.
std::vector<std::string_view> SetAttrs(const Attrs& attrs);

// No divisor in `d` is 0.
absl::Status RequireDivisors(InferContext& c, Dim d);

// Dims of attributes are whole (nothing overflowed) and of this program.
absl::Status CheckAttrDims(const InferContext& c);

// Checks attributes against the row, runs its rules and CheckType.
absl::Status Infer(InferContext& c, absl::flat_hash_set<Dim>* checked);

}  // namespace lathe::ir
