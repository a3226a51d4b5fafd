#include "repl/command.h"

namespace lathe::repl {
namespace {

constexpr Command kCommands[] = {
    {"help", "[op or command]", "says what an op or a command does; alone, lists the commands",
     HelpCommand},
    {"shape", "y", "the type of a value", ShapeCommand},
    {"facts", "[size | y.1] [why]",
     "what is known of a size such as seq, 4*seq or axis 1 of y, and from where; alone, all",
     FactsCommand},
    {"prove", "claim", "proved, refuted with sizes that break the claim, or unknown", ProveCommand},
    {"proof", "claim", "the steps of a proof, replayed by the independent checker", ProofCommand},
    {"run", "y batch=4 seq=32 [seed=1]", "computes a value from random inputs of these sizes",
     RunCommand},
    {"why", "y batch=4 seq=32", "which version serves these sizes, why, its kernels and memory",
     WhyCommand},
    {"ir", "y [stage=traced] [facts]",
     "the program that computes a value, after the passes or before; with what is known of sizes",
     IrCommand},
    {"kernels", "y [batch=4 seq=32]",
     "Kernel IR of the version for these sizes, or the generic one", KernelsCommand},
    {"llvm", "y [batch=4 seq=32]", "optimised LLVM IR of these kernels", LlvmCommand},
    {"asm", "y [batch=4 seq=32]", "machine code of these kernels, as assembly", AsmCommand},
    {"cuda", "y [batch=4 seq=32]", "CUDA C++ of these kernels", CudaCommand},
    {"time", "y seq=32..512 [batch=4] [seed=1]",
     "measures calls at sizes of a range, doubling (seq=32..512:96: in steps of 96)", TimeCommand},
    {"peak", "y batch=4 seq=4096", "bytes that a call of these sizes needs", PeakCommand},
    {"fit", "y seq batch=4 8GiB", "the largest size whose call fits into that many bytes",
     FitCommand},
    {"bounds", "[y]", "how large a value can get under the declared facts; alone, every value",
     BoundsCommand},
    {"exceeds", "y 8GiB",
     "whether a call could need more: no with a proof, yes with sizes, unknown", ExceedsCommand},
    {"cache", "", "what is compiled, and the engine's counters", CacheCommand},
    {"import", "model.onnx", "puts a model in the place of the program so far", ImportCommand},
    {"quit", "", "ends the session", QuitCommand},
};

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == ','; }

}  // namespace

CommandLine::CommandLine(const ir::StatementText& statement)
    : at_{statement.line, statement.column} {
  const std::string_view text = statement.text;
  auto place = [&](size_t i) {
    return Place{statement.line, statement.column + static_cast<int>(i)};
  };
  auto skip = [&](size_t i) {
    while (i < text.size() && IsBlank(text[i])) ++i;
    return i;
  };
  auto word_end = [&](size_t i) {
    while (i < text.size() && !IsBlank(text[i]) && text[i] != '=') ++i;
    return i;
  };
  size_t i = 1;
  while (i < text.size() && !IsBlank(text[i])) ++i;
  name_ = text.substr(1, i - 1);
  i = skip(i);
  rest_ = text.substr(i);
  while (!rest_.empty() && IsBlank(rest_.back())) rest_.remove_suffix(1);
  rest_at_ = place(i);
  while (i < text.size()) {
    Word word{"", std::nullopt, place(i)};
    size_t end = word_end(i);
    word.text = text.substr(i, end - i);
    i = skip(end);
    if (i < text.size() && text[i] == '=') {
      i = skip(i + 1);
      end = word_end(i);
      word.value = text.substr(i, end - i);
      i = skip(end);
    }
    words_.push_back(std::move(word));
  }
}

absl::Span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace lathe::repl
