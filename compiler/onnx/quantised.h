#pragma once
// Numbers of 8 bits that stand for (x - zero) * scale, and the product of a matrix in floats with a
// quantised one; what ops_quant.cc, ops_qlinear.cc and the LSTM of ops_recurrent.cc share. A zero
// point that is poisoned without a fault is none: 0.
#include "compiler/onnx/node.h"

namespace lathe::onnx {

// The input, or poisoned without a fault where it isn't given.
V OrNone(NodeContext& c, int input);

// round(x) + zero, saturated, of type `to`; `x` is a float, already divided by the scale.
V Quantised(NodeContext& c, V x, V zero, DType to);

// (x - zero) * scale, of the scale's type.
V Dequantised(V x, V zero, V scale);

// x - zero as i32. A zero point of rank 1 is one a column, or with `rows` one a row of a matrix.
V Centred(V x, V zero, bool rows);

// By DynamicQuantizeMatMul and DynamicQuantizeLSTM of com.microsoft: `a` is rounded to 8 bits with
// one scale for all of it, which its least and largest elements give, as by DynamicQuantizeLinear;
// sums are exact, in 32 bits; the result is f32. `b` is i8 or u8; `b_scale` and `b_zero` are
// scalars or one a column.
V DynamicallyQuantisedMatMul(V a, V b, V b_scale, V b_zero);

}  // namespace lathe::onnx
