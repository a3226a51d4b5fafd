// The cold side of the call path: errors in words, growing the arena, packing strided inputs.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/status_macros.h"
#include "runtime/function_state.h"
#include "runtime/pack.h"

namespace lathe::rt {
namespace {

std::string TypeText(DType dtype, absl::Span<const int64_t> shape) {
  return absl::StrCat(Name(dtype), "[", absl::StrJoin(shape, ", "), "]");
}

std::string Wanted(const OutputSpec& spec, const ContextState& context) {
  std::vector<int64_t> shape;
  for (int32_t slot : spec.shape_slots) shape.push_back(context.slots[static_cast<size_t>(slot)]);
  return TypeText(spec.dtype, shape);
}

}  // namespace

absl::Status FunctionState::NotPrepared() const {
  return absl::FailedPreconditionError(
      absl::StrCat("function ", graph_->name, " has no code yet: call prepare() first"));
}

// OK if the outputs are right after all: strides of an empty tensor or of an extent of 1 don't
// count.
absl::Status FunctionState::OutputError(absl::Span<const Tensor> outputs,
                                        const ContextState& context) const {
  const std::vector<OutputSpec>& specs = context.plan().version->program.outputs;
  if (outputs.size() != specs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("found ", outputs.size(), " outputs, wanted ", specs.size()));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    const Tensor& t = outputs[i];
    const std::string wanted = Wanted(specs[i], context);
    const std::string found = t.ok() ? TypeText(t.dtype(), t.shape()) : "an invalid tensor";
    if (found != wanted) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", specs[i].name, ": found ", found, ", wanted ", wanted));
    }
    if (!t.is_contiguous()) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", specs[i].name, ": ", found, " has strides [",
                       absl::StrJoin(t.strides(), ", "), "], wanted a contiguous tensor"));
    }
    if (t.raw() == nullptr && t.num_elements() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", specs[i].name, ": ", found, " has a null pointer"));
    }
  }
  return absl::OkStatus();
}

absl::Status FunctionState::OverlapError(absl::Span<const Tensor> outputs,
                                         const ContextState& context) const {
  const std::vector<OutputSpec>& specs = context.plan().version->program.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const AddressRange range = RangeOf(outputs[i]);
    for (size_t input = 0; input < plan_.inputs.size(); ++input) {
      if (!Overlap(range, context.ranges[input])) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", specs[i].name, " overlaps the memory of input ", plan_.inputs[input].name));
    }
    for (size_t other = 0; other < i; ++other) {
      if (!Overlap(range, RangeOf(outputs[other]))) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", specs[i].name, " overlaps the memory of output ", specs[other].name));
    }
  }
  return absl::OkStatus();
}

// Makes room for the arena of the resolved sizes and for packed inputs, within the engine's limit.
absl::Status FunctionState::Grow(ContextState& context, int64_t packed_bytes, bool counts) const {
  const int64_t arena = engine_->options.poison_values ? 0 : ArenaBytes(context);
  const int64_t total = SaturatingAdd(arena, packed_bytes);
  if (total > engine_->options.max_arena_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a call of ", graph_->name, " needs ", total, " bytes of arena",
        packed_bytes > 0 ? absl::StrCat(" (", packed_bytes, " of them for strided inputs)") : "",
        ", more than max_arena_bytes = ", engine_->options.max_arena_bytes));
  }
  if (arena > context.arena.bytes) {
    context.placed = false;
    LATHE_RETURN_IF_ERROR(context.arena.Grow(arena, engine_->allocator));
    if (counts) engine_->arena_growths.fetch_add(1, std::memory_order_relaxed);
  }
  return context.packed.Grow(packed_bytes, engine_->allocator);
}

absl::Status FunctionState::PackInputs(absl::Span<const Tensor> inputs,
                                       ContextState& context) const {
  int64_t total = 0;
  for (const Tensor& t : inputs) {
    if (!t.is_contiguous()) total = SaturatingAdd(total, AlignedBytes(t.num_bytes()));
  }
  if (total == 0) return absl::OkStatus();
  LATHE_RETURN_IF_ERROR(Grow(context, total, /*counts=*/true));
  char* to = context.packed.data;
  int64_t copied = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_contiguous()) continue;
    Pack(inputs[i], to);
    context.pointers[static_cast<size_t>(context.plan().first_input) + i] = to;
    copied += inputs[i].num_bytes();
    to += AlignedBytes(inputs[i].num_bytes());
  }
  engine_->packed_input_bytes.fetch_add(copied, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status FunctionState::CheckCallMemory(const ContextState& context) const {
  const int64_t total = SaturatingAdd(ArenaBytes(context), OutputBytes(context));
  if (total > engine_->options.max_arena_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a call of ", graph_->name, " needs ", total, " bytes of arena and outputs, more than ",
        "max_arena_bytes = ", engine_->options.max_arena_bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> FunctionState::AllocateOutputs(
    const ContextState& context) const {
  LATHE_RETURN_IF_ERROR(CheckCallMemory(context));
  std::vector<Tensor> outputs;
  for (const OutputSpec& spec : context.plan().version->program.outputs) {
    std::vector<int64_t> shape;
    // The whole product fits, because the larger sum of all outputs was checked; a part of one that
    // ends in 0 may wrap.
    uint64_t bytes = static_cast<uint64_t>(SizeOf(spec.dtype));
    for (int32_t slot : spec.shape_slots) {
      shape.push_back(context.slots[static_cast<size_t>(slot)]);
      bytes *= static_cast<uint64_t>(shape.back());
    }
    LATHE_ASSIGN_OR_RETURN(std::shared_ptr<void> block,
                           engine_->allocator.Allocate(AlignedBytes(static_cast<int64_t>(bytes))));
    outputs.push_back(Tensor::Own(std::move(block), spec.dtype, std::move(shape)));
  }
  return outputs;
}

}  // namespace lathe::rt
