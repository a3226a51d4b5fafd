// :peak, :fit.
#include "absl/strings/str_cat.h"
#include "ir/status_macros.h"
#include "repl/command.h"
#include "repl/memory_size.h"
#include "repl/session.h"
#include "repl/target.h"

namespace lathe::repl {

absl::StatusOr<Answer> PeakCommand(Session& session, const CommandLine& line) {
  LATHE_ASSIGN_OR_RETURN(const Target target, ReadTarget(session, line));
  LATHE_ASSIGN_OR_RETURN(const int64_t bytes, target.compiled->function.peak_bytes(target.sizes));
  return Answer{absl::StrCat(bytes, " bytes", ReadableBytes(bytes)), {{"bytes", bytes}}};
}

absl::StatusOr<Answer> FitCommand(Session& session, const CommandLine& line) {
  LATHE_ASSIGN_OR_RETURN(const Target target, ReadTarget(session, line, {.others = 2}));
  if (target.others.size() != 2) return session.Error(line.at(), "wanted :fit y seq batch=4 8GiB");
  const CommandLine::Word& symbol = target.others[0];
  LATHE_RETURN_IF_ERROR([&] {
    const absl::StatusOr<Dim> known = session.graph().dims()->Find(symbol.text);
    if (known.ok() && !target.sizes.contains(symbol.text)) return absl::OkStatus();
    return session.Error(symbol.at, known.ok()
                                        ? absl::StrCat(symbol.text, " is given already")
                                        : absl::StrCat("there is no size '", symbol.text, "'"));
  }());
  LATHE_ASSIGN_OR_RETURN(const int64_t bytes, ReadBytes(session, target.others[1]));
  LATHE_ASSIGN_OR_RETURN(const int64_t value,
                         target.compiled->function.largest(symbol.text, target.sizes, bytes));
  return Answer{absl::StrCat(symbol.text, " = ", value), {{"value", value}}};
}

}  // namespace lathe::repl
