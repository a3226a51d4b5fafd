#pragma once
// The product of a matrix in floats with a quantised one, as operators of com.microsoft define it:
// for DynamicQuantizeMatMul and DynamicQuantizeLSTM.
#include "compiler/onnx/node.h"

namespace lathe::onnx {

// `a` is rounded to 8 bits with one scale for all of it, which its least and largest elements give,
// as by DynamicQuantizeLinear; sums are exact, in 32 bits; the result is f32. `b` is i8 or u8;
// `b_scale` and `b_zero` (none if poisoned without a fault) are scalars or one a column.
V DynamicallyQuantisedMatMul(V a, V b, V b_scale, V b_zero);

}  // namespace lathe::onnx
