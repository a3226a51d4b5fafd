#include "tests/whole/op_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "ir/visit_dtype.h"

namespace lathe::whole {
namespace {

absl::Status Beyond(int64_t i, double found, double wanted, double wanted64, double bound) {
  return absl::InternalError(absl::StrCat("element ", i, ": found ", found, ", wanted ", wanted,
                                          ", in float64 ", wanted64, ", bound ", bound));
}

// From one number of the type to the next, beside x; below the least normal number, that of the
// subnormal ones.
double Ulp(DType t, double x) {
  const int digits = t == f64 ? 52 : t == f32 ? 23 : t == f16 ? 10 : 7;
  const int least = t == f64 ? -1022 : t == f16 ? -14 : -126;
  const int exponent = x == 0 || !std::isfinite(x) ? least : std::max(least, std::ilogb(x));
  return std::ldexp(1.0, exponent - digits);
}

// Of the table's "4 ULP or 2^-22 * |x|" (in f32) the two numbers.
struct FunctionBound {
  int ulps = 0;
  double of_x = 0;
};

std::optional<FunctionBound> ReadFunctionBound(const std::string& text) {
  FunctionBound b;
  int power = 0;
  if (!absl::StrContains(text, " ULP")) return std::nullopt;
  const int read = std::sscanf(text.c_str(), "%d ULP or 2^%d * |x|", &b.ulps, &power);
  if (read < 1) return std::nullopt;
  if (read == 2) b.of_x = std::ldexp(1.0, power);
  return b;
}

absl::Status WithinFunctionBound(FunctionBound bound, const Tensor& x, const Tensor& found,
                                 const Tensor& wanted, const Tensor& wanted64) {
  const DType t = wanted.dtype();
  if (found.shape() != wanted.shape() || found.dtype() != t)
    return absl::InternalError("shape or type differ");
  // A narrow result is that of f32, rounded once more. In f64 the reference is libm's, which may be
  // 2 ULP away itself.
  const bool narrow = IsNarrowFloat(t);
  const double ulps = t == f64 ? bound.ulps + 2 : bound.ulps;
  const double of_x = t == f64 ? std::ldexp(bound.of_x, -29) : bound.of_x;
  const double edge = t == f64   ? 0.99 * std::numeric_limits<double>::max()
                      : t == f16 ? 6.5e4
                                 : 0.99 * std::numeric_limits<float>::max();
  for (int64_t i = 0; i < wanted.num_elements(); ++i) {
    const double f = At(found, i), w = At(wanted, i), w64 = At(wanted64, i);
    if ((std::isnan(f) && std::isnan(w)) || f == w) continue;
    const bool one_infinite = std::isinf(f) != std::isinf(w);
    if (one_infinite && std::abs(f) > edge && std::abs(w) > edge && f * w > 0) continue;
    double limit = ulps * Ulp(narrow ? f32 : t, w64);
    if (of_x > 0) limit = std::max(limit, of_x * std::abs(At(x, i)));
    if (narrow) limit += Ulp(t, std::abs(w64) + limit) / 2;
    if (!(std::abs(f - w64) <= limit)) return Beyond(i, f, w, w64, limit);
  }
  return absl::OkStatus();
}

}  // namespace

double At(const Tensor& t, int64_t i) {
  return VisitDType(t.dtype(),
                    [&](auto type) { return static_cast<double>(t.data<decltype(type)>()[i]); });
}

absl::Status WithinBound(const Tensor& found, const Tensor& wanted, const Tensor& wanted64,
                         bool exact) {
  if (exact || !IsFloat(wanted.dtype())) return ir::SameBits(found, wanted);
  if (found.shape() != wanted.shape() || found.dtype() != wanted.dtype())
    return absl::InternalError("shape or type differ");
  // A narrow result is that of f32, rounded: an error of f32 may put it on the other side of a
  // middle, one unit away.
  const DType t = wanted.dtype();
  const double eps = t == f64 ? 0x1p-52 : 0x1p-23;
  const double unit = t == f16 ? 0x1p-10 : t == bf16 ? 0x1p-7 : 0;
  const double edge = t == f16 ? 6e4 : 1e30;
  // What is smaller than the least normal number has its errors: on the way there, too.
  const double least = t == f64 ? std::numeric_limits<double>::min() : 0x1p-126;
  double most = least;
  for (int64_t i = 0; i < wanted.num_elements(); ++i)
    if (std::isfinite(At(wanted, i))) most = std::max(most, std::abs(At(wanted, i)));
  for (int64_t i = 0; i < wanted.num_elements(); ++i) {
    const double f = At(found, i), w = At(wanted, i), w64 = At(wanted64, i);
    if (std::isnan(f) && std::isnan(w)) continue;
    if (f == w) continue;
    // At the edge of the range, one side may round to infinity.
    if (!std::isfinite(w) && std::abs(f) > edge) continue;
    if (!std::isfinite(f) && std::abs(w) > edge) continue;
    const double bound = 8 * std::abs(w - w64) + (8 * eps + unit) * std::max(least, std::abs(w)) +
                         32 * eps * most + (t == f16 ? 0x1p-24 : 0);
    if (!(std::abs(f - w) <= bound)) return Beyond(i, f, w, w64, bound);
  }
  return absl::OkStatus();
}

absl::Status WithinOpBound(ir::Op op, absl::Span<const Tensor> inputs, bool whole,
                           const Tensor& found, const Tensor& wanted, const Tensor& wanted64) {
  const ir::OpInfo& info = ir::Info(op);
  const std::string text(info.bound);
  const bool rounds_once = text == "exact" || text == "correctly rounded";
  // Sums of small whole numbers are exact in every order; a mean divides.
  const bool sums = absl::StrContains(text, "sum |terms|") && !absl::StrContains(text, "/ n");
  if (rounds_once || (sums && whole) || !IsFloat(wanted.dtype()))
    return ir::SameBits(found, wanted);
  if (info.emission == ir::Emission::kElementwise) {
    if (const std::optional<FunctionBound> bound = ReadFunctionBound(text))
      return WithinFunctionBound(*bound, inputs[0], found, wanted, wanted64);
    return absl::InternalError(absl::StrCat("no test reads the bound ", text));
  }
  return WithinBound(found, wanted, wanted64, /*exact=*/false);
}

}  // namespace lathe::whole
