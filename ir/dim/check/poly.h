#pragma once
// Polynomials with checked 128-bit coefficients: the checker's arithmetic.
#include "ir/dim/check/proof.h"

namespace lathe::dim::check {

inline constexpr size_t kTermLimit = 20000;  // larger results count as overflow

Poly Constant(Int v);
Poly Variable(int32_t atom);
bool IsConstant(const Poly& p, Int* value);
Int ConstantOf(const Poly& p);  // the constant term

// *sum += k * p * q; false on overflow, and `*sum` is then of no use.
bool AddProduct(const Poly& p, const Poly& q, Int k, Poly* sum);
bool Add(const Poly& p, Int k, Poly* sum);  // *sum += k * p

// Floor division; false if b is 0 or the result doesn't fit.
bool FloorDiv(Int a, Int b, Int* q);

}  // namespace lathe::dim::check
