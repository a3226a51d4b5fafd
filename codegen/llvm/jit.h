#pragma once
// Machine code in this process: object files linked by ORC (JITLink), one JITDylib each. Internal
// to codegen/llvm. LoadedCode frees its memory when it goes; it holds the Jit, so the order in
// which compiler and artefacts are destroyed doesn't matter. Thread-safe.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

namespace lathe::llvm_target {

class LoadedCode;

class Jit : public std::enable_shared_from_this<Jit> {
 public:
  static absl::StatusOr<std::shared_ptr<Jit>> Create();

  // Links `object` against `imports` (symbol, address) and looks `symbol` up.
  absl::StatusOr<std::unique_ptr<LoadedCode>> Load(
      std::unique_ptr<llvm::MemoryBuffer> object, const std::string& symbol,
      const std::vector<std::pair<std::string, void*>>& imports);

 private:
  friend class LoadedCode;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::atomic<int64_t> next_id_{0};
};

class LoadedCode {
 public:
  ~LoadedCode();
  void* address() const { return address_; }
  int64_t bytes() const { return bytes_; }  // of the sections that are loaded

 private:
  friend class Jit;
  LoadedCode(std::shared_ptr<Jit> jit, llvm::orc::JITDylib* dylib) : jit_(jit), dylib_(dylib) {}
  std::shared_ptr<Jit> jit_;
  llvm::orc::JITDylib* dylib_;
  void* address_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace lathe::llvm_target
