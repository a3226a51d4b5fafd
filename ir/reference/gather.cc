// gather: slices of an operand along one axis, chosen by an index tensor.
#include <cstring>

#include "ir/reference/common.h"
#include "ir/reference/evaluators.h"

namespace lathe::ir {

using namespace reference;  // NOLINT: the evaluators' own helpers

namespace {

constexpr int64_t kOutside = -1;

// The indices, counted from the start; OutOfRange for one outside of [-extent, extent). Of an
// unchecked gather as they are, kOutside in place of those outside.
absl::StatusOr<std::vector<int64_t>> Normalise(const EvalContext& c, const Tensor& indices,
                                               int64_t axis, int64_t extent) {
  std::vector<int64_t> out(static_cast<size_t>(indices.num_elements()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t found =
        indices.dtype() == DType::kI32 ? indices.data<int32_t>()[i] : indices.data<int64_t>()[i];
    if (c.node->attrs.unchecked) {
      out[i] = found < 0 || found >= extent ? kOutside : found;
      continue;
    }
    if (found < -extent || found >= extent) {
      return Error(c, absl::StatusCode::kOutOfRange,
                   absl::StrCat("index ", found, " at position ",
                                ShapeText(IndexOf(static_cast<int64_t>(i), indices.shape())),
                                " is outside of axis ", axis, " of extent ", extent));
    }
    out[i] = found < 0 ? found + extent : found;
  }
  return out;
}

}  // namespace

absl::StatusOr<Tensor> Eval_gather(const EvalContext& c) {
  const Tensor &x = c.operands[0], &indices = c.operands[1];
  if (!IsIndex(indices.dtype())) {
    return InvalidArgument(
        c, absl::StrCat("indices are ", Name(indices.dtype()), ", wanted i32 or i64"));
  }
  const size_t axis = static_cast<size_t>(c.node->attrs.axis.value_or(0));
  const int64_t extent = x.shape()[axis];
  absl::StatusOr<std::vector<int64_t>> rows =
      Normalise(c, indices, static_cast<int64_t>(axis), extent);
  if (!rows.ok()) return rows.status();
  absl::StatusOr<Tensor> result = MakeResult(c);
  if (!result.ok() || result->num_elements() == 0) return result;
  int64_t outer = 1, inner = SizeOf(x.dtype());  // inner in bytes
  for (size_t i = 0; i < axis; ++i) outer *= x.shape()[i];
  for (size_t i = axis + 1; i < x.shape().size(); ++i) inner *= x.shape()[i];
  char* to = result->data<char>();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t row : *rows) {
      if (row != kOutside)  // else it stays 0
        std::memcpy(to, x.data<char>() + (o * extent + row) * inner, static_cast<size_t>(inner));
      to += inner;
    }
  }
  return result;
}

}  // namespace lathe::ir
