#pragma once
// What command lines say of a model file: jit-repl run, jit-repl inspect and lathe-bench model.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/io/arrays.h"
#include "lathe/engine.h"
#include "lathe/onnx.h"

namespace lathe::onnx {

// "batch=4,seq=512". InvalidArgument names `option` and the part that is no name=size with a size
// from 0, or that gives a name again.
absl::StatusOr<Sizes> ReadSizes(const std::string& option, const std::string& text);

// "input:axis=name" of --open, into `options->open`.
absl::Status ReadOpen(const std::string& text, OnnxOptions* options);

// The program's inputs in the order of a call, from the arrays of `file`. InvalidArgument lists the
// model's inputs if one isn't there.
absl::StatusOr<std::vector<Tensor>> InputsFrom(const std::string& file, const io::Arrays& arrays,
                                               const OnnxModel& model);

}  // namespace lathe::onnx
