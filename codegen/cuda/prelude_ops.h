// The ops of Kernel IR on one lane, and reductions over a warp, for both preludes. The meaning of
// each is codegen/kernel/scalar_ops.h. Not a header of the library: it is embedded as text.
template <class T>
struct lathe_type;
template <>
struct lathe_type<bool> {
  static constexpr bool is_float = false, is_narrow = false;
};
// Of an integer: `word` is the unsigned type of its width, `bits` that in which it is computed.
#define LATHE_INTEGER(name, unsigned_word, computed, has_sign, word_width, lowest, highest) \
  template <>                                                                               \
  struct lathe_type<lathe_##name> {                                                         \
    using word = unsigned_word;                                                             \
    using bits = computed;                                                                  \
    static constexpr bool is_float = false, is_narrow = false, is_signed = has_sign;        \
    static constexpr bits width = word_width;                                               \
    static constexpr lathe_##name least = lowest, greatest = highest;                       \
  };
LATHE_INTEGER(i8, unsigned char, unsigned, true, 8, -127 - 1, 127)
LATHE_INTEGER(i16, unsigned short, unsigned, true, 16, -32767 - 1, 32767)
LATHE_INTEGER(i32, unsigned, unsigned, true, 32, -2147483647 - 1, 2147483647)
LATHE_INTEGER(i64, unsigned long long, unsigned long long, true, 64, -9223372036854775807ll - 1,
              9223372036854775807ll)
LATHE_INTEGER(u8, unsigned char, unsigned, false, 8, 0, 255)
LATHE_INTEGER(u16, unsigned short, unsigned, false, 16, 0, 65535)
LATHE_INTEGER(u32, unsigned, unsigned, false, 32, 0, 0xffffffffu)
LATHE_INTEGER(u64, unsigned long long, unsigned long long, false, 64, 0, 0xffffffffffffffffull)
#undef LATHE_INTEGER
// Narrow floats are bits that are moved and converted.
struct lathe_f16 {
  unsigned short bits;
};
struct lathe_bf16 {
  unsigned short bits;
};
template <>
struct lathe_type<lathe_f16> {
  static constexpr bool is_float = true, is_narrow = true;
};
template <>
struct lathe_type<lathe_bf16> {
  static constexpr bool is_float = true, is_narrow = true;
};
template <>
struct lathe_type<float> {
  using bits = unsigned;
  static constexpr bool is_float = true, is_narrow = false;
  static constexpr bits sign = 0x80000000u, quiet_nan = 0x7fc00000u;
};
template <>
struct lathe_type<double> {
  using bits = unsigned long long;
  static constexpr bool is_float = true, is_narrow = false;
  static constexpr bits sign = 0x8000000000000000ull, quiet_nan = 0x7ff8000000000000ull;
};
template <class T>
using lathe_u = typename lathe_type<T>::bits;

LATHE_FN float lathe_of_bits(float, unsigned bits) { return lathe_of_bits_f32(bits); }
LATHE_FN double lathe_of_bits(double, unsigned long long bits) { return lathe_of_bits_f64(bits); }
LATHE_FN lathe_f16 lathe_of_bits_f16(unsigned bits) { return {(unsigned short)bits}; }
LATHE_FN lathe_bf16 lathe_of_bits_bf16(unsigned bits) { return {(unsigned short)bits}; }
template <class T>
LATHE_FN lathe_u<T> lathe_unsigned(T a) {
  return (typename lathe_type<T>::word)a;
}
template <class T>
LATHE_FN bool lathe_signbit(T a) {
  return (lathe_bits(a) & lathe_type<T>::sign) != 0;
}

// Four bytes, the first one lowest; they lie at any address.
template <class T>
LATHE_FN lathe_i32 lathe_word(const T* bytes) {
  const lathe_u8* b = (const lathe_u8*)bytes;
  return (lathe_i32)(b[0] | (unsigned)b[1] << 8 | (unsigned)b[2] << 16 | (unsigned)b[3] << 24);
}
// c + the products of the bytes of a, unsigned, and of b, signed; wraps.
LATHE_FN lathe_i32 lathe_dot4(lathe_i32 a, lathe_i32 b, lathe_i32 c) {
  unsigned sum = (unsigned)c;
  for (int byte = 0; byte < 32; byte += 8) {
    const int x = (lathe_u8)((unsigned)a >> byte), y = (lathe_i8)((unsigned)b >> byte);
    sum += (unsigned)(x * y);
  }
  return (lathe_i32)sum;
}

