// Every op on every type and 1, 8 and 32 lanes, in the evaluator, against scalar code that is
// written out here.
#include <gmock/gmock.h>

#include <limits>
#include <sstream>
#include <string_view>

#include "lathe/tensor.h"
#include "tests/kernel/run_kernel.h"

namespace lathe::kernel {
namespace {

using scalar::ToBits;

constexpr float kInf32 = std::numeric_limits<float>::infinity();
constexpr float kNan32 = std::numeric_limits<float>::quiet_NaN();

template <typename T>
std::vector<T> Interesting() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_floating_point_v<T>) {
    using L = std::numeric_limits<T>;
    return {
        0,        T(-0.0),   1,         -1,         T(0.5),   T(1.5),  T(2.5),          T(-2.5),
        3,        -7,        T(1e10),   T(-1e10),   T(3e9),   T(1e19), L::denorm_min(), L::min(),
        L::max(), -L::max(), T(kInf32), T(-kInf32), T(kNan32)};
  } else {
    using L = std::numeric_limits<T>;
    return {0,  1,  T(-1), 2,  3,  7,        T(-7),    8,
            31, 32, 33,    63, 64, L::min(), L::max(), static_cast<T>(L::min() + 1)};
  }
}

// What an op is tried on, as values and as bits.
struct Operands {
  DType dtype;
  std::vector<std::vector<uint64_t>> bits;
};
template <typename T>
struct Values {
  std::vector<T> a, b;
  Operands operands{DTypeOf<T>(), {}};
};

template <typename T>
std::vector<uint64_t> AllBits(const std::vector<T>& values) {
  std::vector<uint64_t> bits;
  for (T v : values) bits.push_back(ToBits<T>(v));
  return bits;
}

template <typename T>
const Values<T>& Singles() {
  static const Values<T>* const values = [] {
    auto* v = new Values<T>{.a = Interesting<T>()};
    v->operands.bits = {AllBits(v->a)};
    return v;
  }();
  return *values;
}

// All pairs of interesting values.
template <typename T>
const Values<T>& Pairs() {
  static const Values<T>* const values = [] {
    auto* v = new Values<T>;
    for (T x : Interesting<T>()) {
      for (T y : Interesting<T>()) {
        v->a.push_back(x);
        v->b.push_back(y);
      }
    }
    v->operands.bits = {AllBits(v->a), AllBits(v->b)};
    return v;
  }();
  return *values;
}

// One kernel of `emit` over all elements; not a template, since hundreds of ops are checked.
void CheckMap(std::string_view name, const Operands& operands, DType to,
              const std::vector<uint64_t>& wanted, const Emit& emit) {
  for (int lanes : {1, 8, 32}) {
    auto k = MapKernel(std::vector<DType>(operands.bits.size(), operands.dtype), to, lanes, emit);
    ASSERT_TRUE(Verify(*k).ok()) << Verify(*k);
    const std::vector<uint64_t> y = RunMap(*k, operands.bits);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (SameBits(to, y[i], wanted[i])) continue;
      std::ostringstream text;
      for (const std::vector<uint64_t>& x : operands.bits) text << " " << std::hex << x[i];
      ADD_FAILURE() << name << " of the bits" << text.str() << " with " << lanes
                    << " lanes: " << std::hex << y[i] << ", " << wanted[i];
    }
  }
}

void CheckBinaryMap(KOp op, const Operands& operands, DType to,
                    const std::vector<uint64_t>& wanted) {
  CheckMap(Name(op), operands, to, wanted,
           [op](KernelBuilder& b, const std::vector<Reg>& x) { return b.Bin(op, x[0], x[1]); });
}

template <typename T, typename R, typename Fn>
void CheckUnary(const char* name, const Emit& emit, Fn expected) {
  const Values<T>& x = Singles<T>();
  std::vector<uint64_t> wanted(x.a.size());
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = ToBits<R>(expected(x.a[i]));
  CheckMap(name, x.operands, DTypeOf<R>(), wanted, emit);
}

