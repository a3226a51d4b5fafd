// :why, :ir, :kernels, :llvm, :asm, :cuda.
#include "absl/strings/str_cat.h"
#include "codegen/cuda/cuda_text.h"
#include "compiler/lower/lower.h"
#include "compiler/specialize/specializer.h"
#include "ir/bounds.h"
#include "ir/status_macros.h"
#include "repl/command.h"
#include "repl/session.h"
#include "repl/target.h"
#include "runtime/function_state.h"

namespace lathe::repl {
namespace {

using compiler::LoweredKernel;
using compiler::ScheduleTarget;

// The version for the sizes given; without sizes the generic one, which is the table's last.
absl::StatusOr<std::shared_ptr<const rt::Version>> ChosenVersion(const Target& target) {
  if (!target.has_sizes) return target.compiled->function.state()->table()->versions().back();
  LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, SymbolsOf(target));
  return VersionFor(*target.compiled, symbols);
}

// The key's first word; the rest names the target.
std::string Fingerprint(const std::string& key) { return key.substr(0, key.find(' ')); }

compiler::CompilerBackend& Backend(Session& session) {
  return static_cast<compiler::CompilerBackend&>(*session.functions().engine().state()->compiler);
}

// One function at a time prints kernels; nothing else works on its graph, since all of its versions
// exist.
class KernelPrinter {
 public:
  // `comment` starts a comment line of the emitted language.
  KernelPrinter(Session& session, const CommandLine& line, std::string_view comment)
      : session_(session), line_(line), comment_(comment) {}

  absl::Status Start() {
    LATHE_ASSIGN_OR_RETURN(target_, ReadTarget(session_, line_));
    LATHE_ASSIGN_OR_RETURN(version_, ChosenVersion(target_));
    facts_.emplace(graph().facts());
    for (const Claim& c : version_->guard) {
      LATHE_RETURN_IF_ERROR(
          facts_->Add(c, dim::Standing::kDeclared, {"guard of version " + version_->name, ""})
              .status());
    }
    plan_ = compiler::Fuse(graph());
    return absl::OkStatus();
  }

  size_t num_groups() const { return plan_.groups.size(); }

  absl::StatusOr<LoweredKernel> Lower(size_t group, const ScheduleTarget& schedule) {
    compiler::DimQuery query(*facts_);
    return compiler::LowerGroup({graph(), plan_, schedule, query, Backend(session_).micro()},
                                plan_.groups[group]);
  }

  void Add(const LoweredKernel& kernel, const std::string& text) {
    absl::StrAppend(&all_, all_.empty() ? "" : "\n", comment_, " ", kernel.kernel->name,
                    kernel.schedule.empty() ? "" : ": ", kernel.schedule, "\n", text);
    list_.push_back({{"name", kernel.kernel->name}, {"text", text}});
  }

  Answer Take() {
    if (list_.empty()) all_ = comment_ + " no kernels: the value is an input or a constant";
    return Answer{std::move(all_), {{"version", version_->name}, {"kernels", std::move(list_)}}};
  }

 private:
  const ir::Graph& graph() const { return target_.compiled->function.state()->graph(); }

  Session& session_;
  const CommandLine& line_;
  std::string comment_, all_;
  Json list_ = Json::array();
  Target target_;
  std::shared_ptr<const rt::Version> version_;
  std::optional<dim::FactSet> facts_;
  compiler::FusionPlan plan_;
};

absl::StatusOr<Answer> PrintForCpu(
    Session& session, const CommandLine& line, std::string_view comment,
    absl::StatusOr<std::string> (llvm_target::LlvmCompiler::*emit)(const kernel::Kernel&) const) {
  KernelPrinter printer(session, line, comment);
  LATHE_RETURN_IF_ERROR(printer.Start());
  for (size_t i = 0; i < printer.num_groups(); ++i) {
    LATHE_ASSIGN_OR_RETURN(const LoweredKernel lowered,
                           printer.Lower(i, Backend(session).target()));
    LATHE_ASSIGN_OR_RETURN(const std::string text,
                           (Backend(session).llvm().*emit)(*lowered.kernel));
    printer.Add(lowered, text);
  }
  return printer.Take();
}

// A warp is a vector: 32 lanes of the group's widest type, of 4 or of 8 bytes.
absl::StatusOr<std::string> CudaTextOf(KernelPrinter& printer, size_t group,
                                       LoweredKernel* lowered) {
  absl::StatusOr<std::string> text;
  for (const int element_bytes : {4, 8}) {
    const ScheduleTarget warp = {.vector_bytes = element_bytes * cuda::kWarpLanes,
                                 .has_narrow_indices = true};
    LATHE_ASSIGN_OR_RETURN(*lowered, printer.Lower(group, warp));
    text = cuda::CudaText(*lowered->kernel);
    if (text.ok()) break;
  }
  return text;
}

}  // namespace

