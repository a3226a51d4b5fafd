#include "codegen/llvm/llvm_target.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "codegen/llvm/jit.h"
#include "codegen/llvm/module_builder.h"

namespace lathe::llvm_target {
namespace {

constexpr char kKernelSymbol[] = "lathe_kernel";

// The symbol of a micro-kernel: the same for equal kernels.
std::string MicroSymbol(const std::string& fingerprint) {
  return absl::StrCat("lathe_micro_", fingerprint);
}

std::vector<std::string> CalleeSymbols(const kernel::Kernel& k) {
  std::vector<std::string> symbols;
  symbols.reserve(k.callees.size());
  for (const auto& c : k.callees) symbols.push_back(MicroSymbol(kernel::Fingerprint(*c)));
  return symbols;
}

// A micro-kernel: made once; whoever wants it meanwhile waits on its mutex.
struct Micro {
  std::mutex mutex;
  std::shared_ptr<const LoadedCode> code;
};

struct CodeArtefact : rt::Artefact {
  std::unique_ptr<LoadedCode> code;
  std::vector<std::shared_ptr<const LoadedCode>> micros;  // that the code calls
};

double Seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

struct LlvmCompiler::Impl {
  CpuTarget target;
  std::shared_ptr<Jit> jit;
  mutable std::mutex mutex;
  CompileCounters counters;
  absl::flat_hash_map<std::string, std::shared_ptr<Micro>> micros;
  std::vector<ModuleBuilder> idle_builders[2];  // by tier

  absl::StatusOr<ModuleBuilder> TakeBuilder(Tier tier);
  void ReturnBuilder(Tier tier, ModuleBuilder builder);

  using Imports = std::vector<std::pair<std::string, void*>>;
  using Codes = std::vector<std::shared_ptr<const LoadedCode>>;

