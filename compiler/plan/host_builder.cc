#include "compiler/plan/host_builder.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/kernel/divisions.h"
#include "compiler/lower/index_map.h"
#include "compiler/plan/memory_plan.h"
#include "ir/dim/dim_program.h"

namespace lathe::compiler {
namespace {

using ir::ValueId;
using rt::BufferRef;
using rt::BufferSource;

// The worker count as a symbol that is none of the function's own, whatever those are called.
Dim WorkerCount(const HostContext& c) {
  for (std::string name = "worker_count";; name += '_') {
    const Dim count = c.graph.dims()->Symbol(name);
    dim::SymbolId symbol = 0;
    if (!dim::IsSymbol(count, &symbol) || static_cast<int>(symbol) >= c.num_symbols) return count;
  }
}

Dim Aligned(Dim bytes) { return CeilDiv(bytes, rt::kArenaAlignment) * rt::kArenaAlignment; }

class HostBuilder {
 public:
  HostBuilder(const HostContext& c, rt::Version* version)
      : c_(c), program_(version->program), version_(version), workers_(WorkerCount(c)) {}

  absl::Status Build() {
    for (size_t i = 0; i < c_.graph.inputs.size(); ++i)
      where_[c_.graph.inputs[i]] = {BufferSource::kInput, static_cast<int32_t>(i)};
    PlaceOutputs();
    for (const FusedItem& item : c_.plan.items) {
      absl::Status status = Item(item);
      if (!status.ok()) return status;
    }
    for (const auto& [from, to] : output_copies_) {
      absl::Status status = Copy(from, from, to);
      if (!status.ok()) return status;
    }
    absl::Status status = CompileKernels();
    return status.ok() ? Finish() : status;
  }

 private:
  struct PendingValue {
    Dim bytes;
    int first = -1, last = -1;
    std::string label;
  };
  // --- buffers
  // ------------------------------------------------------------------------------------

  void PlaceOutputs() {
    absl::flat_hash_map<ValueId, int> seen;
    for (size_t i = 0; i < c_.graph.body.results.size(); ++i) {
      const ValueId v = c_.graph.body.results[i];
      const int32_t output = static_cast<int32_t>(i);
      const ir::Op op = c_.graph.node(v).op;
      // A result that is an input, a constant or an earlier result is copied at the end.
      if (op == ir::Op::k_input || op == ir::Op::k_constant || seen.contains(v)) {
        output_copies_.push_back({v, {BufferSource::kOutput, output}});
      } else {
        where_[v] = {BufferSource::kOutput, output};
        seen[v] = 1;
      }
    }
  }

  absl::StatusOr<BufferRef> Where(ValueId v) {
    if (auto it = where_.find(v); it != where_.end()) return it->second;
    const ir::Node& n = c_.graph.node(v);
    if (n.op == ir::Op::k_constant) {
      const auto dense = std::make_shared<Tensor>(n.attrs.tensor.Contiguous());
      return where_[v] = AddConstant({std::shared_ptr<const void>(dense, dense->raw()),
                                      dense->num_bytes(), c_.graph.ValueName(v)});
    }
    return where_[v] = NewValue(Volume(n.type.shape) * SizeOf(n.type.dtype), c_.graph.ValueName(v));
  }

  // All sizes are evaluated, those of a side of an `if` that isn't taken, too.
  Dim InSide(Dim d) const { return open_ifs_.empty() ? d : dim::WithoutZeroDivisors(d); }

  BufferRef AddConstant(rt::Constant constant) {
    program_.constants.push_back(std::move(constant));
    return {BufferSource::kConstant, static_cast<int32_t>(program_.constants.size()) - 1};
  }

  BufferRef NewValue(Dim bytes, std::string label) {
    // In a side that isn't taken an extent may be negative.
    if (!open_ifs_.empty()) bytes = Max(InSide(bytes), 0);
    values_.push_back({Aligned(bytes), -1, -1, std::move(label)});
    return {BufferSource::kArena, static_cast<int32_t>(values_.size()) - 1};
  }

  void Touch(BufferRef ref) {
    if (ref.source != BufferSource::kArena) return;
    PendingValue& value = values_[static_cast<size_t>(ref.index)];
    const int step = static_cast<int>(program_.steps.size());
    if (value.first < 0) value.first = step;
    value.last = step;
  }

  absl::StatusOr<BufferRef> Argument(const KernelArg& arg) {
    switch (arg.kind) {
      case KernelArg::kValue:
        return Where(arg.value);
      case KernelArg::kScratch:
        return NewValue(arg.scratch_bytes * workers_, "scratch");
      case KernelArg::kPackedConstant: {
        const std::tuple key{arg.value, arg.packing, arg.panel_width};
        if (auto it = packed_.find(key); it != packed_.end())
          return BufferRef{BufferSource::kConstant, it->second};
        absl::StatusOr<rt::Constant> constant =
            c_.weights.Panels(c_.graph.node(arg.value).attrs.tensor, arg.packing, arg.panel_width);
        if (!constant.ok()) return constant.status();
        const BufferRef ref = AddConstant(*std::move(constant));
        packed_[key] = ref.index;
        return ref;
      }
    }
    return absl::InternalError("unknown kernel argument");
  }

