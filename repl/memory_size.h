#pragma once
// Amounts of memory as people write them.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lathe::repl {

// "8GiB", "1.5MB", "4096", "64 B" without the blank; nothing if it is none of these, or too large.
std::optional<int64_t> ReadMemorySize(std::string_view text);

// " (1.5 MiB)" from 1 KiB on; below, nothing.
std::string ReadableBytes(int64_t bytes);

}  // namespace lathe::repl
