#include "compiler/lower/emit_random.h"

#include <array>

namespace lathe::compiler {
namespace {

using kernel::KernelBuilder;
using kernel::KOp;
using kernel::Reg;

// Words of 32 bits, each in an i64 lane (0 .. 2^32 - 1).
class Philox {
 public:
  Philox(KernelBuilder& b, Reg index) : b_(b), lanes_(b.type(index).lanes), index_(index) {}

  std::array<Reg, 4> Words(uint64_t seed) {
    const Reg zero = I(0);
    std::array<Reg, 4> x{Low(index_), Shr(index_, 32), zero, zero};
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const Reg p0 = Bin(KOp::kMul, I(0xD2511F53), x[0]), p1 = Bin(KOp::kMul, I(0xCD9E8D57), x[2]);
      x = {Xor(Xor(Shr(p1, 32), x[1]), I(key0)), Low(p1), Xor(Xor(Shr(p0, 32), x[3]), I(key1)),
           Low(p0)};
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    return x;
  }

  Reg Uniform(const std::array<Reg, 4>& w, DType dtype) {
    if (dtype == DType::kF32)
      return Bin(KOp::kMul, b_.Cast(Shr(w[0], 8), f32), b_.Float({f32, lanes_}, 0x1p-24));
    const Reg bits = Bin(KOp::kAdd, Bin(KOp::kShl, w[0], I(21)), Shr(w[1], 11));
    return Bin(KOp::kMul, b_.Cast(bits, f64), D(0x1p-53));
  }

  Reg Normal(const std::array<Reg, 4>& w, DType dtype) {
    const Reg u = Mul(Add(b_.Cast(w[0], f64), D(1)), D(0x1p-32));
    const Reg radius = b_.Un(KOp::kSqrt, Mul(D(-2), Log(u)));
    return b_.Cast(Mul(radius, Cos(w[1])), dtype);
  }

 private:
  Reg I(int64_t v) { return b_.Int({i64, lanes_}, v); }
  Reg D(double v) { return b_.Float({f64, lanes_}, v); }
  Reg Bin(KOp op, Reg x, Reg y) { return b_.Bin(op, x, y); }
  Reg Add(Reg x, Reg y) { return Bin(KOp::kAdd, x, y); }
  Reg Mul(Reg x, Reg y) { return Bin(KOp::kMul, x, y); }
  Reg Xor(Reg x, Reg y) { return Bin(KOp::kXor, x, y); }
  Reg Shr(Reg x, int by) { return Bin(KOp::kShr, x, I(by)); }
  Reg Low(Reg x) { return Bin(KOp::kAnd, x, I(0xFFFFFFFF)); }

  // The formulas of ir/philox.h.
  Reg Log(Reg u) {
    Reg m = u, e = D(0);
    for (int k : {16, 8, 4, 2, 1}) {
      const double up = static_cast<double>(1 << k);
      const Reg small = Bin(KOp::kLt, m, D(1 / up));
      m = b_.Select(small, Mul(m, D(up)), m);
      e = b_.Select(small, Bin(KOp::kSub, e, D(k)), e);
    }
    const Reg low = Bin(KOp::kLt, m, D(0.707106781186547524400844362105));
    m = b_.Select(low, Mul(m, D(2)), m);
    e = b_.Select(low, Bin(KOp::kSub, e, D(1)), e);
    const Reg s = Bin(KOp::kDiv, Bin(KOp::kSub, m, D(1)), Add(m, D(1)));
    const Reg z = Mul(s, s);
    Reg p = D(1.0 / 23);
    for (int n = 21; n >= 1; n -= 2) p = Add(Mul(p, z), D(1.0 / n));
    return Add(Mul(e, D(0.693147180559945309417232121458)), Mul(Mul(D(2), s), p));
  }

  static double Factorial(int n) {
    double product = 1;
    for (int i = 2; i <= n; ++i) product *= i;
    return product;
  }

  Reg Cos(Reg w) {
    const Reg h = Add(w, I(int64_t{1} << 29));
    const Reg quarter = Bin(KOp::kAnd, Shr(h, 30), I(3));
    const Reg rest =
        Bin(KOp::kSub, Bin(KOp::kAnd, h, I((int64_t{1} << 30) - 1)), I(int64_t{1} << 29));
    const Reg x = Mul(b_.Cast(rest, f64), D(6.28318530717958647692528676656 * 0x1p-32));
    const Reg z = Mul(x, x);
    Reg c = D(1 / Factorial(16)), s = D(1 / Factorial(17));
    for (int n = 14; n >= 0; n -= 2) c = Add(Mul(c, z), D((n % 4 == 0 ? 1 : -1) / Factorial(n)));
    for (int n = 15; n >= 1; n -= 2) s = Add(Mul(s, z), D((n % 4 == 1 ? 1 : -1) / Factorial(n)));
    s = Mul(s, x);
    const Reg odd = Bin(KOp::kEq, Bin(KOp::kAnd, quarter, I(1)), I(1));
    const Reg value = b_.Select(odd, s, c);
    const Reg negative = Bin(KOp::kOr, Bin(KOp::kEq, quarter, I(1)), Bin(KOp::kEq, quarter, I(2)));
    return b_.Select(negative, b_.Un(KOp::kNeg, value), value);
  }

  KernelBuilder& b_;
  int lanes_;
  Reg index_;
};

}  // namespace

Reg EmitRandomElement(KernelBuilder& b, const ir::Node& n, Reg index) {
  Philox philox(b, index);
  const std::array<Reg, 4> words = philox.Words(static_cast<uint64_t>(n.attrs.seed.value_or(0)));
  return n.attrs.distribution == "uniform" ? philox.Uniform(words, n.type.dtype)
                                           : philox.Normal(words, n.type.dtype);
}

}  // namespace lathe::compiler
