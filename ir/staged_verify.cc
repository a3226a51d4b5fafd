// The verifier of programs in stages. A body is looked at once, however many stages share it: what
// it takes is said by its own input_types.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/staged.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

// What is known of a slot: nothing before it is written; the rank not where the sides of an `if`
// differ.
struct SlotType {
  bool written = false;
  DType dtype = DType::kF32;
  std::optional<int> rank;
};

SlotType TypeOf(const ValueType& type) { return {true, type.dtype, type.rank()}; }

std::string Text(const SlotType& t) {
  return absl::StrCat(Name(t.dtype), t.rank ? absl::StrCat(" of rank ", *t.rank) : "");
}

// What a verified program takes and gives.
struct Interface {
  int height = 0;  // levels of bodies below it
  std::vector<SlotType> inputs, outputs;
};

class Verifier {
 public:
  absl::Status Run(const Staged& program) {
    absl::flat_hash_set<std::string> names;
    for (const std::string& name : program.input_names) {
      if (!names.insert(name).second)
        return Fault(program, absl::StrCat("two inputs have the name '", name, "'"));
    }
    if (program.input_names.size() != program.inputs.size() ||
        program.output_names.size() != program.outputs.size())
      return Fault(program, "wanted a name for each input and output");
    return Check(program, 0).status();
  }

 private:
  static absl::Status Fault(const Staged& program, const std::string& message) {
    return absl::InternalError(absl::StrCat("program '", program.name, "': ", message));
  }

  // One program under way.
  struct Frame {
    const Staged& program;
    int depth;
    size_t stage = 0;
    Interface found;
    std::vector<SlotType> slots;
    absl::Status Fault(const std::string& message) const {
      if (stage >= program.stages.size()) return Verifier::Fault(program, message);
      return Verifier::Fault(program, absl::StrCat(StageText(program, stage), ": ", message));
    }
  };

