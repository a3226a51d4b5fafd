#include "ir/compare.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/attr_text.h"
#include "ir/reference/common.h"
#include "ir/visit_dtype.h"

namespace lathe::ir {
namespace {

using reference::IndexOf;

template <typename T>
bool Same(T a, T b) {
  if (a != a && b != b) return true;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Bools are compared as bytes: one that is neither 0 nor 1 differs.
DType AsStored(DType t) { return t == DType::kBool ? DType::kU8 : t; }

Tensor ToF64(const Tensor& t) {
  Tensor wide(DType::kF64, t.shape());
  const Tensor dense = t.Contiguous();
  const int64_t count = t.num_elements();
  VisitDType(AsStored(t.dtype()), [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < count; ++i)
      wide.data<double>()[i] = static_cast<double>(dense.data<T>()[i]);
  });
  return wide;
}

}  // namespace

absl::Status SameBits(const Tensor& found, const Tensor& wanted) {
  if (!found.ok() || !wanted.ok()) return absl::InvalidArgumentError("a tensor is invalid");
  if (found.dtype() != wanted.dtype() || found.shape() != wanted.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("found ", TypeText(found), ", wanted ", TypeText(wanted)));
  }
  const Tensor a = found.Contiguous(), b = wanted.Contiguous();
  const int64_t count = a.num_elements();
  return VisitDType(AsStored(a.dtype()), [&](auto type) {
    using T = decltype(type);
    int64_t first = -1, differ = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (Same(a.data<T>()[i], b.data<T>()[i])) continue;
      if (first < 0) first = i;
      ++differ;
    }
    if (differ == 0) return absl::OkStatus();
    const auto text = [first](const Tensor& t) {
      return Tensor::View(t.data<T>() + first, t.dtype(), {}).ToString();
    };
    return absl::DataLossError(absl::StrCat(
        TypeText(a), " at [", absl::StrJoin(IndexOf(first, a.shape()), ", "), "]: found ", text(a),
        ", wanted ", text(b), "; ", differ, " of ", count, " elements differ"));
  });
}

double RelativeError(const Tensor& found, const Tensor& wanted) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!found.ok() || !wanted.ok() || found.shape() != wanted.shape()) return kInfinity;
  const Tensor a = ToF64(found), b = ToF64(wanted);
  double error = 0, scale = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    if (Same(x, y) || x == y) {
      if (std::isfinite(y)) scale = std::max(scale, std::fabs(y));
      continue;
    }
    if (!std::isfinite(x) || !std::isfinite(y)) return kInfinity;
    error = std::max(error, std::fabs(x - y));
    scale = std::max(scale, std::fabs(y));
  }
  return error == 0 ? 0 : error / scale;
}

}  // namespace lathe::ir
