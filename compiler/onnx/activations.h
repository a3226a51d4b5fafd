#pragma once
// Activations that operators of several families apply: by themselves, inside recurrent cells, and
// on quantised numbers.
#include "compiler/onnx/node.h"

namespace lathe::onnx {

inline V LeakyReluOf(V x, double alpha) { return Select(Bin(ir::Op::k_lt, x, 0.0), x * alpha, x); }
inline V EluOf(V x, double alpha) {
  return Select(Bin(ir::Op::k_gt, x, 0.0), x, alpha * Un(ir::Op::k_expm1, x));
}
inline V HardSigmoidOf(V x, double alpha, double beta) { return Clamp(x * alpha + beta, 0, 1); }
inline V SoftsignOf(V x) { return x / (1.0 + Abs(x)); }
// log(1 + e^x) without overflow.
inline V SoftplusOf(V x) {
  return Bin(ir::Op::k_maximum, x, 0.0) + Un(ir::Op::k_log1p, Exp(-Abs(x)));
}

}  // namespace lathe::onnx
