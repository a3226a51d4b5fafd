#pragma once
// Windows of convolution and pooling as the format's attributes describe them, and the convolution
// itself; what ops_window.cc and the quantised forms share.
#include <string>
#include <vector>

#include "compiler/onnx/node.h"

namespace lathe::onnx {

// One entry an axis of the spatial ones.
struct Windows {
  std::vector<Dim> sizes;                   // of the kernel
  std::vector<int64_t> strides, dilations;  // >= 1
  std::vector<Dim> low, high;               // padding as applied, auto_pad and ceil_mode resolved
  std::vector<Dim> extents;                 // of the output
  std::vector<Dim> declared_high;           // without what ceil_mode adds
  size_t rank() const { return sizes.size(); }
};

// From strides, dilations, pads, auto_pad, ceil_mode of the node, for a kernel of `sizes` over the
// last axes of `x`. Pooling has one window where the input is a little shorter than the kernel
// (by less than a stride): models rely on it, though the format's formula gives none.
Windows ReadWindows(NodeContext& c, V x, const std::vector<Dim>& sizes, bool pooling = false);

// x [.., d1, ..] -> [.., o1, .., w1, ..].
V WindowsOf(V x, const Windows& w, double outside);

// x [n, c, d..] with weights [m, c / groups, k..] -> [n, m, o..].
V Convolve(NodeContext& c, V x, V weights, int64_t groups, const Windows& w);

// The mean of each window of x [n, c, d..], a float, as AveragePool's attributes say.
V AveragePooled(NodeContext& c, V x);

}  // namespace lathe::onnx
