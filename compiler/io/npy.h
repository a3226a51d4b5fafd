#pragma once
// Reads and writes .npy arrays: NumPy's format 1.0, 2.0 and 3.0, little endian, in C or Fortran
// order, of the element types that NumPy and Lathe share. Errors name
// file, array and what was found. A file's data is mapped where it is in C order.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/io/arrays.h"

namespace lathe::io {

absl::StatusOr<Tensor> ReadNpy(const std::string& path, const ArrayLimits& limits = {});
// The image in `bytes`, which `owner` keeps alive. `name` is for errors.
absl::StatusOr<Tensor> ParseNpy(absl::Span<const char> bytes, std::shared_ptr<void> owner,
                                const std::string& name, const ArrayLimits& limits = {});

// Unimplemented for bf16.
absl::StatusOr<std::string> FormatNpy(const Tensor& t);
absl::Status WriteNpy(const std::string& path, const Tensor& t);

// For npz.cc: what stands before the data.
struct NpyHeader {
  DType dtype = DType::kF32;
  bool fortran = false;
  std::vector<int64_t> shape;
  int64_t num_bytes = 0;  // of the data
};
inline constexpr size_t kNpyPrefixBytes = 12;  // enough to know the header's length
// Bytes before the data, by the first kNpyPrefixBytes of the image (fewer: an error).
absl::StatusOr<size_t> NpyDataOffset(absl::Span<const char> prefix);
// `bytes` are those before the data.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const char> bytes, const ArrayLimits& limits);
// The array in C order: `t` holds the elements as they stood, in the header's order.
Tensor InCOrder(const NpyHeader& header, Tensor t);
// Of a tensor with the extents as they vary slowest to fastest in memory.
std::vector<int64_t> StoredShape(const NpyHeader& header);

}  // namespace lathe::io