  absl::StatusOr<const Interface*> Check(const Staged& program, int depth) {
    if (depth > kMaxBlockDepth) {
      return absl::ResourceExhaustedError(
          absl::StrCat("bodies of stages nest deeper than ", kMaxBlockDepth));
    }
    if (const auto it = checked_.find(&program); it != checked_.end()) {
      if (depth + it->second->height <= kMaxBlockDepth) return it->second.get();
      return Check(program, kMaxBlockDepth + 1);
    }
    Frame f{.program = program, .depth = depth};
    f.slots.resize(static_cast<size_t>(std::max(program.num_slots, 0)));
    LATHE_RETURN_IF_ERROR(WriteInputs(f));
    for (; f.stage < program.stages.size(); ++f.stage) LATHE_RETURN_IF_ERROR(CheckStage(f));
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      SlotType type;
      LATHE_RETURN_IF_ERROR(Read(f, program.outputs[i], absl::StrCat("output ", i), &type));
      f.found.outputs.push_back(type);
    }
    if (!program.output_names.empty() && program.output_names.size() != program.outputs.size())
      return f.Fault("output_names are not as many as outputs");
    return checked_.emplace(&program, std::make_unique<Interface>(std::move(f.found)))
        .first->second.get();
  }

  absl::Status WriteInputs(Frame& f) {
    const Staged& p = f.program;
    f.stage = p.stages.size();
    if (p.input_types.size() != p.inputs.size() ||
        (!p.input_names.empty() && p.input_names.size() != p.inputs.size())) {
      return f.Fault(absl::StrCat(p.inputs.size(), " inputs with ", p.input_types.size(),
                                  " types and ", p.input_names.size(), " names"));
    }
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      for (Dim d : p.input_types[i].shape) LATHE_RETURN_IF_ERROR(CheckContext(f, d));
      f.found.inputs.push_back(TypeOf(p.input_types[i]));
      LATHE_RETURN_IF_ERROR(Write(f, p.inputs[i], f.found.inputs.back()));
    }
    f.stage = 0;
    return absl::OkStatus();
  }

  absl::Status CheckContext(const Frame& f, Dim d) {
    const dim::DimContext* context = dim::ContextOf(d);
    return context == nullptr ? absl::OkStatus() : CheckContext(f, context);
  }
  absl::Status CheckContext(const Frame& f, const dim::DimContext* context) {
    if (context_ == nullptr) context_ = context;
    if (context_ == context) return absl::OkStatus();
    return f.Fault("sizes of two programs; wanted one DimContext for all graphs and types");
  }

  static absl::Status Write(Frame& f, SlotId slot, const SlotType& type) {
    if (slot < 0 || slot >= f.program.num_slots)
      return f.Fault(absl::StrCat("writes slot ", slot, " of ", f.program.num_slots));
    SlotType& at = f.slots[static_cast<size_t>(slot)];
    if (at.written)
      return f.Fault(absl::StrCat("writes slot ", slot, ", which is written already"));
    at = type;
    return absl::OkStatus();
  }

  static absl::Status Read(const Frame& f, SlotId slot, const std::string& what, SlotType* type) {
    if (slot < 0 || slot >= f.program.num_slots)
      return f.Fault(absl::StrCat(what, " is slot ", slot, " of ", f.program.num_slots));
    *type = f.slots[static_cast<size_t>(slot)];
    if (type->written) return absl::OkStatus();
    return f.Fault(absl::StrCat(what, " is slot ", slot, ", which nothing has written"));
  }

  static absl::Status Agree(const Frame& f, const std::string& what, const SlotType& found,
                            const SlotType& wanted) {
    const bool ranks = !found.rank || !wanted.rank || *found.rank == *wanted.rank;
    if (found.dtype == wanted.dtype && ranks) return absl::OkStatus();
    return f.Fault(absl::StrCat(what, " is ", Text(found), ", wanted ", Text(wanted)));
  }

  static absl::Status Count(const Frame& f, const std::string& what, size_t found, size_t wanted) {
    if (found == wanted) return absl::OkStatus();
    return f.Fault(absl::StrCat(found, " ", what, ", wanted ", wanted));
  }

  absl::StatusOr<std::vector<SlotType>> Inputs(const Frame& f) {
    std::vector<SlotType> types;
    const std::vector<SlotId>& slots = f.program.stages[f.stage].inputs;
    for (size_t i = 0; i < slots.size(); ++i) {
      LATHE_RETURN_IF_ERROR(Read(f, slots[i], absl::StrCat("input ", i), &types.emplace_back()));
    }
    return types;
  }

  static absl::Status Outputs(Frame& f, const std::vector<SlotType>& types) {
    const std::vector<SlotId>& slots = f.program.stages[f.stage].outputs;
    LATHE_RETURN_IF_ERROR(Count(f, "outputs", slots.size(), types.size()));
    for (size_t i = 0; i < slots.size(); ++i) LATHE_RETURN_IF_ERROR(Write(f, slots[i], types[i]));
    return absl::OkStatus();
  }

  // A scalar, or [1], of that type.
  static absl::Status ReadScalar(const Frame& f, SlotId slot, const std::string& what,
                                 DType dtype) {
    SlotType type;
    LATHE_RETURN_IF_ERROR(Read(f, slot, what, &type));
    return Agree(f, what, type, {true, dtype, type.rank == 1 ? 1 : 0});
  }

  absl::StatusOr<const Interface*> Body(Frame& f, size_t i) {
    const std::shared_ptr<const Staged>& body = f.program.stages[f.stage].bodies[i];
    if (body == nullptr) return f.Fault(absl::StrCat("body ", i, " is null"));
    LATHE_ASSIGN_OR_RETURN(const Interface* found, Check(*body, f.depth + 1));
    f.found.height = std::max(f.found.height, found->height + 1);
    return found;
  }

  absl::Status CheckStage(Frame& f) {
    const Stage& stage = f.program.stages[f.stage];
    LATHE_ASSIGN_OR_RETURN(const std::vector<SlotType> inputs, Inputs(f));
    switch (stage.kind) {
      case Stage::Kind::kGraph:
        return CheckGraph(f, inputs);
      case Stage::Kind::kIf:
        return CheckIf(f, inputs);
      case Stage::Kind::kLoop:
        return CheckLoop(f, inputs);
    }
    return f.Fault("is of no known kind");
  }

  absl::Status CheckGraph(Frame& f, const std::vector<SlotType>& inputs) {
    const Stage& stage = f.program.stages[f.stage];
    if (stage.graph == nullptr) return f.Fault("has no graph");
    const Graph& graph = *stage.graph;
    LATHE_RETURN_IF_ERROR(CheckContext(f, graph.dims()));
    LATHE_RETURN_IF_ERROR(Count(f, "inputs", inputs.size(), graph.inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      LATHE_RETURN_IF_ERROR(
          Agree(f, absl::StrCat("input ", i, " (", graph.ValueName(graph.inputs[i]), ")"),
                inputs[i], TypeOf(graph.type(graph.inputs[i]))));
    }
    std::vector<SlotType> results;
    for (ValueId v : graph.body.results) results.push_back(TypeOf(graph.type(v)));
    return Outputs(f, results);
  }

  absl::Status CheckIf(Frame& f, const std::vector<SlotType>& inputs) {
    const Stage& stage = f.program.stages[f.stage];
    LATHE_RETURN_IF_ERROR(Count(f, "bodies", stage.bodies.size(), 2));
    LATHE_RETURN_IF_ERROR(ReadScalar(f, stage.condition, "the condition", DType::kBool));
    std::vector<SlotType> results;
    for (size_t side = 0; side < 2; ++side) {
      LATHE_ASSIGN_OR_RETURN(const Interface* body, Body(f, side));
      const std::string of = absl::StrCat(" of side ", side);
      LATHE_RETURN_IF_ERROR(Count(f, "inputs" + of, body->inputs.size(), inputs.size()));
      for (size_t i = 0; i < inputs.size(); ++i) {
        LATHE_RETURN_IF_ERROR(Agree(f, absl::StrCat("input ", i, of), inputs[i], body->inputs[i]));
      }
      if (side == 0) {
        results = body->outputs;
        continue;
      }
      LATHE_RETURN_IF_ERROR(Count(f, "outputs" + of, body->outputs.size(), results.size()));
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i].rank != body->outputs[i].rank) results[i].rank.reset();
        LATHE_RETURN_IF_ERROR(
            Agree(f, absl::StrCat("output ", i, of), body->outputs[i], results[i]));
      }
    }
    return Outputs(f, results);
  }

  absl::Status CheckLoop(Frame& f, const std::vector<SlotType>& inputs) {
    const Stage& stage = f.program.stages[f.stage];
    LATHE_RETURN_IF_ERROR(Count(f, "bodies", stage.bodies.size(), 1));
    if (stage.trips == kNoSlot && !stage.gives_condition)
      return f.Fault("has neither a number of trips nor a condition: it would never end");
    if (stage.trips != kNoSlot)
      LATHE_RETURN_IF_ERROR(ReadScalar(f, stage.trips, "the number of trips", DType::kI64));
    if (stage.condition != kNoSlot)
      LATHE_RETURN_IF_ERROR(ReadScalar(f, stage.condition, "the condition", DType::kBool));
    if (stage.num_carried < 0 || static_cast<size_t>(stage.num_carried) > inputs.size())
      return f.Fault(
          absl::StrCat(stage.num_carried, " carried values among ", inputs.size(), " inputs"));
    const size_t carried = static_cast<size_t>(stage.num_carried);
    LATHE_ASSIGN_OR_RETURN(const Interface* body, Body(f, 0));
    LATHE_RETURN_IF_ERROR(Count(f, "inputs of the body", body->inputs.size(), inputs.size() + 1));
    LATHE_RETURN_IF_ERROR(Agree(f, "the body's step", body->inputs[0], {true, DType::kI64, 0}));
    for (size_t i = 0; i < inputs.size(); ++i) {
      LATHE_RETURN_IF_ERROR(Agree(f, absl::StrCat("input ", i), inputs[i], body->inputs[i + 1]));
    }
    const size_t first = stage.gives_condition ? 1 : 0;
    LATHE_RETURN_IF_ERROR(Count(f, "outputs of the body", body->outputs.size(),
                                first + carried + stage.scanned.size()));
    if (first == 1) {
      LATHE_RETURN_IF_ERROR(Agree(f, "the body's condition", body->outputs[0],
                                  {true, DType::kBool, body->outputs[0].rank == 1 ? 1 : 0}));
    }
    std::vector<SlotType> results;
    for (size_t i = 0; i < carried; ++i) {
      const SlotType& next = body->outputs[first + i];
      LATHE_RETURN_IF_ERROR(
          Agree(f, absl::StrCat("carried value ", i, " after a step"), next, body->inputs[i + 1]));
      results.push_back(body->inputs[i + 1]);
    }
    for (size_t i = 0; i < stage.scanned.size(); ++i) {
      const ValueType& declared = stage.scanned[i];
      for (Dim d : declared.shape) LATHE_RETURN_IF_ERROR(CheckContext(f, d));
      LATHE_RETURN_IF_ERROR(Agree(f, absl::StrCat("scanned value ", i),
                                  body->outputs[first + carried + i], TypeOf(declared)));
      results.push_back({true, declared.dtype, declared.rank() + 1});
    }
    return Outputs(f, results);
  }

  const dim::DimContext* context_ = nullptr;
  absl::flat_hash_map<const Staged*, std::unique_ptr<Interface>> checked_;
};

}  // namespace

absl::Status Verify(const Staged& program) { return Verifier().Run(program); }

}  // namespace lathe::ir
