#pragma once
// The iteration space of a group: which values its kernel computes, and which neighbouring axes can
// be walked as one loop.
#include <vector>

#include "compiler/lower/index_map.h"
#include "compiler/lower/lower.h"

namespace lathe::compiler {

// `roots` and the values without a buffer that they need, each once, roots first.
std::vector<ir::ValueId> ComputedInside(const LowerContext& c, std::vector<ir::ValueId> roots);

// merge[i]: axes i and i+1 of `shape` can be walked as one. Sound because each value inside then
// has both axes as they are (elementwise, buffers) or neither (a broadcast that adds both). `free`
// values are not looked at (a row group's own members).
std::vector<bool> MergeableAxes(const LowerContext& c, const Shape& shape,
                                const std::vector<ir::ValueId>& inside,
                                const std::vector<ir::ValueId>& free);

using AxisRun = std::vector<size_t>;  // neighbouring axes, ascending
Dim RunExtent(const Shape& shape, const AxisRun& run);
// A run walked as one: everything on its last axis.
void SetRun(const AxisRun& run, Dim at, Coords* coords);

// Estimated ns of work, from ns per element.
Dim Work(Dim elements, double ns_per_element);

}  // namespace lathe::compiler
