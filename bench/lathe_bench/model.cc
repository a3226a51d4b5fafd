// Any ONNX model: calls at given sizes, the first of each against the median of the warm ones.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "bench/lathe_bench/clock.h"
#include "bench/lathe_bench/suites.h"
#include "compiler/io/array_files.h"
#include "compiler/onnx/command_line.h"
#include "ir/samples.h"
#include "ir/staged.h"
#include "ir/status_macros.h"
#include "lathe/engine.h"
#include "lathe/onnx.h"
#include "runtime/function_state.h"
#include "runtime/staged_state.h"

namespace lathe::bench {
namespace {

std::vector<std::string> Parts(const std::string& text) {
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(text, ';', absl::SkipWhitespace()))
    parts.emplace_back(absl::StripAsciiWhitespace(part));
  return parts;
}

// A trace: a line of names, then a line of sizes for each call.
absl::StatusOr<std::vector<Sizes>> ReadTrace(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!in || !std::getline(in, line)) return absl::NotFoundError("can't read " + path);
  const std::vector<std::string> names = absl::StrSplit(absl::StripAsciiWhitespace(line), ',');
  std::vector<Sizes> all;
  while (std::getline(in, line)) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::vector<std::string> texts = absl::StrSplit(absl::StripAsciiWhitespace(line), ',');
    if (texts.size() != names.size())
      return absl::InvalidArgumentError(absl::StrCat(path, ": '", line, "' has ", texts.size(),
                                                     " columns, wanted ", names.size()));
    std::vector<std::string> entries;
    for (size_t i = 0; i < names.size(); ++i)
      entries.push_back(absl::StrCat(names[i], "=", texts[i]));
    LATHE_ASSIGN_OR_RETURN(all.emplace_back(), onnx::ReadSizes(path, absl::StrJoin(entries, ",")));
  }
  if (all.empty()) return absl::InvalidArgumentError(path + " has no line of sizes");
  return all;
}

// Sizes of one call after another. Of a model without dims: one call.
absl::StatusOr<std::vector<Sizes>> ReadDims(const std::string& text) {
  if (!text.empty() && text[0] == '@') return ReadTrace(text.substr(1));
  std::vector<Sizes> all;
  for (const std::string& call : Parts(text)) {
    LATHE_ASSIGN_OR_RETURN(all.emplace_back(), onnx::ReadSizes("--dims", call));
  }
  if (all.empty()) all.emplace_back();
  return all;
}

std::string Text(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : sizes) parts.push_back(absl::StrCat(name, "=", value));
  return absl::StrJoin(parts, ",");
}

// A model, compiled, with what its calls are made of.
class Model {
 public:
  explicit Model(const SuiteOptions& options) : engine_({.threads = options.threads}) {}

  absl::Status Load(const SuiteOptions& options) {
    OnnxOptions load;
    load.dims = Parts(options.facts);
    for (const std::string& axis : Parts(options.open))
      LATHE_RETURN_IF_ERROR(onnx::ReadOpen(axis, &load));
    if (!options.inputs.empty()) {
      LATHE_ASSIGN_OR_RETURN(load.contents, io::ReadArrays(options.inputs));
    }
    LATHE_ASSIGN_OR_RETURN(OnnxModel model, load_onnx(options.model, load));
    if (!options.inputs.empty()) {
      LATHE_ASSIGN_OR_RETURN(given_, onnx::InputsFrom(options.inputs, load.contents, model));
    }
    if (model.program.is_staged()) {
      LATHE_ASSIGN_OR_RETURN(graph_, ir::EntryGraph(model.program.staged()));
    } else {
      graph_ = model.program.graph().Clone();
    }
    LATHE_ASSIGN_OR_RETURN(function_, engine_.compile(std::move(model.program)));
    LATHE_RETURN_IF_ERROR(function_->prepare());
    for (const auto& [name, symbol] : model.dims) dims_.insert(symbol);
    for (const std::string& name : SizesOfInputs()) dims_.insert(name);
    return absl::OkStatus();
  }

  // The arrays that were given, if there are some, or made ones.
  absl::StatusOr<std::vector<Tensor>> InputsAt(const Sizes& sizes) const {
    if (given_) return *given_;
    const std::string dims = dims_.empty() ? std::string("; the model has no dims")
                                           : "; the model's dims are " + absl::StrJoin(dims_, ", ");
    for (const auto& [name, size] : sizes) {
      if (!dims_.contains(name))
        return absl::InvalidArgumentError(
            absl::StrCat("--dims gives ", name, "=", size, ", which is none", dims));
    }
    const absl::StatusOr<std::vector<int64_t>> symbols = entry().SymbolValues(sizes);
    if (!symbols.ok())
      return absl::Status(symbols.status().code(),
                          absl::StrCat("--dims: ", symbols.status().message(), dims));
    return ir::TimingInputs(*graph_, *symbols, 1);
  }

