#pragma once
// The line protocol of benchmarks that compare engines (bench/models.py is one): one JSON request a
// line in, one JSON reply a line out, in turns.
//
//   {"op": "load", "model": path, "threads": n}   {"time_s", "import_s", "plan_s", "compile_s"}
//   {"op": "first_call", "inputs": npz}           {"time_s", "novel": were the sizes new}
//   {"op": "time", "inputs": npz, "reps", "min_s"}  {"times_s": [..], "calls_per_time"}
//   {"op": "outputs", "inputs": npz, "path"}      writes the outputs of a call as npz
//   {"op": "prepare"}, "settle"                   binds inputs; waits for background compiles
//   {"op": "describe"}, "rss", "counters", "quit"
//
// Instead of "inputs" a request may have a "case" of sizes and a "seed": then the inputs are made
// as the JSON file beside the model describes them (description.h).
#include <iosfwd>

namespace lathe::bench {

// Serves until end of input or "quit". A request that fails is answered by {"error": reason}.
void ServeContestant(std::istream& in, std::ostream& out);

}  // namespace lathe::bench
