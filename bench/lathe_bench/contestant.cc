#include "bench/lathe_bench/contestant.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "absl/strings/str_cat.h"
#include "bench/lathe_bench/clock.h"
#include "bench/lathe_bench/description.h"
#include "compiler/io/npz.h"
#include "lathe/lathe.h"
#include "lathe/onnx.h"

namespace lathe::bench {
namespace {

using Json = nlohmann::json;

class Contestant {
 public:
  absl::StatusOr<Json> Answer(const Json& request) {
    const std::string op = request.at("op").get<std::string>();
    if (op == "describe") return Json{{"name", "lathe"}, {"versions", {{"lathe", "0.1.0"}}}};
    if (op == "load") return Load(request);
    if (op == "prepare") return Reply(Bind(request));
    if (op == "first_call") return FirstCall(request);
    if (op == "time") return Time(request);
    if (op == "outputs") return Outputs(request);
    if (op == "settle") return Reply(Settle());
    if (op == "rss") return Json{{"peak_bytes", PeakRss()}};
    if (op == "counters" && engine_)
      return Json{{"compiles_in_calls", engine_->counters().compiles_in_calls}};
    return absl::InvalidArgumentError("unknown op " + op);
  }

 private:
  static absl::StatusOr<Json> Reply(const absl::Status& s) {
    if (!s.ok()) return s;
    return Json::object();
  }

  static int64_t PeakRss() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} * 1024;
  }

  absl::StatusOr<Json> Load(const Json& request) {
    path_ = request.at("model").get<std::string>();
    bound_.clear();
    seen_.clear();
    function_.reset();
    context_ = Context();
    const double start = Now();
    absl::StatusOr<OnnxModel> model = load_onnx(path_);
    if (!model.ok()) return model.status();
    const double loaded = Now();
    in_ = model->inputs;
    out_ = model->outputs;
    staged_ = model->program.is_staged();
    engine_ = std::make_unique<Engine>(EngineOptions{.threads = request.value("threads", 1)});
    absl::StatusOr<Function> f = engine_->compile(std::move(model->program));
    if (!f.ok()) return f.status();
    const double planned = Now();
    absl::Status s = f->prepare();
    if (!s.ok()) return s;
    function_ = *std::move(f);
    const double end = Now();
    return Json{{"time_s", end - start},
                {"import_s", loaded - start},
                {"plan_s", planned - loaded},
                {"compile_s", end - planned},
                {"compiles", engine_->counters().compiles}};
  }

  // Inputs are those of a file ("inputs": an npz by the model's names), or made for a "case".
  absl::Status Bind(const Json& request) {
    if (!function_) return absl::FailedPreconditionError("load a model first");
    const std::string key =
        Json{request.value("inputs", ""), request.value("case", Json()), request.value("seed", 1u)}
            .dump();
    if (bound_ == key) return absl::OkStatus();
    bound_.clear();
    outputs_.clear();
    absl::Status s = request.contains("inputs") ? ReadInputs(request) : MadeInputs(request);
    if (s.ok()) bound_ = key;
    return s;
  }

  absl::Status ReadInputs(const Json& request) {
    absl::StatusOr<io::Arrays> arrays = io::ReadNpz(request.at("inputs").get<std::string>());
    if (!arrays.ok()) return arrays.status();
    inputs_.clear();
    for (const std::string& name : in_) {
      const auto found = arrays->find(name);
      if (found == arrays->end()) return absl::NotFoundError("no input " + name + " in the file");
      inputs_.push_back(found->second);
    }
    return absl::OkStatus();
  }

  absl::Status MadeInputs(const Json& request) {
    absl::StatusOr<Description> description = ReadDescription(path_);
    if (!description.ok()) return description.status();
    Sizes sizes;
    for (const auto& [name, value] : request.at("case").items()) sizes[name] = value.get<int64_t>();
    absl::StatusOr<std::vector<Tensor>> inputs =
        MakeInputs(*description, sizes, request.value("seed", 1u));
    if (!inputs.ok()) return inputs.status();
    inputs_ = *std::move(inputs);
    return absl::OkStatus();
  }

