#pragma once
// A file's bytes in memory, mapped. The readers of models and arrays call it: what they return
// points into the map and shares its owner, so nothing is copied. Who writes to it changes a page
// of their own, never the file. A file must not be cut short while it is mapped, as for any
// mapping. Only regular files are mapped: a device or a pipe is refused, and is not waited for.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lathe::io {

struct MappedFile {
  std::shared_ptr<void> owner;  // null for an empty file
  absl::Span<const char> bytes;
};

// NotFound, PermissionDenied, InvalidArgument (not a regular file) or ResourceExhausted (more than
// `most_bytes`); the text names the file.
absl::StatusOr<MappedFile> MapFile(const std::string& path, int64_t most_bytes);

// The same for an open descriptor, which is closed. `name` is for errors.
absl::StatusOr<MappedFile> MapDescriptor(int fd, const std::string& name, int64_t most_bytes);

// Makes or replaces a file.
absl::Status WriteWhole(const std::string& path, const std::string& bytes);

// The status of a failed system call: "w.bin: can't be opened: No such file or directory".
absl::Status SystemError(int error, const std::string& name, const std::string& what);

}  // namespace lathe::io
