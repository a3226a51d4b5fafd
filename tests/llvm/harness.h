#pragma once
// Runs a kernel as machine code for both targets and in the evaluator, on the same guarded buffers,
// and compares every byte. Values that are NaN in both are equal.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/kernel/builder.h"
#include "codegen/kernel/evaluator.h"
#include "codegen/llvm/llvm_target.h"

namespace lathe::llvm_target {

// Memory between two inaccessible pages; the elements end at the second one, or begin at the first.
class GuardedBuffer {
 public:
  enum class Side { kFront, kBack };
  GuardedBuffer(int64_t bytes, Side side);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  void* data() const { return data_; }

 private:
  void* mapping_ = nullptr;
  int64_t mapped_ = 0;
  void* data_ = nullptr;
};

struct TestBuffer {
  DType dtype = DType::kF32;
  std::vector<uint8_t> bytes;
  int64_t elements() const { return static_cast<int64_t>(bytes.size()) / SizeOf(dtype); }

  template <typename T>
  static TestBuffer Of(DType dtype, const std::vector<T>& values) {
    TestBuffer b{dtype, std::vector<uint8_t>(values.size() * sizeof(T))};
    if (!values.empty()) std::memcpy(b.bytes.data(), values.data(), b.bytes.size());
    return b;
  }
  static TestBuffer OfBits(DType dtype, const std::vector<uint64_t>& bits);
  // Bytes that no kernel writes by chance; bools are 0 and 1.
  static TestBuffer Canaries(DType dtype, int64_t elements);
  template <typename T>
  T at(int64_t i) const {
    T v;
    std::memcpy(&v, &bytes[static_cast<size_t>(i) * sizeof(T)], sizeof(T));
    return v;
  }
};

// One compiler a target, made on first use and kept.
LlvmCompiler& HostCompiler();
LlvmCompiler& Avx2Compiler();
LlvmCompiler& Sse2Compiler();            // the least x86-64: no fused multiply-add
std::vector<LlvmCompiler*> Compilers();  // host and AVX2

struct RunResult {
  std::vector<TestBuffer> buffers;  // after the run
  bool failed = false;
  rt::KernelError error;
};

// All tasks in the evaluator.
absl::StatusOr<RunResult> Interpret(const kernel::Kernel& k, std::vector<TestBuffer> buffers,
                                    const std::vector<int64_t>& sizes, int64_t tasks);
RunResult Execute(const rt::Artefact& code, const std::vector<TestBuffer>& buffers,
                  const std::vector<int64_t>& sizes, int64_t tasks, GuardedBuffer::Side side);

// Fails the test unless all targets, both tiers and both placements of the buffers give what the
// evaluator gives. `k` is compiled once a target and tier for all calls with the same kernel.
class Agreement {
 public:
  explicit Agreement(std::shared_ptr<const kernel::Kernel> k,
                     const std::vector<LlvmCompiler*>& compilers = Compilers());
  void Check(const std::vector<TestBuffer>& buffers, const std::vector<int64_t>& sizes,
             int64_t tasks, const std::string& what);
  const kernel::Kernel& kernel() const { return *kernel_; }

 private:
  std::shared_ptr<const kernel::Kernel> kernel_;
  std::vector<std::pair<std::string, std::shared_ptr<rt::Artefact>>> codes_;
};

// "" if equal; else the first difference.
std::string Difference(const TestBuffer& want, const TestBuffer& got);

// Values of an element type at which arithmetic goes wrong first, as bits.
std::vector<uint64_t> SpecialValues(DType dtype);

}  // namespace lathe::llvm_target