  // --- steps
  // --------------------------------------------------------------------------------------

  // `destination`: takes the place of the first buffer (a copy's result).
  absl::Status AddKernel(LoweredKernel lowered, const std::string& label, const char* kind,
                         const BufferRef* destination = nullptr) {
    rt::KernelStep step;
    step.label = label;
    for (size_t i = 0; i < lowered.args.size(); ++i) {
      absl::StatusOr<BufferRef> ref =
          i == 0 && destination != nullptr ? *destination : Argument(lowered.args[i]);
      if (!ref.ok()) return ref.status();
      Touch(*ref);
      step.buffers.push_back(*ref);
    }
    Report(lowered, label, kind);
    program_.steps.push_back(
        {rt::StepKind::kKernel, static_cast<int32_t>(program_.kernels.size()), 0});
    program_.kernels.push_back(std::move(step));
    for (Dim& d : lowered.sizes) d = InSide(d);
    lowered.tasks = InSide(lowered.tasks);
    lowered.work = InSide(lowered.work);
    kernels_.push_back(std::move(lowered));
    return absl::OkStatus();
  }

  // All are lowered by now, so a program with too many is refused before the first compile.
  absl::Status CompileKernels() {
    absl::flat_hash_set<std::string> different;
    for (const LoweredKernel& k : kernels_) different.insert(kernel::Fingerprint(*k.kernel));
    if (different.size() > kMaxKernels) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "program ", c_.graph.name, " needs ", different.size(), " different kernels in ",
          kernels_.size(), " steps; the limit is ", kMaxKernels));
    }
    std::vector<absl::StatusOr<std::shared_ptr<rt::Artefact>>> made(kernels_.size());
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i = next++; i < made.size(); i = next++)
        made[i] = c_.compile(*kernels_[i].kernel);
    };
    std::vector<std::thread> helpers;
    try {
      for (size_t i = 1; i < std::min<size_t>(c_.compile_threads, different.size()); ++i)
        helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // The system gives no more threads: those that are there do the work.
    }
    work();
    for (std::thread& t : helpers) t.join();
    for (size_t i = 0; i < made.size(); ++i) {
      if (!made[i].ok()) return made[i].status();
      version_->groups[i].kernel_key = (*made[i])->key;
      version_->code_bytes += (*made[i])->code_bytes;
      program_.kernels[i].artefact = *std::move(made[i]);
    }
    return absl::OkStatus();
  }

  absl::Status Item(const FusedItem& item) {
    if (item.kind == FusedItem::kGroup) return GroupStep(c_.plan.groups[item.group]);
    const ir::Node& n = c_.graph.node(item.node);
    switch (item.kind) {
      case FusedItem::kIf:
        claims_.push_back({static_cast<int>(program_.steps.size()),
                           {n.attrs.claim->relation, InSide(n.attrs.claim->lhs),
                            InSide(n.attrs.claim->rhs), n.attrs.claim->set}});
        open_ifs_.push_back(static_cast<int>(program_.steps.size()));
        program_.steps.push_back({rt::StepKind::kJumpIfZero, 0, 0});
        return absl::OkStatus();
      case FusedItem::kElse: {
        absl::Status status = SideResult(item.node, n.blocks[0].results[0]);
        if (!status.ok()) return status;
        const int jump = static_cast<int>(program_.steps.size());
        program_.steps.push_back({rt::StepKind::kJump, 0, 0});
        program_.steps[static_cast<size_t>(open_ifs_.back())].index = jump + 1;
        open_ifs_.back() = jump;
        return absl::OkStatus();
      }
      default: {
        absl::Status status = SideResult(item.node, n.blocks[1].results[0]);
        program_.steps[static_cast<size_t>(open_ifs_.back())].index =
            static_cast<int32_t>(program_.steps.size());
        open_ifs_.pop_back();
        return status;
      }
    }
  }

  absl::Status SideResult(ValueId node, ValueId result) {
    absl::StatusOr<BufferRef> to = Where(node);
    if (!to.ok()) return to.status();
    return Copy(result, node, *to);
  }

  absl::Status Copy(ValueId from, ValueId type_of, BufferRef to) {
    absl::StatusOr<LoweredKernel> lowered = c_.lower_copy(from, type_of);
    if (!lowered.ok()) return lowered.status();
    return AddKernel(*std::move(lowered), absl::StrCat("copy ", c_.graph.ValueName(from)), "copy",
                     &to);
  }

  absl::Status GroupStep(const Group& group) {
    absl::StatusOr<LoweredKernel> lowered = c_.lower(group);
    if (!lowered.ok()) return lowered.status();
    const std::string label = absl::StrCat(
        absl::StrJoin(group.members, " + ",
                      [&](std::string* out, ValueId v) {
                        absl::StrAppend(out, std::string(ir::Name(c_.graph.node(v).op)));
                      }),
        " -> ", c_.graph.ValueName(group.outputs.empty() ? group.anchor : group.outputs.back()));
    return AddKernel(*std::move(lowered), label, Name(group.kind));
  }

  void Report(const LoweredKernel& lowered, const std::string& label, const char* kind) {
    rt::GroupReport report;
    report.label = label;
    report.kind = kind;
    report.family = absl::StrCat(kind, " #", version_->groups.size());
    report.schedule = lowered.schedule;
    for (const DimAnswer& a : lowered.answers)
      report.answers.push_back(
          absl::StrCat(a.claim.ToString(), a.proved ? ": proved" : ": not known"));
    report.kernel_text = kernel::Print(*lowered.kernel);
    const kernel::DivisionCounts divisions = kernel::CountDivisions(*lowered.kernel);
    report.divisions = divisions.all;
    report.inner_divisions = divisions.inner + divisions.lanes;
    version_->groups.push_back(std::move(report));
  }

  // --- sizes
  // --------------------------------------------------------------------------------------

  absl::Status Finish() {
    MemoryPlan memory = Plan();
    dim::DimProgramBuilder slots(c_.graph.dims());
    for (int s = 0; s < c_.num_symbols; ++s)
      slots.Input(c_.graph.dims()->SymbolDim(static_cast<dim::SymbolId>(s)));
    slots.Input(workers_);
    bool ok = true;
    auto slot = [&](Dim d) {
      const int at = d.ok() ? slots.Slot(d) : -1;
      if (at < 0) {
        ok = false;
        if (failed_.empty()) failed_ = d.ok() ? d.ToString() : d.status().ToString();
      }
      return at;
    };
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const LoweredKernel& lowered = kernels_[i];
      rt::KernelStep& step = program_.kernels[i];
      for (Dim d : lowered.sizes) step.size_slots.push_back(slot(d));
      step.tasks_slot = slot(lowered.tasks);
      step.work_slot = slot(lowered.work);
    }
    for (const auto& [step, claim] : claims_)
      program_.steps[static_cast<size_t>(step)].slot = slots.Slot(claim);
    for (size_t i = 0; i < values_.size(); ++i)
      program_.values.push_back({values_[i].label, slot(values_[i].bytes), slot(memory.offsets[i]),
                                 values_[i].first, values_[i].last});
    Dim output_bytes = 0;
    for (size_t i = 0; i < c_.graph.body.results.size(); ++i) {
      const ir::ValueType& type = c_.graph.type(c_.graph.body.results[i]);
      rt::OutputSpec spec;
      spec.name = c_.graph.output_names[i];
      spec.dtype = type.dtype;
      for (Dim d : type.shape) spec.shape_slots.push_back(slot(d));
      program_.outputs.push_back(std::move(spec));
      output_bytes = output_bytes + Aligned(Volume(type.shape) * SizeOf(type.dtype));
    }
    program_.arena_bytes_slot = slot(memory.total);
    program_.output_bytes_slot = slot(output_bytes);
    version_->peak = memory.total + output_bytes;
    version_->arena = memory.total;
    if (!ok)
      return absl::InternalError(
          absl::StrCat("size ", failed_, " can't be computed from the function's symbols"));
    program_.dims = slots.Build();
    return absl::OkStatus();
  }

  MemoryPlan Plan() {
    std::vector<PlannedValue> planned;
    for (const PendingValue& v : values_) planned.push_back({v.bytes, v.first, v.last});
    const int count = c_.graph.dims()->num_symbols();
    std::vector<std::vector<int64_t>> corners = CornerSizes(c_.facts, count);
    dim::SymbolId workers = 0;
    dim::IsSymbol(workers_, &workers);
    for (std::vector<int64_t>& corner : corners) corner[workers] = 2;
    return PlanMemory(planned, c_.facts, corners);
  }

  const HostContext& c_;
  rt::HostProgram& program_;
  rt::Version* version_;
  const Dim workers_;
  absl::flat_hash_map<ValueId, BufferRef> where_;
  absl::flat_hash_map<std::tuple<ValueId, Packing, int64_t>, int32_t> packed_;
  std::vector<PendingValue> values_;
  std::vector<LoweredKernel> kernels_;
  std::vector<std::pair<ValueId, BufferRef>> output_copies_;
  std::vector<int> open_ifs_;
  std::vector<std::pair<int, Claim>> claims_;
  std::string failed_;
};

}  // namespace

absl::Status BuildHostProgram(const HostContext& c, rt::Version* version) {
  return HostBuilder(c, version).Build();
}

}  // namespace lathe::compiler
