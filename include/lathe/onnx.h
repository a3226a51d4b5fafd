#pragma once
// ONNX models as programs: a file whose exporter left dims open is loaded once and compiled like a
// traced program; it then runs for every size.
//
//   absl::StatusOr<lathe::OnnxModel> model = lathe::load_onnx("model.onnx", {.dims = {"seq <=
//   8192"}}); absl::StatusOr<lathe::Function> f = engine.compile(std::move(model->program));
//   f->call({ids, mask});                          // in the order of model->inputs
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lathe/tensor.h"
#include "lathe/trace.h"

namespace lathe {

// What is read of a file. Passing one is a ResourceExhausted that names it, before anything is
// allocated for it.
struct OnnxLimits {
  int64_t file_bytes = int64_t{64} << 30;  // of the model; of each file of external data
  // Bytes made of the file, beside what is mapped: while reading, and of copies while importing.
  int64_t memory = int64_t{4} << 30;
  int64_t nodes = 1'000'000;                 // of all graphs and functions together
  int64_t depth = 32;                        // of sub-graphs; of types within types; of calls
  int64_t attributes = 1024;                 // of a node
  int64_t rank = 16;                         // of a tensor, of a declared shape
  int64_t name_bytes = int64_t{64} << 10;    // of a name
  int64_t string_bytes = int64_t{64} << 20;  // of a string that is data
};

struct OnnxOptions {
  // Facts about dims by the names that the model gives them ("seq in 1..8192", "batch == 4" fixes
  // one), or `input_d<axis>` for those without a name. Names that aren't words ("batch size") are
  // understood as they are and as OnnxModel::dims has them; one that also reads as an expression of
  // other dims is that expression.
  std::vector<std::string> dims;
  // Dims to open although the file fixes them: {"input", axis} -> a name. InvalidArgument if there
  // is no such input or axis; likewise for contents of inputs that the model doesn't have.
  std::map<std::pair<std::string, int>, std::string> open;
  // Contents of inputs, by name. Used for inputs that decide what is computed (axes, a pooling
  // size); the program then has no such input, and OnnxModel::fixed lists it. Their shapes also say
  // the rank of inputs that the file declares without one.
  std::map<std::string, Tensor> contents;
  // The same for inputs that are sequences: how many items there are, of which ranks. Every item is
  // an input of the program of its own, "name.0", "name.1", ..; outputs likewise. Sequences never
  // change their length between calls. An optional input is there if it has contents.
  std::map<std::string, std::vector<Tensor>> sequence_contents;
  OnnxLimits limits;
  // Of the model, with calls of functions and unrolled steps written out; of the program's graphs
  // together; and a sixteenth of the names and attributes that are gone through for them.
  int64_t max_nodes = 1'000'000;
  // Of one constant computed while loading, or of a table that one node's attributes ask for.
  int64_t max_folded_bytes = int64_t{64} << 20;
  // Factors behind products go into their weights, as batch normalisation does into a convolution:
  // what overflows before such a factor may not any more (docs/numerics.md).
  bool fast_math = true;
};

struct OnnxModel {
  Program program;
  // The model's names, in the order of a call; items of sequences one by one.
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> fixed;           // inputs that became constants
  std::map<std::string, std::string> dims;  // the model's name of a dim -> the program's symbol
  std::string producer;
  int64_t ir_version = 0;
  std::map<std::string, int> operators;  // "Conv" -> how often, sub-graphs included
};

// Reads and imports a model. Errors name node, operator and what was found; operators that Lathe
// doesn't have are listed all at once (Unimplemented). Nothing of the file is trusted; external
// data is read below the model's folder only. Weights stay mapped, so the file must not be changed
// while the program lives.
absl::StatusOr<OnnxModel> load_onnx(const std::string& path, const OnnxOptions& options = {});

}  // namespace lathe
