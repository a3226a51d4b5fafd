#pragma once
// The command line of jit-repl.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lathe::repl {

inline constexpr char kUsageText[] =
    "usage: jit-repl [options]              reads statements from the terminal or a pipe\n"
    "       jit-repl [options] FILE         runs a script\n"
    "       jit-repl [options] -e TEXT      runs TEXT; several -e are lines of one text\n"
    "       jit-repl run MODEL.onnx --inputs IN [--outputs OUT] [model options]\n"
    "       jit-repl inspect MODEL.onnx [--at batch=4,seq=512] [model options]\n"
    "\n"
    "  --json        each statement answers with one JSON object a line\n"
    "  --threads N   threads of a call (default: one per core)\n"
    "  --memory M    most memory of a call with its inputs, such as 8GiB\n"
    "                (default: three quarters of the machine's)\n"
    "  --inputs IN   the model's inputs: .npz, .safetensors, or .npy named after its input\n"
    "  --outputs OUT where its outputs go: .npz, or .npy if there is one\n"
    "  --dim FACT    of a model's dims: \"seq in 1..8192\", \"batch == 4\"; may be repeated\n"
    "  --open I:A=N  opens axis A of a model's input I as the dim N\n"
    "  --help        this text\n"
    "  --version     the version\n"
    "\n"
    "Exit status: 0; 1 if a statement of a script or a pipe failed; 2 for a wrong command line.\n";

struct Arguments {
  std::string file;                       // script; empty: none ("-" is none, too)
  std::optional<std::string> expression;  // -e
  bool json = false, help = false, version = false;
  int threads = 0;
  int64_t memory_bytes = 0;  // 0: the default
};

absl::StatusOr<Arguments> ReadArguments(const std::vector<std::string>& arguments);

}  // namespace lathe::repl
