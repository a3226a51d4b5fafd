// The vocabulary of kernel text on the host: the twin of prelude_cuda.h. A lane is a fibre of the
// runner (host_warp.cc), which owns LatheHostWarp and switches lanes where they wait for each
// other. Not a header of the library: it is embedded as text.
#define LATHE_FN static inline
#define LATHE_UNROLL
#define __global__
#define __device__
#define __restrict__ __restrict
#define __launch_bounds__(threads)

typedef signed char lathe_i8;
typedef short lathe_i16;
typedef int lathe_i32;
typedef long long lathe_i64;
typedef unsigned char lathe_u8;
typedef unsigned short lathe_u16;
typedef unsigned lathe_u32;
typedef unsigned long long lathe_u64;

struct LatheDim3 {
  unsigned x, y, z;
};

// Mirrored in host_warp.h.
struct LatheHostWarp {
  LatheDim3 thread, block, block_dim, grid_dim;  // of the lane that runs
  unsigned lane;                                 // that runs
  unsigned long long slots[2][32];               // what the lanes show each other, by turns
  unsigned sites[2][32];                         // at which collective
  unsigned turns[32];                            // collectives that a lane has passed
  void (*wait)(LatheHostWarp*);                  // runs the other lanes until they have shown
  int diverged;                                  // lanes met at different collectives
};

static __thread LatheHostWarp* lathe_warp;
extern "C" void lathe_set_warp(LatheHostWarp* warp) { lathe_warp = warp; }

#define threadIdx (lathe_warp->thread)
#define blockIdx (lathe_warp->block)
#define blockDim (lathe_warp->block_dim)
#define gridDim (lathe_warp->grid_dim)

// Shows `value` to all lanes and waits for theirs. The lanes' values stay until the collective
// after the next one, which no lane reaches before all have read them.
static inline const unsigned long long* lathe_meet(unsigned site, unsigned long long value) {
  LatheHostWarp* w = lathe_warp;
  const unsigned lane = w->lane, turn = w->turns[lane]++ & 1;
  w->slots[turn][lane] = value;
  w->sites[turn][lane] = site;
  w->wait(w);
  if (w->sites[turn][(lane + 1) & 31] != site) w->diverged = 1;
  return w->slots[turn];
}

enum { lathe_site_sync = 1, lathe_site_any, lathe_site_shuffle };

static inline void __syncwarp() { lathe_meet(lathe_site_sync, 0); }
static inline int __any_sync(unsigned, int predicate) {
  const unsigned long long* all = lathe_meet(lathe_site_any, predicate != 0);
  for (int i = 0; i < 32; ++i) {
    if (all[i]) return 1;
  }
  return 0;
}
template <class T>
static inline T __shfl_xor_sync(unsigned, T value, int other) {
  const unsigned from = lathe_warp->lane ^ other;
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = lathe_meet(lathe_site_shuffle, bits)[from];
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
static inline unsigned long long atomicCAS(unsigned long long* at, unsigned long long expected,
                                           unsigned long long value) {
  return __sync_val_compare_and_swap(at, expected, value);
}

LATHE_FN float lathe_of_bits_f32(unsigned bits) {
  float a;
  __builtin_memcpy(&a, &bits, sizeof(a));
  return a;
}
LATHE_FN double lathe_of_bits_f64(unsigned long long bits) {
  double a;
  __builtin_memcpy(&a, &bits, sizeof(a));
  return a;
}
LATHE_FN unsigned lathe_bits(float a) {
  unsigned bits;
  __builtin_memcpy(&bits, &a, sizeof(a));
  return bits;
}
LATHE_FN unsigned long long lathe_bits(double a) {
  unsigned long long bits;
  __builtin_memcpy(&bits, &a, sizeof(a));
  return bits;
}

LATHE_FN float lathe_add(float a, float b) { return a + b; }
LATHE_FN float lathe_sub(float a, float b) { return a - b; }
LATHE_FN float lathe_mul(float a, float b) { return a * b; }
LATHE_FN float lathe_div(float a, float b) { return a / b; }
LATHE_FN float lathe_sqrt(float a) { return __builtin_sqrtf(a); }
LATHE_FN float lathe_floor(float a) { return __builtin_floorf(a); }
LATHE_FN float lathe_round(float a) { return __builtin_nearbyintf(a); }
LATHE_FN float lathe_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

LATHE_FN double lathe_add(double a, double b) { return a + b; }
LATHE_FN double lathe_sub(double a, double b) { return a - b; }
LATHE_FN double lathe_mul(double a, double b) { return a * b; }
LATHE_FN double lathe_div(double a, double b) { return a / b; }
LATHE_FN double lathe_sqrt(double a) { return __builtin_sqrt(a); }
LATHE_FN double lathe_floor(double a) { return __builtin_floor(a); }
LATHE_FN double lathe_round(double a) { return __builtin_nearbyint(a); }
LATHE_FN double lathe_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
