#include "runtime/staged_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/attr_text.h"
#include "ir/status_macros.h"
#include "runtime/control_word.h"
#include "runtime/pack.h"
#include "runtime/staged_run.h"

namespace lathe::rt {
namespace {

constexpr int kNever = -1;

// For each slot the number of the stage that reads it last; as many as there are stages for
// outputs, kNever for what nothing reads.
std::vector<int> LastUses(const ir::Staged& program) {
  std::vector<int> last(static_cast<size_t>(program.num_slots), kNever);
  const auto use = [&last](ir::SlotId slot, size_t stage) {
    if (slot != ir::kNoSlot) last[static_cast<size_t>(slot)] = static_cast<int>(stage);
  };
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const ir::Stage& stage = program.stages[i];
    for (ir::SlotId s : stage.inputs) use(s, i);
    use(stage.condition, i);
    use(stage.trips, i);
  }
  for (ir::SlotId s : program.outputs) use(s, program.stages.size());
  return last;
}

}  // namespace

std::shared_ptr<StagedState> StagedState::Make(std::shared_ptr<EngineState> engine,
                                               StagedParts parts) {
  std::shared_ptr<StagedState> s(new StagedState());
  s->engine_ = std::move(engine);
  s->parts_ = std::move(parts);
  s->MakeCodes();
  s->bounds_.Add(*s->parts_.entry);
  for (const std::shared_ptr<FunctionState>& f : s->functions_) s->bounds_.Add(*f);
  return s;
}

absl::StatusOr<KnownSizes> StagedState::Known(const Sizes& sizes) const {
  LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> values, parts_.entry->SymbolValues(sizes));
  const EntryPlan& plan = parts_.entry->plan();
  std::vector<std::optional<int64_t>> given(values.size());
  for (size_t s = 0; s < values.size(); ++s)
    if (!plan.unused[s]) given[s] = values[s];
  // Stages may need what the entry doesn't.
  for (const auto& [name, size] : sizes) {
    const auto it = std::find(plan.symbol_names.begin(), plan.symbol_names.end(), name);
    given[static_cast<size_t>(it - plan.symbol_names.begin())] = size;
  }
  KnownSizes known;
  parts_.entry->WhileNothingBuilds(
      [&] { known = bounds_.Of(std::move(given), engine_->pool.threads()); });
  return known;
}

KnownSizes StagedState::KnownByFacts() const {
  KnownSizes known;
  std::vector<std::optional<int64_t>> nothing(parts_.entry->plan().symbols.size());
  parts_.entry->WhileNothingBuilds(
      [&] { known = bounds_.Of(std::move(nothing), engine_->pool.threads()); });
  return known;
}

void StagedState::MakeCodes() {
  absl::flat_hash_map<const FunctionState*, int> functions;
  const auto add = [&](const std::shared_ptr<FunctionState>& f) {
    functions[f.get()] = static_cast<int>(functions_.size());
    functions_.push_back(f);
  };
  for (const std::shared_ptr<ir::Graph>& graph : ir::GraphsOf(*parts_.program))
    add(parts_.graphs.at(graph.get()));
  const std::vector<const ir::Staged*> programs = ir::ProgramsOf(*parts_.program);
  absl::flat_hash_map<const ir::Staged*, int> numbers;
  for (const ir::Staged* p : programs) {
    numbers[p] = static_cast<int>(numbers.size());
    for (const ir::Stage& stage : p->stages) {
      const auto it = parts_.empty_scans.find(&stage);
      if (it != parts_.empty_scans.end()) add(it->second.function);
    }
  }
  for (const ir::Staged* p : programs) codes_.push_back(CodeOf(*p, numbers, functions));
}

