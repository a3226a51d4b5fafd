#pragma once
// Commands of jit-repl: what follows a ':' at the start of a statement. One table {name, usage,
// help, function}; the dispatcher, :help and completion read it. Adding one: a row in command.cc
// and its function in the commands_*.cc of its theme.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/text_parser.h"
#include "lathe/engine.h"
#include "repl/answer.h"

namespace lathe::repl {

class Session;

// ":run y batch=4 seq=32" in words. Blanks and commas separate them; blanks may stand around '='.
class CommandLine {
 public:
  struct Word {
    std::string text;                  // the key, if there is a value
    std::optional<std::string> value;  // behind '='
    Place at;
  };

  // `statement` starts with ':'.
  explicit CommandLine(const ir::StatementText& statement);

  const std::string& name() const { return name_; }
  const std::vector<Word>& words() const { return words_; }
  Place at() const { return at_; }
  // All behind the name as it stands, and where it starts.
  std::string_view rest() const { return rest_; }
  Place rest_at() const { return rest_at_; }

 private:
  std::string name_;
  std::vector<Word> words_;
  std::string_view rest_;
  Place at_, rest_at_;
};

struct Command {
  std::string_view name;
  std::string_view usage;  // "y batch=4 seq=32 [seed=1]"
  std::string_view help;   // one sentence
  absl::StatusOr<Answer> (*run)(Session& session, const CommandLine& line);
};

absl::Span<const Command> Commands();
const Command* FindCommand(std::string_view name);

// commands_facts.cc
absl::StatusOr<Answer> ShapeCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> FactsCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> ProveCommand(Session& session, const CommandLine& line);
// commands_proof.cc
absl::StatusOr<Answer> ProofCommand(Session& session, const CommandLine& line);
// commands_run.cc
absl::StatusOr<Answer> RunCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> TimeCommand(Session& session, const CommandLine& line);
// commands_memory.cc
absl::StatusOr<Answer> PeakCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> FitCommand(Session& session, const CommandLine& line);
// commands_bounds.cc
absl::StatusOr<Answer> BoundsCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> ExceedsCommand(Session& session, const CommandLine& line);
// commands_code.cc
absl::StatusOr<Answer> WhyCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> IrCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> KernelsCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> LlvmCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> AsmCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> CudaCommand(Session& session, const CommandLine& line);
// commands_import.cc
absl::StatusOr<Answer> ImportCommand(Session& session, const CommandLine& line);
// commands_session.cc
absl::StatusOr<Answer> HelpCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> CacheCommand(Session& session, const CommandLine& line);
absl::StatusOr<Answer> QuitCommand(Session& session, const CommandLine& line);

}  // namespace lathe::repl
