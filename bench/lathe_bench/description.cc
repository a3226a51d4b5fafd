#include "bench/lathe_bench/description.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/visit_dtype.h"

namespace lathe::bench {
namespace {

using Json = nlohmann::json;

constexpr double kMostScale = 1e30;

absl::StatusOr<DType> ParseType(const std::string& name) {
  if (name == "float32") return DType::kF32;
  if (name == "float64") return DType::kF64;
  if (name == "int64") return DType::kI64;
  if (name == "int32") return DType::kI32;
  return absl::InvalidArgumentError("element type " + name + " isn't supported");
}

absl::StatusOr<Description> FromJson(const Json& j) {
  Description description;
  for (const Json& in : j.at("inputs")) {
    ModelInput input;
    input.name = in.at("name").get<std::string>();
    absl::StatusOr<DType> type = ParseType(in.at("dtype").get<std::string>());
    if (!type.ok()) return type.status();
    input.dtype = *type;
    for (const Json& d : in.at("shape")) {
      ModelInput::Extent extent;
      if (d.is_string()) {
        extent.symbol = d.get<std::string>();
      } else {
        extent.value = d.get<int64_t>();
      }
      input.shape.push_back(extent);
    }
    input.fill = in.at("fill").get<std::string>();
    input.scale = in.value("scale", 1.0);
    input.high = in.value("high", int64_t{1});
    if (input.high < 1 || input.high > INT32_MAX)
      return absl::InvalidArgumentError(
          absl::StrCat("high is ", input.high, ", wanted 1 to ", INT32_MAX));
    if (!(std::abs(input.scale) <= kMostScale))
      return absl::InvalidArgumentError(
          absl::StrCat("scale is ", input.scale, ", wanted at most ", kMostScale));
    if (input.fill == "uniform" && !IsFloat(input.dtype))
      return absl::InvalidArgumentError("uniform numbers are floats");
    input.dim = in.value("dim", std::string());
    description.push_back(std::move(input));
  }
  return description;
}

uint32_t Hash(uint32_t i, uint32_t seed, uint32_t input) {
  uint32_t h = i * 0x9E3779B1u + seed * 0x85EBCA77u + input * 0xC2B2AE3Du;
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  h ^= h >> 16;
  return h;
}

// Element `i` as a double, which holds every fill exactly.
double Element(const ModelInput& in, uint32_t index, int64_t i, int64_t width, const Sizes& sizes,
               uint32_t seed) {
  const uint32_t h = Hash(static_cast<uint32_t>(i), seed, index);
  if (in.fill == "uniform")
    return (static_cast<float>(h >> 8) * 0x1p-23f - 1.0f) * static_cast<float>(in.scale);
  if (in.fill == "ids") return static_cast<double>(h % static_cast<uint32_t>(in.high));
  if (in.fill == "mask") return i % width < width - width / 8;
  auto it = sizes.find(in.dim);
  return it == sizes.end() ? 0 : static_cast<double>(it->second);
}

}  // namespace

absl::StatusOr<Description> ParseDescription(std::string_view text, const std::string& what) {
  const Json j = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object()) return absl::InvalidArgumentError(what + " is no JSON object");
  absl::StatusOr<Description> description;
  try {
    description = FromJson(j);
  } catch (
      const Json::exception& e) {  // of the JSON library: a field is missing or of another kind
    description = absl::InvalidArgumentError(e.what());
  }
  if (description.ok()) return description;
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", description.status().message()));
}

absl::StatusOr<Description> ReadDescription(const std::string& onnx_path) {
  const std::string path = absl::StrCat(
      absl::StripSuffix(absl::string_view(onnx_path.data(), onnx_path.size()), ".onnx"), ".json");
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError("can't read " + path);
  return ParseDescription(std::string(std::istreambuf_iterator<char>(in), {}), path);
}

absl::StatusOr<std::vector<Tensor>> MakeInputs(const Description& description, const Sizes& sizes,
                                               uint32_t seed) {
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < description.size(); ++k) {
    const ModelInput& in = description[k];
    std::vector<int64_t> shape;
    for (const ModelInput::Extent& e : in.shape) {
      auto it = sizes.find(e.symbol);
      if (!e.symbol.empty() && it == sizes.end())
        return absl::InvalidArgumentError("the case has no size for " + e.symbol);
      shape.push_back(e.symbol.empty() ? e.value : it->second);
    }
    absl::StatusOr<Tensor> t = Tensor::Make(in.dtype, shape);
    if (!t.ok()) return t.status();
    if (in.fill == "dim") {
      const auto it = sizes.find(in.dim);
      if (it != sizes.end() && !FitsInt(in.dtype, it->second))
        return absl::InvalidArgumentError(
            absl::StrCat(in.dim, " = ", it->second, " is no ", Name(in.dtype), ", for ", in.name));
    }
    const int64_t width = shape.empty() ? 1 : shape.back();
    for (int64_t i = 0; i < t->num_elements(); ++i) {
      const double value = Element(in, static_cast<uint32_t>(k), i, width, sizes, seed);
      VisitDType(in.dtype, [&](auto type) {
        using T = decltype(type);
        t->data<T>()[i] = std::is_same_v<T, bool> ? T(value != 0) : static_cast<T>(value);
      });
    }
    inputs.push_back(*std::move(t));
  }
  return inputs;
}

}  // namespace lathe::bench
