#pragma once
// NVRTC: CUDA programs to cubins, without a GPU. The library is opened at run time; nothing is
// linked, and a machine without it runs everything else.
//
//   absl::StatusOr<std::shared_ptr<Nvrtc>> nvrtc = Nvrtc::Open();
//   absl::StatusOr<Cubin> cubin = (*nvrtc)->Compile(CudaProgram({text}), "sm_90");
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lathe::cuda {

// The architectures that kernels are made for.
inline constexpr const char* kArchitectures[] = {"sm_80", "sm_90", "sm_100", "sm_120"};

struct KernelResources {
  std::string name;
  int registers = 0;                                                     // of a thread
  int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;  // of a thread
};

struct Cubin {
  std::string arch;
  std::string bytes;                     // an ELF file
  std::vector<KernelResources> kernels;  // as ptxas reports them
  std::string log;
};

// Reads what `ptxas -v` says of each kernel.
std::vector<KernelResources> ParseResources(const std::string& log);

// Thread-safe: programs are compiled independently.
class Nvrtc {
 public:
  // `path`: the library's file, or "" for the usual names and folders. Unavailable, naming what was
  // tried, if there is none.
  static absl::StatusOr<std::shared_ptr<Nvrtc>> Open(const std::string& path = "");
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  // InvalidArgument with the compiler's log if the program is wrong.
  absl::StatusOr<Cubin> Compile(const std::string& program, const std::string& arch);

  int major() const { return major_; }
  int minor() const { return minor_; }
  int64_t compiles() const { return compiles_; }
  int64_t compiles_in_calls() const { return in_calls_; }  // made inside of a call

 private:
  struct Api;
  Nvrtc() = default;
  std::unique_ptr<Api> api_;
  int major_ = 0, minor_ = 0;
  std::atomic<int64_t> compiles_{0}, in_calls_{0};
};

}  // namespace lathe::cuda
