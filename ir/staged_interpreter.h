#pragma once
// The reference for programs in stages: runs each graph by the interpreter, slots as plain arrays.
// Tests compare compiled programs with it; nothing compiled calls it.
#include <vector>

#include "ir/interpreter.h"
#include "ir/staged.h"

namespace lathe::ir {

// Outputs in order. The program is verified. With in_f64 the values between stages are rounded to
// their types, because graphs say what they take.
absl::StatusOr<std::vector<Tensor>> Interpret(const Staged& program,
                                              absl::Span<const Tensor> inputs,
                                              const InterpretOptions& options = {});

}  // namespace lathe::ir
