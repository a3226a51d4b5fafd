#pragma once
// The LLVM target: compiles Kernel IR to machine code in this process through ORC. No LLVM type
// shows here. Thread-safe.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/kernel/kernel.h"
#include "runtime/artefact.h"

namespace lathe::llvm_target {

// What the schedules may rely on. `vector_bytes` 64 with AVX-512, 32 with AVX2.
struct CpuTarget {
  std::string triple, cpu, features;
  int vector_bytes = 32;
  int num_vector_registers = 16;
  int64_t l1_bytes = 32 << 10, l2_bytes = 512 << 10, l3_bytes = 16 << 20;
  bool has_fma = true;
  bool has_f16c = true;  // conversions between f16 and f32
  bool is_x86 = true;
  bool has_dot4 = false;  // sums of products of bytes, of every vector length up to vector_bytes
  std::string Identity() const;  // part of every artefact key
};

// This machine; narrowed to Avx2Target() by the environment variable LATHE_CPU=avx2, for tests.
CpuTarget HostTarget();
CpuTarget Avx2Target();

enum class Tier { kQuick, kFull };  // fast compile; best code

struct CompileCounters {
  int64_t modules = 0;   // how often ORC was asked to compile, in this process
  int64_t in_calls = 0;  // of these, on a thread inside a call (must stay 0)
  double seconds = 0;
};

class LlvmCompiler {
 public:
  static absl::StatusOr<std::unique_ptr<LlvmCompiler>> Create(const CpuTarget& target);
  ~LlvmCompiler();

  const CpuTarget& target() const;
  // Compiles `k` and, unless this compiler already holds them, its callees (shared by fingerprint).
  // The artefact keeps its machine code alive and frees it when the last reference goes.
  absl::StatusOr<std::shared_ptr<rt::Artefact>> Compile(const kernel::Kernel& k, Tier tier);
  CompileCounters counters() const;

  // Text for people: optimised LLVM IR, and assembly.
  absl::StatusOr<std::string> LlvmIr(const kernel::Kernel& k) const;
  absl::StatusOr<std::string> Assembly(const kernel::Kernel& k) const;

 private:
  LlvmCompiler();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe::llvm_target
