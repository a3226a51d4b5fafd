#pragma once
// The op table's rows, one list a family. op.cc joins them in the order of ops.def and fills in
// each row's name; nobody else calls these.
#include <vector>

#include "ir/op.h"

namespace lathe::ir {

inline constexpr int kManyOperands = 1 << 20;  // concat

std::vector<OpInfo> SourceOps();
std::vector<OpInfo> ElementwiseOps();
std::vector<OpInfo> ViewOps();
std::vector<OpInfo> WindowOps();
std::vector<OpInfo> SequentialOps();
std::vector<OpInfo> ReduceOps();
std::vector<OpInfo> ContractOps();
std::vector<OpInfo> CompositeOps();
std::vector<OpInfo> SegmentOps();
std::vector<OpInfo> ControlOps();

}  // namespace lathe::ir
