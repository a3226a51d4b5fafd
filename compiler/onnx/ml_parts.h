#pragma once
// What the operators of ai.onnx.ml share: their numbers in attributes, scores that become what is
// asked for, and labels of classes.
#include <string>
#include <vector>

#include "compiler/onnx/node.h"

namespace lathe::onnx {

// The numbers of the attribute `name`: floats, ints, or a tensor of any element type, the tensor
// also under `name`_as_tensor. Empty if there are none.
std::vector<double> Numbers(NodeContext& c, const std::string& name);

// A constant of a float type.
V FloatTable(NodeContext& c, const std::vector<double>& values, DType type,
             const std::vector<int64_t>& shape);

// The input as [N, F] of type f32, or f64 if it has that type. A fault if it isn't of rank 1 or 2.
V Features(NodeContext& c, int input = 0);

// NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT, along the last axis.
V PostTransform(NodeContext& c, V scores, const std::string& transform);

// How many classes have a label, whole numbers or strings.
int64_t NumLabels(NodeContext& c, const std::string& ints, const std::string& strings);

// The class that scores most in each row of [N, classes], i64[N].
V BestClass(NodeContext& c, V scores);

// The labels for class numbers [..] of type i64. Labels that are strings are refused.
V ClassLabels(NodeContext& c, V classes, const std::string& ints, const std::string& strings);

}  // namespace lathe::onnx