absl::StatusOr<Answer> WhyCommand(Session& session, const CommandLine& line) {
  LATHE_ASSIGN_OR_RETURN(const Target target, ReadTarget(session, line));
  LATHE_ASSIGN_OR_RETURN(const std::string why, target.compiled->function.explain(target.sizes));
  LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, SymbolsOf(target));
  LATHE_ASSIGN_OR_RETURN(const auto version, VersionFor(*target.compiled, symbols));
  LATHE_ASSIGN_OR_RETURN(const std::string decisions,
                         target.compiled->function.explain_json(target.sizes));
  return Answer{why,
                {{"why", why}, {"version", version->name}, {"decisions", Json::parse(decisions)}}};
}

absl::StatusOr<Answer> IrCommand(Session& session, const CommandLine& line) {
  LATHE_ASSIGN_OR_RETURN(const Target target,
                         ReadTarget(session, line, {.stage = true, .others = 1}));
  const bool with_facts = !target.others.empty();
  if (with_facts && target.others[0].text != "facts") {
    return session.Error(target.others[0].at,
                         absl::StrCat("found ", Quoted(target.others[0].text), ", wanted facts"));
  }
  const CompiledValue& compiled = *target.compiled;
  const ir::Graph& graph =
      target.stage == "traced" ? *compiled.traced : compiled.function.state()->graph();
  const std::string text =
      with_facts ? ir::Print(graph, [&](ir::ValueId v) { return ir::SizesText(graph, v); })
                 : ir::Print(graph);
  return Answer{text, {{"ir", text}}};
}

absl::StatusOr<Answer> KernelsCommand(Session& session, const CommandLine& line) {
  LATHE_ASSIGN_OR_RETURN(const Target target, ReadTarget(session, line));
  LATHE_ASSIGN_OR_RETURN(const auto version, ChosenVersion(target));
  Answer answer;
  Json list = Json::array();
  for (const rt::GroupReport& group : version->groups) {
    absl::StrAppend(&answer.text, answer.text.empty() ? "" : "\n", "# ", group.label, " [",
                    group.kind, "] kernel ", Fingerprint(group.kernel_key),
                    group.schedule.empty() ? "" : ": ", group.schedule, "\n", group.kernel_text);
    list.push_back({{"label", group.label},
                    {"kind", group.kind},
                    {"family", group.family},
                    {"key", group.kernel_key},
                    {"schedule", group.schedule},
                    {"answers", group.answers},
                    {"text", group.kernel_text}});
  }
  if (list.empty()) answer.text = "# no kernels: the value is an input or a constant";
  answer.json = {{"version", version->name}, {"kernels", std::move(list)}};
  return answer;
}

absl::StatusOr<Answer> LlvmCommand(Session& session, const CommandLine& line) {
  return PrintForCpu(session, line, ";", &llvm_target::LlvmCompiler::LlvmIr);
}

absl::StatusOr<Answer> AsmCommand(Session& session, const CommandLine& line) {
  return PrintForCpu(session, line, "#", &llvm_target::LlvmCompiler::Assembly);
}

// Kernels that have no CUDA text say so in their place; an error if none has one.
absl::StatusOr<Answer> CudaCommand(Session& session, const CommandLine& line) {
  KernelPrinter printer(session, line, "//");
  LATHE_RETURN_IF_ERROR(printer.Start());
  absl::Status missing;
  bool any = false;
  for (size_t i = 0; i < printer.num_groups(); ++i) {
    LoweredKernel lowered;
    const absl::StatusOr<std::string> text = CudaTextOf(printer, i, &lowered);
    if (lowered.kernel == nullptr) return text.status();
    any |= text.ok();
    if (!text.ok()) missing = text.status();
    printer.Add(lowered, text.ok() ? *text : absl::StrCat("// ", text.status().message(), "\n"));
  }
  if (!any && !missing.ok()) return missing;
  return printer.Take();
}

}  // namespace lathe::repl
