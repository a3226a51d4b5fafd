#include "ir/staged_interpreter.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/hint.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

// All of one shape, joined along a new first axis.
absl::StatusOr<Tensor> Stack(const std::vector<Tensor>& steps) {
  std::vector<int64_t> shape = steps.front().shape();
  shape.insert(shape.begin(), static_cast<int64_t>(steps.size()));
  Tensor all(steps.front().dtype(), shape);
  if (!all.ok()) return absl::ResourceExhaustedError("no memory for a scanned output");
  char* to = static_cast<char*>(all.raw());
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].shape() != steps.front().shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("step ", i, " gives [", absl::StrJoin(steps[i].shape(), ", "), "], wanted [",
                       absl::StrJoin(steps.front().shape(), ", "), "]"));
    }
    const size_t bytes = static_cast<size_t>(steps[i].num_bytes());
    if (bytes != 0) std::memcpy(to + i * bytes, steps[i].Contiguous().raw(), bytes);
  }
  return all;
}

using Tensors = std::vector<Tensor>;

class Runner {
 public:
  explicit Runner(const InterpretOptions& options) : options_(options) { options_.in_f64 = false; }

  absl::StatusOr<Tensors> Run(const Staged& program, Tensors inputs) {
    Tensors slots(static_cast<size_t>(program.num_slots));
    const auto at = [&slots](SlotId s) -> Tensor& { return slots[static_cast<size_t>(s)]; };
    for (size_t i = 0; i < inputs.size(); ++i) at(program.inputs[i]) = std::move(inputs[i]);
    for (size_t i = 0; i < program.stages.size(); ++i) {
      const Stage& stage = program.stages[i];
      Tensors taken;
      for (SlotId s : stage.inputs) taken.push_back(at(s));
      absl::StatusOr<Tensors> results;
      if (stage.kind == Stage::Kind::kGraph) {
        results = Interpret(*stage.graph, taken, options_);
      } else if (stage.kind == Stage::Kind::kIf) {
        const absl::StatusOr<bool> holds = ConditionOf(at(stage.condition));
        if (!holds.ok()) return WithPrefix(holds.status(), StageText(program, i));
        results = Run(*stage.bodies[*holds ? 0 : 1], std::move(taken));
      } else {
        absl::StatusOr<bool> goes = true;
        absl::StatusOr<int64_t> trips = INT64_MAX;
        if (stage.condition != kNoSlot) goes = ConditionOf(at(stage.condition));
        if (!goes.ok()) return WithPrefix(goes.status(), StageText(program, i));
        if (stage.trips != kNoSlot) trips = TripsOf(at(stage.trips));
        if (!trips.ok()) return WithPrefix(trips.status(), StageText(program, i));
        results = Loop(stage, std::move(taken), *goes ? *trips : 0);
      }
      if (!results.ok()) return WithPrefix(results.status(), StageText(program, i));
      for (size_t k = 0; k < results->size(); ++k) at(stage.outputs[k]) = (*results)[k];
    }
    Tensors outputs;
    for (SlotId s : program.outputs) outputs.push_back(at(s));
    return outputs;
  }

 private:
  absl::StatusOr<Tensors> Loop(const Stage& stage, Tensors values, int64_t trips) {
    const size_t carried = static_cast<size_t>(stage.num_carried);
    const size_t first = stage.gives_condition ? 1 : 0;
    const Tensors initial = values;
    std::vector<Tensors> scans(stage.scanned.size());
    bool goes = true;
    for (int64_t step = 0; step < trips && goes; ++step) {
      Tensors taken = {Tensor::Scalar<int64_t>(step)};
      taken.insert(taken.end(), values.begin(), values.end());
      absl::StatusOr<Tensors> given = Run(*stage.bodies[0], std::move(taken));
      if (!given.ok()) return WithPrefix(given.status(), absl::StrCat("step ", step));
      if (stage.gives_condition) {
        LATHE_ASSIGN_OR_RETURN(goes, ConditionOf(given->front()));
      }
      for (size_t i = 0; i < carried; ++i) values[i] = (*given)[first + i];
      for (size_t i = 0; i < scans.size(); ++i) scans[i].push_back((*given)[first + carried + i]);
    }
    Tensors results(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(carried));
    if (!scans.empty() && scans[0].empty()) {
      LATHE_ASSIGN_OR_RETURN(const EmptyScans empty, MakeEmptyScans(*stage.bodies[0], stage));
      Tensors shown;
      for (int i : empty.inputs) shown.push_back(initial[static_cast<size_t>(i)]);
      LATHE_ASSIGN_OR_RETURN(Tensors nothing, Interpret(empty.graph, shown, options_));
      results.insert(results.end(), nothing.begin(), nothing.end());
      return results;
    }
    for (const Tensors& steps : scans) {
      LATHE_ASSIGN_OR_RETURN(results.emplace_back(), Stack(steps));
    }
    return results;
  }

  InterpretOptions options_;
};

}  // namespace

absl::StatusOr<Tensors> Interpret(const Staged& program, absl::Span<const Tensor> inputs,
                                  const InterpretOptions& options) {
  LATHE_ASSIGN_OR_RETURN(const Graph entry, EntryGraph(program));
  LATHE_RETURN_IF_ERROR(Interpret(entry, inputs, options).status());
  LATHE_ASSIGN_OR_RETURN(Tensors outputs,
                         Runner(options).Run(program, Tensors(inputs.begin(), inputs.end())));
  for (Tensor& t : outputs) t = t.Clone();
  return outputs;
}

}  // namespace lathe::ir
