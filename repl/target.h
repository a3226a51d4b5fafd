#pragma once
// What most commands are about: a value, sizes and options, read from a command's words and
// checked.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "repl/session.h"
#include "runtime/version.h"

namespace lathe::repl {

struct Target {
  std::shared_ptr<const CompiledValue> compiled;
  Sizes sizes;  // of the function's symbols
  bool has_sizes = false;
  uint64_t seed = 1;
  std::string stage;                       // of :ir
  std::optional<CommandLine::Word> range;  // seq=32..512, of :time
  std::vector<CommandLine::Word> others;   // words without '=' behind the value
};

// What a command allows beside the value and sizes.
struct TargetOptions {
  bool seed = false, stage = false, range = false;
  size_t others = 0;
};

// An error that names the word: unknown value or size, no number, a size twice, a fact that the
// sizes given break. Sizes that the value doesn't depend on are checked and then left out.
absl::StatusOr<Target> ReadTarget(Session& session, const CommandLine& line,
                                  const TargetOptions& options = {});

// A value for each symbol of the function, checked; and the version that serves them.
absl::StatusOr<std::vector<int64_t>> SymbolsOf(const Target& target);
absl::StatusOr<std::shared_ptr<const rt::Version>> VersionFor(const CompiledValue& compiled,
                                                              const std::vector<int64_t>& symbols);

// "8GiB" as bytes; an error that names the word if it is none.
absl::StatusOr<int64_t> ReadBytes(const Session& session, const CommandLine::Word& word);

// Puts the place that an error inside the command's argument has into the whole text.
absl::Status InArgument(const Session& session, const CommandLine& line, const absl::Status& s);

// The whole of `text` as a number.
bool ReadInteger(std::string_view text, int64_t* number);

}  // namespace lathe::repl
