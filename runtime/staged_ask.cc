#include "runtime/staged_ask.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/hint.h"
#include "ir/status_macros.h"
#include "runtime/largest.h"
#include "runtime/staged_memory.h"
#include "runtime/staged_run.h"

namespace lathe::rt {
namespace {

using Extents = std::vector<int64_t>;

// Extents of slots, from where they are written.
class Shapes {
 public:
  Shapes(const StagedState& state, const KnownSizes& sizes) : state_(state), sizes_(sizes) {}

  absl::StatusOr<Extents> Of(const ir::Staged& program, ir::SlotId slot) const {
    for (size_t i = 0; i < program.inputs.size(); ++i)
      if (program.inputs[i] == slot) return Of(program.input_types[i].shape);
    for (size_t i = 0; i < program.stages.size(); ++i) {
      const ir::Stage& stage = program.stages[i];
      const auto it = std::find(stage.outputs.begin(), stage.outputs.end(), slot);
      if (it == stage.outputs.end()) continue;
      const size_t output = static_cast<size_t>(it - stage.outputs.begin());
      absl::StatusOr<Extents> found = OfOutput(program, stage, output);
      if (found.ok()) return found;
      return ir::WithPrefix(found.status(), ir::StageText(program, i));
    }
    return absl::InternalError("nothing writes the slot");
  }

 private:
  absl::StatusOr<Extents> Of(const Shape& shape) const {
    Extents extents;
    std::vector<int64_t> values(sizes_.exact.size(), 0);
    for (Dim d : shape) {
      for (dim::SymbolId s : dim::FreeSymbols(d)) {
        if (s >= values.size() || !sizes_.exact[s]) {
          return absl::FailedPreconditionError(absl::StrCat(
              "the extent ", d.ToString(), " depends on ", state_.entry().plan().symbol_names[s],
              ", which data give: name it among the sizes, or call"));
        }
        values[s] = *sizes_.exact[s];
      }
      LATHE_ASSIGN_OR_RETURN(extents.emplace_back(), dim::Evaluate(d, values));
    }
    return extents;
  }

  absl::StatusOr<Extents> OfOutput(const ir::Staged& program, const ir::Stage& stage,
                                   size_t output) const {
    if (stage.kind == ir::Stage::Kind::kGraph)
      return Of(stage.graph->type(stage.graph->body.results[output]).shape);
    const auto of_body = [&](size_t body, size_t i) {
      const ir::Staged& b = *stage.bodies[body];
      return Of(b, b.outputs[i]);
    };
    if (stage.kind == ir::Stage::Kind::kIf) {
      LATHE_ASSIGN_OR_RETURN(const Extents a, of_body(0, output));
      LATHE_ASSIGN_OR_RETURN(const Extents b, of_body(1, output));
      return Both(a, b, "the sides of the if");
    }
    const size_t first = stage.gives_condition ? 1 : 0;
    const size_t carried = static_cast<size_t>(stage.num_carried);
    LATHE_ASSIGN_OR_RETURN(Extents step, of_body(0, first + output));
    if (output < carried) {
      LATHE_ASSIGN_OR_RETURN(const Extents initial, Of(program, stage.inputs[output]));
      return Both(initial, step, "no step and a step");
    }
    if (stage.gives_condition || stage.trips == ir::kNoSlot || stage.condition != ir::kNoSlot) {
      return absl::FailedPreconditionError(
          "the number of steps depends on data, and with it an extent; call it");
    }
    LATHE_ASSIGN_OR_RETURN(const int64_t trips, Scalar(program, stage.trips));
    step.insert(step.begin(), std::max<int64_t>(trips, 0));
    return step;
  }

  static absl::StatusOr<Extents> Both(const Extents& a, const Extents& b, const char* who) {
    if (a == b) return a;
    return absl::FailedPreconditionError(
        absl::StrCat(who, " give [", absl::StrJoin(a, ", "), "] and [", absl::StrJoin(b, ", "),
                     "]: it depends on data which it is; call it"));
  }

  absl::StatusOr<int64_t> Scalar(const ir::Staged& program, ir::SlotId slot) const {
    KnownSizes exact = sizes_;
    for (size_t s = 0; s < exact.range.size(); ++s)
      if (!exact.exact[s]) exact.range[s] = {};
    for (const ir::Stage& stage : program.stages) {
      const auto it = std::find(stage.outputs.begin(), stage.outputs.end(), slot);
      if (it == stage.outputs.end() || stage.graph == nullptr) continue;
      const size_t output = static_cast<size_t>(it - stage.outputs.begin());
      const auto value =
          ScalarOf(*stage.graph, stage.graph->body.results[output], exact, /*exactly=*/true);
      if (value) return *value;
    }
    return absl::FailedPreconditionError("the number of steps depends on data; call it");
  }

