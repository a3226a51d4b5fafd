#pragma once
// What the serving example prints: percentiles, a table, and a chart of latency over length as an
// SVG.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lathe::examples {

// The lengths of a trace's first `count` requests: ceil(context tokens / 8), at most 512. A CSV
// whose first column is the context tokens; lines that start otherwise are skipped.
absl::StatusOr<std::vector<int64_t>> ReadLengths(const std::string& path, int count);

// p in 0..100 of `values` (nearest rank); 0 for none.
double Percentile(std::vector<double> values, double p);

// Columns padded to their widest cell; the first row is the header.
std::string Table(const std::vector<std::vector<std::string>>& rows);
std::string Fixed(double value, int digits);

struct SizeLatency {
  double first_ms = 0, warm_ms = 0;  // first call at the size; median of later ones
};
// Latency over length: first calls as dots, warm calls as a line.
absl::Status WriteChart(const std::string& path, const std::map<int64_t, SizeLatency>& sizes);

}  // namespace lathe::examples
