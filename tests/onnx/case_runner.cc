#include "tests/onnx/case_runner.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/onnx/reader.h"
#include "ir/interpreter.h"
#include "ir/staged_interpreter.h"
#include "ir/visit_dtype.h"
#include "lathe/onnx.h"
#include "tests/util/same_bits.h"

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;

std::vector<double> AsDoubles(const Tensor& t) {
  return VisitDType(t.dtype(), [&](auto type) {
    std::vector<double> values;
    for (int64_t i = 0; i < t.num_elements(); ++i)
      values.push_back(static_cast<double>(t.data<decltype(type)>()[i]));
    return values;
  });
}

// Outputs below it are compared as if they reached it: 1e-3 of it is a rounding of numbers
// around 1.
constexpr double kLeastPeak = 2e-4;

double DefaultTolerance(DType t) {
  switch (t) {
    case DType::kF32:
      return 1e-4;
    case DType::kF64:
      return 1e-6;
    case DType::kF16:
      return 2e-3;
    case DType::kBF16:
      return 1.6e-2;
    default:
      return 0;
  }
}

// A value of a data set: a tensor, or the items of a sequence or optional.
struct Value {
  bool present = true, is_tensor = true;
  std::vector<Tensor> tensors;
};

absl::StatusOr<std::vector<Value>> ReadValues(const fs::path& set, const std::string& kind,
                                              const std::vector<ValueInfo>& infos) {
  std::vector<Value> values;
  for (size_t i = 0;; ++i) {
    const fs::path file = set / absl::StrCat(kind, "_", i, ".pb");
    if (!fs::exists(file)) break;
    if (i >= infos.size()) return absl::InvalidArgumentError("more values than declared");
    Value value;
    absl::StatusOr<std::vector<TensorData>> data =
        ReadValueFile(file.string(), infos[i].type, {}, &value.present);
    if (!data.ok()) return data.status();
    const Type* type = &infos[i].type;
    if (type->kind == Type::Kind::kOptional) type = type->element.get();
    value.is_tensor = type->kind == Type::Kind::kTensor;
    for (TensorData& one : *data) {
      // Old data holds bf16 as its bits.
      if (one.element_type == kUint16 && type->element_type == kBfloat16)
        one.element_type = kBfloat16;
      absl::StatusOr<Tensor> t = ToTensor(one);
      if (!t.ok()) return t.status();
      value.tensors.push_back(*std::move(t));
    }
    values.push_back(std::move(value));
  }
  return values;
}

// The names and tensors that a program has for them.
std::vector<std::pair<std::string, Tensor>> Flatten(const std::vector<Value>& values,
                                                    const std::vector<ValueInfo>& infos) {
  std::vector<std::pair<std::string, Tensor>> flat;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].present) continue;
    for (size_t k = 0; k < values[i].tensors.size(); ++k) {
      flat.emplace_back(values[i].is_tensor ? infos[i].name : absl::StrCat(infos[i].name, ".", k),
                        values[i].tensors[k]);
    }
  }
  return flat;
}

// A tensor of the type with one more along each axis that has more than one, of small numbers.
Tensor Larger(const Tensor& like) {
  std::vector<int64_t> shape = like.shape();
  for (int64_t& n : shape) n = n > 1 ? n + 1 : n;
  Tensor t(like.dtype(), shape);
  VisitDType(t.dtype(), [&](auto type) {
    for (int64_t i = 0; i < t.num_elements(); ++i)
      t.data<decltype(type)>()[i] = static_cast<decltype(type)>(static_cast<float>(i * 7 % 3));
  });
  return t;
}

CaseResult Refused(const absl::Status& s) {
  return {CaseResult::Outcome::kRefused, std::string(s.message())};
}

// Of models that draw random numbers, types and shapes say all.
bool IsRandom(const std::vector<NodeDef>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const NodeDef& n) {
    return n.op_type == "Bernoulli" || n.op_type == "Multinomial" ||
           n.op_type.starts_with("Random");
  });
}

CaseResult Compare(const absl::StatusOr<std::vector<Tensor>>& got,
                   const std::vector<Tensor>& wanted, const CaseOptions& options, bool random) {
  if (!got.ok())
    return {CaseResult::Outcome::kWrong,
            absl::StrCat("the call: ", std::string(got.status().message()))};
  if (got->size() < wanted.size())
    return {CaseResult::Outcome::kWrong,
            absl::StrCat(got->size(), " outputs, wanted ", wanted.size())};
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Tensor& out = (*got)[i];
    if (random && out.dtype() == wanted[i].dtype() && out.shape() == wanted[i].shape()) continue;
    const std::string difference = Difference(out, wanted[i], options.tolerance);
    if (!difference.empty())
      return {CaseResult::Outcome::kWrong, absl::StrCat("output ", i, ": ", difference)};
  }
  return {CaseResult::Outcome::kPass, ""};
}

}  // namespace

std::string Difference(const Tensor& got, const Tensor& wanted, double tolerance) {
  if (got.dtype() != wanted.dtype())
    return absl::StrCat("type ", Name(got.dtype()), ", wanted ", Name(wanted.dtype()));
  if (got.shape() != wanted.shape())
    return absl::StrCat("shape [", absl::StrJoin(got.shape(), ", "), "], wanted [",
                        absl::StrJoin(wanted.shape(), ", "), "]");
  const Tensor x = got.Contiguous(), y = wanted.Contiguous();
  if (!IsFloat(got.dtype()))
    return FirstDifference(got.dtype(), static_cast<const uint8_t*>(y.raw()),
                           static_cast<const uint8_t*>(x.raw()), x.num_elements());
  const std::vector<double> a = AsDoubles(x), b = AsDoubles(y);
  double peak = 0;
  for (double value : b)
    if (std::isfinite(value)) peak = std::max(peak, std::fabs(value));
  const double bound =
      (tolerance != 0 ? tolerance : DefaultTolerance(got.dtype())) * std::max(peak, kLeastPeak);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same =
        a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::fabs(a[i] - b[i]) <= bound;
    if (!same)
      return absl::StrCat("element ", i, " is ", a[i], ", wanted ", b[i], " (peak ", peak, ")");
  }
  return "";
}

