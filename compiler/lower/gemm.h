#pragma once
// The break point between the two schedules of a product (gemm.cc), which the specializer proposes
// as a range of its own.
#include "compiler/lower/lower.h"

namespace lathe::compiler {

inline constexpr int kStripRows = 3;  // at most so many rows: strips

}  // namespace lathe::compiler
