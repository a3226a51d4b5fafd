#pragma once
// What the serving example prints: percentiles, tables, a chart of latency over length as an SVG,
// and its result as one line of JSON.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lathe/engine.h"

namespace lathe::examples {

// The lengths of a trace's first `count` requests: ceil(context tokens / 8), at most 512. A CSV
// whose first column is the context tokens; lines that start otherwise are skipped.
absl::StatusOr<std::vector<int64_t>> ReadLengths(const std::string& path, int count);

// p in 0..100 of `values` (nearest rank); 0 for none.
double Percentile(std::vector<double> values, double p);

// Columns padded to their widest cell; the first row is the header.
std::string Table(const std::vector<std::vector<std::string>>& rows);
std::string Fixed(double value, int digits);

// Rows for Table: each piece of code once, with the number of its uses, the first version that has
// it, and when and why that was made. The versions of one function.
std::vector<std::vector<std::string>> KernelRows(std::vector<Function::VersionInfo> versions);

// What the job came to; the keys of its JSON object, in this order.
struct ServeResult {
  size_t requests = 0, distinct_sizes = 0, versions = 0;
  int64_t compiles_in_calls = 0;
  double max_relative_error = 0;  // against the interpreter; infinite: beside a NaN, or a shape
  double tokens_per_s = 0;
  int kernels_per_layer = 0;
  int64_t predicted_bytes = 0, measured_bytes = 0;
  double first_over_warm_p99 = 0;
};
std::string Json(const ServeResult& result);  // without a line's end; an infinite error is null

// What the job must come to and didn't, in words: no compile in a call, errors of at most
// `most_error`, bytes as predicted, at most 7 kernels a layer.
std::vector<std::string> BrokenPromises(const ServeResult& result, double most_error);

struct SizeLatency {
  double first_ms = 0, warm_ms = 0;  // first call at the size; median of later ones
};
// Latency over length: first calls as dots, warm calls as a line.
absl::Status WriteChart(const std::string& path, const std::map<int64_t, SizeLatency>& sizes);

}  // namespace lathe::examples