  // The sizes of a call on the arrays that were given.
  absl::StatusOr<Sizes> GivenSizes() const {
    rt::ContextState context;
    LATHE_RETURN_IF_ERROR(entry().CheckInputs(*given_, context));
    const std::vector<std::string> shown = SizesOfInputs();
    Sizes sizes;
    for (size_t s = 0; s < context.bound.size(); ++s) {
      const std::string& name = entry().plan().symbol_names[s];
      if (std::find(shown.begin(), shown.end(), name) != shown.end())
        sizes[name] = context.bound[s];
    }
    return sizes;
  }

  const Engine& engine() const { return engine_; }
  const Function& function() const { return *function_; }

 private:
  const rt::FunctionState& entry() const { return rt::EntryOf(*function_); }

  // The symbols that an axis or an element of an input shows.
  std::vector<std::string> SizesOfInputs() const {
    const rt::EntryPlan& plan = entry().plan();
    std::vector<std::string> names;
    for (size_t s = 0; s < plan.symbol_names.size(); ++s) {
      if (plan.bind[s].input >= 0 || !plan.data_origins[s].empty())
        names.push_back(plan.symbol_names[s]);
    }
    return names;
  }

  Engine engine_;
  std::optional<ir::Graph> graph_;  // its inputs are the model's
  std::optional<Function> function_;
  std::set<std::string> dims_;
  std::optional<std::vector<Tensor>> given_;
};

absl::StatusOr<double> SecondsOf(const Function& f, const std::vector<Tensor>& inputs) {
  const double begin = Now();
  LATHE_RETURN_IF_ERROR(f.call(inputs).status());
  return Now() - begin;
}

}  // namespace

absl::Status ModelRun(const SuiteOptions& options) {
  if (!options.inputs.empty() && !options.dims.empty())
    return absl::InvalidArgumentError("the sizes are those of --inputs; leave --dims out");
  LATHE_ASSIGN_OR_RETURN(std::vector<Sizes> calls, ReadDims(options.dims));
  const double start = Now();
  Model model(options);
  LATHE_RETURN_IF_ERROR(model.Load(options));
  const double load_seconds = Now() - start;
  if (!options.inputs.empty()) {
    LATHE_ASSIGN_OR_RETURN(calls[0], model.GivenSizes());
  }
  std::printf("%s: loaded and compiled in %.3f s\n", options.model.c_str(), load_seconds);
  std::printf("%-32s %8s %12s %12s %14s\n", "sizes", "calls", "first ms", "warm ms", "peak bytes");
  nlohmann::json json = {{"model", options.model}, {"load_s", load_seconds}};
  // Sizes in the order of their first call, which `rounds` warm ones follow; a size that a trace
  // has again is called once more each time.
  std::map<Sizes, std::vector<double>> times;
  std::vector<Sizes> order;
  for (const Sizes& sizes : calls) {
    std::vector<double>& of = times[sizes];
    if (of.empty()) order.push_back(sizes);
    LATHE_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, model.InputsAt(sizes));
    const int rounds = of.empty() ? std::max(options.rounds, 1) + 1 : 1;
    for (int i = 0; i < rounds; ++i) {
      LATHE_ASSIGN_OR_RETURN(of.emplace_back(), SecondsOf(model.function(), inputs));
    }
  }
  for (const Sizes& sizes : order) {
    std::vector<double>& of = times[sizes];
    const double first = of[0];
    const auto middle = of.begin() + 1 + static_cast<int64_t>(of.size() - 1) / 2;
    std::nth_element(of.begin() + 1, middle, of.end());
    const absl::StatusOr<int64_t> bytes = model.function().peak_bytes(sizes);
    std::printf("%-32s %8zu %12.3f %12.3f %14lld\n", Text(sizes).c_str(), of.size(), first * 1e3,
                *middle * 1e3, static_cast<long long>(bytes.value_or(-1)));
    json["calls"].push_back({{"sizes", sizes},
                             {"calls", of.size()},
                             {"first_s", first},
                             {"warm_s", *middle},
                             {"peak_bytes", bytes.value_or(-1)}});
  }
  json["compiles_in_calls"] = model.engine().counters().compiles_in_calls;
  std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return absl::OkStatus();
}

}  // namespace lathe::bench
