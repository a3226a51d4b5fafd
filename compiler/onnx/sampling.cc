#include "compiler/onnx/sampling.h"

namespace lathe::onnx {

V Along(V vector, int rank, int axis) {
  if (!vector.ok()) return vector;
  Shape shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = vector.dim(0);
  return ReshapeTo(vector, shape);
}

std::vector<V> CubicWeights(V t, double a) {
  // Outside: a d^3 - 5a d^2 + 8a d - 4a; inside: (a + 2) d^3 - (a + 3) d^2 + 1.
  const auto far = [&](V d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const auto near = [&](V d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
  V u = 1.0 - t;
  return {far(t + 1.0), near(t), near(u), far(u + 1.0)};
}

DType WeightType(DType type) {
  if (type == f64 || type == i64 || type == i32) return f64;
  return f32;
}

V FromWeighted(V x, DType type) {
  if (!x.ok() || IsFloat(type)) return Cast(x, type);
  return Cast(Un(ir::Op::k_round, x), type);
}

}  // namespace lathe::onnx
