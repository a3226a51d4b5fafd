#pragma once
// Notation for elementary functions: registers with operators, constants and Horner's scheme. Only
// for math_*.cc. Every operator is one Kernel IR op with one rounding; `Fma` is the only fused one.
#include <initializer_list>

#include "codegen/kernel/builder.h"

namespace lathe::kernel::math {

struct Val {
  KernelBuilder* b;
  Reg r;
};

inline Val Bin(KOp op, Val x, Val y) { return {x.b, x.b->Bin(op, x.r, y.r)}; }
inline Val operator+(Val x, Val y) { return Bin(KOp::kAdd, x, y); }
inline Val operator-(Val x, Val y) { return Bin(KOp::kSub, x, y); }
inline Val operator*(Val x, Val y) { return Bin(KOp::kMul, x, y); }
inline Val operator/(Val x, Val y) { return Bin(KOp::kDiv, x, y); }
inline Val operator<(Val x, Val y) { return Bin(KOp::kLt, x, y); }
inline Val operator<=(Val x, Val y) { return Bin(KOp::kLe, x, y); }
inline Val operator==(Val x, Val y) { return Bin(KOp::kEq, x, y); }
inline Val operator&(Val x, Val y) { return Bin(KOp::kAnd, x, y); }
inline Val operator|(Val x, Val y) { return Bin(KOp::kOr, x, y); }
inline Val operator^(Val x, Val y) { return Bin(KOp::kXor, x, y); }
inline Val operator<<(Val x, Val y) { return Bin(KOp::kShl, x, y); }
inline Val operator>>(Val x, Val y) { return Bin(KOp::kShr, x, y); }  // logical
inline Val Sar(Val x, Val y) { return Bin(KOp::kSar, x, y); }
inline Val operator-(Val x) { return {x.b, x.b->Un(KOp::kNeg, x.r)}; }
inline Val Abs(Val x) { return {x.b, x.b->Un(KOp::kAbs, x.r)}; }
inline Val Floor(Val x) { return {x.b, x.b->Un(KOp::kFloor, x.r)}; }
inline Val Sqrt(Val x) { return {x.b, x.b->Un(KOp::kSqrt, x.r)}; }
inline Val Fma(Val x, Val y, Val z) { return {x.b, x.b->Fma(x.r, y.r, z.r)}; }
inline Val Select(Val c, Val x, Val y) { return {x.b, x.b->Select(c.r, x.r, y.r)}; }
inline Val Cast(Val x, DType to) { return {x.b, x.b->Cast(x.r, to)}; }
inline Val Bitcast(Val x, DType to) { return {x.b, x.b->Bitcast(x.r, to)}; }

// min(x, c) and max(x, c) for a constant c that isn't a zero, NaN passing through: one instruction,
// where kMin and kMax with their rules for zeros need several.
inline Val AtMost(Val x, Val c) { return Select(c < x, c, x); }
inline Val AtLeast(Val x, Val c) { return Select(x < c, c, x); }

// What the formulas need to know of their float type: f32 or f64.
class Format {
 public:
  explicit Format(Val x) : b_(x.b), type_(x.b->type(x.r)) {}
  bool is_f64() const { return type_.dtype == DType::kF64; }
  DType float_type() const { return type_.dtype; }
  DType int_type() const { return is_f64() ? DType::kI64 : DType::kI32; }
  int64_t mantissa_bits() const { return is_f64() ? 52 : 23; }
  int exponent_bias() const { return is_f64() ? 1023 : 127; }

  Val F(double value) const { return {b_, b_->Float(type_, value)}; }
  Val F(double in_f32, double in_f64) const { return F(is_f64() ? in_f64 : in_f32); }
  Val I(int64_t value) const { return {b_, b_->Int({int_type(), type_.lanes}, value)}; }
  Val I(int64_t in_f32, int64_t in_f64) const { return I(is_f64() ? in_f64 : in_f32); }
  Val ToBits(Val x) const { return Bitcast(x, int_type()); }
  Val FromBits(Val x) const { return Bitcast(x, float_type()); }
  Val SignBit() const { return I(int64_t{1} << 31, INT64_MIN); }

  // x with the sign of `sign` in place of its own; x is not negative.
  Val CopySign(Val x, Val sign) const { return FromBits(ToBits(x) | (ToBits(sign) & SignBit())); }

  // c[0] + x * (c[1] + x * (c[2] + ..)), each step one fma.
  Val Poly(Val x, std::initializer_list<double> c) const {
    const double* p = c.end() - 1;
    Val sum = F(*p);
    while (p != c.begin()) sum = Fma(sum, x, F(*--p));
    return sum;
  }

  // 1.5 * 2^mantissa_bits: adding it rounds a small number to an integer, whose two's complement
  // then stands in the low bits of the sum.
  double magic() const { return is_f64() ? 0x1.8p52 : 0x1.8p23; }

 private:
  KernelBuilder* b_;
  KType type_;
};

// fn(x) computed in f64 and rounded once: for functions that are too rare for a version in f32.
template <typename Fn>
Val InF64(Val x, Fn fn) {
  const Format f(x);
  return f.is_f64() ? fn(x) : Cast(fn(Cast(x, DType::kF64)), f.float_type());
}

Val Exp(Val x);
Val ExpNonPositive(Val x);
Val Exp2(Val x);
// 2^(x + tail) for a `tail` that is tiny beside the spacing of whole numbers.
Val Exp2(Val x, Val tail);
Val Expm1(Val x);
Val Sigmoid(Val x);
Val Silu(Val x);
Val Tanh(Val x);
Val Sinh(Val x);
Val Cosh(Val x);
Val Log(Val x);
Val Log2(Val x);
Val Log1p(Val x);
Val Asinh(Val x);
Val Acosh(Val x);
Val Atanh(Val x);
Val Erf(Val x);
Val Gelu(Val x);
Val Sin(Val x);
Val Cos(Val x);
Val Tan(Val x);
Val Asin(Val x);
Val Acos(Val x);
Val Atan(Val x);
Val Atan2(Val y, Val x);
Val Rem(Val x, Val y);         // floats
Val Mod(Val x, Val y);         // floats
Val Pow(Val x, Val y);         // floats
Val IntegerPow(Val x, Val y);  // integers

}  // namespace lathe::kernel::math
