#pragma once
// A model written by model_writer.h, loaded and compiled once, for tests that call it with many
// sizes and compare with arithmetic of their own.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lathe/engine.h"
#include "lathe/onnx.h"
#include "tests/onnx/model_writer.h"

namespace lathe::onnx {

class SmallModel {
 public:
  // Fails the running test if the model can't be loaded or compiled.
  SmallModel(const GraphWriter& graph, int64_t opset, const OnnxOptions& options = {});
  explicit SmallModel(const Bytes& model, const OnnxOptions& options = {});
  ~SmallModel();
  SmallModel(const SmallModel&) = delete;
  SmallModel& operator=(const SmallModel&) = delete;

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // The program as text, as it was imported.
  const std::string& text() const { return text_; }
  absl::StatusOr<std::vector<Tensor>> Call(const std::vector<Tensor>& inputs);
  // Elements of the first result of a call with f32 results; fails the test if the call fails or
  // the shape isn't the wanted one.
  std::vector<float> Floats(const std::vector<Tensor>& inputs, const std::vector<int64_t>& shape);

 private:
  absl::Status Compile(const Bytes& bytes, const OnnxOptions& options);
  std::string path_, text_;
  absl::Status status_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Function> function_;
};

// load_onnx of a file that holds `model`.
absl::StatusOr<OnnxModel> LoadBytes(const Bytes& model, const OnnxOptions& options = {});
// Its error as text; "no error" if there is none.
std::string LoadError(const Bytes& model, const OnnxOptions& options = {});

// Numbers in [-1, 1), the same for the same seed.
std::vector<float> SomeFloats(size_t count, uint64_t seed);
// Fails the test at the first element that is off by more than `tolerance` of the largest wanted.
void ExpectNear(const std::vector<float>& got, const std::vector<double>& wanted,
                const std::string& what, double tolerance = 2e-6);

}  // namespace lathe::onnx
