#pragma once
// Reads .safetensors files: a header of names, types and places, then the data, which is mapped,
// never copied where it is aligned. As the format wants, the arrays cover the data without hole or
// overlap, and no name comes twice. Errors name file, array and what was found.
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/io/arrays.h"

namespace lathe::io {

struct Safetensors {
  Arrays arrays;
  std::map<std::string, std::string> metadata;
};

absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path,
                                            const ArrayLimits& limits = {});
// The file in `bytes`, which `owner` keeps alive. `name` is for errors.
absl::StatusOr<Safetensors> ParseSafetensors(absl::Span<const char> bytes,
                                             std::shared_ptr<void> owner, const std::string& name,
                                             const ArrayLimits& limits = {});

}  // namespace lathe::io
