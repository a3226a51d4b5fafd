#include "codegen/cuda/cuda_driver.h"

#include "absl/strings/str_cat.h"
#include "codegen/cuda/shared_library.h"

namespace lathe::cuda {

namespace {

using Result = int;  // 0: success

struct Api {
  Result (*init)(unsigned flags);
  Result (*driver_version)(int*);
  Result (*device_count)(int*);
  Result (*error_name)(Result, const char**);

  absl::Status Find(void* library) {
    absl::Status s = FindFunction(library, "cuInit", &init);
    if (s.ok()) s = FindFunction(library, "cuDriverGetVersion", &driver_version);
    if (s.ok()) s = FindFunction(library, "cuDeviceGetCount", &device_count);
    if (s.ok()) s = FindFunction(library, "cuGetErrorName", &error_name);
    return s;
  }

  absl::Status Check(const char* function, Result r) const {
    if (r == 0) return absl::OkStatus();
    const char* name = nullptr;
    if (error_name(r, &name) != 0 || name == nullptr) name = "an unknown error";
    return absl::UnavailableError(
        absl::StrCat("the CUDA driver: ", function, " gives ", name, " (", r, ")"));
  }
};

}  // namespace

absl::StatusOr<CudaDriver> CudaDriver::Open(const std::string& path) {
  absl::StatusOr<void*> library =
      OpenLibrary("the CUDA driver", {path.empty() ? std::string("libcuda.so.1") : path});
  if (!library.ok()) return library.status();
  Api api;
  CudaDriver driver;
  absl::Status s = api.Find(*library);
  if (s.ok()) s = api.Check("cuInit", api.init(0));
  if (s.ok()) s = api.Check("cuDriverGetVersion", api.driver_version(&driver.version_));
  if (s.ok()) s = api.Check("cuDeviceGetCount", api.device_count(&driver.device_count_));
  if (!s.ok()) return s;
  if (driver.device_count_ == 0) return absl::UnavailableError("the CUDA driver has no device");
  return driver;
}

}  // namespace lathe::cuda