template <typename T, typename R, typename Fn>
void CheckBinary(KOp op, Fn expected) {
  const Values<T>& x = Pairs<T>();
  std::vector<uint64_t> wanted(x.a.size());
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = ToBits<R>(expected(x.a[i], x.b[i]));
  CheckBinaryMap(op, x.operands, DTypeOf<R>(), wanted);
}

// The kernel with another type everywhere: the builder itself makes none that is wrong.
void ExpectRefused(const Kernel& k, const std::string& type, const std::string& other) {
  std::string text = Print(k);
  for (size_t at = text.find(type); at != std::string::npos; at = text.find(type, at + 1))
    text.replace(at, type.size(), other);
  const absl::StatusOr<std::shared_ptr<Kernel>> read = ParseKernel(text);
  const absl::Status status = read.ok() ? Verify(**read) : read.status();
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("(invariant ")) << text;
}

Emit Unary(KOp op) {
  return [op](KernelBuilder& b, const std::vector<Reg>& x) { return b.Un(op, x[0]); };
}

template <typename T>
class OpsOf : public testing::Test {};
using AllTypes = testing::Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                                uint32_t, uint64_t, float, double>;
TYPED_TEST_SUITE(OpsOf, AllTypes);

TYPED_TEST(OpsOf, OrderTreatsNanAndNegativeZeroAsStated) {
  using T = TypeParam;
  CheckBinary<T, bool>(KOp::kEq, [](T a, T b) { return a == b; });
  CheckBinary<T, bool>(KOp::kNe, [](T a, T b) { return a != b; });
  CheckBinary<T, bool>(KOp::kLt, [](T a, T b) { return a < b; });
  CheckBinary<T, bool>(KOp::kLe, [](T a, T b) { return a <= b; });
  CheckBinary<T, bool>(KOp::kGt, [](T a, T b) { return a > b; });
  CheckBinary<T, bool>(KOp::kGe, [](T a, T b) { return a >= b; });
  CheckBinary<T, T>(KOp::kMin, [](T a, T b) {
    if (a != a) return a;
    if (b != b) return b;
    if constexpr (std::is_floating_point_v<T>) {
      if (a == 0 && b == 0) return std::signbit(a) || std::signbit(b) ? T(-0.0) : T(0);
    }
    return a < b ? a : b;
  });
  CheckBinary<T, T>(KOp::kMax, [](T a, T b) {
    if (a != a) return a;
    if (b != b) return b;
    if constexpr (std::is_floating_point_v<T>) {
      if (a == 0 && b == 0) return std::signbit(a) && std::signbit(b) ? T(-0.0) : T(0);
    }
    return a > b ? a : b;
  });
}

template <typename T>
class IntOpsOf : public testing::Test {};
using IntTypes =
    testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(IntOpsOf, IntTypes);

// 128 bits hold every intermediate; the result wraps when it is narrowed.
using Wide = __int128;

TYPED_TEST(IntOpsOf, WrapAndNeverTrap) {
  using T = TypeParam;
  CheckBinary<T, T>(KOp::kAdd, [](T a, T b) { return static_cast<T>(Wide{a} + b); });
  CheckBinary<T, T>(KOp::kSub, [](T a, T b) { return static_cast<T>(Wide{a} - b); });
  CheckBinary<T, T>(KOp::kMul, [](T a, T b) { return static_cast<T>(Wide{a} * b); });
  CheckBinary<T, T>(KOp::kDiv,
                    [](T a, T b) { return b == 0 ? T{0} : static_cast<T>(Wide{a} / b); });
  CheckBinary<T, T>(KOp::kRem,
                    [](T a, T b) { return b == 0 ? T{0} : static_cast<T>(Wide{a} % b); });
  auto floor_div = [](Wide a, Wide b) {
    if (b == 0) return Wide{0};
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  };
  CheckBinary<T, T>(KOp::kFloorDiv, [&](T a, T b) { return static_cast<T>(floor_div(a, b)); });
  CheckBinary<T, T>(
      KOp::kMod, [&](T a, T b) { return b == 0 ? T{0} : static_cast<T>(a - floor_div(a, b) * b); });
  CheckUnary<T, T>("neg", Unary(KOp::kNeg), [](T a) { return static_cast<T>(-Wide{a}); });
  CheckUnary<T, T>("abs", Unary(KOp::kAbs),
                   [](T a) { return static_cast<T>(a < 0 ? -Wide{a} : Wide{a}); });
  CheckUnary<T, T>("not", Unary(KOp::kNot), [](T a) { return static_cast<T>(-1 - Wide{a}); });
}

