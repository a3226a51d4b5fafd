#pragma once
// What the operators that read between elements (Resize, GridSample, RoiAlign) share: weights of
// neighbours and placing of vectors along an axis. The mappings of those operators call it.
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/onnx/node.h"

namespace lathe::onnx {

enum class Kernel { kNearest, kLinear, kCubic };

// nearest, linear, cubic, also as bilinear and bicubic; none for other words.
std::optional<Kernel> KernelNamed(std::string_view mode);

// A vector as a tensor of `rank` that lies along `axis`.
V Along(V vector, int rank, int axis);

// Cubic convolution (Keys 1981) with the coefficient `a`: the weight of an element at distance `d`,
// which is at most 1, or from 1 to 2.
V CubicNear(V d, double a);
V CubicFar(V d, double a);
// Weights of the four neighbours at -1, 0, 1 and 2 of a position `t` in [0, 1].
std::vector<V> CubicWeights(V t, double a);

// The type that weighted sums of elements of `type` are computed in: f64 for f64 and wide integers,
// f32 otherwise.
DType WeightType(DType type);
// Back to `type`, integers being rounded and clamped to what the type holds.
V FromWeighted(V x, DType type);

}  // namespace lathe::onnx
