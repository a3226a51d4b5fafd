// Elementwise ops of one operand. A function of f32 is computed in float64 by libm and rounded
// once; of f64 in long double where the formula would lose digits, else in float64.
#include <cmath>

#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

// fn maps T to T for the result's type.
template <typename Fn>
absl::StatusOr<Tensor> Map(const EvalContext& c, Fn fn) {
  absl::Status same = CheckSameShape(c);
  if (!same.ok()) return same;
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const int64_t count = result->num_elements();
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    const T* x = c.operands[0].data<T>();
    T* y = result->data<T>();
    for (int64_t i = 0; i < count; ++i) y[i] = fn(x[i]);
  });
  return result;
}

// fn maps a wider float to itself: double for f32; Wide64 for f64.
template <typename Wide64 = double, typename Fn>
absl::StatusOr<Tensor> MapFloat(const EvalContext& c, Fn fn) {
  if (!IsFloat(c.result_dtype)) {
    return InvalidArgument(c,
                           absl::StrCat("operand is ", Name(c.result_dtype), ", wanted a float"));
  }
  return Map(c, [&fn](auto x) {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, double>) {
      return static_cast<T>(fn(static_cast<Wide64>(x)));
    } else {
      return static_cast<T>(fn(static_cast<double>(x)));
    }
  });
}

// fn maps an element to a truth value.
template <typename Fn>
absl::StatusOr<Tensor> Test(const EvalContext& c, Fn fn) {
  absl::Status same = CheckSameShape(c);
  if (!same.ok()) return same;
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  VisitType(c.operands[0].dtype(), [&](auto type) {
    using T = decltype(type);
    const T* x = c.operands[0].data<T>();
    uint8_t* y = result->data<uint8_t>();
    for (int64_t i = 0; i < result->num_elements(); ++i) y[i] = fn(x[i]) ? 1 : 0;
  });
  return result;
}

}  // namespace

absl::StatusOr<Tensor> Eval_neg(const EvalContext& c) {
  return Map(c, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return static_cast<T>(-static_cast<uint64_t>(x));
    }
  });
}

absl::StatusOr<Tensor> Eval_abs(const EvalContext& c) {
  return Map(c, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(x);
    } else {
      return x < 0 ? static_cast<T>(-static_cast<uint64_t>(x)) : x;
    }
  });
}

absl::StatusOr<Tensor> Eval_exp(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::exp(x); });
}
absl::StatusOr<Tensor> Eval_log(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::log(x); });
}
absl::StatusOr<Tensor> Eval_sqrt(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::sqrt(x); });
}
absl::StatusOr<Tensor> Eval_rsqrt(const EvalContext& c) {
  return MapFloat<long double>(c, [](auto x) { return 1 / std::sqrt(x); });
}
absl::StatusOr<Tensor> Eval_exp2(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::exp2(x); });
}
absl::StatusOr<Tensor> Eval_expm1(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::expm1(x); });
}
absl::StatusOr<Tensor> Eval_log2(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::log2(x); });
}
absl::StatusOr<Tensor> Eval_log1p(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::log1p(x); });
}
absl::StatusOr<Tensor> Eval_tanh(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::tanh(x); });
}
absl::StatusOr<Tensor> Eval_erf(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::erf(x); });
}
absl::StatusOr<Tensor> Eval_sin(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::sin(x); });
}
absl::StatusOr<Tensor> Eval_cos(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::cos(x); });
}

absl::StatusOr<Tensor> Eval_tan(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::tan(x); });
}
absl::StatusOr<Tensor> Eval_asin(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::asin(x); });
}
absl::StatusOr<Tensor> Eval_acos(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::acos(x); });
}
absl::StatusOr<Tensor> Eval_atan(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::atan(x); });
}
absl::StatusOr<Tensor> Eval_sinh(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::sinh(x); });
}
absl::StatusOr<Tensor> Eval_cosh(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::cosh(x); });
}
absl::StatusOr<Tensor> Eval_asinh(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::asinh(x); });
}
absl::StatusOr<Tensor> Eval_acosh(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::acosh(x); });
}
absl::StatusOr<Tensor> Eval_atanh(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::atanh(x); });
}

absl::StatusOr<Tensor> Eval_floor(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::floor(x); });
}
absl::StatusOr<Tensor> Eval_ceil(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::ceil(x); });
}
absl::StatusOr<Tensor> Eval_round(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::nearbyint(x); });
}
absl::StatusOr<Tensor> Eval_trunc(const EvalContext& c) {
  return MapFloat(c, [](auto x) { return std::trunc(x); });
}

absl::StatusOr<Tensor> Eval_sign(const EvalContext& c) {
  return Map(c, [](auto x) {
    using T = decltype(x);
    if (x != x) return x;
    return static_cast<T>((x > 0) - (x < 0));
  });
}

absl::StatusOr<Tensor> Eval_relu(const EvalContext& c) {
  return Map(c, [](auto x) { return Maximum(x, decltype(x){0}); });
}

// Of -infinity silu and gelu are NaN: what their formulas give.
absl::StatusOr<Tensor> Eval_sigmoid(const EvalContext& c) {
  return MapFloat<long double>(c, [](auto x) { return 1 / (1 + std::exp(-x)); });
}
absl::StatusOr<Tensor> Eval_silu(const EvalContext& c) {
  return MapFloat<long double>(c, [](auto x) { return x / (1 + std::exp(-x)); });
}
absl::StatusOr<Tensor> Eval_gelu(const EvalContext& c) {
  return MapFloat<long double>(c, [](auto x) {
    using Wide = decltype(x);
    constexpr Wide kSqrt2 = static_cast<Wide>(1.41421356237309504880168872420969808L);
    return Wide{0.5} * x * std::erfc(-x / kSqrt2);
  });
}

absl::StatusOr<Tensor> Eval_not(const EvalContext& c) {
  if (c.result_dtype != DType::kBool) {
    return InvalidArgument(c, absl::StrCat("operand is ", Name(c.result_dtype), ", wanted bool"));
  }
  return Map(c, [](auto x) { return static_cast<decltype(x)>(x == 0); });
}

absl::StatusOr<Tensor> Eval_bit_not(const EvalContext& c) {
  return Map(c, [](auto x) {
    using T = decltype(x);
    return static_cast<T>(~static_cast<uint64_t>(x));
  });
}

absl::StatusOr<Tensor> Eval_is_nan(const EvalContext& c) {
  return Test(c, [](auto x) { return x != x; });
}
absl::StatusOr<Tensor> Eval_is_inf(const EvalContext& c) {
  return Test(c, [](auto x) { return std::isinf(static_cast<double>(x)); });
}

}  // namespace lathe::ir