  const StagedState& state_;
  const KnownSizes& sizes_;
};

absl::StatusOr<StagedPeak> PeakAt(const StagedState& state, const KnownSizes& sizes) {
  absl::StatusOr<StagedPeak> peak;
  state.entry().WhileNothingBuilds([&] { peak = PeakOf(state, sizes); });
  return peak;
}

absl::StatusOr<int64_t> Total(const StagedPeak& peak) {
  int64_t total = 0;
  if (__builtin_add_overflow(peak.arena, peak.values, &total) || total == INT64_MAX)
    return absl::OutOfRangeError("the bound of arena and values passes 64 bits");
  return total;
}

}  // namespace

absl::StatusOr<std::vector<Extents>> OutputShapes(const StagedState& state, const Sizes& sizes) {
  LATHE_ASSIGN_OR_RETURN(const KnownSizes known, state.Known(sizes));
  const ir::Staged& program = state.program();
  std::vector<Extents> shapes;
  absl::Status failed;
  state.entry().WhileNothingBuilds([&] {
    for (size_t i = 0; failed.ok() && i < program.outputs.size(); ++i) {
      absl::StatusOr<Extents> found = Shapes(state, known).Of(program, program.outputs[i]);
      if (found.ok()) {
        shapes.push_back(*std::move(found));
      } else {
        failed = ir::WithPrefix(found.status(), absl::StrCat("output ", program.output_names[i]));
      }
    }
  });
  if (!failed.ok()) return failed;
  return shapes;
}

absl::StatusOr<int64_t> PeakBytes(const StagedState& state, const Sizes& sizes) {
  LATHE_ASSIGN_OR_RETURN(const KnownSizes known, state.Known(sizes));
  LATHE_ASSIGN_OR_RETURN(const StagedPeak peak, PeakAt(state, known));
  return Total(peak);
}

absl::StatusOr<int64_t> Largest(const StagedState& state, const std::string& symbol,
                                const Sizes& others, int64_t bytes) {
  const std::vector<std::string>& names = state.entry().plan().symbol_names;
  const auto it = std::find(names.begin(), names.end(), symbol);
  if (it == names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("function ", state.program().name, " has no size named ", symbol));
  }
  const size_t s = static_cast<size_t>(it - names.begin());
  const FunctionState* of = &state.entry();
  for (const std::shared_ptr<FunctionState>& f : state.functions())
    if (of->plan().unused[s] && !f->plan().unused[s]) of = f.get();
  return LargestBy(of->domains()[s], symbol, others, bytes,
                   [&](const Sizes& sizes) { return PeakBytes(state, sizes); });
}

absl::StatusOr<MemoryAnswer> CouldExceed(const StagedState& state, int64_t bytes) {
  MemoryAnswer answer;
  const absl::StatusOr<StagedPeak> peak = PeakAt(state, state.KnownByFacts());
  if (!peak.ok()) {
    for (const std::shared_ptr<FunctionState>& f : state.functions())
      if (f->table() == nullptr) return peak.status();  // before prepare
    answer.hint = std::string(peak.status().message());
    return answer;
  }
  LATHE_ASSIGN_OR_RETURN(const int64_t total, Total(*peak));
  answer.formula =
      absl::StrCat("at most ", peak->values, " bytes of values and ", peak->arena, " of arena");
  if (total > bytes) {
    answer.hint = absl::StrCat("the bound over all sizes is ", total, " bytes");
    return answer;
  }
  answer.verdict = MemoryAnswer::Verdict::kNo;
  for (const std::shared_ptr<FunctionState>& f : state.functions()) {
    for (const FunctionState::FactText& fact : f->facts()) {
      const bool known =
          std::find(answer.facts.begin(), answer.facts.end(), fact.claim) != answer.facts.end();
      if (!known) answer.facts.push_back(fact.claim);
    }
  }
  return answer;
}

absl::Status Reserve(const StagedState& state, ContextState& context, const Sizes& sizes) {
  LATHE_ASSIGN_OR_RETURN(const KnownSizes known, state.Known(sizes));
  LATHE_ASSIGN_OR_RETURN(const StagedPeak peak, PeakAt(state, known));
  const EngineState& engine = *state.engine();
  if (peak.arena > engine.options.max_arena_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a call of ", state.program().name, " may need ", peak.arena,
        " bytes of arena, more than max_arena_bytes = ", engine.options.max_arena_bytes));
  }
  if (engine.options.poison_values) return absl::OkStatus();  // then there is no arena
  Block& arena = state.ContextOf(context).arena;
  LATHE_RETURN_IF_ERROR(arena.Grow(peak.arena, state.engine()->allocator));
  arena.Touch();
  return absl::OkStatus();
}

}  // namespace lathe::rt
