#include "runtime/run_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lathe::rt {
namespace {

bool Within(int64_t index, size_t count) {
  return index >= 0 && index < static_cast<int64_t>(count);
}

class PlanBuilder {
 public:
  PlanBuilder(const EntryPlan& entry, const ir::Graph& graph, const Version& version)
      : entry_(entry), graph_(graph), version_(version), program_(version.program) {}

  absl::StatusOr<RunPlan> Build() {
    plan_.version = &version_;
    for (const Constant& c : program_.constants) {
      plan_.constants.push_back(const_cast<void*>(c.data.get()));  // kernels only read it
    }
    plan_.first_input = static_cast<int32_t>(plan_.constants.size());
    plan_.first_output = plan_.first_input + static_cast<int32_t>(entry_.inputs.size());
    plan_.first_value = plan_.first_output + static_cast<int32_t>(program_.outputs.size());
    plan_.num_pointers = plan_.first_value + static_cast<int32_t>(program_.values.size());
    CheckDims();
    CheckOutputs();
    for (const KernelStep& kernel : program_.kernels) AddKernel(kernel);
    CheckSteps();
    CheckValues();
    if (fault_.empty()) return std::move(plan_);
    return absl::InternalError(absl::StrCat("host program of ", graph_.name, ", version \"",
                                            version_.name, "\": ", fault_));
  }

 private:
  void Require(bool holds, const std::string& fault) {
    if (!holds && fault_.empty()) fault_ = fault;
  }
  void RequireSlot(int32_t slot, const std::string& of) {
    Require(Within(slot, static_cast<size_t>(program_.dims.num_slots())),
            absl::StrCat("slot ", slot, " of ", of, " is out of range"));
  }

  void CheckDims() {
    Require(program_.dims.num_inputs() == static_cast<int>(entry_.symbols.size()) + 1,
            absl::StrCat("its dim program has ", program_.dims.num_inputs(), " inputs, wanted ",
                         entry_.symbols.size(), " symbols and the worker count"));
    RequireSlot(program_.arena_bytes_slot, "the arena's bytes");
    RequireSlot(program_.output_bytes_slot, "the outputs' bytes");
  }

  void CheckOutputs() {
    const std::vector<ir::ValueId>& results = graph_.body.results;
    Require(program_.outputs.size() == results.size(),
            absl::StrCat("it has ", program_.outputs.size(), " outputs, wanted ", results.size()));
    for (size_t i = 0; i < program_.outputs.size() && fault_.empty(); ++i) {
      const OutputSpec& spec = program_.outputs[i];
      const ir::ValueType& type = graph_.type(results[i]);
      Require(spec.dtype == type.dtype && spec.shape_slots.size() == type.shape.size(),
              absl::StrCat("output ", i, " differs from ", type.ToString()));
      for (int32_t slot : spec.shape_slots) RequireSlot(slot, "an output's shape");
      plan_.output_headers.push_back(HeaderOf(spec.dtype, spec.shape_slots.size()));
    }
  }

  int32_t PointerOf(const BufferRef& ref, const std::string& label) {
    const auto place = [&](size_t count, int32_t first) {
      Require(Within(ref.index, count), absl::StrCat("a buffer of ", label, " is out of range"));
      return first + ref.index;
    };
    switch (ref.source) {
      case BufferSource::kConstant:
        return place(plan_.constants.size(), 0);
      case BufferSource::kInput:
        return place(entry_.inputs.size(), plan_.first_input);
      case BufferSource::kOutput:
        return place(program_.outputs.size(), plan_.first_output);
      case BufferSource::kArena:
        return place(program_.values.size(), plan_.first_value);
    }
    return 0;
  }

  void AddKernel(const KernelStep& step) {
    RunPlan::Kernel kernel = {};
    Require(step.artefact != nullptr && step.artefact->fn != nullptr,
            absl::StrCat(step.label, " has no code"));
    if (step.artefact != nullptr) kernel.fn = step.artefact->fn;
    kernel.first_buffer = static_cast<int32_t>(plan_.buffers.size());
    kernel.num_buffers = static_cast<int32_t>(step.buffers.size());
    for (const BufferRef& ref : step.buffers) plan_.buffers.push_back(PointerOf(ref, step.label));
    plan_.max_buffers = std::max(plan_.max_buffers, kernel.num_buffers);
    kernel.first_size = static_cast<int32_t>(plan_.size_slots.size());
    for (int32_t slot : step.size_slots) {
      RequireSlot(slot, step.label);
      plan_.size_slots.push_back(slot);
    }
    kernel.tasks_slot = step.tasks_slot;
    kernel.work_slot = step.work_slot;
    RequireSlot(step.tasks_slot, step.label);
    RequireSlot(step.work_slot, step.label);
    plan_.kernels.push_back(kernel);
  }

  void CheckSteps() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      if (step.kind == StepKind::kKernel) {
        Require(Within(step.index, program_.kernels.size()),
                absl::StrCat("step ", i, " has no kernel"));
        continue;
      }
      // Forward only, so that every call ends.
      Require(step.index > static_cast<int64_t>(i) && Within(step.index, program_.steps.size() + 1),
              absl::StrCat("step ", i, " jumps to ", step.index));
      if (step.kind == StepKind::kJumpIfZero) RequireSlot(step.slot, "a jump");
    }
  }

  void CheckValues() {
    for (const ArenaValue& value : program_.values) {
      RequireSlot(value.bytes_slot, value.label);
      RequireSlot(value.offset_slot, value.label);
    }
  }

  const EntryPlan& entry_;
  const ir::Graph& graph_;
  const Version& version_;
  const HostProgram& program_;
  RunPlan plan_;
  std::string fault_;  // the first one
};

}  // namespace

absl::StatusOr<RunPlan> RunPlan::Make(const EntryPlan& entry, const ir::Graph& graph,
                                      const Version& version) {
  return PlanBuilder(entry, graph, version).Build();
}

}  // namespace lathe::rt
