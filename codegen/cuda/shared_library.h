#pragma once
// Libraries that are opened at run time.
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lathe::cuda {

// The handle of the first name that opens, kept open for the life of the process. Unavailable, with
// `what` and each name's reason, if none does.
absl::StatusOr<void*> OpenLibrary(const std::string& what, const std::vector<std::string>& names);

// Sets *function to the symbol; Unavailable if the library lacks it.
absl::Status FindSymbol(void* library, const char* name, void** function);

template <typename Function>
absl::Status FindFunction(void* library, const char* name, Function** function) {
  return FindSymbol(library, name, reinterpret_cast<void**>(function));
}

}  // namespace lathe::cuda
