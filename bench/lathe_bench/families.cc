#include "bench/lathe_bench/families.h"

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "examples/encoder.h"
#include "ir/visit_dtype.h"

namespace lathe::bench {
namespace {

using Json = nlohmann::json;

absl::StatusOr<DType> ParseType(const std::string& name) {
  if (name == "float32") return DType::kF32;
  if (name == "float64") return DType::kF64;
  if (name == "int64") return DType::kI64;
  if (name == "int32") return DType::kI32;
  return absl::InvalidArgumentError("element type " + name + " isn't supported");
}

absl::StatusOr<Model> FromJson(const Json& j) {
  Model model;
  model.family = j.at("family").get<std::string>();
  model.outputs = j.at("outputs").get<std::vector<std::string>>();
  const Json config = j.value("config", Json::object());
  for (const auto& [key, value] : config.items())
    if (value.is_number_integer()) model.config[key] = value.get<int64_t>();
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
    input.dim = in.value("dim", std::string());
    model.inputs.push_back(std::move(input));
  }
  return model;
}

// Traces inputs with their symbols open, and finds weights by name.
class Tracer {
 public:
  Tracer(const Model& model, const io::Arrays& weights)
      : model_(model), weights_(weights), t_(model.family) {}

  absl::StatusOr<Program> Run() {
    if (model_.family == "encoder") return Encoder();
    for (const ModelInput& in : model_.inputs) {
      Shape shape;
      for (const ModelInput::Extent& e : in.shape)
        shape.push_back(e.symbol.empty() ? Dim(e.value) : Symbol(e.symbol));
      x_.push_back(t_.input(in.name, in.dtype, shape));
    }
    Value y;
    const std::string& f = model_.family;
    if (f == "gemm") {
      y = matmul(x_[0], Weight("w"));
    } else if (f == "gemm_bias_gelu") {
      y = gelu(matmul(x_[0], Weight("fc_w")) + Weight("fc_b"));
    } else if (f == "chain4") {
      y = tanh((x_[0] + Weight("a_row")) * Weight("b_row")) + Weight("c_row");
    } else if (f == "softmax") {
      y = softmax(x_[0], -1);
    } else if (f == "layernorm_residual") {
      y = layer_norm(x_[0] + x_[1], Weight("ln_g"), Weight("ln_b"));
    } else if (f == "attention") {
      y = attention(x_[0], x_[1], x_[2]);
    } else if (f == "dispatch") {
      y = Dispatch(x_[0]);
    } else {
      return absl::UnimplementedError("model family " + f + " isn't known");
    }
    if (!missing_.empty()) return absl::NotFoundError("weight " + missing_ + " is missing");
    return t_.finish({y}, model_.outputs);
  }

 private:
  Dim Symbol(const std::string& name) {
    auto [it, added] = symbols_.try_emplace(name);
    if (added) it->second = t_.dim(name);
    return it->second;
  }

  Value Weight(const std::string& name) {
    auto it = weights_.find(name);
    if (it == weights_.end()) {
      missing_ = name;
      return t_.scalar(f32, 0);
    }
    return t_.constant(it->second);
  }

  Value Dispatch(Value x) {
    const Value add = Weight("add_row"), mul = Weight("mul_row");
    for (int64_t i = 0; i < model_.config.at("ops"); ++i) {
      switch (i % 4) {
        case 0:
          x = relu(x);
          break;
        case 1:
          x = x * mul;
          break;
        case 2:
          x = x + add;
          break;
        default:
          x = tanh(x);
          break;
      }
    }
    return x;
  }

  absl::StatusOr<Program> Encoder() {
    examples::EncoderConfig config;
    for (const auto& [key, member] : std::map<std::string, int64_t*>{{"layers", &config.layers},
                                                                     {"hidden", &config.hidden},
                                                                     {"heads", &config.heads},
                                                                     {"ffn", &config.ffn},
                                                                     {"vocab", &config.vocab},
                                                                     {"max_seq", &config.max_seq}})
      if (auto it = model_.config.find(key); it != model_.config.end()) *member = it->second;
    absl::StatusOr<Value> hidden = examples::BuildEncoder(
        t_, config,
        [&](const std::string& name, const std::vector<int64_t>&) -> absl::StatusOr<Tensor> {
          auto it = weights_.find(name);
          if (it == weights_.end()) return absl::NotFoundError("weight " + name + " is missing");
          return it->second;
        });
    if (!hidden.ok()) return hidden.status();
    return t_.finish({*hidden}, model_.outputs);
  }

  const Model& model_;
  const io::Arrays& weights_;
  Trace t_;
  std::vector<Value> x_;
  std::map<std::string, Dim> symbols_;
  std::string missing_;
};

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

absl::StatusOr<Model> ReadModel(const std::string& onnx_path) {
  const std::string path = absl::StrCat(
      absl::StripSuffix(absl::string_view(onnx_path.data(), onnx_path.size()), ".onnx"), ".json");
  std::ifstream in(path);
  if (!in) return absl::NotFoundError("can't read " + path);
  const Json j = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object()) return absl::InvalidArgumentError(path + " is no JSON object");
  try {
    return FromJson(j);
  } catch (
      const Json::exception& e) {  // of the JSON library: a field is missing or of another kind
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", e.what()));
  }
}

absl::StatusOr<Program> TraceModel(const Model& model, const io::Arrays& weights) {
  return Tracer(model, weights).Run();
}

absl::StatusOr<std::vector<Tensor>> MakeInputs(const Model& model, const Sizes& sizes,
                                               uint32_t seed) {
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < model.inputs.size(); ++k) {
    const ModelInput& in = model.inputs[k];
    std::vector<int64_t> shape;
    for (const ModelInput::Extent& e : in.shape) {
      auto it = sizes.find(e.symbol);
      if (!e.symbol.empty() && it == sizes.end())
        return absl::InvalidArgumentError("the case has no size for " + e.symbol);
      shape.push_back(e.symbol.empty() ? e.value : it->second);
    }
    absl::StatusOr<Tensor> t = Tensor::Make(in.dtype, shape);
    if (!t.ok()) return t.status();
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