CaseResult RunCase(Engine& engine, const std::string& folder, const CaseOptions& options) {
  const std::string path = (fs::path(folder) / "model.onnx").string();
  const absl::StatusOr<ModelDef> model = ReadModel(path);
  if (!model.ok()) return Refused(model.status());
  const bool random = IsRandom(model->graph.nodes);
  std::vector<ValueInfo> inputs;
  for (const ValueInfo& v : model->graph.inputs) {
    const bool initialised =
        std::any_of(model->graph.initializers.begin(), model->graph.initializers.end(),
                    [&](const TensorData& t) { return t.name == v.name; });
    if (!initialised) inputs.push_back(v);
  }
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("test_data_set")) sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  if (sets.empty()) return {CaseResult::Outcome::kRefused, "has no data"};
  for (const fs::path& set : sets) {
    absl::StatusOr<std::vector<Value>> in = ReadValues(set, "input", inputs);
    if (!in.ok()) return Refused(in.status());
    absl::StatusOr<std::vector<Value>> out = ReadValues(set, "output", model->graph.outputs);
    if (!out.ok()) return Refused(out.status());
    OnnxOptions load;
    std::map<std::string, Tensor> by_name;
    for (const auto& [name, tensor] : Flatten(*in, inputs)) by_name[name] = tensor;
    for (size_t i = 0; i < in->size(); ++i) {
      const Value& value = (*in)[i];
      if (!value.present) continue;
      if (value.is_tensor) load.contents[inputs[i].name] = value.tensors[0];
      if (!value.is_tensor) load.sequence_contents[inputs[i].name] = value.tensors;
    }
    if (options.open_dims) {
      for (const auto& [name, tensor] : by_name) {
        for (size_t axis = 0; axis < tensor.shape().size(); ++axis) {
          const int64_t extent = tensor.shape()[axis];
          if (extent > 1) load.open[{name, static_cast<int>(axis)}] = absl::StrCat("d", extent);
        }
      }
    }
    absl::StatusOr<OnnxModel> loaded = load_onnx(path, load);
    if (!loaded.ok()) return Refused(loaded.status());
    std::shared_ptr<const ir::Graph> graph;
    std::shared_ptr<const ir::Staged> staged;
    if (loaded->program.is_staged()) {
      staged = std::make_shared<ir::Staged>(loaded->program.staged());
    } else {
      graph = std::make_shared<ir::Graph>(loaded->program.graph().Clone());
    }
    absl::StatusOr<Function> f = engine.compile(std::move(loaded->program));
    if (!f.ok()) return Refused(f.status());
    if (absl::Status s = f->prepare(); !s.ok()) return Refused(s);
    std::vector<Tensor> arguments;
    for (const std::string& name : loaded->inputs) {
      const auto found = by_name.find(name);
      if (found == by_name.end())
        return {CaseResult::Outcome::kRefused, absl::StrCat("no data for input ", name)};
      arguments.push_back(found->second);
    }
    std::vector<Tensor> wanted;
    for (const auto& [name, tensor] : Flatten(*out, model->graph.outputs)) {
      if (wanted.size() >= loaded->outputs.size() || loaded->outputs[wanted.size()] != name)
        return {CaseResult::Outcome::kWrong, absl::StrCat("there is no output ", name)};
      wanted.push_back(tensor);
    }
    if (out->size() == model->graph.outputs.size() && wanted.size() != loaded->outputs.size())
      return {CaseResult::Outcome::kWrong,
              absl::StrCat("there is an output ", loaded->outputs[wanted.size()])};
    const CaseResult first = Compare(f->call(arguments), wanted, options, random);
    if (first.outcome != CaseResult::Outcome::kPass) return first;
    if (!options.open_dims) continue;
    // Other sizes, as the interpreter has them, then the same again.
    std::vector<Tensor> others;
    for (const Tensor& t : arguments) others.push_back(Larger(t));
    const absl::StatusOr<std::vector<Tensor>> larger = f->call(others);
    const absl::StatusOr<std::vector<Tensor>> reference =
        staged != nullptr ? ir::Interpret(*staged, others) : ir::Interpret(*graph, others);
    if (reference.ok() != larger.ok())
      return {CaseResult::Outcome::kWrong,
              absl::StrCat("other sizes: ", larger.status().ToString(), ", wanted ",
                           reference.status().ToString())};
    if (reference.ok()) {
      const CaseResult other = Compare(larger, *reference, options, random);
      if (other.outcome != CaseResult::Outcome::kPass)
        return {other.outcome, absl::StrCat("other sizes: ", other.why)};
    }
    const CaseResult again = Compare(f->call(arguments), wanted, options, random);
    if (again.outcome != CaseResult::Outcome::kPass)
      return {again.outcome, absl::StrCat("after other sizes: ", again.why)};
  }
  return {CaseResult::Outcome::kPass, ""};
}

}  // namespace lathe::onnx
