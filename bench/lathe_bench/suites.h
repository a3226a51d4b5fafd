#pragma once
// Lathe's own measurements. Each prints a table and, as its last line, one JSON object.
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lathe::bench {

struct SuiteOptions {
  int threads = 2;
  int rounds = 21;
  uint64_t seed = 0;
  std::string trace;  // CSV of request lengths
  std::string self;   // how to start this program again, for suites that need fresh processes
  // Of `model`; what may be several is separated by ';'.
  std::string model;   // ONNX file
  std::string dims;    // sizes of calls: "batch=1,seq=128;batch=1,seq=7", or "@FILE", a trace
  std::string facts;   // about its dims: "seq in 1..8192;batch == 4"
  std::string open;    // axes to open: "x:1=width;y:0=batch"
  std::string inputs;  // file of its inputs; sizes are then those of its arrays
};

// The encoder over a trace of lengths: novel lengths, then warm passes; tokens/s.
absl::Status TraceRun(const SuiteOptions& options);
// 40 sizes that the process has not called, in 5 processes, each in an order of its own, after a
// prepare that names no size: the best first call, the growth of its arena included, over the
// median warm call of each size. Beside them, in 5 more processes, the very first call, at the
// smallest size: it finds a thread asleep, and the caches full of what the compiler did.
absl::Status FirstCall(const SuiteOptions& options);
// One process of it: "size first warm" lines, seconds. `seed` gives the order; 0: the smallest size
// alone.
absl::Status FirstCallChild(const SuiteOptions& options);
// Products with their weights in cache, one core, in percent of the FMA peak that is measured
// beside them; the median turn of each size.
absl::Status Gemm(const SuiteOptions& options);
// The range version against the generic one where it serves, and the generic one against versions
// for exact sizes elsewhere, alternating, with the spread of generic against itself. Fails if the
// generic version is below 0.9 of the best elsewhere.
absl::Status Versions(const SuiteOptions& options);
// ns of call_into over programs of 1, 8 and 64 kernels, sizes alternating: intercept and slope.
absl::Status CallOverhead(const SuiteOptions& options);

// An ONNX model at the sizes of `dims`, or on the arrays of `inputs`: first and warm calls, peak
// bytes. Without arrays, floats are normal numbers, none denormal, and integers 0 or 1, which most
// models take as ids, masks and flags. InvalidArgument lists the model's dims if one has no size,
// or a size no dim.
absl::Status ModelRun(const SuiteOptions& options);

// Divisions of sizes in the kernels of the encoder and of programs full of views: as traced, with
// the passes skipped, and as compiled; and the checks that a call makes.
absl::Status Simplification(const SuiteOptions& options);

}  // namespace lathe::bench
