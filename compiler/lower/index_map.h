#pragma once
// Index maps: how the element of a view at given coordinates is found in its operand. Pure
// arithmetic on Dims; `DimMap` carries a graph's Dims into the kernel's context (or is the
// identity).
#include <functional>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/shape_rules.h"

namespace lathe::compiler {

using Coords = std::vector<Dim>;
using DimMap = std::function<Dim(Dim)>;

// Row-major position of `coords` in `shape`.
Dim FlatIndex(const Shape& shape, const Coords& coords);
// Coordinates of row-major position `flat`.
Coords Delinearize(const Shape& shape, Dim flat);
using ir::Volume;
Shape MapShape(const Shape& shape, const DimMap& map);

// A coordinate that was put together from finer ones: `joined` is their position in `parts`.
struct Join {
  Dim joined;
  Shape parts;
  Coords coords;
};

// For a view node (broadcast, reshape, permute, slice): coordinates in its operand of the element
// at `coords` of its result.
Coords OperandCoords(const ir::Graph& graph, ir::ValueId v, const Coords& coords, const DimMap& map,
                     absl::Span<const Join> joins = {});
// For a windows node: coordinates in its operand, which lie outside where the fill is.
Coords WindowCoords(const ir::Graph& graph, ir::ValueId v, const Coords& coords, const DimMap& map);
// For a reduction: coordinates in its operand, 0 on the reduced axes.
Coords UnreducedCoords(const ir::Graph& graph, const ir::Node& n, const Coords& coords);
// A reshape's coordinates: dims are matched in runs of equal product, so that no // or % appears
// where a run has one operand dim, or where a coordinate is a join of that run's dims.
// Shapes are the graph's.
Coords ReshapeCoords(const Shape& from, const Shape& to, const Coords& to_coords, const DimMap& map,
                     absl::Span<const Join> joins = {});

// Runs from[from_begin, from_end) and to[to_begin, to_end) of equal product, the smallest such.
struct ReshapeRun {
  size_t from_begin = 0, from_end = 0, to_begin = 0, to_end = 0;
};
// Of the graph's dims: found among them, or among what a kernel maps them to (which knows that some
// are 1, but not always that a product has a mapped factor).
std::vector<ReshapeRun> ReshapeRuns(const Shape& from, const Shape& to, const DimMap& map);

// Row-major position in `base` of element `coords` of `v`, following views; `base` is v or the
// operand of a chain of views. Reshapes of `base` itself keep the flat position.
Dim IndexUnderViews(const ir::Graph& graph, ir::ValueId v, ir::ValueId base, const Coords& coords,
                    const DimMap& map);

// True if that position is affine in every coordinate, with strides that no coordinate occurs in
// and that is 1 for the last one, and no slice goes backwards.
bool IsStrided(const ir::Graph& graph, ir::ValueId v, ir::ValueId base);

// True for a broadcast from one element a row to the whole row space.
bool IsRowBroadcast(const ir::Graph& graph, ir::ValueId v, const Shape& space,
                    const std::vector<int64_t>& axes);

}  // namespace lathe::compiler
