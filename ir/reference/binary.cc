// Elementwise ops of two and three operands of one shape.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

// result[i] = fn(a[i], b[i]) with T the operands' type and R the result's.
template <typename R, typename T, typename Fn>
void Loop(const EvalContext& c, Tensor* result, Fn fn) {
  const T *a = c.operands[0].data<T>(), *b = c.operands[1].data<T>();
  R* y = result->data<R>();
  const int64_t count = result->num_elements();
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<R>(fn(a[i], b[i]));
}

absl::StatusOr<Tensor> Prepare(const EvalContext& c) {
  if (c.operands[0].dtype() != c.operands[1].dtype()) {
    return InvalidArgument(c, absl::StrCat("operands are ", Name(c.operands[0].dtype()), " and ",
                                           Name(c.operands[1].dtype()), ", wanted one type"));
  }
  absl::Status same = CheckSameShape(c);
  if (!same.ok()) return same;
  return MakeResult(c);
}

template <typename Fn>
absl::StatusOr<Tensor> Map(const EvalContext& c, Fn fn) {
  absl::StatusOr<Tensor> result = Prepare(c);
  if (!result.ok()) return result;
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    Loop<T, T>(c, &*result, fn);
  });
  return result;
}

template <typename Fn>
absl::StatusOr<Tensor> Compare(const EvalContext& c, Fn fn) {
  absl::StatusOr<Tensor> result = Prepare(c);
  if (!result.ok()) return result;
  VisitType(c.operands[0].dtype(),
            [&](auto type) { Loop<uint8_t, decltype(type)>(c, &*result, fn); });
  return result;
}

// Float or integer arithmetic; on integers fn works on uint64_t and the result wraps.
template <typename Fn>
absl::StatusOr<Tensor> Wrap(const EvalContext& c, Fn fn) {
  return Map(c, [fn](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_floating_point_v<T>) {
      return fn(a, b);
    } else {
      return static_cast<T>(fn(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    }
  });
}

// Truncated quotient and remainder: x / 0 and x % 0 are 0, min / -1 wraps to min.
template <typename T>
T Quotient(T a, T b) {
  if (b == 0) return T{0};
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return static_cast<T>(-static_cast<uint64_t>(a));
  return static_cast<T>(a / b);
}
template <typename T>
T Remainder(T a, T b) {
  const bool whole = std::is_signed_v<T> && b == static_cast<T>(-1);
  return b == 0 || whole ? T{0} : static_cast<T>(a % b);
}

// The remainder with the divisor's sign; a zero result has it too.
template <typename T>
T FloatMod(T a, T b) {
  const T r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

// x^y by its definition, wrapping; for negative y the whole part of 1 / x^-y, where 1 / 0 is 0.
template <typename T>
T IntegerPower(T x, T y) {
  if (y < 0) {
    if (x == 1) return T{1};
    if (x != static_cast<T>(-1)) return T{0};
    return y % 2 == 0 ? T{1} : x;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(x);
  for (uint64_t rest = static_cast<uint64_t>(y); rest != 0; rest /= 2, square *= square)
    if (rest % 2 != 0) result *= square;
  return static_cast<T>(result);
}

// fn on the bits of two integers.
template <typename Fn>
absl::StatusOr<Tensor> MapBits(const EvalContext& c, Fn fn) {
  return Map(c, [fn](auto a, auto b) {
    using T = decltype(a);
    return static_cast<T>(fn(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  });
}

// fn on an integer and an amount; one outside of [0, width) comes as the width.
template <typename Fn>
absl::StatusOr<Tensor> Shift(const EvalContext& c, Fn fn) {
  return Map(c, [fn](auto a, auto b) {
    using T = decltype(a);
    constexpr uint64_t kWidth = 8 * sizeof(T);
    return static_cast<T>(fn(a, std::min(static_cast<uint64_t>(b), kWidth)));
  });
}

}  // namespace

absl::StatusOr<Tensor> Eval_add(const EvalContext& c) { return Wrap(c, std::plus<>()); }
absl::StatusOr<Tensor> Eval_sub(const EvalContext& c) { return Wrap(c, std::minus<>()); }
absl::StatusOr<Tensor> Eval_mul(const EvalContext& c) { return Wrap(c, std::multiplies<>()); }

absl::StatusOr<Tensor> Eval_div(const EvalContext& c) {
  return Map(c, [](auto a, auto b) {
    if constexpr (std::is_floating_point_v<decltype(a)>) {
      return a / b;
    } else {
      return Quotient(a, b);
    }
  });
}

absl::StatusOr<Tensor> Eval_rem(const EvalContext& c) {
  return Map(c, [](auto a, auto b) {
    if constexpr (std::is_floating_point_v<decltype(a)>) {
      return std::fmod(a, b);
    } else {
      return Remainder(a, b);
    }
  });
}

// Of floats: floor of the rounded quotient.
absl::StatusOr<Tensor> Eval_floordiv(const EvalContext& c) {
  return Map(c, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(a / b);
    } else {
      const bool down = Remainder(a, b) != 0 && (a < 0) != (b < 0);
      return static_cast<T>(Quotient(a, b) - (down ? 1 : 0));
    }
  });
}

absl::StatusOr<Tensor> Eval_mod(const EvalContext& c) {
  return Map(c, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_floating_point_v<T>) {
      return FloatMod(a, b);
    } else {
      const T r = Remainder(a, b);
      return static_cast<T>(r != 0 && (r < 0) != (b < 0) ? r + b : r);
    }
  });
}