// Integer arithmetic wraps: it is done on the unsigned type. Floats have overloads of their own.
template <class T>
LATHE_FN T lathe_add(T a, T b) {
  return (T)(lathe_unsigned(a) + lathe_unsigned(b));
}
template <class T>
LATHE_FN T lathe_sub(T a, T b) {
  return (T)(lathe_unsigned(a) - lathe_unsigned(b));
}
template <class T>
LATHE_FN T lathe_mul(T a, T b) {
  return (T)(lathe_unsigned(a) * lathe_unsigned(b));
}
template <class T>
LATHE_FN T lathe_neg(T a) {
  if constexpr (lathe_type<T>::is_float) {
    return lathe_of_bits(a, lathe_bits(a) ^ lathe_type<T>::sign);
  } else {
    return (T)(0 - lathe_unsigned(a));
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
LATHE_FN bool lathe_is_minus_one(T b) {
  return lathe_type<T>::is_signed && b == (T)-1;
}
template <class T>
LATHE_FN T lathe_div(T a, T b) {
  if (b == 0) return 0;
  return lathe_is_minus_one(b) ? lathe_neg(a) : (T)(a / b);
}
template <class T>
LATHE_FN T lathe_rem(T a, T b) {
  return b == 0 || lathe_is_minus_one(b) ? (T)0 : (T)(a % b);
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
  return r != 0 && (r < 0) != (b < 0) ? lathe_add(r, b) : r;
}
template <class T>
LATHE_FN T lathe_ceildiv(T a, T b) {
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
  return lathe_unsigned(b) >= lathe_type<T>::width ? (T)0
                                                   : (T)(lathe_unsigned(a) << lathe_unsigned(b));
}
template <class T>
LATHE_FN T lathe_shr(T a, T b) {
  return lathe_unsigned(b) >= lathe_type<T>::width ? (T)0
                                                   : (T)(lathe_unsigned(a) >> lathe_unsigned(b));
}
template <class T>
LATHE_FN T lathe_sar(T a, T b) {
  constexpr lathe_u<T> most = lathe_type<T>::width - 1;
  return (T)(a >> (lathe_unsigned(b) > most ? most : lathe_unsigned(b)));
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

// An f16 is that of a normal number with another bias; denormal ones are units of 2^-24.
LATHE_FN float lathe_widen(lathe_f16 a) {
  const unsigned sign = (unsigned)(a.bits >> 15) << 31, magnitude = a.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    const unsigned quiet = magnitude > 0x7c00u ? 0x400000u : 0u;
    return lathe_of_bits_f32(sign | 0x7f800000u | quiet | (magnitude & 0x3ffu) << 13);
  }
  if (magnitude < 0x400u) {
    return lathe_of_bits_f32(sign | lathe_bits(lathe_mul((float)(int)magnitude, 0x1p-24f)));
  }
  return lathe_of_bits_f32(sign | ((magnitude << 13) + (112u << 23)));
}
LATHE_FN float lathe_widen(lathe_bf16 a) { return lathe_of_bits_f32((unsigned)a.bits << 16); }

// To nearest even: below 2^-14 an addition of 0.5 rounds to units of 2^-24.
LATHE_FN lathe_f16 lathe_narrow_f16(float a) {
  const unsigned bits = lathe_bits(a), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  unsigned v;
  if (magnitude > 0x7f800000u) {
    v = 0x7e00u;
  } else if (magnitude >= 0x47800000u) {
    v = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    v = lathe_bits(lathe_add(lathe_of_bits_f32(magnitude), 0.5f)) - 0x3f000000u;
  } else {
    v = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1u)) >> 13;
  }
  return lathe_of_bits_f16(sign | v);
}
LATHE_FN lathe_bf16 lathe_narrow_bf16(float a) {
  const unsigned bits = lathe_bits(a);
  if (a != a) return lathe_of_bits_bf16(0x7fc0u);
  return lathe_of_bits_bf16((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
// An f32 from which a narrow float rounds as from `a`: what is inexact is cut towards 0 and made
// odd.
LATHE_FN float lathe_round_to_odd(double a) {
  const float nearest = (float)a;
  const double back = (double)nearest;
  unsigned bits = lathe_bits(nearest);
  if (lathe_abs(back) > lathe_abs(a)) --bits;
  return lathe_of_bits_f32(back != a ? bits | 1u : bits);
}
// A double that rounds to a narrow float as `a` does: from 2^52 on, one bit says whether any of the
// low 12 was set.
template <class T>
LATHE_FN double lathe_odd_f64(T a) {
  if constexpr (lathe_type<T>::width == 64) {
    const T limit = (T)1 << 52;
    const bool large = a >= limit || (lathe_type<T>::is_signed && a <= (T)-limit);
    if (large && (a & (T)0xfff) != 0) a = (T)((a & ~(T)0xfff) | (T)0x800);
  }
  return (double)a;
}
template <class From>
LATHE_FN float lathe_to_narrow(From a) {
  if constexpr (lathe_type<From>::is_float) {
    return lathe_round_to_odd((double)a);
  } else {
    return lathe_round_to_odd(lathe_odd_f64(a));
  }
}
LATHE_FN float lathe_to_narrow(float a) { return a; }
LATHE_FN float lathe_to_narrow(bool a) { return a ? 1.0f : 0.0f; }
LATHE_FN float lathe_to_narrow(lathe_f16 a) { return lathe_widen(a); }
LATHE_FN float lathe_to_narrow(lathe_bf16 a) { return lathe_widen(a); }
template <class From>
LATHE_FN lathe_f16 lathe_cast_f16(From a) {
  return lathe_narrow_f16(lathe_to_narrow(a));
}
template <class From>
LATHE_FN lathe_bf16 lathe_cast_bf16(From a) {
  return lathe_narrow_bf16(lathe_to_narrow(a));
}

// Value conversion: float to int truncates and saturates, NaN gives 0; to bool is != 0.
template <class To, class From>
LATHE_FN To lathe_cast_any(From a) {
  if constexpr (lathe_type<From>::is_narrow) {
    return lathe_cast_any<To>(lathe_widen(a));
  } else if constexpr (lathe_type<From>::is_float && !lathe_type<To>::is_float) {
    // Both ends are powers of two or 0, hence exact as floats.
    constexpr From low = (From)lathe_type<To>::least;
    constexpr From high = (From)(lathe_type<To>::greatest / 2 + 1) * 2;
    if (a != a) return 0;
    if (a < low) return lathe_type<To>::least;
    return a >= high ? lathe_type<To>::greatest : (To)a;
  } else {
    return (To)a;
  }
}
template <class From>
LATHE_FN bool lathe_cast_bool(From a) {
  if constexpr (lathe_type<From>::is_narrow) {
    return lathe_widen(a) != 0;
  } else {
    return a != 0;
  }
}
template <class From>
LATHE_FN float lathe_cast_f32(From a) {
  return lathe_cast_any<float>(a);
}
template <class From>
LATHE_FN double lathe_cast_f64(From a) {
  return lathe_cast_any<double>(a);
}

// The bits of an element, those of a signed integer extended by its sign.
template <class From>
LATHE_FN unsigned long long lathe_any_bits(From a) {
  return (unsigned long long)a;
}
LATHE_FN unsigned long long lathe_any_bits(float a) { return lathe_bits(a); }
LATHE_FN unsigned long long lathe_any_bits(double a) { return lathe_bits(a); }
LATHE_FN unsigned long long lathe_any_bits(lathe_f16 a) { return a.bits; }
LATHE_FN unsigned long long lathe_any_bits(lathe_bf16 a) { return a.bits; }
LATHE_FN bool lathe_bitcast_bool(bool a) { return a; }
template <class From>
LATHE_FN float lathe_bitcast_f32(From a) {
  return lathe_of_bits_f32((unsigned)lathe_any_bits(a));
}
template <class From>
LATHE_FN double lathe_bitcast_f64(From a) {
  return lathe_of_bits_f64(lathe_any_bits(a));
}
template <class From>
LATHE_FN lathe_f16 lathe_bitcast_f16(From a) {
  return lathe_of_bits_f16((unsigned)lathe_any_bits(a));
}
template <class From>
LATHE_FN lathe_bf16 lathe_bitcast_bf16(From a) {
  return lathe_of_bits_bf16((unsigned)lathe_any_bits(a));
}

#define LATHE_INTEGER_CASTS(name)                      \
  template <class From>                                \
  LATHE_FN lathe_##name lathe_cast_##name(From a) {    \
    return lathe_cast_any<lathe_##name>(a);            \
  }                                                    \
  template <class From>                                \
  LATHE_FN lathe_##name lathe_bitcast_##name(From a) { \
    return (lathe_##name)lathe_any_bits(a);            \
  }
LATHE_INTEGER_CASTS(i8)
LATHE_INTEGER_CASTS(i16)
LATHE_INTEGER_CASTS(i32)
LATHE_INTEGER_CASTS(i64)
LATHE_INTEGER_CASTS(u8)
LATHE_INTEGER_CASTS(u16)
LATHE_INTEGER_CASTS(u32)
LATHE_INTEGER_CASTS(u64)
#undef LATHE_INTEGER_CASTS

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
