// The call path: header and static dims in one branch-free test, bind each symbol, dim programs
// unless the sizes are those of the context's last call, check the outputs, run. No malloc, no
// lock, no virtual call once the context is warm. What goes wrong is put into words in call_cold.cc
// and entry_error.cc.
#include <algorithm>
#include <cstring>

#include "ir/status_macros.h"
#include "runtime/control_word.h"
#include "runtime/function_state.h"
#include "runtime/pack.h"
#include "runtime/run.h"

namespace lathe::rt {
namespace {

struct Layout {
  uint64_t count;    // elements
  uint64_t strided;  // not 0: strides differ from row-major ones, which matters unless count is 0
};

inline Layout LayoutOf(const Tensor& t) {
  const int64_t* shape = t.shape().data();
  const int64_t* strides = t.strides().data();
  uint64_t count = 1, strided = 0;
  for (size_t axis = t.shape().size(); axis-- > 0;) {
    const uint64_t extent = static_cast<uint64_t>(shape[axis]);
    strided |=
        static_cast<uint64_t>((extent != 1) & (static_cast<uint64_t>(strides[axis]) != count));
    count *= extent;
  }
  return {count, strided};
}

inline AddressRange ContiguousRange(const Tensor& t, uint64_t count) {
  if (count == 0) return {};
  const char* begin = static_cast<const char*>(t.raw());
  return {begin, begin + count * static_cast<uint64_t>(SizeOf(t.dtype()))};
}

inline uint64_t Differ(int64_t a, int64_t b) {
  return static_cast<uint64_t>(a) ^ static_cast<uint64_t>(b);
}

// Why the inputs are refused.
absl::Status Refused(const EntryPlan& plan, absl::Span<const Tensor> inputs) {
  absl::Status error = plan.InputError(inputs);
  return error.ok() ? absl::InternalError("inputs were refused that are right") : error;
}

}  // namespace

absl::Status FunctionState::Enter(ContextState& context) const {
  const Published* current = current_.load(std::memory_order_acquire);
  // The context keeps the table that it used alive, so an equal address is the same table.
  if (current == context.published.get() && current != nullptr) [[likely]]
    return absl::OkStatus();
  if (current == nullptr) return NotPrepared();
  context.Use(published(), plan_, engine_->pool.threads());
  return absl::OkStatus();
}

absl::Status FunctionState::Bind(absl::Span<const Tensor> inputs, ContextState& context,
                                 bool* strided) const {
  uint64_t bad = inputs.size() ^ input_headers_.size();
  const size_t count = std::min(inputs.size(), input_headers_.size());
  for (size_t i = 0; i < count; ++i) bad |= HeaderOf(inputs[i]) ^ input_headers_[i];
  if (bad != 0) [[unlikely]]
    return Refused(plan_, inputs);

  // Ranks are right from here on.
  const auto extent = [inputs](int32_t input, int32_t axis) {
    return inputs[static_cast<size_t>(input)].shape()[static_cast<size_t>(axis)];
  };
  for (const EntryPlan::StaticAxis& a : plan_.static_axes) {
    bad |= Differ(extent(a.input, a.axis), a.extent);
  }
  int64_t* bound = context.bound.data();
  const auto solve = [&](size_t s, int64_t rest, int64_t coefficient) {
    const EntryPlan::Axis& a = plan_.bind[s];
    int64_t value = 0;
    const bool overflow = __builtin_sub_overflow(extent(a.input, a.axis), rest, &value);
    bad |= overflow;
    if (coefficient != 1) {
      bad |= static_cast<uint64_t>(coefficient == 0);
      if (overflow || coefficient == 0) value = 0, coefficient = 1;  // both would trap
      bad |= static_cast<uint64_t>(value % coefficient);
      value /= coefficient;
    }
    bound[s] = value;
  };
  const size_t symbols = plan_.bind.size();
  for (size_t s = 0; s < symbols; ++s) {
    const EntryPlan::Axis& a = plan_.bind[s];
    if (a.input >= 0 && !plan_.derives[s]) solve(s, a.offset, a.coefficient);
  }
  if (plan_.reads_data()) [[unlikely]] {
    for (size_t i = 0; i < count; ++i)
      bad |= static_cast<uint64_t>((inputs[i].raw() == nullptr) & (inputs[i].num_elements() != 0));
    if (bad != 0) return Refused(plan_, inputs);
    LATHE_RETURN_IF_ERROR(plan_.ReadData(inputs, bound));
  }
  for (const EntryPlan::Derived& d : plan_.derived) {
    int64_t* slots = context.derive_slots.data();
    std::copy_n(bound, symbols, slots);
    if (d.rest.Run(slots) >= 0) return Refused(plan_, inputs);
    const size_t s = static_cast<size_t>(d.symbol);
    bound[s] = slots[d.slot];
    if (plan_.bind[s].input < 0) continue;
    const int64_t coefficient =
        d.coefficient_slot < 0 ? plan_.bind[s].coefficient : slots[d.coefficient_slot];
    solve(s, slots[d.slot], coefficient);
  }

  uint64_t any_strided = 0;
  for (size_t i = 0; i < count; ++i) {
    const Layout layout = LayoutOf(inputs[i]);
    any_strided |= layout.strided;
    context.ranges[i] = ContiguousRange(inputs[i], layout.count);
    bad |= static_cast<uint64_t>((inputs[i].raw() == nullptr) & (layout.count != 0));
  }
  if (bad != 0) [[unlikely]]
    return Refused(plan_, inputs);
  *strided = any_strided != 0;
  if (any_strided != 0) [[unlikely]] {
    for (size_t i = 0; i < count; ++i) context.ranges[i] = RangeOf(inputs[i]);
  }
  return absl::OkStatus();
}

absl::Status FunctionState::Resolve(const Tensor* inputs, ContextState& context) const {
  const VersionTable& table = *context.published->table;
  int64_t* table_slots = context.table_slots.data();
  const bool same =
      context.resolved && std::equal(context.bound.begin(), context.bound.end(), table_slots);
  if (!same) {
    context.resolved = context.placed = false;
    bool beyond = false;
    for (int64_t size : context.bound) beyond |= size > ir::kMaxDim;
    if (beyond) [[unlikely]]
      LATHE_RETURN_IF_ERROR(plan_.LimitError(context.bound));
    std::copy(context.bound.begin(), context.bound.end(), table_slots);
    LATHE_RETURN_IF_ERROR(table.Run(table_slots));
  }
  if (inputs != nullptr) {
    uint64_t bad = 0;
    const std::vector<int32_t>& axis_slots = table.axis_slots();
    for (size_t i = 0; i < axis_slots.size(); ++i) {
      const EntryPlan::DimAxis& a = plan_.dim_axes[i];
      bad |=
          Differ(inputs[a.input].shape()[static_cast<size_t>(a.axis)], table_slots[axis_slots[i]]);
    }
    if (bad != 0) [[unlikely]] {
      size_t i = 0;
      int64_t found = 0;
      for (;; ++i) {
        const EntryPlan::DimAxis& a = plan_.dim_axes[i];
        found = inputs[a.input].shape()[static_cast<size_t>(a.axis)];
        if (found != table_slots[axis_slots[i]]) break;
      }
      return plan_.DimAxisError(i, found, table_slots[axis_slots[i]], context.bound);
    }
  }
  if (same) return absl::OkStatus();

  int failed = 0;
  int version = table.Pick(table_slots, &failed);
  if (version < 0) return plan_.CheckError(static_cast<size_t>(failed), context.bound);
  const int pinned = context.published->pinned;
  if (pinned >= 0 && table.GuardHolds(static_cast<size_t>(pinned), table_slots)) version = pinned;
  context.version = version;
  const RunPlan& plan = context.plan();
  const dim::DimProgram& dims = plan.version->program.dims;
  int64_t* slots = context.slots.data();
  std::copy(context.bound.begin(), context.bound.end(), slots);
  if (int bad = dims.Run(slots); bad >= 0) {
    const auto fits = [&](absl::Span<const int64_t> symbols) {
      std::vector<int64_t> tried(static_cast<size_t>(dims.num_slots()));
      std::copy(symbols.begin(), symbols.end(), tried.begin());
      std::copy(slots + symbols.size(), slots + dims.num_inputs(), tried.begin() + symbols.size());
      return dims.Run(tried.data()) < 0;
    };
    return plan_.OverflowError(*graph_, dims.Explain(bad, slots), context.bound, fits);
  }
  for (size_t i = 0; i < plan.size_slots.size(); ++i) context.sizes[i] = slots[plan.size_slots[i]];
  context.resolved = true;
  return absl::OkStatus();
}

absl::Status FunctionState::CheckOutputs(absl::Span<const Tensor> outputs,
                                         const ContextState& context) const {
  const RunPlan& plan = context.plan();
  const std::vector<OutputSpec>& specs = plan.version->program.outputs;
  if (outputs.size() != specs.size()) return OutputError(outputs, context);
  uint64_t bad = 0;
  for (size_t i = 0; i < outputs.size(); ++i) bad |= HeaderOf(outputs[i]) ^ plan.output_headers[i];
  if (bad != 0) [[unlikely]]
    return OutputError(outputs, context);
  bool overlap = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t* shape = outputs[i].shape().data();
    const std::vector<int32_t>& shape_slots = specs[i].shape_slots;
    for (size_t axis = 0; axis < shape_slots.size(); ++axis) {
      bad |= Differ(shape[axis], context.slots[static_cast<size_t>(shape_slots[axis])]);
    }
    const Layout layout = LayoutOf(outputs[i]);
    bad |= layout.strided;
    bad |= static_cast<uint64_t>((outputs[i].raw() == nullptr) & (layout.count != 0));
    const AddressRange range = ContiguousRange(outputs[i], layout.count);
    for (const AddressRange& input : context.ranges) overlap |= Overlap(range, input);
    for (size_t other = 0; other < i; ++other) {
      overlap |= Overlap(range, ContiguousRange(outputs[other], LayoutOf(outputs[other]).count));
    }
  }
  if (bad != 0) [[unlikely]]
    LATHE_RETURN_IF_ERROR(OutputError(outputs, context));
  if (overlap) [[unlikely]]
    return OverlapError(outputs, context);
  return absl::OkStatus();
}

