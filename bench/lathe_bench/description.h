#pragma once
// The inputs of a model of the peer benchmark, as the JSON file beside it describes them.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
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
  int64_t high = 1;  // ids lie below it: 1 to 2^31 - 1
  std::string dim;
};

using Description = std::vector<ModelInput>;

// InvalidArgument if the text isn't that of a description; `what` names it.
absl::StatusOr<Description> ParseDescription(std::string_view text, const std::string& what);
// Reads NAME.json beside NAME.onnx.
absl::StatusOr<Description> ReadDescription(const std::string& onnx_path);
// The inputs that the benchmark's hash defines for these sizes.
absl::StatusOr<std::vector<Tensor>> MakeInputs(const Description& description, const Sizes& sizes,
                                               uint32_t seed);

}  // namespace lathe::bench
