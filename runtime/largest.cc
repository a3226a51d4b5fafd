#include "runtime/largest.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ir/graph.h"
#include "ir/status_macros.h"

namespace lathe::rt {
namespace {

// The values of one symbol that its own facts admit, numbered from 0: an arithmetic sequence or a
// list.
struct Sequence {
  int64_t first = 0, step = 1, count = 0;
  std::vector<int64_t> list;

  int64_t At(int64_t i) const {
    return list.empty() ? first + i * step : list[static_cast<size_t>(i)];
  }
};

Sequence AdmittedValues(const FunctionState::Domain& domain) {
  Sequence s;
  if (!domain.values.empty()) {
    s.list = domain.values;
    std::sort(s.list.begin(), s.list.end());
    s.count = static_cast<int64_t>(s.list.size());
    return s;
  }
  const int64_t least = std::max(domain.range.min, -ir::kMaxDim);
  const int64_t most = std::min(domain.range.max, ir::kMaxDim);
  s.step = std::max<int64_t>(domain.congruence.modulus, 1);
  int64_t up = (domain.congruence.remainder - least) % s.step;
  if (up < 0) up += s.step;
  s.first = domain.congruence.modulus == 0 ? domain.congruence.remainder : least + up;
  if (s.first > most) return s;
  s.count = domain.congruence.modulus == 0 ? 1 : (most - s.first) / s.step + 1;
  return s;
}

// Which values of a sequence fit. One whose bytes overflow doesn't.
class Fit {
 public:
  Fit(const PeakOfSizes& peak, std::string symbol, Sizes sizes, int64_t bytes, Sequence values)
      : peak_(peak),
        symbol_(std::move(symbol)),
        sizes_(std::move(sizes)),
        bytes_(bytes),
        values_(std::move(values)) {}

  // Whether the i-th value fits; nothing if the facts don't admit it together with the others.
  std::optional<bool> At(int64_t i) {
    const auto it = seen_.find(i);
    if (it != seen_.end()) return it->second;
    sizes_[symbol_] = values_.At(i);
    const absl::StatusOr<int64_t> peak = peak_(sizes_);
    if (!peak.ok()) last_error_ = peak.status();
    const bool admitted =
        peak.ok() || absl::IsOutOfRange(peak.status()) || absl::IsResourceExhausted(peak.status());
    any_admitted_ |= admitted;
    std::optional<bool> fits;
    if (admitted) fits = peak.ok() && *peak <= bytes_;
    return seen_[i] = fits;
  }

  // The admitted value next to the i-th among those between `low` and `high`, less these.
  std::optional<int64_t> Near(int64_t i, int64_t low, int64_t high) {
    constexpr int64_t kReach = 128;
    for (int64_t step = 0; step <= kReach; ++step) {
      const bool down = i - step > low, up = i + step < high;
      if (down && At(i - step).has_value()) return i - step;
      if (up && At(i + step).has_value()) return i + step;
      if (!down && !up) break;
    }
    return std::nullopt;
  }

  bool any_admitted() const { return any_admitted_; }
  const absl::Status& last_error() const { return last_error_; }

 private:
  const PeakOfSizes& peak_;
  const std::string symbol_;
  Sizes sizes_;
  const int64_t bytes_;
  const Sequence values_;
  std::map<int64_t, std::optional<bool>> seen_;
  bool any_admitted_ = false;
  absl::Status last_error_;
};

// Probes 0, 1, 3, 7, ... and the last: the index of the highest that fits and of the lowest above
// it that doesn't; -1 if none fits.
std::pair<int64_t, int64_t> Bracket(Fit& fit, int64_t count) {
  std::vector<int64_t> probes;
  for (int64_t i = 0; i < count; i = 2 * i + 1) probes.push_back(i);
  if (probes.back() != count - 1) probes.push_back(count - 1);
  int64_t above = count;
  for (size_t p = probes.size(); p-- > 0;) {
    const std::optional<int64_t> i = fit.Near(probes[p], -1, above);
    if (!i) continue;
    if (*fit.At(*i)) return {*i, above};
    above = *i;
  }
  return {-1, above};
}

}  // namespace

absl::StatusOr<int64_t> PeakBytes(const FunctionState& function, absl::Span<const int64_t> symbols,
                                  ContextState& context) {
  LATHE_RETURN_IF_ERROR(function.ResolveSizes(context, symbols));
  int64_t peak = 0;
  if (__builtin_add_overflow(FunctionState::ArenaBytes(context),
                             FunctionState::OutputBytes(context), &peak)) {
    return absl::OutOfRangeError("arena and outputs together pass 64 bits");
  }
  return peak;
}

absl::StatusOr<int64_t> Largest(const FunctionState& function, const std::string& symbol,
                                const Sizes& others, int64_t bytes, const PeakOfSizes& peak) {
  const std::vector<std::string>& names = function.plan().symbol_names;
  const auto it = std::find(names.begin(), names.end(), symbol);
  if (it == names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("function ", function.graph().name, " has no size named ", symbol));
  }
  return LargestBy(function.checked_domains()[static_cast<size_t>(it - names.begin())], symbol,
                   others, bytes, peak);
}

absl::StatusOr<int64_t> Largest(const FunctionState& function, const std::string& symbol,
                                const Sizes& others, int64_t bytes) {
  ContextState context;
  return Largest(
      function, symbol, others, bytes, [&](const Sizes& sizes) -> absl::StatusOr<int64_t> {
        LATHE_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, function.SymbolValues(sizes));
        return PeakBytes(function, symbols, context);
      });
}

absl::StatusOr<int64_t> LargestBy(const FunctionState::Domain& domain, const std::string& symbol,
                                  const Sizes& others, int64_t bytes, const PeakOfSizes& peak) {
  const Sequence values = AdmittedValues(domain);
  Fit fit(peak, symbol, others, bytes, values);
  auto [low, high] =
      values.count > 0 ? Bracket(fit, values.count) : std::pair<int64_t, int64_t>(-1, 0);
  if (low < 0) {
    if (!fit.any_admitted() && !fit.last_error().ok()) return fit.last_error();
    return absl::NotFoundError(absl::StrCat("no admitted value of ", symbol, " stays within ",
                                            bytes, " bytes: the least is ",
                                            values.count > 0 ? values.At(0) : 0));
  }
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    const std::optional<int64_t> i = fit.Near(middle, low, high);
    (i && *fit.At(*i) ? low : high) = i.value_or(middle);
  }
  // A version with a leaner plan may begin above: look a little further, and start anew from there.
  constexpr int64_t kLookahead = 64;
  for (int64_t i = std::min(low + kLookahead, values.count - 1); i > low; --i) {
    if (fit.At(i).value_or(false)) low = i;
  }
  return values.At(low);
}

}  // namespace lathe::rt
