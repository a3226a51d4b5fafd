#pragma once
// Reads and writes .npz containers of .npy arrays (NumPy format 1.0 and 2.0, C order, little
// endian, the element types that Lathe has).
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lathe/tensor.h"

namespace lathe::bench {

using Arrays = std::map<std::string, Tensor>;

// Errors name file, array and what was found. Sizes are checked before anything is allocated.
absl::StatusOr<Arrays> ReadNpz(const std::string& path);
absl::Status WriteNpz(const std::string& path, const Arrays& arrays);

// One .npy image. `name` is for errors.
absl::StatusOr<Tensor> ParseNpy(const std::string& bytes, const std::string& name);
std::string FormatNpy(const Tensor& t);

}  // namespace lathe::bench
