#pragma once
// Gathering, scattering, sorting on flat positions: what several families of mappings share.
#include <string>

#include "compiler/onnx/node.h"

namespace lathe::onnx {

// Indices into `bound` elements as i64, negative ones counted from the end; the call fails where
// one is out of range.
V CheckIndex(V indices, Dim bound);
V Flat(V x);  // [all elements]
// Elements of `data` at row-major positions, which were checked; the positions' shape.
V GatherFlat(V data, V positions);
// `data` with the elements at row-major positions replaced by, or combined with, `updates` in
// order; a position outside writes nothing. reduction: "" (the last wins), "add", "mul", "max",
// "min".
V ScatterFlat(V data, V positions, V updates, const std::string& reduction);
V CumulativeSum(V x, int axis, bool exclusive, bool reverse);
V Argsort(V x, bool descending);  // along the last axis, stable

// The positions where the bool vector `keep` holds, ascending, behind them zeros; and how many.
struct Compacted {
  V padded;  // i64, as long as `keep`
  V count;   // i64[1]
};
Compacted Compact(NodeContext& c, V keep);

}  // namespace lathe::onnx
