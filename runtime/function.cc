// The public classes Function and Context: thin, over FunctionState and ContextState.
#include "absl/strings/str_cat.h"
#include "ir/status_macros.h"
#include "lathe/engine.h"
#include "runtime/exceed.h"
#include "runtime/explain.h"
#include "runtime/function_state.h"
#include "runtime/largest.h"
#include "runtime/staged_ask.h"
#include "runtime/staged_state.h"

namespace lathe {
namespace {

absl::Status ContextMovedFrom() {
  return absl::FailedPreconditionError("the context was moved from: it has no memory to run in");
}

absl::Status FunctionMovedFrom() {
  return absl::FailedPreconditionError("the function was moved from: it has no program to ask");
}

// The versions of one function, their names behind `prefix`.
void AddVersions(const rt::FunctionState& state, const std::string& prefix,
                 std::vector<Function::VersionInfo>* infos) {
  const std::shared_ptr<const rt::VersionTable> table = state.table();
  if (table == nullptr) return;
  for (const std::shared_ptr<const rt::Version>& version : table->versions()) {
    Function::VersionInfo& info = infos->emplace_back();
    info.name = absl::StrCat(prefix, version->name);
    info.why = version->why;
    info.calls = version->calls.load();
    info.kernels = static_cast<int>(version->program.kernels.size());
    info.build_seconds = version->build_seconds;
    info.ready_seconds = state.ReadySeconds(version.get());
    for (const rt::GroupReport& group : version->groups) {
      info.kernel_labels.push_back(group.label);
      info.kernel_families.push_back(group.family);
      info.kernel_keys.push_back(group.kernel_key);
    }
  }
}

}  // namespace

Context::Context() : state_(std::make_unique<rt::ContextState>()) {}
Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

absl::StatusOr<std::vector<Tensor>> Function::call(absl::Span<const Tensor> inputs) const {
  if (staged_ != nullptr) return staged_->Call(inputs);
  if (state_ == nullptr) return FunctionMovedFrom();
  return state_->Call(inputs);
}

absl::Status Function::call_into(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                                 Context& context) const {
  if (context.state_ == nullptr) return ContextMovedFrom();
  if (staged_ != nullptr) return staged_->CallInto(inputs, outputs, *context.state_);
  if (state_ == nullptr) return FunctionMovedFrom();
  return state_->CallInto(inputs, outputs, *context.state_);
}

absl::Status Function::reserve(Context& context, const Sizes& sizes) const {
  if (context.state_ == nullptr) return ContextMovedFrom();
  if (staged_ != nullptr) return rt::Reserve(*staged_, *context.state_, sizes);
  if (state_ == nullptr) return FunctionMovedFrom();
  return state_->Reserve(*context.state_, sizes);
}

absl::Status Function::prepare(absl::Span<const Sizes> sizes) const {
  if (staged_ != nullptr) return staged_->Prepare(sizes);
  if (state_ == nullptr) return FunctionMovedFrom();
  return state_->Prepare(sizes);
}

void Function::wait_for_versions() const {
  if (staged_ != nullptr) staged_->WaitForVersions();
  if (state_ != nullptr) state_->WaitForVersions();
}

absl::StatusOr<std::vector<std::vector<int64_t>>> Function::output_shapes(
    const Sizes& sizes) const {
  if (staged_ != nullptr) return rt::OutputShapes(*staged_, sizes);
  if (state_ == nullptr) return FunctionMovedFrom();
  LATHE_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, state_->SymbolValues(sizes));
  return state_->plan().OutputShapes(symbols);
}

absl::StatusOr<int64_t> Function::peak_bytes(const Sizes& sizes) const {
  if (staged_ != nullptr) return rt::PeakBytes(*staged_, sizes);
  if (state_ == nullptr) return FunctionMovedFrom();
  LATHE_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, state_->SymbolValues(sizes));
  rt::ContextState context;
  return rt::PeakBytes(*state_, symbols, context);
}

absl::StatusOr<int64_t> Function::largest(const std::string& symbol, const Sizes& others,
                                          int64_t bytes) const {
  if (staged_ != nullptr) return rt::Largest(*staged_, symbol, others, bytes);
  if (state_ == nullptr) return FunctionMovedFrom();
  return rt::Largest(*state_, symbol, others, bytes);
}

absl::StatusOr<std::string> Function::explain(const Sizes& sizes) const {
  if (staged_ != nullptr) return rt::ExplainText(*staged_, sizes);
  if (state_ == nullptr) return FunctionMovedFrom();
  LATHE_ASSIGN_OR_RETURN(const rt::Explanation explanation, rt::Explain(*state_, sizes));
  return explanation.Text();
}

absl::StatusOr<std::string> Function::explain_json(const Sizes& sizes) const {
  if (staged_ != nullptr) return rt::ExplainJson(*staged_, sizes);
  if (state_ == nullptr) return FunctionMovedFrom();
  LATHE_ASSIGN_OR_RETURN(const rt::Explanation explanation, rt::Explain(*state_, sizes));
  return explanation.Json();
}

absl::StatusOr<MemoryAnswer> Function::could_exceed(int64_t bytes) const {
  if (staged_ != nullptr) return rt::CouldExceed(*staged_, bytes);
  if (state_ == nullptr) return FunctionMovedFrom();
  return rt::CouldExceed(*state_, bytes);
}

std::vector<Function::VersionInfo> Function::versions() const {
  std::vector<VersionInfo> infos;
  if (state_ != nullptr) AddVersions(*state_, "", &infos);
  if (staged_ == nullptr) return infos;
  for (const std::shared_ptr<rt::FunctionState>& f : staged_->functions())
    AddVersions(*f, absl::StrCat(f->graph().name, ": "), &infos);
  return infos;
}

absl::Status Function::pin_version(const std::string& name) const {
  if (staged_ != nullptr) return staged_->Pin(name);
  if (state_ == nullptr) return FunctionMovedFrom();
  return state_->Pin(name);
}

}  // namespace lathe
