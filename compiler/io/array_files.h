#pragma once
// Reads and writes files of named arrays in the format that their extension tells: .npz and
// .safetensors, or .npy, whose one array is named after the file.
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/io/arrays.h"

namespace lathe::io {

// InvalidArgument for another extension; otherwise the errors of the format's reader.
absl::StatusOr<Arrays> ReadArrays(const std::string& path);

// .npz, or .npy for one array; InvalidArgument for anything else.
absl::Status WriteArrays(const std::string& path, const Arrays& arrays);

}  // namespace lathe::io
