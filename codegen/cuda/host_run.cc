#include "codegen/cuda/host_run.h"

#include <dlfcn.h>

#include <functional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "codegen/cuda/cuda_text.h"
#include "codegen/cuda/host_compiler.h"
#include "codegen/cuda/host_warp.h"
#include "codegen/cuda/text_emitter.h"

namespace lathe::cuda {

using kernel::BufferDecl;
using kernel::BufferKind;
using kernel::EvalBuffer;
using kernel::Kernel;

namespace {

std::string EntryName(const std::string& kernel_name) { return kernel_name + "_host"; }

// A function of one signature for all kernels, that hands arguments on.
std::string EntryText(const Kernel& k, const std::string& name) {
  std::string call;
  for (int i = 0; i < k.num_passed_buffers(); ++i) {
    absl::StrAppend(&call, "(", MemoryType(k.buffers[i].dtype), "*)buffers[", i, "], ");
  }
  for (size_t i = 0; i < k.sizes.size(); ++i) absl::StrAppend(&call, "sizes[", i, "], ");
  return absl::StrCat("extern \"C\" void ", EntryName(name),
                      "(void* const* buffers, const lathe_i64* sizes, lathe_i64 tasks, ",
                      "lathe_i64* error) {\n  ", name, "(", call, "tasks, error);\n}\n");
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostModule>> HostModule::Build(
    absl::Span<const Kernel* const> kernels, const HostOptions& options) {
  std::vector<std::string> names, texts;
  absl::flat_hash_set<std::string> seen;
  for (const Kernel* k : kernels) {
    const std::string name = KernelName(*k);
    if (!seen.insert(name).second) continue;
    absl::StatusOr<std::string> text = CudaText(*k);
    if (!text.ok()) return text.status();
    texts.push_back(absl::StrCat(*text, EntryText(*k, name)));
    names.push_back(name);
  }
  std::unique_ptr<HostModule> module(new HostModule);
  absl::StatusOr<std::string> file =
      CompileForHost(HostProgram(texts), options.compiler, options.folder, &module->was_cached_);
  if (!file.ok()) return file.status();
  module->library_ = dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module->library_ == nullptr) {
    return absl::InternalError(absl::StrCat("a compiled kernel can't be opened: ", dlerror()));
  }
  module->set_warp_ =
      reinterpret_cast<void (*)(LatheHostWarp*)>(dlsym(module->library_, "lathe_set_warp"));
  for (const std::string& name : names) {
    void* entry = dlsym(module->library_, EntryName(name).c_str());
    if (entry == nullptr || module->set_warp_ == nullptr) {
      return absl::InternalError(absl::StrCat(*file, " has no ", EntryName(name)));
    }
    module->entries_[name] = reinterpret_cast<Entry>(entry);
  }
  return module;
}

HostModule::~HostModule() {
  if (library_ != nullptr) dlclose(library_);
}

absl::Status HostModule::Check(const Kernel& k, absl::Span<const EvalBuffer> buffers,
                               absl::Span<const int64_t> sizes, int64_t warps) const {
  const size_t passed = static_cast<size_t>(k.num_passed_buffers());
  if (buffers.size() != passed || sizes.size() != k.sizes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", k.name, ": ", buffers.size(),
                                                   " buffers and ", sizes.size(), " sizes, wanted ",
                                                   passed, " and ", k.sizes.size()));
  }
  std::vector<int64_t> symbols(static_cast<size_t>(k.dims->num_symbols()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    dim::SymbolId id = 0;
    if (dim::IsSymbol(k.sizes[i], &id)) symbols[id] = sizes[i];
  }
  for (size_t i = 0; i < passed; ++i) {
    const BufferDecl& b = k.buffers[i];
    absl::StatusOr<int64_t> wanted = dim::Evaluate(b.elements, symbols);
    if (!wanted.ok()) return wanted.status();
    if (b.kind == BufferKind::kWorkerScratch) *wanted *= warps;
    if (buffers[i].elements >= *wanted) continue;
    return absl::InvalidArgumentError(absl::StrCat("kernel ", k.name, ": buffer ", b.name, " has ",
                                                   buffers[i].elements, " elements, wanted ",
                                                   *wanted));
  }
  return absl::OkStatus();
}

absl::Status HostModule::Launch(const Kernel& k, absl::Span<const EvalBuffer> buffers,
                                absl::Span<const int64_t> sizes, int64_t tasks,
                                const LaunchShape& shape, rt::KernelError* error) const {
  const auto entry = entries_.find(KernelName(k));
  if (entry == entries_.end()) {
    return absl::NotFoundError(absl::StrCat("kernel ", k.name, " isn't in this module"));
  }
  absl::Status status = Check(k, buffers, sizes, int64_t{shape.blocks} * shape.warps);
  if (!status.ok()) return status;
  std::vector<void*> pointers;
  for (const EvalBuffer& b : buffers) pointers.push_back(b.data);
  int64_t words[kErrorWords] = {};
  const std::function<void()> lane = [&] {
    entry->second(pointers.data(), sizes.data(), tasks, words);
  };
  WarpRunner runner;
  LatheHostWarp& warp = runner.warp();
  warp.block_dim = {static_cast<unsigned>(shape.warps * kWarpLanes), 1, 1};
  warp.grid_dim = {static_cast<unsigned>(shape.blocks), 1, 1};
  set_warp_(&warp);
  bool together = true;
  for (int block = 0; block < shape.blocks; ++block) {
    warp.block = {static_cast<unsigned>(block), 0, 0};
    for (int w = 0; w < shape.warps; ++w) {
      together &= runner.Run(static_cast<unsigned>(w * kWarpLanes), shape.falling_lanes, lane);
    }
  }
  set_warp_(nullptr);
  if (!together) return absl::InternalError(absl::StrCat("kernel ", k.name, ": lanes part ways"));
  if (words[0] == 0) return absl::OkStatus();
  const rt::KernelError found{words[1], words[2], words[3], words[4]};
  if (error != nullptr) *error = found;
  return absl::OutOfRangeError(absl::StrCat(k.failures[static_cast<size_t>(found.code)], ": found ",
                                            found.value, " at position ", found.position,
                                            ", bound ", found.bound));
}

}  // namespace lathe::cuda
