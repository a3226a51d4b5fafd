#pragma once
// The host program of a version: data, run by a small loop (runtime/run.cc). A dim program computes
// every size, offset and count; steps call kernels, jump, and check.
//
// Who makes it: the compiler's host-program builder. It is immutable once made and shared by
// threads.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/dim/dim_program.h"
#include "lathe/dtype.h"
#include "runtime/artefact.h"

namespace lathe::rt {

inline constexpr int64_t kArenaAlignment = 64;

// A sum beyond 64 bits is the largest number, which no limit admits.
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
// What a value of that many bytes takes of an arena.
inline int64_t AlignedBytes(int64_t bytes) {
  return SaturatingAdd(bytes, kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

enum class BufferSource : uint8_t {
  kInput,     // index: input number
  kOutput,    // index: output number
  kArena,     // index: into `values`
  kConstant,  // index: into `constants`
};

struct BufferRef {
  BufferSource source = BufferSource::kInput;
  int32_t index = 0;
};

// A value in the arena. Lifetimes are step numbers, inclusive.
struct ArenaValue {
  std::string label;
  int32_t bytes_slot = 0, offset_slot = 0;
  int32_t first_step = 0, last_step = 0;
};

struct Constant {
  std::shared_ptr<const void> data;
  int64_t bytes = 0;
  std::string label;
};

struct KernelStep {
  std::shared_ptr<Artefact> artefact;
  std::vector<BufferRef> buffers;   // in the kernel's order
  std::vector<int32_t> size_slots;  // in the kernel's order
  int32_t tasks_slot = 0;           // number of tasks
  int32_t work_slot = 0;            // estimated ns on one core; decides whether threads take part
  std::string label;                // "matmul %12 + add + gelu"
};

enum class StepKind : uint8_t { kKernel, kJumpIfZero, kJump };

struct Step {
  StepKind kind = StepKind::kKernel;
  int32_t index = 0;  // kKernel: into kernels; jumps: target step
  int32_t slot = 0;   // kJumpIfZero: jumps if slots[slot] == 0
};

struct OutputSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int32_t> shape_slots;
};

struct HostProgram {
  dim::DimProgram dims;  // inputs: the function's symbols in order, then the worker count
  std::vector<Step> steps;
  std::vector<KernelStep> kernels;
  std::vector<ArenaValue> values;
  std::vector<Constant> constants;
  std::vector<OutputSpec> outputs;
  int32_t arena_bytes_slot = 0;   // bytes of the whole arena, worker scratch included
  int32_t output_bytes_slot = 0;  // sum of the outputs' bytes, each rounded up to the alignment
};

}  // namespace lathe::rt
