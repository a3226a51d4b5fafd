#pragma once
// Shape arithmetic in tensors: the elements of a small integer value as dims. What exporters write
// as shape_of, gather, arithmetic, concat, reshape is recognised here while a graph is built, so
// that a reshape's target given as a value becomes a shape like any other; what computed it is dead
// then, unless something else uses it.
//
// An integer input is a *shape input*: its elements become symbols (`target.0`, ...) that a call
// reads from the data when it binds, and checks like every other size.
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace lathe::ir {

// One Dim for each element of `v`, row-major; nothing if some element isn't known to be a dim, or
// `v` isn't i32 or i64 with at most kMaxElementDims elements. As dims, elements don't wrap: a size
// that passes 64 bits is an error of the call. Inputs that `v` is computed from get their symbols.
std::optional<std::vector<Dim>> ElementDims(Graph* graph, ValueId v);

// The shape that `v` names: a rank 1 value whose elements are dims. Or an error that says which
// value in front of it isn't one.
absl::StatusOr<Shape> ShapeFromValue(Graph* graph, ValueId v);
// The single dim that `v`, a scalar or of one element, is.
absl::StatusOr<Dim> DimFromValue(Graph* graph, ValueId v);

}  // namespace lathe::ir