TYPED_TEST(IntOpsOf, BitsAndShiftsBeyondTheWidth) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  constexpr int kWidth = sizeof(T) * 8;
  auto far = [](T b) { return Wide{b} < 0 || Wide{b} >= kWidth; };
  CheckBinary<T, T>(KOp::kAnd, [](T a, T b) { return static_cast<T>(a & b); });
  CheckBinary<T, T>(KOp::kOr, [](T a, T b) { return static_cast<T>(a | b); });
  CheckBinary<T, T>(KOp::kXor, [](T a, T b) { return static_cast<T>(a ^ b); });
  CheckBinary<T, T>(KOp::kShl, [&](T a, T b) { return far(b) ? T{0} : static_cast<T>(U(a) << b); });
  CheckBinary<T, T>(KOp::kShr, [&](T a, T b) { return far(b) ? T{0} : static_cast<T>(U(a) >> b); });
  if constexpr (std::is_signed_v<T>) {
    CheckBinary<T, T>(KOp::kSar, [&](T a, T b) {
      return far(b) ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);
    });
  }
}

TEST(BoolOps, AreLogical) {
  CheckBinary<bool, bool>(KOp::kAnd, [](bool a, bool b) { return a && b; });
  CheckBinary<bool, bool>(KOp::kOr, [](bool a, bool b) { return a || b; });
  CheckBinary<bool, bool>(KOp::kXor, [](bool a, bool b) { return a != b; });
  CheckUnary<bool, bool>("not", Unary(KOp::kNot), [](bool a) { return !a; });
}

template <typename T>
class FloatOpsOf : public testing::Test {};
using FloatTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatOpsOf, FloatTypes);

TYPED_TEST(FloatOpsOf, AreIeee) {
  using T = TypeParam;
  CheckBinary<T, T>(KOp::kAdd, [](T a, T b) { return a + b; });
  CheckBinary<T, T>(KOp::kSub, [](T a, T b) { return a - b; });
  CheckBinary<T, T>(KOp::kMul, [](T a, T b) { return a * b; });
  CheckBinary<T, T>(KOp::kDiv, [](T a, T b) { return a / b; });
  CheckBinary<T, T>(KOp::kFloorDiv, [](T a, T b) { return std::floor(a / b); });
  CheckUnary<T, T>("neg", Unary(KOp::kNeg), [](T a) { return -a; });
  CheckUnary<T, T>("abs", Unary(KOp::kAbs), [](T a) { return std::abs(a); });
  CheckUnary<T, T>("sqrt", Unary(KOp::kSqrt), [](T a) { return std::sqrt(a); });
  CheckUnary<T, T>("floor", Unary(KOp::kFloor), [](T a) { return std::floor(a); });
  CheckUnary<T, T>("round", Unary(KOp::kRound), [](T a) { return std::rint(a); });
}

