#include "runtime/staged_run.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/hint.h"
#include "ir/status_macros.h"

namespace lathe::rt {
namespace {

using Tensors = std::vector<Tensor>;
using Frame = std::vector<std::optional<Tensor>>;

// What the steps of a loop give for one scanned output, joined: one buffer, of the right size from
// the first step on where the number of steps is known, else doubled when it is full.
class Scan {
 public:
  Scan(EngineState& engine, int64_t exact_steps) : engine_(engine), exact_steps_(exact_steps) {}

  absl::Status Append(const Tensor& t) {
    if (steps_ == 0) {
      dtype_ = t.dtype();
      shape_ = t.shape();
      bytes_ = t.num_bytes();
    } else if (t.shape() != shape_) {
      return absl::InvalidArgumentError(
          absl::StrCat("a scanned value is ", Name(dtype_), "[", absl::StrJoin(t.shape(), ", "),
                       "], wanted [", absl::StrJoin(shape_, ", "), "] as in step 0"));
    }
    if (bytes_ != 0) {
      if (steps_ == capacity_) LATHE_RETURN_IF_ERROR(Grow());
      std::memcpy(static_cast<char*>(block_.get()) + steps_ * bytes_, t.raw(),
                  static_cast<size_t>(bytes_));
    }
    ++steps_;
    return absl::OkStatus();
  }

  // After one step or more.
  Tensor Take() {
    shape_.insert(shape_.begin(), steps_);
    return Tensor::Own(std::move(block_), dtype_, std::move(shape_));
  }

 private:
  absl::Status Grow() {
    const int64_t wanted = exact_steps_ > 0 ? exact_steps_ : std::max<int64_t>(2 * capacity_, 4);
    int64_t bytes = 0;
    if (__builtin_mul_overflow(wanted, bytes_, &bytes)) bytes = INT64_MAX;
    LATHE_ASSIGN_OR_RETURN(std::shared_ptr<void> block, AllocateValue(engine_, bytes));
    if (steps_ != 0) std::memcpy(block.get(), block_.get(), static_cast<size_t>(steps_ * bytes_));
    block_ = std::move(block);
    capacity_ = wanted;
    return absl::OkStatus();
  }

  EngineState& engine_;
  const int64_t exact_steps_;  // 0: not known
  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_;
  int64_t bytes_ = 0, steps_ = 0, capacity_ = 0;
  std::shared_ptr<void> block_;
};

class Runner {
 public:
  Runner(const StagedState& state, StagedContext& context) : state_(state), context_(context) {}

  // Nests no deeper than the verifier lets bodies nest.
  absl::StatusOr<Tensors> Run(int number, Tensors inputs) {
    const StagedCode& code = state_.codes()[static_cast<size_t>(number)];
    Frame& frame = context_.frames[static_cast<size_t>(number)];
    struct Clear {  // nothing stays behind, however the run ends
      ~Clear() {
        for (std::optional<Tensor>& slot : frame) slot.reset();
      }
      Frame& frame;
    } clear{frame};
    for (size_t i = 0; i < inputs.size(); ++i)
      At(frame, code.program->inputs[i]) = std::move(inputs[i]);
    inputs.clear();
    for (ir::SlotId s : code.unused_inputs) At(frame, s).reset();
    for (const StagedCode::Step& step : code.steps) {
      absl::StatusOr<Tensors> results = RunStep(step, frame);
      if (!results.ok()) return ir::WithPrefix(results.status(), step.text);
      for (size_t i = 0; i < results->size(); ++i)
        At(frame, step.stage->outputs[i]) = std::move((*results)[i]);
      for (ir::SlotId s : step.dies) At(frame, s).reset();
    }
    Tensors outputs;
    for (ir::SlotId s : code.program->outputs) outputs.push_back(*At(frame, s));
    return outputs;
  }

 private:
  static std::optional<Tensor>& At(Frame& frame, ir::SlotId slot) {
    return frame[static_cast<size_t>(slot)];
  }

