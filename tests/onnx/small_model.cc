#include "tests/onnx/small_model.h"

#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lathe::onnx {

namespace {

std::string NewPath() {
  static std::atomic<int> counter{0};
  return absl::StrCat(testing::TempDir(), "small_model_", getpid(), "_", counter++, ".onnx");
}

}  // namespace

SmallModel::SmallModel(const GraphWriter& graph, int64_t opset, const OnnxOptions& options)
    : SmallModel(ModelMessage(graph, {{"", opset}}), options) {}

SmallModel::SmallModel(const Bytes& model, const OnnxOptions& options) : path_(NewPath()) {
  status_ = Compile(model, options);
  EXPECT_TRUE(status_.ok()) << status_;
}

SmallModel::~SmallModel() { std::remove(path_.c_str()); }

absl::Status SmallModel::Compile(const Bytes& bytes, const OnnxOptions& options) {
  std::ofstream(path_, std::ios::binary) << bytes;
  absl::StatusOr<OnnxModel> model = load_onnx(path_, options);
  if (!model.ok()) return model.status();
  text_ = model->program.to_string();
  EngineOptions engine_options;
  engine_options.threads = 1;
  engine_options.background_compiles = false;
  engine_ = std::make_unique<Engine>(engine_options);
  absl::StatusOr<Function> f = engine_->compile(std::move(model->program));
  if (!f.ok()) return f.status();
  function_ = std::make_unique<Function>(*std::move(f));
  return function_->prepare();
}

absl::StatusOr<std::vector<Tensor>> SmallModel::Call(const std::vector<Tensor>& inputs) {
  if (!ok()) return status_;
  return function_->call(inputs);
}

std::vector<float> SmallModel::Floats(const std::vector<Tensor>& inputs,
                                      const std::vector<int64_t>& shape) {
  const absl::StatusOr<std::vector<Tensor>> results = Call(inputs);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  const Tensor t = (*results)[0].Contiguous();
  EXPECT_EQ(t.dtype(), f32);
  EXPECT_EQ(t.shape(), shape);
  if (t.dtype() != f32) return {};
  return std::vector<float>(t.data<float>(), t.data<float>() + t.num_elements());
}

absl::StatusOr<OnnxModel> LoadBytes(const Bytes& model, const OnnxOptions& options) {
  const std::string path = NewPath();
  std::ofstream(path, std::ios::binary) << model;
  absl::StatusOr<OnnxModel> loaded = load_onnx(path, options);
  std::remove(path.c_str());
  return loaded;
}

std::string LoadError(const Bytes& model, const OnnxOptions& options) {
  const absl::StatusOr<OnnxModel> loaded = LoadBytes(model, options);
  return loaded.ok() ? "no error" : loaded.status().ToString();
}

std::vector<float> SomeFloats(size_t count, uint64_t seed) {
  std::vector<float> values;
  uint64_t state = seed * 2 + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<float>(static_cast<double>(state >> 40) / 0x1p23 - 1));
  }
  return values;
}

void ExpectNear(const std::vector<float>& got, const std::vector<double>& wanted,
                const std::string& what, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  double peak = 0;
  for (double w : wanted)
    if (std::isfinite(w)) peak = std::max(peak, std::fabs(w));
  for (size_t i = 0; i < got.size(); ++i) {
    const double g = static_cast<double>(got[i]), w = wanted[i];
    if (g == w || (std::isnan(g) && std::isnan(w)) || std::fabs(g - w) <= tolerance * peak)
      continue;
    FAIL() << what << ": element " << i << " is " << g << ", wanted " << w;
  }
}

}  // namespace lathe::onnx