TYPED_TEST(FloatOpsOf, FmaRoundsOnce) {
  using T = TypeParam;
  const T e = std::numeric_limits<T>::epsilon();
  const std::vector<T> x{1 + e, 1 - e, 3, T(kInf32), 0}, y{1 + e, 1 + e, 5, 0, -1},
      z{-1, -1, -15, 1, T(-0.0)};
  auto k = MapKernel(
      {DTypeOf<T>(), DTypeOf<T>(), DTypeOf<T>()}, DTypeOf<T>(), 8,
      [](KernelBuilder& b, const std::vector<Reg>& v) { return b.Fma(v[0], v[1], v[2]); });
  const std::vector<uint64_t> r = RunMap(*k, {AllBits(x), AllBits(y), AllBits(z)});
  const std::vector<T> want{2 * e + e * e, -e * e, 0, T(kNan32), T(-0.0)};
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(SameBits(DTypeOf<T>(), r[i], ToBits<T>(want[i]))) << i;
  }
}

// Bytes of many patterns as words, the ends of both ranges among them.
std::vector<uint64_t> Words(uint64_t seed) {
  std::vector<uint64_t> words{0, 0xffffffff, 0x80808080, 0x7f7f7f7f, 0x017f80ff};
  for (uint64_t x = seed; words.size() < 70;) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    words.push_back(x >> 32);
  }
  return words;
}

TEST(Dot4, AddsProductsOfUnsignedAndSignedBytesAndWraps) {
  for (int lanes : {1, 3, 8, 32}) {
    auto k = MapKernel(
        {i32, i32, i32}, i32, lanes,
        [](KernelBuilder& b, const std::vector<Reg>& v) { return b.Dot4(v[0], v[1], v[2]); });
    ASSERT_TRUE(Verify(*k).ok()) << Verify(*k);
    const std::vector<uint64_t> x = Words(1), y = Words(2), z = Words(3);
    const std::vector<uint64_t> found = RunMap(*k, {x, y, z});
    for (size_t i = 0; i < x.size(); ++i) {
      int64_t sum = static_cast<int32_t>(z[i]);
      for (int byte = 0; byte < 4; ++byte) {
        const int64_t a = (x[i] >> (8 * byte)) & 0xff, c = (y[i] >> (8 * byte)) & 0xff;
        sum += a * (c < 128 ? c : c - 256);
      }
      EXPECT_EQ(found[i], static_cast<uint64_t>(sum) & 0xffffffff) << i;
    }
  }
}

TEST(Dot4, OfOtherTypesIsRefused) {
  auto k = MapKernel({i32, i32, i32}, i32, 8, [](KernelBuilder& b, const std::vector<Reg>& v) {
    return b.Dot4(v[0], v[1], v[2]);
  });
  for (const char* other : {"u32", "i64", "f32", "u8"}) ExpectRefused(*k, "i32", other);
}

std::shared_ptr<Kernel> WordKernel(DType t) {
  KernelBuilder b("word");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", t, BufferKind::kInput, n);
  const int y = b.Buffer("y", i32, BufferKind::kOutput, 1);
  b.Store(y, 0, b.LoadWord(x, n - 4));
  return b.Finish();
}

TEST(LoadWord, ReadsFourBytesInOrderAndNoMore) {
  for (DType t : {u8, i8}) {
    const std::shared_ptr<Kernel> k = WordKernel(t);
    ASSERT_TRUE(Verify(*k).ok()) << Verify(*k);
    std::vector<std::byte> x = Pack(t, {9, 0x12, 0x34, 0x56, 0xf8}), y(4);
    EvalBuffer buffers[] = {{x.data(), 5}, {y.data(), 1}};
    EXPECT_TRUE(Evaluate(*k, buffers, {5}, 0, 1, 0, nullptr).ok());
    EXPECT_EQ(Unpack(i32, y)[0], 0xf8563412u);
    buffers[0].elements = 4;  // the last byte isn't there
    EXPECT_FALSE(Evaluate(*k, buffers, {5}, 0, 1, 0, nullptr).ok());
    EXPECT_FALSE(Evaluate(*k, buffers, {3}, 0, 1, 0, nullptr).ok());  // nor is the first
  }
  for (const char* other : {"i16", "f32"}) ExpectRefused(*WordKernel(u8), "u8", other);
}

