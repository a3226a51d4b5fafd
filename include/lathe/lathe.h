#pragma once
// Lathe: a just-in-time compiler for tensor programs whose sizes are known only when they run.
// This header brings the whole C++ API: trace a program (trace.h), compile and call it (engine.h).
#include "lathe/dim.h"     // IWYU pragma: export
#include "lathe/dtype.h"   // IWYU pragma: export
#include "lathe/engine.h"  // IWYU pragma: export
#include "lathe/shape.h"   // IWYU pragma: export
#include "lathe/tensor.h"  // IWYU pragma: export
#include "lathe/trace.h"   // IWYU pragma: export