StagedCode StagedState::CodeOf(
    const ir::Staged& program, const absl::flat_hash_map<const ir::Staged*, int>& numbers,
    const absl::flat_hash_map<const FunctionState*, int>& functions) const {
  StagedCode code;
  code.program = &program;
  const std::vector<int> last = LastUses(program);
  const auto last_of = [&last](ir::SlotId s) { return last[static_cast<size_t>(s)]; };
  for (ir::SlotId s : program.inputs)
    if (last_of(s) == kNever) code.unused_inputs.push_back(s);
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const ir::Stage& stage = program.stages[i];
    StagedCode::Step& step = code.steps.emplace_back();
    step.stage = &stage;
    step.text = ir::StageText(program, i);
    if (stage.graph != nullptr)
      step.function = functions.at(parts_.graphs.at(stage.graph.get()).get());
    for (const std::shared_ptr<const ir::Staged>& body : stage.bodies)
      step.bodies.push_back(numbers.at(body.get()));
    if (const auto it = parts_.empty_scans.find(&stage); it != parts_.empty_scans.end()) {
      step.empty_scans = functions.at(it->second.function.get());
      step.empty_inputs = it->second.inputs;
    }
    const int number = static_cast<int>(i);
    step.moves.resize(stage.inputs.size());
    for (size_t k = 0; k < stage.inputs.size(); ++k) {
      const bool again = std::find(stage.inputs.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                                   stage.inputs.end(), stage.inputs[k]) != stage.inputs.end();
      step.moves[k] = last_of(stage.inputs[k]) == number && !again;
    }
    for (ir::SlotId s : {stage.condition, stage.trips})
      if (s != ir::kNoSlot && last_of(s) == number) step.dies.push_back(s);
    for (ir::SlotId s : stage.outputs)
      if (last_of(s) == kNever) step.dies.push_back(s);
  }
  return code;
}

absl::Status StagedState::Prepare(absl::Span<const Sizes> sizes) {
  LATHE_RETURN_IF_ERROR(parts_.entry->Prepare({}));
  std::vector<Sizes> known;
  for (const Sizes& s : sizes) {
    LATHE_ASSIGN_OR_RETURN(const KnownSizes all, Known(s));
    Sizes& named = known.emplace_back();
    for (size_t i = 0; i < all.exact.size(); ++i)
      if (all.exact[i]) named[parts_.entry->plan().symbol_names[i]] = *all.exact[i];
  }
  for (const std::shared_ptr<FunctionState>& f : functions_) {
    // The sizes that a stage has by then, if they are all of its own.
    std::vector<Sizes> of_stage;
    for (const Sizes& all : known) {
      Sizes own;
      bool complete = true;
      for (size_t i = 0; i < f->plan().symbol_names.size(); ++i) {
        if (f->plan().unused[i]) continue;
        const auto it = all.find(f->plan().symbol_names[i]);
        complete = complete && it != all.end();
        if (it != all.end()) own.insert(*it);
      }
      if (complete && f->SymbolValues(own).ok()) of_stage.push_back(std::move(own));
    }
    LATHE_RETURN_IF_ERROR(f->PrepareVersions(of_stage));
  }
  return absl::OkStatus();
}

void StagedState::WaitForVersions() {
  for (const std::shared_ptr<FunctionState>& f : functions_) f->WaitForVersions();
}

absl::Status StagedState::Pin(const std::string& version_name) {
  absl::Status missing = absl::OkStatus();
  bool found = false;
  for (const std::shared_ptr<FunctionState>& f : functions_) {
    const absl::Status s = f->Pin(version_name);
    if (s.ok()) found = true;
    if (!s.ok() && !absl::IsNotFound(s)) return s;
    if (!s.ok()) missing = s;
  }
  return found ? absl::OkStatus() : missing;
}

StagedContext& StagedState::ContextOf(ContextState& context) const {
  auto* staged = static_cast<StagedContext*>(context.staged.get());
  if (staged == nullptr || staged->owner != identity_) {
    context.staged = std::make_shared<StagedContext>();
    staged = static_cast<StagedContext*>(context.staged.get());
    staged->owner = identity_;
    staged->workers.resize(functions_.size());
    for (const StagedCode& code : codes_)
      staged->frames.emplace_back(static_cast<size_t>(code.program->num_slots));
  }
  return *staged;
}

// Contiguous copies of strided inputs, made once for all stages.
absl::StatusOr<StagedState::Tensors> StagedState::Packed(absl::Span<const Tensor> inputs) const {
  Tensors packed(inputs.begin(), inputs.end());
  for (Tensor& t : packed) {
    if (t.is_contiguous() || t.num_elements() == 0) continue;
    LATHE_ASSIGN_OR_RETURN(std::shared_ptr<void> block, AllocateValue(*engine_, t.num_bytes()));
    Pack(t, block.get());
    engine_->packed_input_bytes.fetch_add(t.num_bytes(), std::memory_order_relaxed);
    t = Tensor::Own(std::move(block), t.dtype(), t.shape());
  }
  return packed;
}

absl::StatusOr<StagedState::Tensors> StagedState::Run(absl::Span<const Tensor> inputs,
                                                      StagedContext& context) {
  LATHE_ASSIGN_OR_RETURN(Tensors packed, Packed(inputs));
  return RunStages(*this, context, std::move(packed));
}

