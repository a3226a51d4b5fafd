// The ops of Kernel IR on one lane, and reductions over a warp, for both preludes. The meaning of
// each is codegen/kernel/scalar_ops.h. Not a header of the library: it is embedded as text.
template <class T>
struct lathe_type;
template <>
struct lathe_type<bool> {
  static constexpr bool is_float = false;
};
template <>
struct lathe_type<lathe_i32> {
  using bits = unsigned;
  static constexpr bool is_float = false;
  static constexpr bits width = 32;
  static constexpr lathe_i32 least = -2147483647 - 1, greatest = 2147483647;
};
template <>
struct lathe_type<lathe_i64> {
  using bits = unsigned long long;
  static constexpr bool is_float = false;
  static constexpr bits width = 64;
  static constexpr lathe_i64 least = -9223372036854775807ll - 1, greatest = 9223372036854775807ll;
};
template <>
struct lathe_type<float> {
  using bits = unsigned;
  static constexpr bool is_float = true;
  static constexpr bits sign = 0x80000000u, quiet_nan = 0x7fc00000u;
};
template <>
struct lathe_type<double> {
  using bits = unsigned long long;
  static constexpr bool is_float = true;
  static constexpr bits sign = 0x8000000000000000ull, quiet_nan = 0x7ff8000000000000ull;
};
template <class T>
using lathe_u = typename lathe_type<T>::bits;

LATHE_FN float lathe_of_bits(float, unsigned bits) { return lathe_f32(bits); }
LATHE_FN double lathe_of_bits(double, unsigned long long bits) { return lathe_f64(bits); }
template <class T>
LATHE_FN bool lathe_signbit(T a) {
  return (lathe_bits(a) & lathe_type<T>::sign) != 0;
}

