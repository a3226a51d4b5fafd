#include "repl/memory_size.h"

#include <charconv>

#include "absl/strings/str_format.h"

namespace lathe::repl {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},         {"B", 1},        {"kB", 1e3},    {"KB", 1e3},
                           {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},   {"KiB", 0x1p10},
                           {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

}  // namespace

std::optional<int64_t> ReadMemorySize(std::string_view text) {
  double amount = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, amount);
  if (error != std::errc() || !(amount >= 0)) return std::nullopt;
  const std::string_view name(at, static_cast<size_t>(end - at));
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    const double bytes = amount * unit.bytes;
    if (bytes >= 0x1p63) return std::nullopt;
    return static_cast<int64_t>(bytes);
  }
  return std::nullopt;
}

std::string ReadableBytes(int64_t bytes) {
  constexpr const char* kNames[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return "";
  double amount = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kNames); ++unit) amount /= 1024;
  return absl::StrFormat(" (%.1f %s)", amount, kNames[unit]);
}

}  // namespace lathe::repl