absl::Status FunctionState::Place(absl::Span<const Tensor> inputs, bool strided,
                                  ContextState& context) const {
  const RunPlan& plan = context.plan();
  void** pointers = context.pointers.data();
  const int64_t bytes = engine_->options.poison_values ? 0 : ArenaBytes(context);
  if (bytes > context.arena.bytes) [[unlikely]] {
    LATHE_RETURN_IF_ERROR(Grow(context, 0, /*counts=*/true));
  }
  if (!context.placed) {
    std::copy(plan.constants.begin(), plan.constants.end(), pointers);
    const std::vector<ArenaValue>& values = plan.version->program.values;
    void** places = pointers + plan.first_value;
    for (size_t i = 0; i < values.size(); ++i) {
      places[i] = context.arena.data + context.slots[static_cast<size_t>(values[i].offset_slot)];
    }
    context.placed = true;
  }
  void** input_pointers = pointers + plan.first_input;
  for (size_t i = 0; i < inputs.size(); ++i) input_pointers[i] = inputs[i].raw();
  return strided ? PackInputs(inputs, context) : absl::OkStatus();
}

absl::Status FunctionState::Execute(absl::Span<const Tensor> outputs, ContextState& context) {
  const RunPlan& plan = context.plan();
  void** output_pointers = context.pointers.data() + plan.first_output;
  for (size_t i = 0; i < outputs.size(); ++i) output_pointers[i] = outputs[i].raw();
  plan.version->calls.fetch_add(1, std::memory_order_relaxed);
  if (plan.version->guard.empty() && observing_.load(std::memory_order_relaxed)) [[unlikely]] {
    Observe(context.bound, /*may_wait=*/false);
  }
  if (engine_->options.poison_values) [[unlikely]] {
    context.placed = false;  // the values' pointers are gone afterwards
    return RunStepsPoisoned(*engine_, context);
  }
  return RunSteps(engine_->pool, context);
}

