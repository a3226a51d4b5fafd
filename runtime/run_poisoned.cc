#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/run.h"

namespace lathe::rt {
namespace {

constexpr size_t kCanary = 64;  // bytes on either side of a value
constexpr int kPoison = 0xff;   // as a float, a NaN
constexpr unsigned char kCanaryByte = 0xa5;

size_t RoundUp(int64_t bytes) {
  return (static_cast<size_t>(bytes) + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

class PoisonedRun {
 public:
  PoisonedRun(EngineState& engine, ContextState& context)
      : engine_(engine),
        context_(context),
        plan_(context.plan()),
        program_(plan_.version->program),
        blocks_(program_.values.size()) {}
  ~PoisonedRun() {
    for (const BlockOf& b : blocks_) std::free(b.data);
  }

  absl::Status Run() {
    PoisonOutputs();
    for (size_t next = 0; next < program_.steps.size();) {
      const Step& step = program_.steps[next];
      const int32_t number = static_cast<int32_t>(next++);
      if (absl::Status s = Free(number, step, /*before=*/true); !s.ok()) return s;
      if (step.kind != StepKind::kKernel) {
        if (step.kind == StepKind::kJump || context_.slots[static_cast<size_t>(step.slot)] == 0) {
          next = static_cast<size_t>(step.index);
        }
        continue;
      }
      if (absl::Status s = Allocate(number); !s.ok()) return s;
      if (absl::Status s = Kernel(static_cast<size_t>(step.index)); !s.ok()) return s;
      if (absl::Status s = Free(number, step, /*before=*/false); !s.ok()) return s;
    }
    context_.poison_peak_bytes = peak_;
    int64_t seen = engine_.poison_peak_bytes.load();
    while (seen < peak_ && !engine_.poison_peak_bytes.compare_exchange_weak(seen, peak_)) {
    }
    return absl::OkStatus();
  }

 private:
  struct BlockOf {
    char* data = nullptr;  // canary, value, canary
    size_t bytes = 0;      // of the value
  };

  void PoisonOutputs() {
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      int64_t bytes = SizeOf(program_.outputs[i].dtype);
      for (int32_t slot : program_.outputs[i].shape_slots) {
        bytes *= context_.slots[static_cast<size_t>(slot)];
      }
      void* data = context_.pointers[static_cast<size_t>(plan_.first_output) + i];
      if (bytes > 0) std::memset(data, kPoison, static_cast<size_t>(bytes));
      live_ += static_cast<int64_t>(RoundUp(bytes));
    }
    peak_ = live_;
  }

  absl::Status Allocate(int32_t step) {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const ArenaValue& value = program_.values[i];
      if (blocks_[i].data != nullptr || step < value.first_step || step > value.last_step) continue;
      const int64_t bytes = context_.slots[static_cast<size_t>(value.bytes_slot)];
      if (bytes < 0) {
        return absl::InternalError(absl::StrCat("value ", value.label, " has ", bytes, " bytes"));
      }
      BlockOf& b = blocks_[i];
      b.bytes = static_cast<size_t>(bytes);
      b.data =
          static_cast<char*>(std::aligned_alloc(kArenaAlignment, RoundUp(bytes) + 2 * kCanary));
      if (b.data == nullptr) {
        return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
      }
      std::memset(b.data, kCanaryByte, kCanary);
      std::memset(b.data + kCanary, kPoison, b.bytes);
      std::memset(b.data + kCanary + b.bytes, kCanaryByte, kCanary);
      context_.pointers[static_cast<size_t>(plan_.first_value) + i] = b.data + kCanary;
      live_ += static_cast<int64_t>(RoundUp(bytes));
    }
    peak_ = std::max(peak_, live_);
    return absl::OkStatus();
  }

  // Values whose last step is over: before a step those that jumps passed by, after it its own.
  absl::Status Free(int32_t step, const Step& at, bool before) {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      BlockOf& b = blocks_[i];
      const ArenaValue& value = program_.values[i];
      if (b.data == nullptr || value.last_step > step - (before ? 1 : 0)) continue;
      if (!CanariesIntact(b)) {
        const std::string by = at.kind == StepKind::kKernel
                                   ? program_.kernels[static_cast<size_t>(at.index)].label
                                   : "a kernel before it";
        return absl::InternalError(absl::StrCat("memory around value ", value.label, " (", b.bytes,
                                                " bytes) was written, by step ", step, " (", by,
                                                ") or one before it"));
      }
      std::memset(b.data + kCanary, kPoison, b.bytes);
      std::free(b.data);
      b.data = nullptr;
      context_.pointers[static_cast<size_t>(plan_.first_value) + i] = nullptr;
      live_ -= static_cast<int64_t>(RoundUp(static_cast<int64_t>(b.bytes)));
    }
    return absl::OkStatus();
  }

  static bool CanariesIntact(const BlockOf& b) {
    const auto intact = [](const char* at) {
      return std::all_of(at, at + kCanary,
                         [](char c) { return static_cast<unsigned char>(c) == kCanaryByte; });
    };
    return intact(b.data) && intact(b.data + kCanary + b.bytes);
  }

  absl::Status Kernel(size_t index) {
    const RunPlan::Kernel& kernel = plan_.kernels[index];
    const int64_t tasks = context_.slots[static_cast<size_t>(kernel.tasks_slot)];
    if (tasks <= 0) return absl::OkStatus();
    for (int32_t i = 0; i < kernel.num_buffers; ++i) {
      context_.arguments[static_cast<size_t>(i)] = context_.pointers[static_cast<size_t>(
          plan_.buffers[static_cast<size_t>(kernel.first_buffer + i)])];
    }
    KernelError error;
    const int64_t failed =
        engine_.pool.Run(kernel.fn, context_.arguments.data(),
                         context_.sizes.data() + kernel.first_size, tasks, &error);
    return failed == 0 ? absl::OkStatus() : KernelFailed(*plan_.version, index, error);
  }

  EngineState& engine_;
  ContextState& context_;
  const RunPlan& plan_;
  const HostProgram& program_;
  std::vector<BlockOf> blocks_;  // one a value, while it lives
  int64_t live_ = 0, peak_ = 0;
};

}  // namespace

absl::Status RunStepsPoisoned(EngineState& engine, ContextState& context) {
  return PoisonedRun(engine, context).Run();
}

}  // namespace lathe::rt