// Integer arithmetic wraps: it is done on the unsigned type. Floats have overloads of their own.
template <class T>
LATHE_FN T lathe_add(T a, T b) {
  return (T)((lathe_u<T>)a + (lathe_u<T>)b);
}
template <class T>
LATHE_FN T lathe_sub(T a, T b) {
  return (T)((lathe_u<T>)a - (lathe_u<T>)b);
}
template <class T>
LATHE_FN T lathe_mul(T a, T b) {
  return (T)((lathe_u<T>)a * (lathe_u<T>)b);
}
template <class T>
LATHE_FN T lathe_neg(T a) {
  if constexpr (lathe_type<T>::is_float) {
    return lathe_of_bits(a, lathe_bits(a) ^ lathe_type<T>::sign);
  } else {
    return (T)(0 - (lathe_u<T>)a);
  }
}
template <class T>
LATHE_FN T lathe_abs(T a) {
  if constexpr (lathe_type<T>::is_float) {
    return lathe_of_bits(a, lathe_bits(a) & ~lathe_type<T>::sign);
  } else {
    return a < 0 ? lathe_neg(a) : a;
  }
}
template <class T>
LATHE_FN T lathe_div(T a, T b) {
  if (b == 0) return 0;
  return b == -1 ? lathe_neg(a) : a / b;
}
template <class T>
LATHE_FN T lathe_rem(T a, T b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
template <class T>
LATHE_FN T lathe_floordiv(T a, T b) {
  if constexpr (lathe_type<T>::is_float) {
    return lathe_floor(lathe_div(a, b));
  } else {
    const T down = lathe_rem(a, b) != 0 && (a < 0) != (b < 0);
    return lathe_sub(lathe_div(a, b), down);
  }
}
template <class T>
LATHE_FN T lathe_mod(T a, T b) {
  const T r = lathe_rem(a, b);
  if constexpr (lathe_type<T>::is_float) {
    constexpr lathe_u<T> sign = lathe_type<T>::sign;
    if (r == 0) return lathe_of_bits(a, (lathe_bits(r) & ~sign) | (lathe_bits(b) & sign));
  }
  return r != 0 && (r < 0) != (b < 0) ? lathe_add(r, b) : r;
}
LATHE_FN lathe_i64 lathe_ceildiv(lathe_i64 a, lathe_i64 b) {
  return lathe_neg(lathe_floordiv(lathe_neg(a), b));
}
template <class T>
LATHE_FN T lathe_min(T a, T b) {
  if constexpr (lathe_type<T>::is_float) {
    if (a != a || b != b) return lathe_of_bits(a, lathe_type<T>::quiet_nan);
    if (a == b) return lathe_signbit(a) ? a : b;
  }
  return b < a ? b : a;
}
template <class T>
LATHE_FN T lathe_max(T a, T b) {
  if constexpr (lathe_type<T>::is_float) {
    if (a != a || b != b) return lathe_of_bits(a, lathe_type<T>::quiet_nan);
    if (a == b) return lathe_signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

LATHE_FN bool lathe_not(bool a) { return !a; }
template <class T>
LATHE_FN T lathe_not(T a) {
  return (T)~a;
}
template <class T>
LATHE_FN T lathe_and(T a, T b) {
  return (T)(a & b);
}
template <class T>
LATHE_FN T lathe_or(T a, T b) {
  return (T)(a | b);
}
template <class T>
LATHE_FN T lathe_xor(T a, T b) {
  return (T)(a ^ b);
}
template <class T>
LATHE_FN T lathe_shl(T a, T b) {
  return (lathe_u<T>)b >= lathe_type<T>::width ? 0 : (T)((lathe_u<T>)a << (lathe_u<T>)b);
}
template <class T>
LATHE_FN T lathe_shr(T a, T b) {
  return (lathe_u<T>)b >= lathe_type<T>::width ? 0 : (T)((lathe_u<T>)a >> (lathe_u<T>)b);
}
template <class T>
LATHE_FN T lathe_sar(T a, T b) {
  constexpr lathe_u<T> most = lathe_type<T>::width - 1;
  return a >> ((lathe_u<T>)b > most ? most : (lathe_u<T>)b);
}

template <class T>
LATHE_FN bool lathe_eq(T a, T b) {
  return a == b;
}
template <class T>
LATHE_FN bool lathe_ne(T a, T b) {
  return a != b;
}
template <class T>
LATHE_FN bool lathe_lt(T a, T b) {
  return a < b;
}
template <class T>
LATHE_FN bool lathe_le(T a, T b) {
  return a <= b;
}
template <class T>
LATHE_FN bool lathe_gt(T a, T b) {
  return a > b;
}
template <class T>
LATHE_FN bool lathe_ge(T a, T b) {
  return a >= b;
}
template <class T>
LATHE_FN T lathe_select(bool condition, T a, T b) {
  return condition ? a : b;
}

// Value conversion: float to int truncates and saturates, NaN gives 0; to bool is != 0.
template <class To, class From>
LATHE_FN To lathe_cast_any(From a) {
  if constexpr (lathe_type<From>::is_float && !lathe_type<To>::is_float) {
    // Both ends are powers of two up to sign, hence exact as floats.
    constexpr From low = (From)lathe_type<To>::least;
    if (a != a) return 0;
    if (a < low) return lathe_type<To>::least;
    return a >= -low ? lathe_type<To>::greatest : (To)a;
  } else {
    return (To)a;
  }
}
template <class From>
LATHE_FN bool lathe_cast_bool(From a) {
  return a != 0;
}
template <class From>
LATHE_FN lathe_i32 lathe_cast_i32(From a) {
  return lathe_cast_any<lathe_i32>(a);
}
template <class From>
LATHE_FN lathe_i64 lathe_cast_i64(From a) {
  return lathe_cast_any<lathe_i64>(a);
}
template <class From>
LATHE_FN float lathe_cast_f32(From a) {
  return lathe_cast_any<float>(a);
}
template <class From>
LATHE_FN double lathe_cast_f64(From a) {
  return lathe_cast_any<double>(a);
}

LATHE_FN bool lathe_bitcast_bool(bool a) { return a; }
LATHE_FN lathe_i32 lathe_bitcast_i32(lathe_i32 a) { return a; }
LATHE_FN lathe_i32 lathe_bitcast_i32(float a) { return (lathe_i32)lathe_bits(a); }
LATHE_FN lathe_i64 lathe_bitcast_i64(lathe_i64 a) { return a; }
LATHE_FN lathe_i64 lathe_bitcast_i64(double a) { return (lathe_i64)lathe_bits(a); }
LATHE_FN float lathe_bitcast_f32(float a) { return a; }
LATHE_FN float lathe_bitcast_f32(lathe_i32 a) { return lathe_f32((unsigned)a); }
LATHE_FN double lathe_bitcast_f64(double a) { return a; }
LATHE_FN double lathe_bitcast_f64(lathe_i64 a) { return lathe_f64((unsigned long long)a); }

// Over the warp, halving: p[i] op= p[i + 16], + 8, .., + 1. The ops commute, so the exchange gives
// every lane the bits of lane 0.
template <class T>
LATHE_FN T lathe_shuffle_xor(T a, int other) {
  return __shfl_xor_sync(0xffffffffu, a, other);
}
LATHE_FN bool lathe_shuffle_xor(bool a, int other) {
  return __shfl_xor_sync(0xffffffffu, (int)a, other) != 0;
}
template <class T>
LATHE_FN T lathe_reduce_add(T a) {
  LATHE_UNROLL
  for (int half = 16; half > 0; half /= 2) a = lathe_add(a, lathe_shuffle_xor(a, half));
  return a;
}
template <class T>
LATHE_FN T lathe_reduce_mul(T a) {
  LATHE_UNROLL
  for (int half = 16; half > 0; half /= 2) a = lathe_mul(a, lathe_shuffle_xor(a, half));
  return a;
}
template <class T>
LATHE_FN T lathe_reduce_min(T a) {
  LATHE_UNROLL
  for (int half = 16; half > 0; half /= 2) a = lathe_min(a, lathe_shuffle_xor(a, half));
  return a;
}
template <class T>
LATHE_FN T lathe_reduce_max(T a) {
  LATHE_UNROLL
  for (int half = 16; half > 0; half /= 2) a = lathe_max(a, lathe_shuffle_xor(a, half));
  return a;
}
LATHE_FN bool lathe_any(bool a) { return __any_sync(0xffffffffu, a) != 0; }

// error[0]: whether a fail site was reached; then the site, position, value and bound of the first.
LATHE_FN void lathe_fail(lathe_i64* error, lathe_i64 code, lathe_i64 position, lathe_i64 value,
                         lathe_i64 bound) {
  if (atomicCAS((unsigned long long*)error, 0, 1) != 0) return;
  error[1] = code;
  error[2] = position;
  error[3] = value;
  error[4] = bound;
}
