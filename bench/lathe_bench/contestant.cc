#include "bench/lathe_bench/contestant.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "bench/lathe_bench/families.h"

namespace lathe::bench {
namespace {

using Json = nlohmann::json;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
    if (op == "rss") return Json{{"peak_bytes", PeakRss()}};
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
    const std::string path = request.at("model").get<std::string>();
    absl::StatusOr<Model> model = ReadModel(path);
    if (!model.ok()) return model.status();
    model_ = *std::move(model);
    bound_.reset();
    seen_.clear();
    const double start = Now();
    function_.reset();
    context_ = Context();
    engine_ = std::make_unique<Engine>(EngineOptions{.threads = request.value("threads", 1)});
    absl::StatusOr<io::Arrays> weights = io::ReadNpz(absl::StrCat(
        absl::StripSuffix(absl::string_view(path.data(), path.size()), ".onnx"), ".npz"));
    if (!weights.ok()) return weights.status();
    absl::StatusOr<Function> f = engine_->compile(TraceModel(model_, *weights));
    if (!f.ok()) return f.status();
    absl::Status s = f->prepare();
    if (!s.ok()) return s;
    function_ = *std::move(f);
    return Json{{"time_s", Now() - start}};
  }

  absl::Status Bind(const Json& request) {
    if (!function_) return absl::FailedPreconditionError("load a model first");
    Sizes sizes;
    for (const auto& [name, value] : request.at("case").items()) sizes[name] = value.get<int64_t>();
    const uint32_t seed = request.value("seed", 1u);
    if (bound_ && *bound_ == std::make_pair(sizes, seed)) return absl::OkStatus();
    absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(model_, sizes, seed);
    if (!inputs.ok()) return inputs.status();
    absl::StatusOr<std::vector<std::vector<int64_t>>> shapes = function_->output_shapes(sizes);
    if (!shapes.ok()) return shapes.status();
    inputs_ = *std::move(inputs);
    outputs_.clear();
    for (const std::vector<int64_t>& shape : *shapes) outputs_.emplace_back(f32, shape);
    bound_ = {sizes, seed};
    return absl::OkStatus();
  }

  absl::StatusOr<double> Call() {
    const double start = Now();
    absl::Status s = function_->call_into(inputs_, outputs_, context_);
    const double seconds = Now() - start;
    if (!s.ok()) return s;
    seen_.insert(bound_->first);
    return seconds;
  }

  absl::StatusOr<Json> FirstCall(const Json& request) {
    absl::Status s = Bind(request);
    if (!s.ok()) return s;
    const bool novel = !seen_.contains(bound_->first);
    absl::StatusOr<double> seconds = Call();
    if (!seconds.ok()) return seconds.status();
    return Json{{"time_s", *seconds}, {"novel", novel}};
  }

  absl::StatusOr<Json> Time(const Json& request) {
    absl::Status s = Bind(request);
    if (!s.ok()) return s;
    const int reps = request.value("reps", 5);
    const double least = request.value("min_s", 0.2);
    int64_t calls = 1;
    if (!seen_.contains(bound_->first))
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
        if (absl::Status c = function_->call_into(inputs_, outputs_, context_); !c.ok()) return c;
      times.push_back((Now() - start) / static_cast<double>(calls));
    }
    return Json{{"times_s", times}, {"calls_per_time", calls}};
  }

  absl::StatusOr<Json> Outputs(const Json& request) {
    absl::Status s = Bind(request);
    if (!s.ok()) return s;
    if (auto t = Call(); !t.ok()) return t.status();
    io::Arrays arrays;
    for (size_t i = 0; i < outputs_.size(); ++i) arrays[model_.outputs[i]] = outputs_[i];
    const std::string path = request.at("path").get<std::string>();
    s = io::WriteNpz(path, arrays);
    if (!s.ok()) return s;
    return Json{{"path", path}};
  }

  Model model_;
  std::unique_ptr<Engine> engine_;
  std::optional<Function> function_;
  Context context_;
  std::optional<std::pair<Sizes, uint32_t>> bound_;
  std::vector<Tensor> inputs_, outputs_;
  std::set<Sizes> seen_;
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
