#pragma once
// The CUDA driver, opened at run time: whether this machine has GPUs that could run a cubin.
#include <string>

#include "absl/status/statusor.h"

namespace lathe::cuda {

class CudaDriver {
 public:
  // `path`: the library's file, or "" for libcuda.so.1. Unavailable, saying why, if there is no
  // driver, it doesn't start, or it has no device.
  static absl::StatusOr<CudaDriver> Open(const std::string& path = "");

  int version() const { return version_; }  // 12040: CUDA 12.4
  int device_count() const { return device_count_; }

 private:
  CudaDriver() = default;
  int version_ = 0, device_count_ = 0;
};

}  // namespace lathe::cuda
