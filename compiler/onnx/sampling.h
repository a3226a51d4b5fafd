#pragma once
// What the operators that read between elements (Resize, GridSample, RoiAlign) share: weights of
// neighbours and placing of vectors along an axis. The mappings of those operators call it.
#include <vector>

#include "compiler/onnx/node.h"

namespace lathe::onnx {

enum class Kernel { kNearest, kLinear, kCubic };

// A vector as a tensor of `rank` that lies along `axis`.
V Along(V vector, int rank, int axis);

// Weights of the four neighbours at -1, 0, 1 and 2 of a position `t` in [0, 1], by cubic
// convolution (Keys 1981) with the coefficient `a`.
std::vector<V> CubicWeights(V t, double a);

// The type that weighted sums of elements of `type` are computed in: f64 for f64 and wide integers,
// f32 otherwise.
DType WeightType(DType type);
// Back to `type`, integers being rounded and clamped to what the type holds.
V FromWeighted(V x, DType type);

}  // namespace lathe::onnx
