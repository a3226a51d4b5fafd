#pragma once
// What a call reads of an input's elements before it runs: the values of shape inputs and the
// offsets of ragged dims. The interpreter and the call path share it, so that both admit the same
// calls. Tensors may have any strides and alignment; nothing here allocates but OffsetsError.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "lathe/tensor.h"

namespace lathe::ir {

// Most elements of an input that become sizes.
inline constexpr int64_t kMaxElementDims = 16;

// Row-major element `index` of an i32 or i64 tensor that has it.
int64_t IntegerElement(const Tensor& t, int64_t index);

// The rows of a packed ragged tensor lie at offsets[i]..offsets[i + 1].
struct OffsetsReading {
  int64_t total = 0;    // the last offset
  int64_t longest = 0;  // row; 0 without rows
  int64_t fault = -1;   // the first element that is wrong: not 0 at the start, or below its
                        // predecessor; -1 if all are right, and only then the others mean something
};
// `t` is an i32 or i64 tensor of rank 1 with one element or more.
OffsetsReading ReadOffsets(const Tensor& t);

// InvalidArgument that says which element is wrong, what it is and what was wanted.
absl::Status OffsetsError(const std::string& input, const Tensor& t, const OffsetsReading& reading);

}  // namespace lathe::ir
