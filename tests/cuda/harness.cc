#include "tests/cuda/harness.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "codegen/kernel/scalar_ops.h"
#include "tests/util/same_bits.h"

namespace lathe::cuda {

using kernel::BufferDecl;
using kernel::BufferKind;
using kernel::EvalBuffer;
using kernel::Kernel;

namespace {

constexpr LaunchShape kShapes[] = {{1, 1, false}, {2, 2, true}};

// Elements that end at an inaccessible page.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inner = (bytes + page - 1) / page * page;
    mapped_ = inner + page;
    base_ = static_cast<uint8_t*>(
        mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_, inner, PROT_READ | PROT_WRITE);
    data_ = base_ + inner - bytes;
  }
  ~GuardedMemory() { munmap(base_, mapped_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  uint8_t* data() const { return data_; }

 private:
  uint8_t* base_ = nullptr;
  uint8_t* data_ = nullptr;
  size_t mapped_ = 0;
};

// One run's buffers, scratch included.
struct Arguments {
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  std::vector<EvalBuffer> views;

  Arguments(const Kernel& k, const std::vector<TestBuffer>& buffers,
            const std::vector<int64_t>& symbols, int64_t warps) {
    size_t next = 0;
    for (const BufferDecl& b : k.buffers) {
      if (b.kind == BufferKind::kTable) continue;
      int64_t elements = 0;
      if (b.kind == BufferKind::kWorkerScratch) {
        elements = dim::Evaluate(b.elements, symbols).value_or(0) * warps;
      } else {
        elements = buffers[next].elements();
      }
      const size_t bytes = static_cast<size_t>(elements * SizeOf(b.dtype));
      memory.push_back(std::make_unique<GuardedMemory>(bytes));
      views.push_back({memory.back()->data(), elements});
      if (b.kind == BufferKind::kWorkerScratch) {
        std::memset(memory.back()->data(), 0xff, bytes);
      } else {
        if (bytes > 0) std::memcpy(memory.back()->data(), buffers[next].bytes.data(), bytes);
        ++next;
      }
    }
  }

  std::vector<TestBuffer> Contents(const Kernel& k) const {
    std::vector<TestBuffer> buffers;
    for (size_t i = 0; i < views.size(); ++i) {
      if (k.buffers[i].kind == BufferKind::kWorkerScratch) continue;
      const DType dtype = k.buffers[i].dtype;
      const uint8_t* data = memory[i]->data();
      buffers.push_back({dtype, {data, data + views[i].elements * SizeOf(dtype)}});
    }
    return buffers;
  }
};

std::string Compare(const Kernel& k, const Arguments& want, const Arguments& got) {
  for (size_t i = 0; i < want.views.size(); ++i) {
    if (k.buffers[i].kind == BufferKind::kWorkerScratch) continue;
    const std::string difference = FirstDifference(k.buffers[i].dtype, want.memory[i]->data(),
                                                   got.memory[i]->data(), want.views[i].elements);
    if (!difference.empty()) return absl::StrCat("buffer ", k.buffers[i].name, " ", difference);
  }
  return "";
}

bool SameError(const rt::KernelError& a, const rt::KernelError& b) {
  return a.code == b.code && a.position == b.position && a.value == b.value && a.bound == b.bound;
}

}  // namespace

TestBuffer TestBuffer::OfBits(DType dtype, const std::vector<uint64_t>& bits) {
  const size_t size = static_cast<size_t>(SizeOf(dtype));
  TestBuffer b{dtype, std::vector<uint8_t>(bits.size() * size)};
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&b.bytes[i * size], &bits[i], size);
  return b;
}

TestBuffer TestBuffer::Canaries(DType dtype, int64_t elements) {
  TestBuffer b{dtype, std::vector<uint8_t>(static_cast<size_t>(elements * SizeOf(dtype)))};
  for (size_t i = 0; i < b.bytes.size(); ++i) {
    b.bytes[i] = static_cast<uint8_t>(dtype == DType::kBool ? i % 3 == 0 : 0x51 + i % 13);
  }
  return b;
}

HostOptions TestHostOptions() { return {.folder = LATHE_BINARY_DIR "/host_kernels"}; }

std::unique_ptr<HostModule> BuildModule(
    const std::vector<std::shared_ptr<const kernel::Kernel>>& kernels) {
  std::vector<const Kernel*> pointers;
  for (const auto& k : kernels) pointers.push_back(k.get());
  absl::StatusOr<std::unique_ptr<HostModule>> module =
      HostModule::Build(pointers, TestHostOptions());
  if (module.ok()) return *std::move(module);
  ADD_FAILURE() << module.status();
  return nullptr;
}

