#include "compiler/onnx/sampling.h"

namespace lathe::onnx {

std::optional<Kernel> KernelNamed(std::string_view mode) {
  if (mode == "nearest") return Kernel::kNearest;
  if (mode == "linear" || mode == "bilinear") return Kernel::kLinear;
  if (mode == "cubic" || mode == "bicubic") return Kernel::kCubic;
  return std::nullopt;
}

V Along(V vector, int rank, int axis) {
  if (!vector.ok()) return vector;
  Shape shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = vector.dim(0);
  return ReshapeTo(vector, shape);
}

V CubicNear(V d, double a) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; }
V CubicFar(V d, double a) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; }

std::vector<V> CubicWeights(V t, double a) {
  V u = 1.0 - t;
  return {CubicFar(t + 1.0, a), CubicNear(t, a), CubicNear(u, a), CubicFar(u + 1.0, a)};
}

DType WeightType(DType type) {
  return type == f64 || (!IsFloat(type) && SizeOf(type) >= 4) ? f64 : f32;
}

V FromWeighted(V x, DType type) {
  if (!x.ok() || IsFloat(type)) return Cast(x, type);
  return Cast(Un(ir::Op::k_round, x), type);
}

}  // namespace lathe::onnx
