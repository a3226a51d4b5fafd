#pragma once
// How many divisions a kernel's addresses and bounds still need: `//`, `%` and ceildiv of its Dims.
// What explain reports and what tests hold at 0 for inner loops.
#include "codegen/kernel/kernel.h"

namespace lathe::kernel {

struct DivisionCounts {
  int all = 0;    // different ones, micro-kernels that it calls included
  int inner = 0;  // of these, such that vary within an innermost loop, so each turn divides
  int lanes = 0;  // integer divisions of registers in innermost loops, a lane each: of positions
                  // that vary along a vector, and of the program's own integers
};

DivisionCounts CountDivisions(const Kernel& k);

}  // namespace lathe::kernel
