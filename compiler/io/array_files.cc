#include "compiler/io/array_files.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "compiler/io/npy.h"
#include "compiler/io/npz.h"
#include "compiler/io/safetensors.h"
#include "ir/status_macros.h"

namespace lathe::io {

absl::StatusOr<Arrays> ReadArrays(const std::string& path) {
  const std::filesystem::path file(path);
  if (file.extension() == ".npz") return ReadNpz(path);
  if (file.extension() == ".npy") {
    LATHE_ASSIGN_OR_RETURN(Tensor t, ReadNpy(path));
    return Arrays{{file.stem().string(), std::move(t)}};
  }
  if (file.extension() == ".safetensors") {
    LATHE_ASSIGN_OR_RETURN(Safetensors read, ReadSafetensors(path));
    return std::move(read.arrays);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": wanted a file .npz, .npy or .safetensors"));
}

absl::Status WriteArrays(const std::string& path, const Arrays& arrays) {
  const std::filesystem::path file(path);
  if (file.extension() == ".npz") return WriteNpz(path, arrays);
  if (file.extension() != ".npy")
    return absl::InvalidArgumentError(absl::StrCat(path, ": wanted a file .npz or .npy"));
  if (arrays.size() != 1)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a file .npy holds one array, found ", arrays.size()));
  return WriteNpy(path, arrays.begin()->second);
}

}  // namespace lathe::io
