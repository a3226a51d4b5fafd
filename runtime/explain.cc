#include "runtime/explain.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/status_macros.h"

namespace lathe::rt {
namespace {

class Explainer {
 public:
  Explainer(const FunctionState& function, const ContextState& context)
      : function_(function), context_(context), table_(*context.published->table) {}

  std::string Text() {
    Sizes();
    Chosen();
    Others();
    Groups();
    Memory();
    return std::move(text_);
  }

 private:
  void Sizes() {
    std::vector<dim::SymbolId> all(context_.bound.size());
    std::iota(all.begin(), all.end(), 0);
    absl::StrAppend(&text_, "function ", function_.graph().name);
    if (!all.empty()) {
      absl::StrAppend(&text_, " with ", function_.plan().Describe(all, context_.bound));
    }
    absl::StrAppend(&text_, "\n");
    for (const EntryPlan::Check& check : function_.plan().checks) {
      absl::StrAppend(&text_, "  holds: ", check.text, "\n");
    }
  }

  const Version& version(size_t i) const { return *table_.versions()[i]; }

  void Chosen() {
    const size_t chosen = static_cast<size_t>(context_.version);
    absl::StrAppend(&text_, "version \"", version(chosen).name, "\": ", version(chosen).why, "\n");
    if (context_.published->pinned == context_.version) {
      absl::StrAppend(&text_, "  pinned: it wins wherever its guard holds\n");
    }
    for (const VersionTable::GuardClaim& claim : table_.guard(chosen)) {
      absl::StrAppend(&text_, "  guard holds: ", claim.text, "\n");
    }
  }

  // Guards are evaluated for these sizes by the table's program.
  void Others() {
    for (size_t v = 0; v < table_.versions().size(); ++v) {
      if (static_cast<int>(v) == context_.version) continue;
      absl::StrAppend(&text_, "not \"", version(v).name, "\": ", WhyNot(v), "\n");
    }
    for (const std::string& failure : function_.BuildFailures()) {
      absl::StrAppend(&text_, "not built: ", failure, "\n");
    }
  }

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

  void Groups() {
    const Version& chosen = *context_.plan().version;
    absl::StrAppend(&text_, chosen.program.kernels.size(), " kernels in ", chosen.groups.size(),
                    " groups, ", chosen.code_bytes, " bytes of code\n");
    for (const GroupReport& group : chosen.groups) {
      absl::StrAppend(&text_, "  ", group.label, " [", group.kind, "] family ", group.family,
                      ", kernel ", group.kernel_key.substr(0, group.kernel_key.find(' ')), "\n");
      if (!group.schedule.empty()) absl::StrAppend(&text_, "    schedule: ", group.schedule, "\n");
      for (const std::string& answer : group.answers) {
        absl::StrAppend(&text_, "    ", answer, "\n");
      }
    }
  }

  void Memory() {
    const int64_t arena = FunctionState::ArenaBytes(context_);
    const int64_t outputs = FunctionState::OutputBytes(context_);
    absl::StrAppend(&text_, "memory: arena ", arena, " bytes, outputs ", outputs, " bytes, peak ",
                    arena + outputs, " bytes\n");
    const HostProgram& program = context_.plan().version->program;
    for (const OutputSpec& output : program.outputs) {
      std::vector<int64_t> shape;
      for (int32_t slot : output.shape_slots) {
        shape.push_back(context_.slots[static_cast<size_t>(slot)]);
      }
      absl::StrAppend(&text_, "  output ", output.name, ": ", Name(output.dtype), "[",
                      absl::StrJoin(shape, ", "), "]\n");
    }
  }

  const FunctionState& function_;
  const ContextState& context_;
  const VersionTable& table_;
  std::string text_;
};

}  // namespace

absl::StatusOr<std::string> Explain(const FunctionState& function, const Sizes& sizes) {
  LATHE_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, function.SymbolValues(sizes));
  ContextState context;
  LATHE_RETURN_IF_ERROR(function.ResolveSizes(context, symbols));
  return Explainer(function, context).Text();
}

}  // namespace lathe::rt