absl::Status FunctionState::CallInto(absl::Span<const Tensor> inputs,
                                     absl::Span<const Tensor> outputs, ContextState& context) {
  const InCallScope in_call;
  const ControlWordScope control_word;
  bool strided = false;
  LATHE_RETURN_IF_ERROR(Enter(context));
  LATHE_RETURN_IF_ERROR(Bind(inputs, context, &strided));
  LATHE_RETURN_IF_ERROR(Resolve(inputs.data(), context));
  LATHE_RETURN_IF_ERROR(CheckOutputs(outputs, context));
  LATHE_RETURN_IF_ERROR(Place(inputs, strided, context));
  return Execute(outputs, context);
}

absl::StatusOr<std::vector<Tensor>> FunctionState::Call(absl::Span<const Tensor> inputs) {
  struct Lease {  // of a context; goes back however the call ends
    explicit Lease(FunctionState* f) : function(f), context(f->TakeContext()) {}
    ~Lease() { function->ReturnContext(std::move(context)); }
    FunctionState* function;
    std::unique_ptr<ContextState> context;
  } lease(this);
  return CallIn(inputs, *lease.context);
}

absl::StatusOr<std::vector<Tensor>> FunctionState::CallIn(absl::Span<const Tensor> inputs,
                                                          ContextState& context) {
  const InCallScope in_call;
  const ControlWordScope control_word;
  bool strided = false;
  LATHE_RETURN_IF_ERROR(Enter(context));
  LATHE_RETURN_IF_ERROR(Bind(inputs, context, &strided));
  LATHE_RETURN_IF_ERROR(Resolve(inputs.data(), context));
  LATHE_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, AllocateOutputs(context));
  LATHE_RETURN_IF_ERROR(Place(inputs, strided, context));
  LATHE_RETURN_IF_ERROR(Execute(outputs, context));
  return outputs;
}

absl::Status FunctionState::CheckInputs(absl::Span<const Tensor> inputs,
                                        ContextState& context) const {
  bool strided = false;
  LATHE_RETURN_IF_ERROR(Enter(context));
  LATHE_RETURN_IF_ERROR(Bind(inputs, context, &strided));
  return Resolve(inputs.data(), context);
}

}  // namespace lathe::rt
