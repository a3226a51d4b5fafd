#include "repl/model_command.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/io/array_files.h"
#include "compiler/onnx/command_line.h"
#include "ir/attr_text.h"
#include "ir/dim/facts.h"
#include "ir/graph.h"
#include "ir/staged.h"
#include "ir/status_macros.h"
#include "repl/library_routines.h"
#include "repl/memory_size.h"

namespace lathe::repl {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFaults = 1;
constexpr int kMostThreads = 1024;

absl::Status Wrong(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(what, "; see jit-repl --help"));
}

// The types of the program's inputs, by the model's names.
std::vector<std::string> InputTypes(const Program& program) {
  std::vector<std::string> types;
  if (program.is_staged()) {
    for (const ir::ValueType& type : program.staged().input_types) types.push_back(type.ToString());
    return types;
  }
  const ir::Graph& graph = program.graph();
  for (ir::ValueId v : graph.inputs) types.push_back(graph.type(v).ToString());
  return types;
}

// What the sizes must satisfy, each claim once: of a program in stages, what any stage or body
// needs, in the order in which a call meets them.
std::vector<std::string> FactTexts(const Program& program) {
  std::vector<const ir::Graph*> graphs;
  std::vector<std::shared_ptr<ir::Graph>> staged;
  if (program.is_staged()) {
    staged = ir::GraphsOf(program.staged());
    for (const std::shared_ptr<ir::Graph>& graph : staged) graphs.push_back(graph.get());
  } else {
    graphs.push_back(&program.graph());
  }
  std::vector<std::string> lines;
  absl::flat_hash_set<std::string> claims;
  for (const ir::Graph* graph : graphs) {
    for (const dim::Fact& f : graph->facts().facts()) {
      if (f.standing == dim::Standing::kDerived) continue;
      const std::string claim = f.claim.ToString();
      if (!claims.insert(claim).second) continue;
      std::string& line =
          lines.emplace_back(absl::StrCat(claim, "   ", Name(f.standing), " by ", f.source.what));
      if (!f.source.where.empty()) absl::StrAppend(&line, " (", f.source.where, ")");
    }
  }
  return lines;
}

// One line, whatever bytes a file's names have.
std::string LineOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

class Command {
 public:
  Command(const ModelArguments& arguments, std::FILE* out) : a_(arguments), out_(out) {}

  absl::Status Run() {
    OnnxOptions options = a_.load;
    if (!a_.inputs.empty()) {
      LATHE_ASSIGN_OR_RETURN(options.contents, io::ReadArrays(a_.inputs));
    }
    const auto start = std::chrono::steady_clock::now();
    absl::StatusOr<OnnxModel> model = load_onnx(a_.model, options);
    if (!model.ok()) return model.status();
    EngineOptions engine_options;
    engine_options.threads = a_.threads;
    if (a_.inspect) engine_options.background_compiles = false;  // the generic versions alone
    Engine engine(engine_options);
    const std::vector<std::string> types = InputTypes(model->program);
    const std::vector<std::string> facts = FactTexts(model->program);
    if (model->program.is_staged()) stages_ = model->program.staged().stages.size();
    absl::StatusOr<Function> f = engine.compile(std::move(model->program));
    if (!f.ok()) return f.status();
    if (absl::Status s = f->prepare(); !s.ok()) return s;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (a_.inspect) return Inspect(*model, *f, types, facts, seconds);
    return Call(engine, *model, *f, options.contents, seconds);
  }