  absl::StatusOr<std::unique_ptr<LoadedCode>> CompileOne(const kernel::Kernel& k,
                                                         const std::string& symbol, Tier tier,
                                                         Codes* callees);
  absl::StatusOr<std::shared_ptr<const LoadedCode>> GetMicro(const kernel::Kernel& k,
                                                             const std::string& symbol);
};

absl::StatusOr<ModuleBuilder> LlvmCompiler::Impl::TakeBuilder(Tier tier) {
  {
    std::lock_guard lock(mutex);
    std::vector<ModuleBuilder>& idle = idle_builders[static_cast<int>(tier)];
    if (!idle.empty()) {
      ModuleBuilder builder = std::move(idle.back());
      idle.pop_back();
      return builder;
    }
  }
  return ModuleBuilder::Create(target, tier);
}

void LlvmCompiler::Impl::ReturnBuilder(Tier tier, ModuleBuilder builder) {
  builder.Clear();
  std::lock_guard lock(mutex);
  idle_builders[static_cast<int>(tier)].push_back(std::move(builder));
}

// Compiles and links one module; its callees first.
absl::StatusOr<std::unique_ptr<LoadedCode>> LlvmCompiler::Impl::CompileOne(
    const kernel::Kernel& k, const std::string& symbol, Tier tier, Codes* callees) {
  if (absl::Status s = kernel::Verify(k); !s.ok()) return s;
  const std::vector<std::string> symbols = CalleeSymbols(k);
  Imports imports;
  for (size_t i = 0; i < k.callees.size(); ++i) {
    auto micro = GetMicro(*k.callees[i], symbols[i]);
    if (!micro.ok()) return micro.status();
    imports.emplace_back(symbols[i], (*micro)->address());
    callees->push_back(*std::move(micro));
  }
  const auto start = std::chrono::steady_clock::now();
  auto builder = TakeBuilder(tier);
  if (!builder.ok()) return builder.status();
  if (absl::Status s = builder->Build(k, symbol, symbols); !s.ok()) return s;
  auto object = builder->Object();
  if (!object.ok()) return object.status();
  ReturnBuilder(tier, *std::move(builder));
  auto code = jit->Load(*std::move(object), symbol, imports);
  std::lock_guard lock(mutex);
  ++counters.modules;
  if (rt::InCallScope::Active()) ++counters.in_calls;
  counters.seconds += Seconds(std::chrono::steady_clock::now() - start);
  return code;
}

absl::StatusOr<std::shared_ptr<const LoadedCode>> LlvmCompiler::Impl::GetMicro(
    const kernel::Kernel& k, const std::string& symbol) {
  std::shared_ptr<Micro> micro;
  {
    std::lock_guard lock(mutex);
    std::shared_ptr<Micro>& slot = micros[symbol];
    if (slot == nullptr) slot = std::make_shared<Micro>();
    micro = slot;
  }
  std::lock_guard lock(micro->mutex);
  if (micro->code != nullptr) return micro->code;
  if (!k.is_micro) {
    return absl::InternalError(
        absl::StrCat("kernel ", k.name, " is called, but is no micro-kernel"));
  }
  if (!k.callees.empty()) {
    return absl::InternalError(absl::StrCat("micro-kernel ", k.name, " calls others"));
  }
  Codes none;
  auto code = CompileOne(k, symbol, Tier::kFull, &none);
  if (!code.ok()) return code.status();
  micro->code = *std::move(code);
  return micro->code;
}

LlvmCompiler::LlvmCompiler() : impl_(std::make_unique<Impl>()) {}
LlvmCompiler::~LlvmCompiler() = default;

absl::StatusOr<std::unique_ptr<LlvmCompiler>> LlvmCompiler::Create(const CpuTarget& target) {
  auto jit = Jit::Create();
  if (!jit.ok()) return jit.status();
  std::unique_ptr<LlvmCompiler> compiler(new LlvmCompiler);
  compiler->impl_->target = target;
  compiler->impl_->jit = *std::move(jit);
  return compiler;
}

const CpuTarget& LlvmCompiler::target() const { return impl_->target; }

absl::StatusOr<std::shared_ptr<rt::Artefact>> LlvmCompiler::Compile(const kernel::Kernel& k,
                                                                    Tier tier) {
  if (k.is_micro) {
    return absl::InvalidArgumentError(
        absl::StrCat("micro-kernel ", k.name, " has no tasks; compile the kernel that calls it"));
  }
  const auto start = std::chrono::steady_clock::now();
  auto artefact = std::make_shared<CodeArtefact>();
  auto code = impl_->CompileOne(k, kKernelSymbol, tier, &artefact->micros);
  if (!code.ok()) return code.status();
  artefact->code = *std::move(code);
  artefact->fn = reinterpret_cast<rt::KernelFn>(artefact->code->address());
  artefact->name = k.name;
  artefact->key = absl::StrCat(kernel::Fingerprint(k), " ", impl_->target.Identity(),
                               tier == Tier::kFull ? " full" : " quick");
  artefact->code_bytes = artefact->code->bytes();
  artefact->compile_seconds = Seconds(std::chrono::steady_clock::now() - start);
  artefact->failures = k.failures;
  return artefact;
}

CompileCounters LlvmCompiler::counters() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->counters;
}

absl::StatusOr<std::string> LlvmCompiler::LlvmIr(const kernel::Kernel& k) const {
  if (absl::Status s = kernel::Verify(k); !s.ok()) return s;
  auto builder = ModuleBuilder::Create(impl_->target, Tier::kFull);
  if (!builder.ok()) return builder.status();
  if (absl::Status s = builder->Build(k, kKernelSymbol, CalleeSymbols(k)); !s.ok()) return s;
  return builder->Ir();
}

absl::StatusOr<std::string> LlvmCompiler::Assembly(const kernel::Kernel& k) const {
  if (absl::Status s = kernel::Verify(k); !s.ok()) return s;
  auto builder = ModuleBuilder::Create(impl_->target, Tier::kFull);
  if (!builder.ok()) return builder.status();
  if (absl::Status s = builder->Build(k, kKernelSymbol, CalleeSymbols(k)); !s.ok()) return s;
  return builder->Assembly();
}

}  // namespace lathe::llvm_target
