#pragma once
// The op table's samples, fused and lowered, with the CUDA text of each kernel.
#include <string>
#include <vector>

#include "ir/samples.h"
#include "tests/compiler_cuda/lowered_graph.h"

namespace lathe::compiler {

struct LoweredSample {
  std::string label;  // "softmax f32, rank 2, symbols 15"
  ir::Op op = ir::Op::k_input;
  bool all_symbolic = false;  // no dim of the sample is a number
  ir::Graph source;           // as the op table has it
  LoweredGraph lowered;       // shares its DimContext
};

// Of every op but control flow, all element types, with all dims symbolic, none, and pairwise
// covering subsets. Faults are failures of the test.
const std::vector<LoweredSample>& LoweredSamples();

// The kernels that have a text, equal ones once.
std::vector<GraphKernel> DistinctKernels(bool all_symbolic_only);

}  // namespace lathe::compiler
