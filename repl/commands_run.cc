// :run, :time.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/hint.h"
#include "ir/status_macros.h"
#include "ir/visit_dtype.h"
#include "repl/command.h"
#include "repl/inputs.h"
#include "repl/session.h"
#include "repl/target.h"
#include "runtime/largest.h"

namespace lathe::repl {
namespace {

constexpr int64_t kMostJsonElements = 65'536;
constexpr size_t kMostTimedSizes = 64;

// Json has no NaN and no infinities: they are strings.
Json FloatJson(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  return v;
}

Json ElementJson(const Tensor& t, int64_t i) {
  return VisitDType(t.dtype(), [&](auto type) -> Json {
    const auto value = t.data<decltype(type)>()[i];
    if constexpr (std::is_integral_v<decltype(type)>) {
      return value;
    } else {
      return FloatJson(value);
    }
  });
}

Json TensorJson(const Tensor& t) {
  Json data = Json::array();
  const int64_t count = t.num_elements();
  for (int64_t i = 0; i < std::min(count, kMostJsonElements); ++i) {
    data.push_back(ElementJson(t, i));
  }
  Json json = {{"dtype", Name(t.dtype())}, {"shape", t.shape()}, {"data", std::move(data)}};
  if (count > kMostJsonElements) json["elements"] = count;
  return json;
}

// The call with its inputs fits into what a session may use: said before anything is allocated.
absl::Status CheckMemory(Session& session, const Target& target) {
  const int64_t limit = session.functions().max_bytes();
  const rt::FunctionState& state = *target.compiled->function.state();
  rt::ContextState scratch;
  const auto bytes = [&](const Sizes& sizes) -> absl::StatusOr<int64_t> {
    LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, state.SymbolValues(sizes));
    LATHE_ASSIGN_OR_RETURN(int64_t total, rt::PeakBytes(state, symbols, scratch));
    LATHE_ASSIGN_OR_RETURN(const int64_t inputs, InputBytes(*target.compiled, symbols));
    if (__builtin_add_overflow(total, inputs, &total))
      return absl::OutOfRangeError("the call and its inputs together pass 64 bits");
    return total;
  };
  LATHE_ASSIGN_OR_RETURN(const int64_t needed, bytes(target.sizes));
  if (needed <= limit) return absl::OkStatus();
  const absl::Status error = absl::ResourceExhaustedError(absl::StrCat(
      "the call needs ", needed, " bytes with its inputs; the limit is ", limit, " (--memory)"));
  for (const auto& [name, size] : target.sizes) {
    Sizes others = target.sizes;
    others.erase(name);
    const absl::StatusOr<int64_t> fits = rt::Largest(state, name, others, limit, bytes);
    if (!fits.ok() || *fits < 1 || *fits >= size) continue;
    return ir::WithHint(error, {ir::Hint::Kind::kSize, name, absl::StrCat(*fits)});
  }
  return error;
}

struct Range {
  int64_t first = 0, last = 0, step = 0;  // step 0: doubling
};

absl::StatusOr<Range> ReadRange(const Session& session, const CommandLine::Word& word) {
  const std::string_view text = *word.value;
  const size_t dots = text.find(".."), colon = text.find(':');
  Range range;
  const std::string_view last =
      text.substr(dots + 2, colon == std::string_view::npos ? colon : colon - dots - 2);
  const bool read =
      ReadInteger(text.substr(0, dots), &range.first) && ReadInteger(last, &range.last) &&
      (colon == std::string_view::npos || ReadInteger(text.substr(colon + 1), &range.step));
  const bool stepped = colon != std::string_view::npos;
  if (!read || range.first > range.last || (stepped && range.step < 1)) {
    return session.Error(word.at, absl::StrCat("found ", word.text, "=", Quoted(*word.value),
                                               ", wanted a range such as ", word.text,
                                               "=32..512 or ", word.text, "=32..512:96"));
  }
  return range;
}

// Both ends are among them.
std::vector<int64_t> SizesOf(const Range& range) {
  std::vector<int64_t> sizes;
  for (int64_t n = range.first; sizes.size() < kMostTimedSizes && n < range.last;) {
    sizes.push_back(n);
    const int64_t step = range.step > 0 ? range.step : std::max<int64_t>(std::abs(n), 1);
    if (__builtin_add_overflow(n, step, &n)) break;
  }
  sizes.push_back(range.last);
  return sizes;
}

struct Timing {
  double median_us = 0, least_us = 0;
  int calls = 0;
};

absl::StatusOr<Timing> Measure(Session& session, const Target& target,
                               const std::vector<int64_t>& symbols) {
  constexpr double kSeconds = 0.1;
  constexpr size_t kFewest = 5, kMost = 2000;
  LATHE_RETURN_IF_ERROR(CheckMemory(session, target));
  LATHE_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         MakeInputs(session.graph(), *target.compiled, symbols, target.seed));
  const Function& function = target.compiled->function;
  LATHE_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, function.call(inputs));
  Context context;
  LATHE_RETURN_IF_ERROR(function.reserve(context, target.sizes));
  std::vector<double> times;
  double total = 0;
  while (times.size() < kFewest || (total < kSeconds && times.size() < kMost)) {
    const auto start = std::chrono::steady_clock::now();
    LATHE_RETURN_IF_ERROR(function.call_into(inputs, outputs, context));
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    total += times.back();
  }
  std::sort(times.begin(), times.end());
  return Timing{times[times.size() / 2] * 1e6, times.front() * 1e6, static_cast<int>(times.size())};
}

}  // namespace

