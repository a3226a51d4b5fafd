#include "tests/whole/harness.h"

#include "absl/strings/str_cat.h"
#include "codegen/kernel/evaluator.h"
#include "codegen/kernel/kernel.h"
#include "ir/compare.h"
#include "ir/interpreter.h"
#include "runtime/function_state.h"
#include "runtime/version.h"

namespace lathe::whole {

absl::StatusOr<Function> CompileGraph(Engine& engine, const ir::Graph& graph,
                                      CompileOptions options) {
  // By way of the text, so that functions don't share a DimContext.
  absl::StatusOr<Program> program = Program::parse(ir::Print(graph));
  absl::StatusOr<Function> f = engine.compile(std::move(program), options);
  if (!f.ok()) return f.status();
  absl::Status s = f->prepare();
  if (!s.ok()) return s;
  return f;
}

absl::StatusOr<std::vector<Tensor>> RunByEvaluator(const Function& function,
                                                   absl::Span<const Tensor> inputs,
                                                   const std::string& version_name) {
  const auto table = function.state()->table();
  const rt::Version* version = nullptr;
  for (const auto& v : table->versions())
    if (v->name == version_name) version = v.get();
  if (version == nullptr) return absl::NotFoundError("no version " + version_name);
  absl::StatusOr<std::vector<int64_t>> symbols = ir::BindSymbols(function.state()->graph(), inputs);
  if (!symbols.ok()) return symbols.status();
  const rt::HostProgram& p = version->program;
  std::vector<int64_t> slots(static_cast<size_t>(p.dims.num_slots()));
  const size_t count = static_cast<size_t>(p.dims.num_inputs()) - 1;
  for (size_t i = 0; i < count; ++i) slots[i] = (*symbols)[i];
  slots[count] = 1;  // workers
  if (const int at = p.dims.Run(slots.data()); at >= 0) return p.dims.Explain(at, slots.data());

  std::vector<Tensor> dense, outputs;
  for (const Tensor& t : inputs) dense.push_back(t.Contiguous());
  for (const rt::OutputSpec& o : p.outputs) {
    std::vector<int64_t> shape;
    for (int32_t s : o.shape_slots) shape.push_back(slots[static_cast<size_t>(s)]);
    outputs.emplace_back(o.dtype, shape);
  }
  std::vector<std::vector<char>> values;
  for (const rt::ArenaValue& v : p.values)
    values.emplace_back(static_cast<size_t>(slots[static_cast<size_t>(v.bytes_slot)]), '\xff');
  auto find = [&](rt::BufferRef ref) -> std::pair<void*, int64_t> {
    const size_t i = static_cast<size_t>(ref.index);
    switch (ref.source) {
      case rt::BufferSource::kInput:
        return {dense[i].raw(), dense[i].num_bytes()};
      case rt::BufferSource::kOutput:
        return {outputs[i].raw(), outputs[i].num_bytes()};
      case rt::BufferSource::kArena:
        return {values[i].data(), static_cast<int64_t>(values[i].size())};
      case rt::BufferSource::kConstant:
        break;
    }
    return {const_cast<void*>(p.constants[i].data.get()), p.constants[i].bytes};
  };
  for (size_t at = 0; at < p.steps.size();) {
    const rt::Step& step = p.steps[at++];
    if (step.kind == rt::StepKind::kJump) at = static_cast<size_t>(step.index);
    if (step.kind == rt::StepKind::kJumpIfZero && slots[static_cast<size_t>(step.slot)] == 0)
      at = static_cast<size_t>(step.index);
    if (step.kind != rt::StepKind::kKernel) continue;
    const rt::KernelStep& call = p.kernels[static_cast<size_t>(step.index)];
    absl::StatusOr<std::shared_ptr<kernel::Kernel>> k =
        kernel::ParseKernel(version->groups[static_cast<size_t>(step.index)].kernel_text);
    if (!k.ok()) return k.status();
    std::vector<kernel::EvalBuffer> buffers;
    for (size_t b = 0; b < call.buffers.size(); ++b) {
      const auto [data, bytes] = find(call.buffers[b]);
      buffers.push_back({data, bytes / SizeOf((*k)->buffers[b].dtype)});
    }
    std::vector<int64_t> sizes;
    for (int32_t s : call.size_slots) sizes.push_back(slots[static_cast<size_t>(s)]);
    rt::KernelError error;
    absl::Status s = kernel::Evaluate(**k, buffers, sizes, 0,
                                      slots[static_cast<size_t>(call.tasks_slot)], 0, &error);
    if (!s.ok()) return absl::Status(s.code(), absl::StrCat(call.label, ": ", s.message()));
  }
  return outputs;
}

absl::Status CheckCall(const Function& function, const ir::Graph& graph,
                       absl::Span<const Tensor> inputs, Within within, bool with_evaluator) {
  absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(graph, inputs);
  absl::StatusOr<std::vector<Tensor>> found = function.call(inputs);
  // Where sizes are wrong for several reasons (a declared fact, the limit of a size, a divisor of
  // 0), which of them is reported isn't fixed.
  const auto refuses_sizes = [](const absl::Status& s) {
    return absl::IsInvalidArgument(s) || absl::IsOutOfRange(s);
  };
  const bool same = wanted.status().code() == found.status().code() ||
                    (refuses_sizes(wanted.status()) && refuses_sizes(found.status()));
  if (!same || absl::IsInternal(wanted.status()))
    return absl::InternalError(absl::StrCat("interpreter: ", wanted.status().ToString(),
                                            "; compiled: ", found.status().ToString()));
  if (!wanted.ok()) return absl::OkStatus();
  absl::StatusOr<std::vector<Tensor>> wanted64 = ir::Interpret(graph, inputs, {.in_f64 = true});
  if (!wanted64.ok()) wanted64 = *wanted;
  for (size_t i = 0; i < wanted->size(); ++i) {
    absl::Status s = within((*found)[i], (*wanted)[i], (*wanted64)[i]);
    if (!s.ok()) return absl::InternalError(absl::StrCat("output ", i, ": ", s.message()));
  }
  return with_evaluator ? SameAsEvaluator(function, inputs, *found) : absl::OkStatus();
}

absl::Status CheckCall(const Function& function, const ir::Graph& graph,
                       absl::Span<const Tensor> inputs, bool exact, bool with_evaluator) {
  const auto within = [exact](const Tensor& found, const Tensor& wanted, const Tensor& wanted64) {
    return WithinBound(found, wanted, wanted64, exact);
  };
  return CheckCall(function, graph, inputs, within, with_evaluator);
}

absl::Status SameAsEvaluator(const Function& function, absl::Span<const Tensor> inputs,
                             absl::Span<const Tensor> found, const std::string& version) {
  absl::StatusOr<std::vector<Tensor>> evaluated = RunByEvaluator(function, inputs, version);
  if (!evaluated.ok())
    return absl::InternalError(absl::StrCat("evaluator: ", evaluated.status().ToString()));
  for (size_t i = 0; i < found.size(); ++i) {
    absl::Status s = ir::SameBits(found[i], (*evaluated)[i]);
    if (!s.ok())
      return absl::InternalError(
          absl::StrCat("output ", i, ": code against evaluator: ", s.message()));
  }
  return absl::OkStatus();
}

}  // namespace lathe::whole
