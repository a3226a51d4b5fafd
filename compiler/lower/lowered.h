#pragma once
// What lowering a group gives: kernels with the values and sizes that they are called with.
#include <memory>
#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"
#include "ir/graph.h"

namespace lathe::compiler {

// How a constant is laid out for the kernel that reads it.
enum class Packing : uint8_t {
  kNone,
  kPanels,      // [ceil(N / nr)][K][nr] of a [K, N] matrix, zero-padded
  kBytePanels,  // of i8: [ceil(N / nr)][ceil(K / 4)][nr][4], zero-padded; words to the kernel
};

struct KernelArg {
  enum Kind : uint8_t { kValue, kPackedConstant, kScratch } kind = kValue;
  ir::ValueId value = ir::kNoValue;
  Packing packing = Packing::kNone;
  int64_t panel_width = 0;  // nr
  Dim scratch_bytes = 0;    // kScratch: bytes per worker, over the graph's symbols
};

// A question that scheduling asked about sizes, and what came back.
struct DimAnswer {
  Claim claim;
  bool proved = false;
};

struct LoweredKernel {
  std::shared_ptr<const kernel::Kernel> kernel;
  std::vector<KernelArg> args;  // as the kernel's passed buffers
  std::vector<Dim> sizes;       // as the kernel's sizes, over the graph's symbols
  Dim tasks = 1;                // over the graph's symbols
  Dim work = 0;                 // estimated ns on one core
  std::string schedule;         // for people: "rows 12 x 32, k 384"
  std::vector<DimAnswer> answers;
};

}  // namespace lathe::compiler