// Floats by the rules of C; long double holds what float64 would round.
absl::StatusOr<Tensor> Eval_pow(const EvalContext& c) {
  return Map(c, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(std::pow(static_cast<long double>(a), static_cast<long double>(b)));
    } else {
      return IntegerPower(a, b);
    }
  });
}

absl::StatusOr<Tensor> Eval_atan2(const EvalContext& c) {
  return Map(c, [](auto a, auto b) {
    using T = decltype(a);
    return static_cast<T>(std::atan2(static_cast<long double>(a), static_cast<long double>(b)));
  });
}

absl::StatusOr<Tensor> Eval_maximum(const EvalContext& c) {
  return Map(c, [](auto a, auto b) { return Maximum(a, b); });
}
absl::StatusOr<Tensor> Eval_minimum(const EvalContext& c) {
  return Map(c, [](auto a, auto b) { return Minimum(a, b); });
}

absl::StatusOr<Tensor> Eval_and(const EvalContext& c) {
  return Compare(c, [](auto a, auto b) { return a != 0 && b != 0; });
}
absl::StatusOr<Tensor> Eval_or(const EvalContext& c) {
  return Compare(c, [](auto a, auto b) { return a != 0 || b != 0; });
}

absl::StatusOr<Tensor> Eval_xor(const EvalContext& c) {
  return Compare(c, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

absl::StatusOr<Tensor> Eval_bit_and(const EvalContext& c) { return MapBits(c, std::bit_and<>()); }
absl::StatusOr<Tensor> Eval_bit_or(const EvalContext& c) { return MapBits(c, std::bit_or<>()); }
absl::StatusOr<Tensor> Eval_bit_xor(const EvalContext& c) { return MapBits(c, std::bit_xor<>()); }

absl::StatusOr<Tensor> Eval_shift_left(const EvalContext& c) {
  return Shift(c, [](auto a, uint64_t amount) {
    return amount >= 64 ? 0 : static_cast<uint64_t>(a) << amount;
  });
}
// Halved `amount` times, rounding down.
absl::StatusOr<Tensor> Eval_shift_right(const EvalContext& c) {
  return Shift(c, [](auto a, uint64_t amount) {
    using T = decltype(a);
    for (; amount > 0; --amount) a = static_cast<T>(a >= 0 ? a / 2 : -(-(a + 1) / 2) - 1);
    return a;
  });
}

absl::StatusOr<Tensor> Eval_eq(const EvalContext& c) { return Compare(c, std::equal_to<>()); }
absl::StatusOr<Tensor> Eval_ne(const EvalContext& c) { return Compare(c, std::not_equal_to<>()); }
absl::StatusOr<Tensor> Eval_lt(const EvalContext& c) { return Compare(c, std::less<>()); }
absl::StatusOr<Tensor> Eval_le(const EvalContext& c) { return Compare(c, std::less_equal<>()); }
absl::StatusOr<Tensor> Eval_gt(const EvalContext& c) { return Compare(c, std::greater<>()); }
absl::StatusOr<Tensor> Eval_ge(const EvalContext& c) { return Compare(c, std::greater_equal<>()); }

absl::StatusOr<Tensor> Eval_select(const EvalContext& c) {
  absl::Status same = CheckSameShape(c);
  if (!same.ok()) return same;
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok()) return result;
  const int64_t count = result->num_elements();
  const uint8_t* condition = c.operands[0].data<uint8_t>();
  VisitType(result->dtype(), [&](auto type) {
    using T = decltype(type);
    const T *a = c.operands[1].data<T>(), *b = c.operands[2].data<T>();
    for (int64_t i = 0; i < count; ++i) result->data<T>()[i] = condition[i] != 0 ? a[i] : b[i];
  });
  return result;
}

}  // namespace lathe::ir
