#pragma once
// The op table's samples, fused and lowered, with the CUDA text of each kernel.
#include <memory>
#include <string>
#include <vector>

#include "compiler/lower/lower.h"
#include "ir/samples.h"

namespace lathe::compiler {

// One kernel of a sample.
struct SampleKernel {
  LoweredKernel lowered;
  std::string text;  // CUDA text; "" if the kernel is a product's or attention's
};

struct LoweredSample {
  std::string label;                  // "softmax f32, rank 2, symbols 15"
  bool all_symbolic = false;          // no dim of the sample is a number
  ir::Graph graph;                    // primitives only
  std::vector<SampleKernel> kernels;  // in execution order
};

// Of every op but control flow, all element types, with all dims symbolic, some, and none. Faults
// are failures of the test.
const std::vector<LoweredSample>& LoweredSamples();

// The kernels that have a text, equal ones once.
std::vector<SampleKernel> DistinctKernels(bool all_symbolic_only);

}  // namespace lathe::compiler
