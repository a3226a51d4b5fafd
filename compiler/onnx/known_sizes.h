#pragma once
// What integers of a graph are, where sizes and constants alone decide it.
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace lathe::onnx {

// The integers of `v` as dims if they come from sizes and constants alone: asking makes no input a
// shape input.
std::optional<std::vector<Dim>> KnownSizes(ir::Graph* graph, ir::ValueId v);

// What the bool scalar `v` is, if sizes and constants alone decide it.
std::optional<bool> KnownFlag(ir::Graph* graph, ir::ValueId v);

// The elements of `v`, of `count` elements, that are dims whatever the others are.
std::vector<std::optional<Dim>> KnownElements(ir::Graph* graph, ir::ValueId v, int64_t count);

}  // namespace lathe::onnx