absl::StatusOr<Answer> RunCommand(Session& session, const CommandLine& line) {
  const int64_t before =
      session.functions().has_engine() ? session.functions().engine().counters().compiles : 0;
  LATHE_ASSIGN_OR_RETURN(const Target target, ReadTarget(session, line, {.seed = true}));
  LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, SymbolsOf(target));
  LATHE_RETURN_IF_ERROR(CheckMemory(session, target));
  LATHE_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         MakeInputs(session.graph(), *target.compiled, symbols, target.seed));
  LATHE_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, target.compiled->function.call(inputs));
  LATHE_ASSIGN_OR_RETURN(const auto version, VersionFor(*target.compiled, symbols));
  const int64_t compiles = session.functions().engine().counters().compiles - before;
  Answer answer;
  Json list = Json::array();
  for (const Tensor& output : outputs) {
    absl::StrAppend(&answer.text, output.ToString(), "\n");
    list.push_back(TensorJson(output));
  }
  absl::StrAppend(&answer.text, "version \"", version->name, "\", ", compiles,
                  compiles == 1 ? " compile" : " compiles");
  answer.json["outputs"] = std::move(list);
  answer.json["version"] = version->name;
  answer.json["compiles"] = compiles;
  return answer;
}

absl::StatusOr<Answer> TimeCommand(Session& session, const CommandLine& line) {
  LATHE_ASSIGN_OR_RETURN(Target target, ReadTarget(session, line, {.seed = true, .range = true}));
  std::vector<int64_t> sizes = {0};
  if (target.range) {
    LATHE_ASSIGN_OR_RETURN(const Range range, ReadRange(session, *target.range));
    sizes = SizesOf(range);
  }
  Answer answer;
  Json rows = Json::array(), skipped = Json::array();
  absl::Status refused;
  for (int64_t size : sizes) {
    if (target.range) target.sizes[target.range->text] = size;
    const absl::StatusOr<std::vector<int64_t>> symbols = SymbolsOf(target);
    if (!symbols.ok()) {
      refused = symbols.status();
      skipped.push_back(size);
      continue;
    }
    LATHE_ASSIGN_OR_RETURN(const auto version, VersionFor(*target.compiled, *symbols));
    LATHE_ASSIGN_OR_RETURN(const Timing timing, Measure(session, target, *symbols));
    const std::string label = absl::StrJoin(
        target.sizes, " ", [](std::string* out, const std::pair<const std::string, int64_t>& s) {
          absl::StrAppend(out, s.first, "=", s.second);
        });
    absl::StrAppend(
        &answer.text, answer.text.empty() ? "" : "\n",
        absl::StrFormat("%-24s median %9.1f us  least %9.1f us  %5d calls  \"%s\"", label,
                        timing.median_us, timing.least_us, timing.calls, version->name));
    rows.push_back({{"sizes", target.sizes},
                    {"median_us", timing.median_us},
                    {"least_us", timing.least_us},
                    {"calls", timing.calls},
                    {"version", version->name}});
  }
  if (rows.empty()) return refused;
  answer.json["times"] = std::move(rows);
  if (!skipped.empty()) {
    absl::StrAppend(&answer.text, "\nnot admitted: ", target.range->text, " = ", skipped.dump());
    answer.json["skipped"] = std::move(skipped);
  }
  return answer;
}

}  // namespace lathe::repl
