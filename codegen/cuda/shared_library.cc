#include "codegen/cuda/shared_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace lathe::cuda {

absl::StatusOr<void*> OpenLibrary(const std::string& what, const std::vector<std::string>& names) {
  std::string tried;
  for (const std::string& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* why = dlerror();
    absl::StrAppend(&tried, tried.empty() ? "" : "; ", name, " (", why ? why : "no reason", ")");
  }
  return absl::UnavailableError(absl::StrCat(what, " can't be opened; tried ", tried));
}

absl::Status FindSymbol(void* library, const char* name, void** function) {
  *function = dlsym(library, name);
  if (*function != nullptr) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the library has no function ", name));
}

}  // namespace lathe::cuda