  absl::StatusOr<Tensors> RunStep(const StagedCode::Step& step, Frame& frame) {
    const ir::Stage& stage = *step.stage;
    bool holds = true;
    int64_t trips = INT64_MAX;
    if (stage.condition != ir::kNoSlot) {
      LATHE_ASSIGN_OR_RETURN(holds, ir::ConditionOf(*At(frame, stage.condition)));
    }
    if (stage.trips != ir::kNoSlot) {
      LATHE_ASSIGN_OR_RETURN(trips, ir::TripsOf(*At(frame, stage.trips)));
    }
    Tensors inputs;
    inputs.reserve(stage.inputs.size());
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
      std::optional<Tensor>& slot = At(frame, stage.inputs[i]);
      if (step.moves[i]) {
        inputs.push_back(*std::exchange(slot, std::nullopt));
      } else {
        inputs.push_back(*slot);
      }
    }
    switch (stage.kind) {
      case ir::Stage::Kind::kGraph:
        return Call(step.function, inputs);
      case ir::Stage::Kind::kIf:
        return Run(step.bodies[holds ? 0 : 1], std::move(inputs));
      case ir::Stage::Kind::kLoop:
        return Loop(step, std::move(inputs), holds ? trips : 0);
    }
    return absl::InternalError("a stage of no known kind");
  }

  absl::StatusOr<Tensors> Call(int number, absl::Span<const Tensor> inputs) {
    StagedContext::Worker& worker = context_.workers[static_cast<size_t>(number)];
    std::swap(worker.context.arena, context_.arena);
    if (worker.placed_in != worker.context.arena.data) worker.context.placed = false;
    absl::StatusOr<Tensors> results =
        state_.functions()[static_cast<size_t>(number)]->CallIn(inputs, worker.context);
    worker.placed_in = worker.context.arena.data;
    std::swap(worker.context.arena, context_.arena);
    return results;
  }

  absl::StatusOr<Tensors> Loop(const StagedCode::Step& step, Tensors values, int64_t trips) {
    const ir::Stage& stage = *step.stage;
    if (trips <= 0) return WithoutSteps(step, std::move(values));
    const size_t carried = static_cast<size_t>(stage.num_carried);
    const size_t first = stage.gives_condition ? 1 : 0;
    const bool exact = stage.trips != ir::kNoSlot && !stage.gives_condition;
    std::vector<Scan> scans(stage.scanned.size(), Scan(*state_.engine(), exact ? trips : 0));
    bool goes = true;
    for (int64_t i = 0; i < trips && goes; ++i) {
      Tensors inputs;
      inputs.reserve(values.size() + 1);
      inputs.push_back(Tensor::Scalar<int64_t>(i));
      for (size_t v = 0; v < values.size(); ++v) {
        if (v < carried) {
          inputs.push_back(std::move(values[v]));
        } else {
          inputs.push_back(values[v]);
        }
      }
      absl::StatusOr<Tensors> given = Run(step.bodies[0], std::move(inputs));
      if (!given.ok()) return ir::WithPrefix(given.status(), absl::StrCat("step ", i));
      if (stage.gives_condition) {
        LATHE_ASSIGN_OR_RETURN(goes, ir::ConditionOf(given->front()));
      }
      for (size_t v = 0; v < carried; ++v) values[v] = std::move((*given)[first + v]);
      for (size_t s = 0; s < scans.size(); ++s) {
        absl::Status appended = scans[s].Append((*given)[first + carried + s]);
        if (!appended.ok()) return ir::WithPrefix(appended, absl::StrCat("step ", i));
      }
    }
    values.resize(carried);
    for (Scan& scan : scans) values.push_back(scan.Take());
    return values;
  }

  absl::StatusOr<Tensors> WithoutSteps(const StagedCode::Step& step, Tensors values) {
    Tensors empty;
    if (step.empty_scans >= 0) {
      Tensors inputs;
      for (int i : step.empty_inputs) inputs.push_back(values[static_cast<size_t>(i)]);
      LATHE_ASSIGN_OR_RETURN(empty, Call(step.empty_scans, inputs));
    }
    values.resize(static_cast<size_t>(step.stage->num_carried));
    for (Tensor& t : empty) values.push_back(std::move(t));
    return values;
  }

  const StagedState& state_;
  StagedContext& context_;
};

}  // namespace

absl::StatusOr<Tensors> RunStages(const StagedState& state, StagedContext& context,
                                  Tensors inputs) {
  return Runner(state, context).Run(0, std::move(inputs));
}

absl::StatusOr<std::shared_ptr<void>> AllocateValue(EngineState& engine, int64_t bytes) {
  if (bytes > engine.options.max_arena_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a value of ", bytes,
                     " bytes is more than max_arena_bytes = ", engine.options.max_arena_bytes));
  }
  return engine.allocator.Allocate(AlignedBytes(bytes));
}

}  // namespace lathe::rt
