// The vocabulary of kernel text on a GPU, for NVRTC: no headers. prelude_host.h is its twin for a
// host compiler; prelude_ops.h follows either. Not a header of the library: it is embedded as text.
#define LATHE_FN __device__ __forceinline__
#define LATHE_UNROLL _Pragma("unroll")

typedef signed char lathe_i8;
typedef short lathe_i16;
typedef int lathe_i32;
typedef long long lathe_i64;
typedef unsigned char lathe_u8;
typedef unsigned short lathe_u16;
typedef unsigned lathe_u32;
typedef unsigned long long lathe_u64;

LATHE_FN float lathe_of_bits_f32(unsigned bits) { return __uint_as_float(bits); }
LATHE_FN double lathe_of_bits_f64(unsigned long long bits) {
  return __longlong_as_double((long long)bits);
}
LATHE_FN unsigned lathe_bits(float a) { return __float_as_uint(a); }
LATHE_FN unsigned long long lathe_bits(double a) {
  return (unsigned long long)__double_as_longlong(a);
}

// The rounding intrinsics are never contracted, whatever the compiler's options.
LATHE_FN float lathe_add(float a, float b) { return __fadd_rn(a, b); }
LATHE_FN float lathe_sub(float a, float b) { return __fsub_rn(a, b); }
LATHE_FN float lathe_mul(float a, float b) { return __fmul_rn(a, b); }
LATHE_FN float lathe_div(float a, float b) { return __fdiv_rn(a, b); }
LATHE_FN float lathe_sqrt(float a) { return __fsqrt_rn(a); }
LATHE_FN float lathe_floor(float a) { return floorf(a); }
LATHE_FN float lathe_round(float a) { return rintf(a); }
LATHE_FN float lathe_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }

LATHE_FN double lathe_add(double a, double b) { return __dadd_rn(a, b); }
LATHE_FN double lathe_sub(double a, double b) { return __dsub_rn(a, b); }
LATHE_FN double lathe_mul(double a, double b) { return __dmul_rn(a, b); }
LATHE_FN double lathe_div(double a, double b) { return __ddiv_rn(a, b); }
LATHE_FN double lathe_sqrt(double a) { return __dsqrt_rn(a); }
LATHE_FN double lathe_floor(double a) { return floor(a); }
LATHE_FN double lathe_round(double a) { return rint(a); }
LATHE_FN double lathe_fma(double a, double b, double c) { return __fma_rn(a, b, c); }
