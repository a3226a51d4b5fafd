#pragma once
// `jit-repl run model.onnx` and `jit-repl inspect model.onnx`: a model file from the command line.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lathe/engine.h"
#include "lathe/onnx.h"

namespace lathe::repl {

struct ModelArguments {
  bool inspect = false;
  std::string model, inputs, outputs;
  OnnxOptions load;  // --dim "seq in 1..8192", --open input:axis=name; contents of --inputs
  Sizes at;          // --at batch=4,seq=512
  int threads = 0;
  bool json = false;
};

// Whether the words after the program's name are of this command.
bool IsModelCommand(const std::vector<std::string>& words);
absl::StatusOr<ModelArguments> ReadModelArguments(const std::vector<std::string>& words);

// Does it. Answers go to `out`, faults to `err` (with json to `out`); the exit status.
int RunModelCommand(const ModelArguments& arguments, std::FILE* out, std::FILE* err);

}  // namespace lathe::repl
