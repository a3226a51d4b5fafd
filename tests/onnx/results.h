#pragma once
// Results of any type, and errors of loading, for tests with small models.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {

// Elements of the first result of a call; fails the test if the call fails or the type is another.
template <typename T>
std::vector<T> Elements(SmallModel& model, const std::vector<Tensor>& inputs) {
  const absl::StatusOr<std::vector<Tensor>> results = model.Call(inputs);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  const Tensor t = (*results)[0].Contiguous();
  EXPECT_EQ(t.dtype(), DTypeOf<T>());
  if (t.dtype() != DTypeOf<T>()) return {};
  return std::vector<T>(t.data<T>(), t.data<T>() + t.num_elements());
}

// What loading a model says.
inline absl::Status LoadStatus(const GraphWriter& g, int64_t opset) {
  const std::string path = absl::StrCat(testing::TempDir(), "load_status_", getpid(), ".onnx");
  std::ofstream(path, std::ios::binary) << ModelMessage(g, {{"", opset}});
  const absl::Status status = load_onnx(path).status();
  std::remove(path.c_str());
  return status;
}

// Half numbers as a tensor, and back.
inline Tensor Halves(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  return Tensor::FromVector<Half>(shape, std::vector<Half>(values.begin(), values.end()));
}
inline std::vector<float> HalfResults(SmallModel& model, const std::vector<Tensor>& inputs) {
  const std::vector<Half> y = Elements<Half>(model, inputs);
  return std::vector<float>(y.begin(), y.end());
}

}  // namespace lathe::onnx