// Casts: what docs/semantics.md says, written out with the limits as numbers.
template <typename To, typename From>
To Converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const long double v = x, low = std::numeric_limits<To>::min(),
                      high = std::numeric_limits<To>::max();
    if (x != x) return 0;
    return v <= low    ? std::numeric_limits<To>::min()
           : v >= high ? std::numeric_limits<To>::max()
                       : static_cast<To>(v);
  } else {
    return static_cast<To>(x);
  }
}

Emit CastTo(DType to) {
  return [to](KernelBuilder& b, const std::vector<Reg>& x) { return b.Cast(x[0], to); };
}

template <typename From, typename To>
void CheckCast() {
  CheckUnary<From, To>("cast", CastTo(DTypeOf<To>()), [](From x) { return Converted<To>(x); });
}

TYPED_TEST(OpsOf, CastsSaturateAndWrap) {
  CheckCast<TypeParam, bool>();
  CheckCast<TypeParam, int8_t>();
  CheckCast<TypeParam, int16_t>();
  CheckCast<TypeParam, int32_t>();
  CheckCast<TypeParam, int64_t>();
  CheckCast<TypeParam, uint8_t>();
  CheckCast<TypeParam, uint16_t>();
  CheckCast<TypeParam, uint32_t>();
  CheckCast<TypeParam, uint64_t>();
  CheckCast<TypeParam, Half>();
  CheckCast<TypeParam, BFloat16>();
  CheckCast<TypeParam, float>();
  CheckCast<TypeParam, double>();
}

TYPED_TEST(OpsOf, SelectAndSplat) {
  using T = TypeParam;
  const DType t = DTypeOf<T>();
  for (int lanes : {1, 8, 32}) {
    auto k = MapKernel(
        {DType::kBool, t, t}, t, lanes,
        [&](KernelBuilder& b, const std::vector<Reg>& v) { return b.Select(v[0], v[1], v[2]); });
    const T a = Interesting<T>()[1], c = Interesting<T>()[0];
    const std::vector<uint64_t> y =
        RunMap(*k, {{0, 1, 0}, AllBits<T>({a, a, a}), AllBits<T>({c, c, c})});
    EXPECT_EQ(y, AllBits<T>({c, a, c}));
    auto splat = MapKernel({t}, t, lanes, [&](KernelBuilder& b, const std::vector<Reg>&) {
      return b.Splat(b.Bits({t, 1}, ToBits<T>(a)), lanes);
    });
    EXPECT_EQ(RunMap(*splat, {AllBits<T>({c, c, c})}), AllBits<T>({a, a, a}));
  }
}

template <typename T>
void CheckNarrow() {
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < 65536; ++i) all.push_back(i);
  const DType t = DTypeOf<T>();
  auto widen = MapKernel(
      {t}, f32, 32, [](KernelBuilder& b, const std::vector<Reg>& x) { return b.Cast(x[0], f32); });
  auto narrow = MapKernel(
      {f32}, t, 32, [t](KernelBuilder& b, const std::vector<Reg>& x) { return b.Cast(x[0], t); });
  ASSERT_TRUE(Verify(*widen).ok()) << Verify(*widen);
  const std::vector<uint64_t> wide = RunMap(*widen, {all});
  const std::vector<uint64_t> back = RunMap(*narrow, {wide});
  for (uint64_t i = 0; i < 65536; ++i) {
    const float value = T::FromBits(static_cast<uint16_t>(i));
    EXPECT_TRUE(SameBits(f32, wide[i], ToBits(value))) << i;
    EXPECT_TRUE(SameBits(t, back[i], i)) << i;
  }
}

TEST(NarrowFloats, ConvertBothWaysAndHoldNoArithmetic) {
  CheckNarrow<Half>();
  CheckNarrow<BFloat16>();
  auto sum = MapKernel({f32, f32}, f32, 8, [](KernelBuilder& b, const std::vector<Reg>& x) {
    return b.Bin(KOp::kAdd, x[0], x[1]);
  });
  ExpectRefused(*sum, "f32", "f16");
}

