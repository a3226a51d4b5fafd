#include "codegen/llvm/jit.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "codegen/llvm/module_builder.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"

namespace lathe::llvm_target {
namespace {

absl::Status ToStatus(llvm::Error error, const std::string& what) {
  return absl::InternalError(absl::StrCat(what, ": ", llvm::toString(std::move(error))));
}

// Bytes of the sections that the linker keeps in memory.
int64_t LoadedBytes(const llvm::MemoryBuffer& object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object.getMemBufferRef());
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  int64_t bytes = 0;
  for (const llvm::object::SectionRef& s : (*file)->sections()) {
    if (llvm::object::ELFSectionRef(s).getFlags() & llvm::ELF::SHF_ALLOC) {
      bytes += static_cast<int64_t>(s.getSize());
    }
  }
  return bytes;
}

using Symbols = std::vector<std::pair<std::string, void*>>;

// To nearest, ties to even: the rounding mode is never changed.
template <typename T>
T RoundEven(T x) {
  return std::nearbyint(x);
}

// What emitted code calls on processors that have no instruction for it; nothing on others.
Symbols LibraryFunctions() {
  using F1 = float (*)(float);
  using D1 = double (*)(double);
  const auto f1 = [](F1 f) { return reinterpret_cast<void*>(f); };
  const auto d1 = [](D1 f) { return reinterpret_cast<void*>(f); };
  const auto f3 = [](float (*f)(float, float, float)) { return reinterpret_cast<void*>(f); };
  const auto d3 = [](double (*f)(double, double, double)) { return reinterpret_cast<void*>(f); };
  return {{"fmaf", f3(&::fmaf)},
          {"fma", d3(&::fma)},
          {"floorf", f1(&::floorf)},
          {"floor", d1(&::floor)},
          {"roundevenf", f1(&RoundEven<float>)},
          {"roundeven", d1(&RoundEven<double>)}};
}

}  // namespace

absl::StatusOr<std::shared_ptr<Jit>> Jit::Create() {
  InitializeLlvm();
  auto jit = std::make_shared<Jit>();
  llvm::orc::LLJITBuilder builder;
  // Kernels need neither the process's symbols nor static constructors.
  builder.setLinkProcessSymbolsByDefault(false);
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  auto made = builder.create();
  if (!made) return ToStatus(made.takeError(), "ORC can't be set up");
  jit->jit_ = std::move(*made);
  return jit;
}

absl::StatusOr<std::unique_ptr<LoadedCode>> Jit::Load(std::unique_ptr<llvm::MemoryBuffer> object,
                                                      const std::string& symbol,
                                                      const Symbols& imports) {
  llvm::orc::ExecutionSession& session = jit_->getExecutionSession();
  llvm::orc::JITDylib& dylib = session.createBareJITDylib(absl::StrCat("k", next_id_++));
  std::unique_ptr<LoadedCode> code(new LoadedCode(shared_from_this(), &dylib));
  code->bytes_ = LoadedBytes(*object);
  llvm::orc::SymbolMap absolute;
  const auto import = [&](const Symbols& list) {
    for (const auto& [name, address] : list) {
      absolute[session.intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                        llvm::JITSymbolFlags::Exported};
    }
  };
  import(LibraryFunctions());
  import(imports);
  if (llvm::Error e = dylib.define(llvm::orc::absoluteSymbols(std::move(absolute)))) {
    return ToStatus(std::move(e), absl::StrCat("symbols for ", symbol, " can't be defined"));
  }
  if (llvm::Error e = jit_->addObjectFile(dylib, std::move(object))) {
    return ToStatus(std::move(e), absl::StrCat("code of ", symbol, " can't be linked"));
  }
  auto address = jit_->lookupLinkerMangled(dylib, symbol);
  if (!address) {
    return ToStatus(address.takeError(), absl::StrCat("code of ", symbol, " can't be loaded"));
  }
  code->address_ = address->toPtr<void*>();
  return code;
}

LoadedCode::~LoadedCode() {
  llvm::orc::ExecutionSession& session = jit_->jit_->getExecutionSession();
  // Nothing can be done about a failure here; the session reports it to no one.
  llvm::consumeError(session.removeJITDylib(*dylib_));
  session.getSymbolStringPool()->clearDeadEntries();
}

}  // namespace lathe::llvm_target
