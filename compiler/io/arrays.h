#pragma once
// What the readers and writers of array files share: named arrays, the limits that files from
// anyone are held to, and the names that file formats give to Lathe's element types.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lathe/tensor.h"

namespace lathe::io {

using Arrays = std::map<std::string, Tensor>;

// Passing one is a ResourceExhausted that names it. Checked before anything is allocated.
struct ArrayLimits {
  int64_t bytes = int64_t{64} << 30;   // of a file, and of all arrays in it
  int64_t arrays = 1'000'000;          // in a file
  int64_t rank = 16;                   // of an array
  int64_t header_bytes = 100'000'000;  // of a safetensors header
};

// Null where the format has no such type: NumPy has no bf16.
const char* NpyName(DType t);          // "<f4", "|b1"
const char* SafetensorsName(DType t);  // "F32", "BOOL"
// False if Lathe has no such type.
bool FromNpyName(absl::string_view name, DType* t);
bool FromSafetensorsName(absl::string_view name, DType* t);

// Bytes of an array of `shape`; an error if an extent is negative, there are more than
// `limits.rank`, or the product is more than `limits.bytes`.
absl::StatusOr<int64_t> ArrayBytes(DType t, const std::vector<int64_t>& shape,
                                   const ArrayLimits& limits);

// The array over `num_bytes` of memory that `bytes` keeps alive; a copy where they are misaligned,
// or are bools other than 0 and 1. `num_bytes` must be what the shape wants.
absl::StatusOr<Tensor> TensorOver(std::shared_ptr<void> bytes, int64_t num_bytes, DType t,
                                  std::vector<int64_t> shape);
// Makes every byte of a bool tensor 0 or 1.
void NormalizeBools(const Tensor& t);

}  // namespace lathe::io
