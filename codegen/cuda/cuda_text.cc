#include "codegen/cuda/cuda_text.h"

#include "codegen/cuda/preludes.h"
#include "codegen/cuda/text_emitter.h"

namespace lathe::cuda {

using kernel::BufferDecl;
using kernel::BufferKind;
using kernel::Kernel;
using kernel::kNoReg;
using kernel::Stmt;
using kernel::StmtKind;

std::string RegisterType(DType t) {
  switch (t) {
    case DType::kBool:
      return "bool";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    default:
      return absl::StrCat("lathe_", lathe::Name(t));
  }
}

std::string MemoryType(DType t) { return t == DType::kBool ? "unsigned char" : RegisterType(t); }

namespace {

// Tables hold bits, so that no constant is printed as a decimal.
const char* TableType(DType t) {
  switch (SizeOf(t)) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned";
    default:
      return "unsigned long long";
  }
}

bool HasTypedLanes(const Stmt& s) {
  return s.kind == StmtKind::kLet || s.kind == StmtKind::kVar || s.kind == StmtKind::kSetVar ||
         s.kind == StmtKind::kStore;
}

}  // namespace

TextEmitter::TextEmitter(const Kernel& k)
    : kernel_(k),
      hazards_(k),
      vars_(static_cast<size_t>(k.num_vars)),
      regs_(static_cast<size_t>(k.num_regs)),
      types_(static_cast<size_t>(k.num_regs)),
      opened_dims_(1),
      facts_(k.dims.get()) {
  facts_.AddBounds(k.assumptions);
}

absl::Status TextEmitter::Check(const std::vector<Stmt>& block) const {
  for (const Stmt& s : block) {
    if (HasTypedLanes(s) && s.type.lanes != 1 && s.type.lanes != kWarpLanes) {
      return absl::UnimplementedError(absl::StrCat("kernel ", kernel_.name,
                                                   ": CUDA text has vectors of ", kWarpLanes,
                                                   " lanes, found ", s.type.lanes));
    }
    if (absl::Status inner = Check(s.body); !inner.ok()) return inner;
    if (absl::Status inner = Check(s.other); !inner.ok()) return inner;
  }
  return absl::OkStatus();
}

void TextEmitter::Tables(const std::string& name) {
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const BufferDecl& b = kernel_.buffers[i];
    if (b.kind != BufferKind::kTable) continue;
    buffers_[i] = absl::StrCat(name, "_t", i);
    std::string values = b.table.empty() ? "0" : "";
    for (size_t j = 0; j < b.table.size(); ++j) {
      absl::StrAppend(&values,
                      j == 0       ? ""
                      : j % 8 == 0 ? ",\n    "
                                   : ", ",
                      "0x", absl::Hex(b.table[j]), SizeOf(b.dtype) == 8 ? "ull" : "u");
    }
    Line("__device__ const ", TableType(b.dtype), " ", buffers_[i], "[] = {", values, "};");
  }
}

void TextEmitter::Signature(const std::string& name) {
  std::string parameters;
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const BufferDecl& b = kernel_.buffers[i];
    if (b.kind == BufferKind::kTable) continue;
    const bool input = b.kind == BufferKind::kInput;
    buffers_[i] = Fresh('b');
    absl::StrAppend(&parameters, input ? "const " : "", MemoryType(b.dtype), "* ",
                    input ? "__restrict__ " : "", buffers_[i], ", ");
  }
  for (Dim size : kernel_.sizes) {
    dim::SymbolId symbol = 0;
    dim::IsSymbol(size, &symbol);
    const std::string s = Fresh('s');
    absl::StrAppend(&parameters, "lathe_i64 ", s, ", ");
    Bind(symbol, {s});
  }
  Open(absl::StrCat("extern \"C\" __global__ void __launch_bounds__(", kMaxBlockThreads, ") ", name,
                    "(", parameters, "lathe_i64 tasks, lathe_i64* error)"));
}

void TextEmitter::ScratchParts() {
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const BufferDecl& b = kernel_.buffers[i];
    if (b.kind == BufferKind::kWorkerScratch)
      Line(buffers_[i], " += warp * ", Text(b.elements), ";");
  }
}

absl::StatusOr<std::string> TextEmitter::Run(const std::string& name) {
  if (kernel_.is_micro || !kernel_.callees.empty()) {
    return absl::UnimplementedError(absl::StrCat("kernel ", kernel_.name,
                                                 ": CUDA text has no calls between kernels, found ",
                                                 kernel_.is_micro ? "a micro-kernel" : "callees"));
  }
  if (absl::Status s = Check(kernel_.body); !s.ok()) return s;
  buffers_.resize(kernel_.buffers.size());
  Tables(name);
  Signature(name);
  Line("const lathe_i32 lane = threadIdx.x & 31u;");
  Line("const lathe_i64 warp = ((lathe_i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;");
  Line("const lathe_i64 warps = ((lathe_i64)gridDim.x * blockDim.x) >> 5;");
  ScratchParts();
  Open("for (lathe_i64 task = warp; task < tasks; task += warps)");
  Bind(kernel_.task, {"task"});
  facts_.AddLoop(kernel_.dims->SymbolDim(kernel_.task), 0, kernel_.tasks);
  bool scratch = false;
  for (const BufferDecl& b : kernel_.buffers) scratch |= b.kind == BufferKind::kWorkerScratch;
  // The scratch is that of the warp's task before.
  if (scratch) Line("__syncwarp();");
  Block(kernel_.body);
  Close();
  Close();
  return std::move(out_);
}

std::string KernelName(const Kernel& k) { return "lathe_" + kernel::Fingerprint(k); }

absl::StatusOr<std::string> CudaText(const Kernel& k) { return TextEmitter(k).Run(KernelName(k)); }

std::string CudaProgram(absl::Span<const std::string> texts) {
  std::string program = absl::StrCat(PreludeCuda(), PreludeOps());
  for (const std::string& t : texts) absl::StrAppend(&program, "\n", t);
  return program;
}

std::string HostProgram(absl::Span<const std::string> texts) {
  std::string program = absl::StrCat(PreludeHost(), PreludeOps());
  for (const std::string& t : texts) absl::StrAppend(&program, "\n", t);
  return program;
}

}  // namespace lathe::cuda
