#pragma once
// Reads and writes .npz containers, zip files of .npy arrays whose members are stored or deflated.
// Errors name file, array and what was found; what a member claims to hold is checked before room
// is made for it.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/io/arrays.h"

namespace lathe::io {

// By member name, without ".npy".
absl::StatusOr<Arrays> ReadNpz(const std::string& path, const ArrayLimits& limits = {});
// The container in `bytes`, which are only needed during the call. `name` is for errors.
absl::StatusOr<Arrays> ParseNpz(absl::Span<const char> bytes, const std::string& name,
                                const ArrayLimits& limits = {});

// Stored, not deflated; the file appears whole or not at all. Unimplemented for bf16.
absl::Status WriteNpz(const std::string& path, const Arrays& arrays);

}  // namespace lathe::io
