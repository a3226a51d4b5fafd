#pragma once
// The system's C++ compiler as a program: text to a shared object. For host_run.cc.
#include <string>

#include "absl/status/statusor.h"

namespace lathe::cuda {

// The path of the shared object in `folder`, made unless one of the same content is there. The
// compiler's own words are in the error, and then the program stays in the folder for reading.
absl::StatusOr<std::string> CompileForHost(const std::string& program, const std::string& compiler,
                                           const std::string& folder, bool* was_cached);

}  // namespace lathe::cuda
