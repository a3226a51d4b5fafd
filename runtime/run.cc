#include "runtime/run.h"

#include "absl/strings/str_cat.h"

namespace lathe::rt {

absl::Status KernelFailed(const Version& version, size_t index, const KernelError& error) {
  const KernelStep& kernel = version.program.kernels[index];
  const std::vector<std::string>& texts = kernel.artefact->failures;
  const std::string text = error.code >= 0 && error.code < static_cast<int64_t>(texts.size())
                               ? texts[static_cast<size_t>(error.code)]
                               : absl::StrCat("failure ", error.code);
  return absl::OutOfRangeError(absl::StrCat(text, ": found ", error.value, " at position ",
                                            error.position, ", bound ", error.bound, " (in ",
                                            kernel.label, ")"));
}

absl::Status RunSteps(ThreadPool& pool, ContextState& context) {
  const RunPlan& plan = context.plan();
  const std::vector<Step>& steps = plan.version->program.steps;
  const RunPlan::Kernel* kernels = plan.kernels.data();
  const int32_t* buffers = plan.buffers.data();
  const int64_t* slots = context.slots.data();
  const int64_t* sizes = context.sizes.data();
  void* const* pointers = context.pointers.data();
  void** arguments = context.arguments.data();
  const bool threads = pool.threads() > 1;
  const size_t count = steps.size();
  for (size_t next = 0; next < count;) {
    const Step& step = steps[next++];
    if (step.kind != StepKind::kKernel) [[unlikely]] {
      if (step.kind == StepKind::kJump || slots[step.slot] == 0)
        next = static_cast<size_t>(step.index);
      continue;
    }
    const RunPlan::Kernel& kernel = kernels[step.index];
    const int64_t tasks = slots[kernel.tasks_slot];
    if (tasks <= 0) continue;
    const int32_t* indices = buffers + kernel.first_buffer;
    for (int32_t i = 0; i < kernel.num_buffers; ++i) arguments[i] = pointers[indices[i]];
    KernelError error;
    const int64_t failed =
        threads && tasks > 1 && slots[kernel.work_slot] > kParallelWork
            ? pool.Run(kernel.fn, arguments, sizes + kernel.first_size, tasks, &error)
            : kernel.fn(arguments, sizes + kernel.first_size, 0, tasks, 0, &error);
    if (failed != 0) [[unlikely]] {
      return KernelFailed(*plan.version, static_cast<size_t>(step.index), error);
    }
  }
  return absl::OkStatus();
}

}  // namespace lathe::rt
