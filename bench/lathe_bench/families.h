#pragma once
// The model families of the peer benchmark as traced programs, from a model's JSON description and
// its weights.
#include <string>

#include "absl/status/statusor.h"
#include "compiler/io/npz.h"
#include "lathe/lathe.h"

namespace lathe::bench {

struct ModelInput {
  std::string name;
  DType dtype = DType::kF32;
  struct Extent {
    std::string symbol;  // empty: `value`
    int64_t value = 0;
  };
  std::vector<Extent> shape;
  std::string fill;  // "uniform", "ids", "mask", "dim"
  double scale = 1;
  int64_t high = 1;
  std::string dim;
};

struct Model {
  std::string family;
  std::vector<ModelInput> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, int64_t> config;
};

// Reads NAME.json beside NAME.onnx.
absl::StatusOr<Model> ReadModel(const std::string& onnx_path);
absl::StatusOr<Program> TraceModel(const Model& model, const io::Arrays& weights);
// The inputs that the benchmark's hash defines for these sizes.
absl::StatusOr<std::vector<Tensor>> MakeInputs(const Model& model, const Sizes& sizes,
                                               uint32_t seed);

}  // namespace lathe::bench
