#include "runtime/pack.h"

#include <algorithm>
#include <cstring>

namespace lathe::rt {
namespace {

// Axes that differ from 1, neighbours merged where the strides allow it. Ranks are at most 16
// (ir::kMaxRank), because a call admits only the ranks of its graph.
struct Axes {
  int64_t extent[16], stride[16];
  int rank = 0;
};

Axes Merge(const Tensor& t) {
  Axes axes;
  for (size_t i = 0; i < t.shape().size(); ++i) {
    const int64_t n = t.shape()[i], s = t.strides()[i];
    if (n == 1) continue;
    const int last = axes.rank - 1;
    int64_t reach = 0;
    if (axes.rank > 0 && !__builtin_mul_overflow(s, n, &reach) && axes.stride[last] == reach) {
      axes.extent[last] *= n;
      axes.stride[last] = s;
      continue;
    }
    axes.extent[axes.rank] = n;
    axes.stride[axes.rank++] = s;
  }
  return axes;
}

template <size_t kSize>
void CopyRow(const char* from, int64_t stride, int64_t n, char* to) {
  const int64_t step = stride * static_cast<int64_t>(kSize);
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * static_cast<int64_t>(kSize), from + i * step, kSize);
  }
}

}  // namespace

AddressRange RangeOf(const Tensor& t) {
  if (t.num_elements() == 0) return {};
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < t.shape().size(); ++i) {
    const int64_t reach = (t.shape()[i] - 1) * t.strides()[i];
    (reach < 0 ? low : high) += reach;
  }
  const char* base = static_cast<const char*>(t.raw());
  const int64_t size = SizeOf(t.dtype());
  return {base + low * size, base + (high + 1) * size};
}

void Pack(const Tensor& t, void* to) {
  if (t.num_elements() == 0) return;
  const Axes axes = Merge(t);
  const int64_t size = SizeOf(t.dtype());
  const char* from = static_cast<const char*>(t.raw());
  char* out = static_cast<char*>(to);
  if (axes.rank == 0) {
    std::memcpy(out, from, static_cast<size_t>(size));
    return;
  }
  const int inner = axes.rank - 1;
  const int64_t n = axes.extent[inner], stride = axes.stride[inner];
  int64_t index[16] = {};
  for (;;) {
    if (stride == 1) {
      std::memcpy(out, from, static_cast<size_t>(n * size));
    } else if (size == 4) {
      CopyRow<4>(from, stride, n, out);
    } else if (size == 8) {
      CopyRow<8>(from, stride, n, out);
    } else if (size == 2) {
      CopyRow<2>(from, stride, n, out);
    } else {
      CopyRow<1>(from, stride, n, out);
    }
    out += n * size;
    int axis = inner - 1;
    for (; axis >= 0; --axis) {
      from += axes.stride[axis] * size;
      if (++index[axis] < axes.extent[axis]) break;
      from -= axes.stride[axis] * axes.extent[axis] * size;
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace lathe::rt