std::string Difference(const HostModule& module, const Kernel& k,
                       const std::vector<TestBuffer>& buffers, const std::vector<int64_t>& sizes,
                       std::vector<TestBuffer>* after, bool* failed) {
  std::vector<int64_t> symbols(static_cast<size_t>(k.dims->num_symbols()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    dim::SymbolId id = 0;
    if (dim::IsSymbol(k.sizes[i], &id)) symbols[id] = sizes[i];
  }
  const absl::StatusOr<int64_t> tasks = dim::Evaluate(k.tasks, symbols);
  if (!tasks.ok()) return tasks.status().ToString();
  Arguments want(k, buffers, symbols, 1);
  rt::KernelError error;
  const absl::Status status = kernel::Evaluate(k, want.views, sizes, 0, *tasks, 0, &error);
  if (!status.ok() && !absl::IsOutOfRange(status)) return status.ToString();
  for (const LaunchShape& shape : kShapes) {
    const int warps = shape.blocks * shape.warps;
    const std::string where = absl::StrCat(warps, " warps: ");
    Arguments got(k, buffers, symbols, warps);
    rt::KernelError found;
    const absl::Status launched = module.Launch(k, got.views, sizes, *tasks, shape, &found);
    if (launched.code() != status.code()) {
      return absl::StrCat(where, "wanted ", status.ToString(), ", got ", launched.ToString());
    }
    if (!status.ok()) {
      // With one warp the first failing task is the evaluator's.
      if (warps == 1 && !SameError(error, found)) return absl::StrCat(where, launched.ToString());
      continue;
    }
    const std::string difference = Compare(k, want, got);
    if (!difference.empty()) return where + difference;
  }
  if (after != nullptr) *after = want.Contents(k);
  if (failed != nullptr) *failed = !status.ok();
  return "";
}

std::shared_ptr<Nvrtc> OpenNvrtc() {
  absl::StatusOr<std::shared_ptr<Nvrtc>> nvrtc = Nvrtc::Open();
  if (nvrtc.ok()) return *nvrtc;
  const char* none = std::getenv("LATHE_NO_NVRTC");
  if (none == nullptr || std::string(none) != "1") {
    ADD_FAILURE() << nvrtc.status() << "\nSet LATHE_NO_NVRTC=1 if this machine has no NVRTC.";
  }
  return nullptr;
}

std::vector<uint64_t> SpecialValues(DType dtype) {
  const auto f32_bits = [](double v) {
    return uint64_t{std::bit_cast<uint32_t>(static_cast<float>(v))};
  };
  const auto f64_bits = [](double v) { return std::bit_cast<uint64_t>(v); };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double floats[] = {
      0.0,   -0.0,         1.0,           -1.0,         0.5,    -0.5,    1.5,   2.5,         -2.5,
      3.0,   -7.0,         0.1,           kInf,         -kInf,  1e-310,  1e-45, -1e-40,      1e38,
      -3e38, 2147483647.0, -2147483648.0, 4294967296.0, 9.3e18, -9.3e18, 1e300, std::nan("")};
  std::vector<uint64_t> bits;
  switch (dtype) {
    case DType::kBool:
      return {0, 1, 1};
    case DType::kI32:
      for (int64_t v : {0, 1, -1, 2, -2, 3, -3, 7, 31, 32, 33, -32, 100, INT32_MAX, INT32_MIN,
                        INT32_MAX - 1, INT32_MIN + 1}) {
        bits.push_back(static_cast<uint32_t>(v));
      }
      return bits;
    case DType::kI64:
      for (int64_t v : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{-3}, int64_t{7},
                        int64_t{63}, int64_t{64}, int64_t{65}, int64_t{-64}, int64_t{1} << 40,
                        INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, int64_t{INT32_MIN}}) {
        bits.push_back(static_cast<uint64_t>(v));
      }
      return bits;
    case DType::kF32:
      for (double v : floats) bits.push_back(f32_bits(v));
      return bits;
    case DType::kF64:
      for (double v : floats) bits.push_back(f64_bits(v));
      return bits;
    case DType::kF16:
    case DType::kBF16:
      return {0x0,    0x8000, 0x1,    0x83ff, 0x400,  0x3555, 0x3c00, 0xbc00,
              0x3f80, 0x4049, 0xcf00, 0x57ff, 0x5f00, 0x77ff, 0x7bff, 0x7c00,
              0xfc00, 0x7c01, 0x7f7f, 0x7f80, 0xff80, 0x7fc0};
    default:
      break;
  }
  VisitDType(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      for (int v : {0, 1, -1, 2, -3, 7, 8, 15, 16, 31, 32, 63, 64, 100})
        bits.push_back(kernel::scalar::ToBits(static_cast<T>(v)));
      for (T v : {Limits::min(), static_cast<T>(Limits::min() + 1), Limits::max(),
                  static_cast<T>(Limits::max() / 2 + 1)})
        bits.push_back(kernel::scalar::ToBits(v));
      if constexpr (sizeof(T) == 8) bits.push_back(0x4040000000000001u);
    }
  });
  return bits;
}

}  // namespace lathe::cuda
