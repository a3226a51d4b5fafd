#include "runtime/explain.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/status_macros.h"

namespace lathe::rt {
namespace {

class Explainer {
 public:
  Explainer(const FunctionState& function, const ContextState& context)
      : function_(function), context_(context), table_(*context.published->table) {}

  Explanation Run() {
    Sizes();
    Versions();
    Memory();
    return std::move(e_);
  }

 private:
  void Sizes() {
    const EntryPlan& plan = function_.plan();
    std::vector<dim::SymbolId> all(context_.bound.size());
    std::iota(all.begin(), all.end(), 0);
    e_.function = function_.graph().name;
    if (!all.empty()) e_.described = plan.Describe(all, context_.bound);
    for (size_t s = 0; s < all.size(); ++s) e_.sizes[plan.symbol_names[s]] = context_.bound[s];
    for (const EntryPlan::Check& check : plan.checks) e_.checked.push_back(check.text);
    e_.facts = function_.facts();
  }

  const Version& version(size_t i) const { return *table_.versions()[i]; }

  void Versions() {
    const size_t chosen = static_cast<size_t>(context_.version);
    e_.version = version(chosen).name;
    e_.why = version(chosen).why;
    e_.pinned = context_.published->pinned == context_.version;
    for (const VersionTable::GuardClaim& claim : table_.guard(chosen)) {
      e_.guard.push_back(claim.text);
    }
    for (size_t v = 0; v < table_.versions().size(); ++v) {
      if (v != chosen) e_.others.push_back({version(v).name, WhyNot(v)});
    }
    e_.failed_builds = function_.BuildFailures();
    e_.code_bytes = version(chosen).code_bytes;
    e_.kernels = version(chosen).groups;
  }

  // Guards are evaluated for these sizes by the table's program.
  std::string WhyNot(size_t v) const {
    for (const VersionTable::GuardClaim& claim : table_.guard(v)) {
      if (context_.table_slots[static_cast<size_t>(claim.slot)] != 0) continue;
      std::vector<int64_t> slots(static_cast<size_t>(claim.alone.num_slots()));
      std::copy(context_.bound.begin(), context_.bound.end(), slots.begin());
      const bool known = claim.alone.Run(slots.data()) < 0;
      return absl::StrCat("its guard ", claim.text, " doesn't hold",
                          known ? absl::StrCat(": the left side is ",
                                               slots[static_cast<size_t>(claim.alone_lhs_slot)])
                                : ": it overflows");
    }
    if (context_.published->pinned == context_.version) return "another version is pinned";
    return absl::StrCat("its guard holds, but its order ", version(v).order, " is below ",
                        version(static_cast<size_t>(context_.version)).order);
  }

  void Memory() {
    const auto slot = [&](int32_t i) { return context_.slots[static_cast<size_t>(i)]; };
    e_.arena_bytes = FunctionState::ArenaBytes(context_);
    e_.output_bytes = FunctionState::OutputBytes(context_);
    const HostProgram& program = context_.plan().version->program;
    for (const ArenaValue& value : program.values) {
      e_.arena.push_back({value.label, slot(value.bytes_slot), slot(value.offset_slot),
                          value.first_step, value.last_step});
    }
    for (const OutputSpec& output : program.outputs) {
      Explanation::Output& out = e_.outputs.emplace_back();
      out.name = output.name;
      out.dtype = Name(output.dtype);
      for (const int32_t s : output.shape_slots) out.shape.push_back(slot(s));
    }
  }

  const FunctionState& function_;
  const ContextState& context_;
  const VersionTable& table_;
  Explanation e_;
};

}  // namespace

absl::StatusOr<Explanation> Explain(const FunctionState& function, const lathe::Sizes& sizes) {
  LATHE_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, function.SymbolValues(sizes));
  ContextState context;
  LATHE_RETURN_IF_ERROR(function.ResolveSizes(context, symbols));
  return Explainer(function, context).Run();
}

}  // namespace lathe::rt