// Gives outputs that are an input, or one another, memory of their own.
absl::Status StagedState::Detach(absl::Span<const Tensor> inputs, Tensors& outputs) const {
  std::vector<AddressRange> taken;
  for (const Tensor& t : inputs) taken.push_back(RangeOf(t));
  for (Tensor& t : outputs) {
    AddressRange range = RangeOf(t);
    const bool shared = std::any_of(taken.begin(), taken.end(),
                                    [&](const AddressRange& r) { return Overlap(r, range); });
    if (shared) {
      LATHE_ASSIGN_OR_RETURN(std::shared_ptr<void> block, AllocateValue(*engine_, t.num_bytes()));
      std::memcpy(block.get(), t.raw(), static_cast<size_t>(t.num_bytes()));
      t = Tensor::Own(std::move(block), t.dtype(), t.shape());
      range = RangeOf(t);
    }
    taken.push_back(range);
  }
  return absl::OkStatus();
}

absl::StatusOr<StagedState::Tensors> StagedState::Call(absl::Span<const Tensor> inputs) {
  const InCallScope in_call;
  const ControlWordScope control_word;
  struct Lease {  // of a context; goes back however the call ends
    explicit Lease(StagedState* s) : state(s) {
      std::lock_guard lock(s->contexts_mutex_);
      if (s->free_contexts_.empty()) return;
      context.staged = std::move(s->free_contexts_.back());
      s->free_contexts_.pop_back();
    }
    ~Lease() {
      std::lock_guard lock(state->contexts_mutex_);
      state->free_contexts_.push_back(
          std::static_pointer_cast<StagedContext>(std::move(context.staged)));
    }
    StagedState* state;
    ContextState context;
  } lease(this);
  StagedContext& context = ContextOf(lease.context);
  LATHE_RETURN_IF_ERROR(parts_.entry->CheckInputs(inputs, context.entry));
  LATHE_ASSIGN_OR_RETURN(Tensors outputs, Run(inputs, context));
  LATHE_RETURN_IF_ERROR(Detach(inputs, outputs));
  return outputs;
}

absl::Status StagedState::CheckOutputs(absl::Span<const Tensor> inputs,
                                       absl::Span<const Tensor> outputs) const {
  const std::vector<std::string>& names = program().output_names;
  if (outputs.size() != names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("found ", outputs.size(), " outputs, wanted ", names.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = outputs[i];
    const auto fault = [&](const std::string& what) {
      return absl::InvalidArgumentError(absl::StrCat("output ", names[i], " ", what));
    };
    if (!t.ok()) return fault("isn't a valid tensor");
    if (!t.is_contiguous()) return fault("isn't contiguous");
    if (t.raw() == nullptr && t.num_elements() != 0) return fault("has a null pointer");
    const AddressRange range = RangeOf(t);
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (Overlap(range, RangeOf(inputs[k])))
        return fault(absl::StrCat("overlaps the memory of input ", program().input_names[k]));
    }
    for (size_t k = 0; k < i; ++k) {
      if (Overlap(range, RangeOf(outputs[k])))
        return fault(absl::StrCat("overlaps the memory of output ", names[k]));
    }
  }
  return absl::OkStatus();
}

absl::Status StagedState::CallInto(absl::Span<const Tensor> inputs,
                                   absl::Span<const Tensor> outputs, ContextState& context) {
  const InCallScope in_call;
  const ControlWordScope control_word;
  StagedContext& staged = ContextOf(context);
  LATHE_RETURN_IF_ERROR(parts_.entry->CheckInputs(inputs, staged.entry));
  LATHE_RETURN_IF_ERROR(CheckOutputs(inputs, outputs));
  LATHE_ASSIGN_OR_RETURN(const Tensors found, Run(inputs, staged));
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].dtype() != outputs[i].dtype() || found[i].shape() != outputs[i].shape()) {
      return absl::InvalidArgumentError(absl::StrCat("output ", program().output_names[i],
                                                     ": found ", ir::TypeText(outputs[i]),
                                                     ", wanted ", ir::TypeText(found[i])));
    }
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t bytes = static_cast<size_t>(found[i].num_bytes());
    if (bytes != 0) std::memcpy(outputs[i].raw(), found[i].raw(), bytes);
  }
  return absl::OkStatus();
}

const FunctionState& EntryOf(const Function& f) {
  return f.staged_state() != nullptr ? f.staged_state()->entry() : *f.state();
}

}  // namespace lathe::rt
