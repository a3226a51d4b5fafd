// jit-repl: Lathe by hand and by pipe. docs/repl.md describes it.
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "repl/arguments.h"
#include "repl/completion.h"
#include "repl/driver.h"
#include "repl/line_reader.h"
#include "repl/model_command.h"
#include "repl/output.h"
#include "repl/session.h"

namespace {

using lathe::repl::Arguments;
using lathe::repl::Driver;
using lathe::repl::LineReader;
using lathe::repl::Output;
using lathe::repl::Session;

constexpr int kFaults = 1, kUsage = 2;

// Reads all of a file; false if it can't be.
bool ReadFile(const std::string& path, std::string* text) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  if (!file || !(all << file.rdbuf())) {
    // An empty file leaves the stream failed as well.
    if (!file.is_open() || file.bad() || !all.str().empty()) return false;
    file.clear();
    if (file.peek() != std::ifstream::traits_type::eof() || file.bad()) return false;
  }
  *text = all.str();
  return true;
}

int RunPipe(Session* session, Output* output) {
  Driver driver(session, output);
  for (std::string line; !session->done() && std::getline(std::cin, line);) driver.AddLine(line);
  driver.Finish();
  return output->faults() == 0 ? 0 : kFaults;
}

int RunTerminal(Session* session, Output* output) {
  std::setlocale(LC_CTYPE, "");  // what a character is; numbers stay as they are
  Driver driver(session, output, /*interactive=*/true);
  LineReader reader([&](std::string_view line) {
    return LineReader::Completion{lathe::repl::WordStart(line),
                                  lathe::repl::Complete(*session, line)};
  });
  if (!output->json()) std::puts("Lathe " LATHE_VERSION "; :help lists the commands");
  while (!session->done()) {
    bool interrupted = false;
    const std::optional<std::string> line =
        reader.Read(driver.pending() ? ". " : "> ", &interrupted);
    if (!line) break;
    if (interrupted) {
      driver.Drop();
    } else {
      driver.AddLine(*line);
    }
  }
  driver.Finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (lathe::repl::IsModelCommand(words)) {
    const auto model = lathe::repl::ReadModelArguments(words);
    if (model.ok()) return lathe::repl::RunModelCommand(*model, stdout, stderr);
    std::fprintf(stderr, "jit-repl: %s\n", std::string(model.status().message()).c_str());
    return kUsage;
  }
  const absl::StatusOr<Arguments> arguments = lathe::repl::ReadArguments(words);
  if (!arguments.ok()) {
    std::fprintf(stderr, "jit-repl: %s\n", std::string(arguments.status().message()).c_str());
    return kUsage;
  }
  if (arguments->help) {
    std::fputs(lathe::repl::kUsageText, stdout);
    return 0;
  }
  if (arguments->version) {
    std::puts("jit-repl " LATHE_VERSION);
    return 0;
  }
  std::string text;
  if (!arguments->file.empty() && !ReadFile(arguments->file, &text)) {
    std::fprintf(stderr, "jit-repl: can't read %s\n", arguments->file.c_str());
    return kUsage;
  }
  const bool has_text = !arguments->file.empty() || arguments->expression;
  const bool terminal = !has_text && isatty(STDIN_FILENO) != 0;
  Session session({.file = arguments->file,
                   .threads = arguments->threads,
                   .memory_bytes = arguments->memory_bytes,
                   .show_types = terminal});
  Output output(stdout, stderr, arguments->json, arguments->file);
  if (terminal) return RunTerminal(&session, &output);
  if (!has_text) return RunPipe(&session, &output);
  Driver(&session, &output).RunText(arguments->expression ? *arguments->expression : text);
  return output.faults() == 0 ? 0 : kFaults;
}
