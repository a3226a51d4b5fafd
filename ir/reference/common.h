#pragma once
// What the reference evaluators share: errors that name the node, dispatch on the element type, and
// walks over strided index spaces. Private to ir/.
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "ir/visit_dtype.h"
#include "lathe/tensor.h"

namespace lathe::ir::reference {

// "gather 'y' at f.lathe:3: <message>".
absl::Status Error(const EvalContext& c, absl::StatusCode code, std::string_view message);
absl::Status InvalidArgument(const EvalContext& c, std::string_view message);

// "[2, 3]"
std::string ShapeText(absl::Span<const int64_t> shape);

// The zero-filled result.
absl::StatusOr<Tensor> MakeResult(const EvalContext& c);

// All operands have the result's shape; otherwise an error with both.
absl::Status CheckSameShape(const EvalContext& c);

// Values of Dims for this call.
absl::StatusOr<std::vector<int64_t>> EvaluateDims(const EvalContext& c, const Shape& dims);

// A bool as an element: any byte but 0 is true.
struct Bool {
  uint8_t byte = 0;
  constexpr Bool() = default;
  template <typename T>
  requires std::is_arithmetic_v<T>
  constexpr explicit Bool(T v) : byte(v != 0 ? 1 : 0) {}
  constexpr operator uint8_t() const { return byte != 0 ? 1 : 0; }  // NOLINT: it is a number
};

// Calls fn(T{}) with the C++ type in which elements are computed; that of bools is Bool. Evaluators
// get no narrow floats (ir/evaluate.h): of those only the bits may be moved.
template <typename Fn>
auto VisitType(DType dtype, Fn&& fn) {
  return VisitDType(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>) {
      return fn(Bool{});
    } else if constexpr (kIsNarrowFloat<T>) {
      return fn(uint16_t{});
    } else {
      return fn(type);
    }
  });
}

// The type in which sums of T are held: a wider float, or unsigned so that it wraps.
template <typename T>
struct Accumulator {
  using type = uint64_t;
};
template <>
struct Accumulator<float> {
  using type = double;
};
template <>
struct Accumulator<double> {
  using type = long double;
};
template <typename T>
using AccumulatorOf = typename Accumulator<T>::type;

// Truncates towards zero and saturates; NaN gives 0.
template <typename To, typename From>
To Saturate(From x) {
  using Limits = std::numeric_limits<To>;
  if (x != x) return 0;
  // Powers of two or 0, hence exact in From.
  constexpr From kLow = static_cast<From>(Limits::min());
  constexpr From kHigh = static_cast<From>(Limits::max() / 2 + 1) * 2;
  if (x < kLow) return Limits::min();
  if (x >= kHigh) return Limits::max();
  return static_cast<To>(x);
}

// The conversion of `cast`. Integers wrap; to a float it rounds once.
template <typename To, typename From>
To Convert(From x) {
  if constexpr (kIsNarrowFloat<From>) {
    return Convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return Saturate<To>(x);
  } else if constexpr (kIsNarrowFloat<To> && std::is_same_v<From, Bool>) {
    return To(x != 0 ? 1.0f : 0.0f);
  } else {
    return static_cast<To>(x);
  }
}

// IEEE 754-2019 maximum and minimum: NaN wins, -0 is below +0.
template <typename T>
T Maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return __builtin_signbit(a) ? b : a;
  }
  return a < b ? b : a;
}
template <typename T>
T Minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return __builtin_signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

// Calls fn(offset) for each index of `shape` in row-major order; offset = base + sum index *
// stride.
template <typename Fn>
void ForEachOffset(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides, int64_t base,
                   Fn&& fn) {
  for (int64_t extent : shape) {
    if (extent == 0) return;
  }
  std::vector<int64_t> index(shape.size(), 0);
  int64_t offset = base;
  while (true) {
    fn(offset);
    size_t axis = shape.size();
    while (axis > 0) {
      --axis;
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (shape.empty()) return;
  }
}

// The offsets of ForEachOffset in a list.
std::vector<int64_t> Offsets(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                             int64_t base = 0);

// Strides that read `t` as if it had `shape`, right-aligned: 0 where an axis is absent or 1. An
// error if another extent differs. `t`'s last `skip` axes aren't part of it.
absl::StatusOr<std::vector<int64_t>> BroadcastStrides(const EvalContext& c, const Tensor& t,
                                                      absl::Span<const int64_t> shape,
                                                      size_t skip = 0);

// dst[i] = src[offset of i] over the row-major indices of dst, whatever the type.
void CopyStrided(const Tensor& src, absl::Span<const int64_t> strides, int64_t base, Tensor* dst);

// The index of row-major element `linear` of `shape`.
std::vector<int64_t> IndexOf(int64_t linear, absl::Span<const int64_t> shape);

}  // namespace lathe::ir::reference
