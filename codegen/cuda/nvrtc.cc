#include "codegen/cuda/nvrtc.h"

#include <glob.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/cuda/shared_library.h"
#include "runtime/artefact.h"

namespace lathe::cuda {

namespace {

// The part of nvrtc.h that is used.
using Program = struct ProgramObject*;
using Result = int;  // 0: success

// Names by which loaders know the library, then files of toolkits, the newest first.
std::vector<std::string> Candidates() {
  std::vector<std::string> names = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"};
  glob_t found;
  if (glob("/usr/local/cuda*/lib64/libnvrtc.so*", 0, nullptr, &found) == 0) {
    std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    std::sort(files.rbegin(), files.rend());
    names.insert(names.end(), files.begin(), files.end());
  } else {
    names.push_back("/usr/local/cuda/lib64/libnvrtc.so");
  }
  globfree(&found);
  return names;
}

}  // namespace

struct Nvrtc::Api {
  const char* (*error_string)(Result);
  Result (*version)(int* major, int* minor);
  Result (*create)(Program*, const char* text, const char* name, int num_headers,
                   const char* const* headers, const char* const* header_names);
  Result (*destroy)(Program*);
  Result (*compile)(Program, int num_options, const char* const* options);
  Result (*log_size)(Program, size_t*);
  Result (*log)(Program, char*);
  Result (*cubin_size)(Program, size_t*);
  Result (*cubin)(Program, char*);

  absl::Status Find(void* library) {
    absl::Status s = FindFunction(library, "nvrtcGetErrorString", &error_string);
    if (s.ok()) s = FindFunction(library, "nvrtcVersion", &version);
    if (s.ok()) s = FindFunction(library, "nvrtcCreateProgram", &create);
    if (s.ok()) s = FindFunction(library, "nvrtcDestroyProgram", &destroy);
    if (s.ok()) s = FindFunction(library, "nvrtcCompileProgram", &compile);
    if (s.ok()) s = FindFunction(library, "nvrtcGetProgramLogSize", &log_size);
    if (s.ok()) s = FindFunction(library, "nvrtcGetProgramLog", &log);
    if (s.ok()) s = FindFunction(library, "nvrtcGetCUBINSize", &cubin_size);
    if (s.ok()) s = FindFunction(library, "nvrtcGetCUBIN", &cubin);
    return s;
  }

  std::string Log(Program program) const {
    size_t size = 0;
    if (log_size(program, &size) != 0 || size <= 1) return "";
    std::string text(size, '\0');
    log(program, text.data());
    text.resize(size - 1);  // without the terminator
    return text;
  }
};

std::vector<KernelResources> ParseResources(const std::string& log) {
  std::vector<KernelResources> kernels;
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    const std::string text(line);
    const size_t entry = text.find("Compiling entry function '");
    if (entry != std::string::npos) {
      const size_t begin = text.find('\'', entry) + 1;
      kernels.push_back({text.substr(begin, text.find('\'', begin) - begin)});
    }
    if (kernels.empty()) continue;
    KernelResources& k = kernels.back();
    long long stack = 0, stores = 0, loads = 0;
    if (std::sscanf(text.c_str(), " %lld bytes stack frame, %lld bytes spill stores, %lld", &stack,
                    &stores, &loads) == 3) {
      k.stack_bytes = stack;
      k.spill_store_bytes = stores;
      k.spill_load_bytes = loads;
    }
    if (const size_t used = text.find("Used "); used != std::string::npos) {
      std::sscanf(text.c_str() + used, "Used %d registers", &k.registers);
    }
  }
  return kernels;
}

absl::StatusOr<std::shared_ptr<Nvrtc>> Nvrtc::Open(const std::string& path) {
  absl::StatusOr<void*> library =
      OpenLibrary("NVRTC", path.empty() ? Candidates() : std::vector<std::string>{path});
  if (!library.ok()) return library.status();
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc);
  nvrtc->api_ = std::make_unique<Api>();
  if (absl::Status s = nvrtc->api_->Find(*library); !s.ok()) return s;
  if (const Result r = nvrtc->api_->version(&nvrtc->major_, &nvrtc->minor_); r != 0) {
    return absl::UnavailableError(
        absl::StrCat("NVRTC doesn't tell its version: ", nvrtc->api_->error_string(r)));
  }
  return nvrtc;
}

Nvrtc::~Nvrtc() = default;

absl::StatusOr<Cubin> Nvrtc::Compile(const std::string& program, const std::string& arch) {
  ++compiles_;
  if (rt::InCallScope::Active()) ++in_calls_;
  Program p = nullptr;
  if (const Result r = api_->create(&p, program.c_str(), "lathe.cu", 0, nullptr, nullptr); r != 0) {
    return absl::InternalError(absl::StrCat("nvrtcCreateProgram: ", api_->error_string(r)));
  }
  const std::string arch_option = "--gpu-architecture=" + arch;
  const char* options[] = {arch_option.c_str(), "--std=c++17", "--fmad=false",
                           "--ptxas-options=-v"};
  const Result compiled = api_->compile(p, 4, options);
  Cubin cubin{arch, "", {}, api_->Log(p)};
  absl::Status status;
  if (compiled != 0) {
    status =
        absl::InvalidArgumentError(absl::StrCat("NVRTC ", major_, ".", minor_, " for ", arch, ": ",
                                                api_->error_string(compiled), "\n", cubin.log));
  } else {
    size_t size = 0;
    Result r = api_->cubin_size(p, &size);
    cubin.bytes.resize(size);
    if (r == 0) r = api_->cubin(p, cubin.bytes.data());
    if (r != 0)
      status = absl::InternalError(absl::StrCat("nvrtcGetCUBIN: ", api_->error_string(r)));
  }
  api_->destroy(&p);
  if (!status.ok()) return status;
  cubin.kernels = ParseResources(cubin.log);
  return cubin;
}

}  // namespace lathe::cuda
