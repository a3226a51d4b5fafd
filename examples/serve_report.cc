#include "examples/serve_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lathe::examples {

absl::StatusOr<std::vector<int64_t>> ReadLengths(const std::string& path, int count) {
  constexpr int64_t kMostLength = 512, kTokensPerStep = 8;
  std::ifstream in(path);
  if (!in) return absl::NotFoundError("can't read " + path);
  std::vector<int64_t> lengths;
  std::string line;
  while (static_cast<int>(lengths.size()) < count && std::getline(in, line)) {
    int64_t tokens = 0;
    if (!absl::SimpleAtoi(line.substr(0, line.find(',')), &tokens) || tokens < 0) continue;
    tokens = std::min(tokens, kMostLength * kTokensPerStep);
    lengths.push_back((tokens + kTokensPerStep - 1) / kTokensPerStep);
  }
  if (lengths.empty()) return absl::InvalidArgumentError("no lengths in " + path);
  return lengths;
}

double Percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(p / 100 * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::clamp(rank, 1.0, double(values.size()))) - 1];
}

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (width.size() <= i) width.push_back(0);
      width[i] = std::max(width[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    absl::StrAppend(&text, "  ");
    for (size_t i = 0; i < row.size(); ++i)
      absl::StrAppend(&text, row[i],
                      i + 1 < row.size() ? std::string(width[i] - row[i].size() + 2, ' ') : "");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::vector<std::vector<std::string>> KernelRows(std::vector<Function::VersionInfo> versions) {
  std::stable_sort(versions.begin(), versions.end(),
                   [](const auto& a, const auto& b) { return a.ready_seconds < b.ready_seconds; });
  struct Code {
    std::string label;
    const Function::VersionInfo* version;  // the first that has it
    int uses = 0;                          // of that version
  };
  std::vector<Code> codes;
  std::map<std::string, size_t> numbers;  // by key
  for (const Function::VersionInfo& v : versions)
    for (size_t i = 0; i < v.kernel_keys.size(); ++i) {
      const auto [at, added] = numbers.emplace(v.kernel_keys[i], codes.size());
      if (added) codes.push_back({v.kernel_labels[i], &v});
      codes[at->second].uses += codes[at->second].version == &v;
    }
  std::vector<std::vector<std::string>> rows{
      {"kernel", "uses", "first version", "ready at s", "why"}};
  for (const Code& c : codes)
    rows.push_back({c.label, absl::StrCat(c.uses), c.version->name,
                    Fixed(c.version->ready_seconds, 2), c.version->why});
  return rows;
}

std::string Json(const ServeResult& r) {
  const std::string error =
      std::isfinite(r.max_relative_error) ? absl::StrCat(r.max_relative_error) : "null";
  return absl::StrCat(
      "{\"requests\": ", r.requests, ", \"distinct_sizes\": ", r.distinct_sizes,
      ", \"versions\": ", r.versions, ", \"compiles_in_calls\": ", r.compiles_in_calls,
      ", \"max_relative_error\": ", error, ", \"tokens_per_s\": ", Fixed(r.tokens_per_s, 1),
      ", \"kernels_per_layer\": ", r.kernels_per_layer,
      ", \"predicted_bytes\": ", r.predicted_bytes, ", \"measured_bytes\": ", r.measured_bytes,
      ", \"first_over_warm_p99\": ", Fixed(r.first_over_warm_p99, 3), "}");
}

std::vector<std::string> BrokenPromises(const ServeResult& r, double most_error) {
  constexpr int kMostKernels = 7;
  std::vector<std::string> broken;
  if (r.compiles_in_calls != 0)
    broken.push_back(absl::StrCat(r.compiles_in_calls, " compiles inside calls, wanted 0"));
  if (!(r.max_relative_error <= most_error))
    broken.push_back(
        absl::StrCat("a relative error of ", r.max_relative_error, ", wanted <= ", most_error));
  if (r.predicted_bytes != r.measured_bytes)
    broken.push_back(absl::StrCat(r.measured_bytes, " bytes, predicted were ", r.predicted_bytes));
  if (r.kernels_per_layer > kMostKernels)
    broken.push_back(
        absl::StrCat(r.kernels_per_layer, " kernels a layer, wanted <= ", kMostKernels));
  return broken;
}

absl::Status WriteChart(const std::string& path, const std::map<int64_t, SizeLatency>& sizes) {
  constexpr double kWidth = 720, kHeight = 400, kLeft = 60, kBottom = 40, kTop = 30;
  if (sizes.empty()) return absl::InvalidArgumentError("no sizes to draw");
  const double most_length = static_cast<double>(sizes.rbegin()->first);
  double most_ms = 0;
  for (const auto& [length, s] : sizes) most_ms = std::max({most_ms, s.first_ms, s.warm_ms});
  auto x = [&](double length) { return kLeft + length / most_length * (kWidth - kLeft - 20); };
  auto y = [&](double ms) { return kHeight - kBottom - ms / most_ms * (kHeight - kBottom - kTop); };
  std::ofstream out(path);
  out << "<svg xmlns='http://www.w3.org/2000/svg' width='" << kWidth << "' height='" << kHeight
      << "' font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' "
         "fill='white'/>\n"
      << "<text x='" << kLeft
      << "' y='18'>Latency of one request over its length: first call at a "
         "length (dots), median of later calls (line)</text>\n";
  for (int i = 0; i <= 4; ++i) {
    const double ms = most_ms * i / 4, length = most_length * i / 4;
    out << "<line x1='" << kLeft << "' x2='" << kWidth - 20 << "' y1='" << y(ms) << "' y2='"
        << y(ms) << "' stroke='#ddd'/><text x='8' y='" << y(ms) + 4 << "'>" << Fixed(ms, 1)
        << " ms</text>"
        << "<text x='" << x(length) - 10 << "' y='" << kHeight - 16 << "'>" << Fixed(length, 0)
        << "</text>\n";
  }
  out << "<polyline fill='none' stroke='#1f77b4' stroke-width='1.5' points='";
  for (const auto& [length, s] : sizes) out << x(double(length)) << "," << y(s.warm_ms) << " ";
  out << "'/>\n";
  for (const auto& [length, s] : sizes)
    out << "<circle cx='" << x(double(length)) << "' cy='" << y(s.first_ms)
        << "' r='2.5' fill='#d62728'/>\n";
  out << "</svg>\n";
  out.close();
  return out.good() ? absl::OkStatus() : absl::UnavailableError("can't write " + path);
}

}  // namespace lathe::examples