TEST(BitOps, BitcastKeepsBits) {
  for (auto [from, to] : {std::pair{f32, i32}, {i32, f32}, {f64, i64}, {i64, f64}}) {
    auto k = MapKernel({from}, to, 8, [to = to](KernelBuilder& b, const std::vector<Reg>& x) {
      return b.Bitcast(x[0], to);
    });
    const std::vector<uint64_t> x{0, 1, 0x7fc00123, 0x80000000, 0xffffffff};
    EXPECT_EQ(RunMap(*k, {x}), x);
  }
}

// A reduction of `lanes` elements by halving, as the order of sums demands.
template <typename T, typename Fn>
void CheckReduce(KOp op, Fn fn) {
  for (int lanes : {1, 8, 32}) {
    KernelBuilder b("reduce");
    int x = b.Buffer("x", DTypeOf<T>(), BufferKind::kInput, lanes);
    int y = b.Buffer("y", DTypeOf<T>(), BufferKind::kOutput, 1);
    b.Store(y, 0, b.Reduce(op, b.Load(x, 0, lanes)));
    auto k = b.Finish();
    std::vector<T> in(lanes);
    for (int i = 0; i < lanes; ++i) in[i] = static_cast<T>((i * 37 + 11) % 23) / T(3) - T(2);
    std::vector<T> p = in;
    for (int n = lanes / 2; n > 0; n /= 2) {
      for (int i = 0; i < n; ++i) p[i] = fn(p[i], p[i + n]);
    }
    T out{};
    ASSERT_TRUE(Evaluate(*k, {{in.data(), lanes}, {&out, 1}}, {}, 0, 1, 0, nullptr).ok());
    EXPECT_EQ(out, p[0]) << Name(op) << " lanes " << lanes;
  }
}

template <typename T>
void CheckReductions() {
  CheckReduce<T>(KOp::kReduceAdd, [](T a, T b) { return static_cast<T>(a + b); });
  CheckReduce<T>(KOp::kReduceMin, [](T a, T b) { return std::min(a, b); });
  CheckReduce<T>(KOp::kReduceMax, [](T a, T b) { return std::max(a, b); });
}

TEST(Reductions, HalveTheLanes) {
  CheckReductions<float>();
  CheckReductions<double>();
  CheckReductions<int32_t>();
  CheckReductions<int64_t>();
  CheckReductions<int8_t>();
  CheckReductions<uint16_t>();
  CheckReduce<float>(KOp::kReduceMul, [](float a, float b) { return a * b; });
  CheckReduce<double>(KOp::kReduceMul, [](double a, double b) { return a * b; });
}

TEST(Leaves, IndexLaneMaskAndAny) {
  KernelBuilder b("leaves");
  Dim n = b.Size("n");
  int y = b.Buffer("y", i64, BufferKind::kOutput, 16);
  int z = b.Buffer("z", bool_, BufferKind::kOutput, 2);
  Reg lanes = b.Bin(KOp::kAdd, b.Lane({i64, 8}), b.Index(n * 10));
  b.Store(y, 0, lanes);
  Reg mask = b.Mask(n, 8);
  b.Store(y, 8, b.Cast(mask, i64));
  b.Store(z, 0, b.Any(mask));
  b.Store(z, 1, b.Any(b.Un(KOp::kNot, mask)));
  auto k = b.Finish();
  ASSERT_TRUE(Verify(*k).ok());
  for (int64_t n_value : {0, 3, 8, 9}) {
    int64_t out[16];
    bool any[2];
    ASSERT_TRUE(Evaluate(*k, {{out, 16}, {any, 2}}, {n_value}, 0, 1, 0, nullptr).ok());
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(out[i], 10 * n_value + i);
      EXPECT_EQ(out[8 + i], i < n_value);
    }
    EXPECT_EQ(any[0], n_value > 0);
    EXPECT_EQ(any[1], n_value < 8);
  }
}

}  // namespace
}  // namespace lathe::kernel