  // Into the arrays of the call before, once there are some; programs in stages return new ones.
  absl::Status CallOnce() {
    if (!staged_ && !outputs_.empty()) return function_->call_into(inputs_, outputs_, context_);
    absl::StatusOr<std::vector<Tensor>> outputs = function_->call(inputs_);
    if (outputs.ok()) outputs_ = *std::move(outputs);
    return outputs.status();
  }

  absl::StatusOr<double> Call() {
    const double start = Now();
    absl::Status s = CallOnce();
    const double seconds = Now() - start;
    if (!s.ok()) return s;
    seen_.insert(InputShapes());
    return seconds;
  }

  std::vector<std::vector<int64_t>> InputShapes() const {
    std::vector<std::vector<int64_t>> shapes;
    for (const Tensor& t : inputs_) shapes.emplace_back(t.shape().begin(), t.shape().end());
    return shapes;
  }

  absl::StatusOr<Json> FirstCall(const Json& request) {
    absl::Status s = Bind(request);
    if (!s.ok()) return s;
    const bool novel = !seen_.contains(InputShapes());
    absl::StatusOr<double> seconds = Call();
    if (!seconds.ok()) return seconds.status();
    return Json{{"time_s", *seconds}, {"novel", novel}};
  }

  // Waits until the background thread has nothing more to do: what follows is the steady state.
  absl::Status Settle() const {
    if (!function_) return absl::FailedPreconditionError("load a model first");
    function_->wait_for_versions();
    return absl::OkStatus();
  }

  absl::StatusOr<Json> Time(const Json& request) {
    absl::Status s = Bind(request);
    if (!s.ok()) return s;
    const int reps = request.value("reps", 5);
    const double least = request.value("min_s", 0.2);
    int64_t calls = 1;
    if (outputs_.empty() || !seen_.contains(InputShapes()))
      if (auto t = Call(); !t.ok()) return t.status();
    if (least > 0) {
      absl::StatusOr<double> a = Call(), b = Call();
      if (!a.ok()) return a.status();
      if (!b.ok()) return b.status();
      calls = std::max<int64_t>(1, std::llround(least / reps / std::min(*a, *b)));
    }
    std::vector<double> times;
    for (int r = 0; r < reps; ++r) {
      const double start = Now();
      for (int64_t i = 0; i < calls; ++i)
        if (absl::Status c = CallOnce(); !c.ok()) return c;
      times.push_back((Now() - start) / static_cast<double>(calls));
    }
    return Json{{"times_s", times}, {"calls_per_time", calls}};
  }

  absl::StatusOr<Json> Outputs(const Json& request) {
    absl::Status s = Bind(request);
    if (!s.ok()) return s;
    if (auto t = Call(); !t.ok()) return t.status();
    io::Arrays arrays;
    for (size_t i = 0; i < outputs_.size(); ++i) arrays[out_[i]] = outputs_[i];
    const std::string path = request.at("path").get<std::string>();
    s = io::WriteNpz(path, arrays);
    if (!s.ok()) return s;
    return Json{{"path", path}};
  }

  std::string path_;
  std::vector<std::string> in_, out_;  // the model's names
  bool staged_ = false;
  std::unique_ptr<Engine> engine_;
  std::optional<Function> function_;
  Context context_;
  std::string bound_;  // the request that the inputs are of
  std::vector<Tensor> inputs_, outputs_;
  std::set<std::vector<std::vector<int64_t>>> seen_;
};

}  // namespace

void ServeContestant(std::istream& in, std::ostream& out) {
  Contestant contestant;
  std::string line;
  while (std::getline(in, line)) {
    Json reply;
    const Json request = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!request.is_object()) {
      reply = {{"error", "the request is no JSON object"}};
    } else if (request.value("op", "") == "quit") {
      return;
    } else {
      try {
        absl::StatusOr<Json> answer = contestant.Answer(request);
        reply = answer.ok() ? *answer : Json{{"error", answer.status().ToString()}};
      } catch (
          const Json::exception& e) {  // of the JSON library: a field is missing or of another kind
        reply = {{"error", e.what()}};
      }
    }
    out << reply.dump() << std::endl;
  }
}

}  // namespace lathe::bench