 private:
  absl::Status Call(Engine& engine, const OnnxModel& model, const Function& f,
                    const io::Arrays& arrays, double load_seconds) {
    LATHE_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                           onnx::InputsFrom(a_.inputs, arrays, model));
    const auto start = std::chrono::steady_clock::now();
    absl::StatusOr<std::vector<Tensor>> outputs = f.call(inputs);
    if (!outputs.ok()) return outputs.status();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    io::Arrays named;
    Json json = {{"outputs", Json::array()}};
    for (size_t i = 0; i < outputs->size(); ++i) {
      const Tensor& t = (*outputs)[i];
      named[model.outputs[i]] = t;
      json["outputs"].push_back(
          {{"name", model.outputs[i]}, {"dtype", Name(t.dtype())}, {"shape", t.shape()}});
      if (!a_.json)
        std::fprintf(out_, "%s: %s\n", model.outputs[i].c_str(), ir::TypeText(t).c_str());
    }
    const int64_t stalls = engine.counters().compiles_in_calls;
    json["load_seconds"] = load_seconds;
    json["call_seconds"] = seconds;
    json["compiles_in_calls"] = stalls;
    if (a_.json) {
      std::fputs(LineOf(json).c_str(), out_);
    } else {
      std::fprintf(out_,
                   "loaded and compiled in %.3f s, called in %.4f s, %lld compiles in the call\n",
                   load_seconds, seconds, static_cast<long long>(stalls));
    }
    if (a_.outputs.empty()) return absl::OkStatus();
    return io::WriteArrays(a_.outputs, named);
  }

  absl::Status Inspect(const OnnxModel& model, const Function& f,
                       const std::vector<std::string>& types, const std::vector<std::string>& facts,
                       double seconds) {
    Json json;
    json["producer"] = model.producer;
    json["ir_version"] = model.ir_version;
    for (size_t i = 0; i < model.inputs.size(); ++i)
      json["inputs"].push_back({{"name", model.inputs[i]}, {"type", types[i]}});
    json["outputs"] = model.outputs;
    json["fixed"] = model.fixed;
    json["dims"] = model.dims;
    json["facts"] = facts;
    json["operators"] = model.operators;
    std::map<std::string, int> families;
    int kernels = 0;
    for (const Function::VersionInfo& v : f.versions()) {
      kernels += v.kernels;
      for (const std::string& family : v.kernel_families) ++families[family];
    }
    json["stages"] = stages_;
    json["kernels"] = kernels;
    json["kernel_families"] = families;
    const std::vector<std::string> routines = LibraryRoutines(f);
    json["library_routines"] = routines;
    json["load_seconds"] = seconds;
    if (!a_.at.empty()) {
      const absl::StatusOr<int64_t> bytes = f.peak_bytes(a_.at);
      if (!bytes.ok()) return bytes.status();
      json["peak_bytes"] = *bytes;
    }
    if (a_.json) {
      std::fputs(LineOf(json).c_str(), out_);
      return absl::OkStatus();
    }
    std::string text;
    absl::StrAppend(&text, "made by ",
                    model.producer.empty() ? "an unnamed exporter" : model.producer, ", IR ",
                    model.ir_version, "\n\ninputs\n");
    for (size_t i = 0; i < model.inputs.size(); ++i)
      absl::StrAppend(&text, "  ", model.inputs[i], ": ", types[i], "\n");
    for (const std::string& name : model.fixed)
      absl::StrAppend(&text, "  ", name, ": fixed to the content that was given\n");
    absl::StrAppend(&text, "outputs\n  ", absl::StrJoin(model.outputs, "\n  "), "\n");
    if (!model.dims.empty()) absl::StrAppend(&text, "dims\n");
    for (const auto& [name, symbol] : model.dims)
      absl::StrAppend(&text, "  ", symbol, name == symbol ? "" : absl::StrCat("   (", name, ")"),
                      "\n");
    if (!facts.empty())
      absl::StrAppend(&text, "what they must satisfy\n  ", absl::StrJoin(facts, "\n  "), "\n");
    absl::StrAppend(&text, "operators\n  ");
    std::vector<std::pair<int, std::string>> ops;
    for (const auto& [name, count] : model.operators) ops.emplace_back(-count, name);
    std::sort(ops.begin(), ops.end());
    std::vector<std::string> words;
    for (const auto& [count, name] : ops) words.push_back(absl::StrCat(name, " ", -count));
    absl::StrAppend(&text, absl::StrJoin(words, ", "), "\nkernels\n  ", kernels,
                    stages_ > 1 ? absl::StrCat(" in ", stages_, " stages") : "");
    words.clear();
    for (const auto& [name, count] : families) words.push_back(absl::StrCat(name, " ", count));
    absl::StrAppend(
        &text, words.empty() ? "" : ": ", absl::StrJoin(words, ", "),
        "\n  library routines: ", routines.empty() ? "none" : absl::StrJoin(routines, "; "), "\n");
    if (json.contains("peak_bytes")) {
      const auto bytes = json["peak_bytes"].get<int64_t>();
      absl::StrAppend(&text, "peak bytes\n  ", bytes, ReadableBytes(bytes), "\n");
    }
    std::fwrite(text.data(), 1, text.size(), out_);
    return absl::OkStatus();
  }

  const ModelArguments& a_;
  std::FILE* out_;
  size_t stages_ = 1;
};

}  // namespace

bool IsModelCommand(const std::vector<std::string>& words) {
  return !words.empty() && (words[0] == "run" || words[0] == "inspect");
}

absl::StatusOr<ModelArguments> ReadModelArguments(const std::vector<std::string>& words) {
  ModelArguments a;
  a.inspect = words[0] == "inspect";
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--json") {
      a.json = true;
      continue;
    }
    if (word.rfind("--", 0) != 0) {
      if (!a.model.empty()) return Wrong(absl::StrCat("one model at most: ", a.model, ", ", word));
      a.model = word;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    } else {
      return Wrong(absl::StrCat(name, " needs a value"));
    }
    absl::Status s;
    if (name == "--inputs") {
      a.inputs = value;
    } else if (name == "--outputs") {
      a.outputs = value;
    } else if (name == "--dim") {
      a.load.dims.push_back(value);
    } else if (name == "--open") {
      s = onnx::ReadOpen(value, &a.load);
    } else if (name == "--at") {
      const absl::StatusOr<Sizes> at = onnx::ReadSizes("--at", value);
      if (at.ok()) a.at = *at;
      s = at.status();
    } else if (name == "--threads") {
      if (!absl::SimpleAtoi(value, &a.threads) || a.threads < 1 || a.threads > kMostThreads)
        s = absl::InvalidArgumentError(
            absl::StrCat("--threads is '", value, "', wanted 1..", kMostThreads));
    } else {
      s = absl::InvalidArgumentError(absl::StrCat("unknown option ", name));
    }
    if (!s.ok()) return Wrong(std::string(s.message()));
  }
  if (a.model.empty()) return Wrong("no model is given");
  if (!a.inspect && a.inputs.empty()) return Wrong("--inputs is missing");
  return a;
}

int RunModelCommand(const ModelArguments& arguments, std::FILE* out, std::FILE* err) {
  const absl::Status s = Command(arguments, out).Run();
  if (s.ok()) return 0;
  if (arguments.json) {
    const Json error = {
        {"error",
         {{"code", absl::StatusCodeToString(s.code())}, {"message", std::string(s.message())}}}};
    std::fputs(LineOf(error).c_str(), out);
  } else {
    std::fprintf(err, "jit-repl: %s\n", std::string(s.message()).c_str());
  }
  return kFaults;
}

}  // namespace lathe::repl
