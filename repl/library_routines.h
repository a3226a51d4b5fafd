#pragma once
// What a call does by routines of this library or of C instead of generated code, for `jit-repl
// inspect`.
#include <string>
#include <vector>

#include "lathe/engine.h"

namespace lathe::repl {

// A line each. What control a call needs (sizes and conditions read from tensors, the choice of a
// version and of a stage) is none.
std::vector<std::string> LibraryRoutines(const Function& f);

}  // namespace lathe::repl
