// Explanations of programs in stages, as text and as JSON.
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/status_macros.h"
#include "runtime/explain.h"
#include "runtime/staged_ask.h"

namespace lathe::rt {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The sizes that a function uses, as far as they are known, and the names of the other ones.
struct Own {
  Sizes sizes;
  std::vector<std::string> open;
};

Own OwnSizes(const FunctionState& f, const KnownSizes& known) {
  Own own;
  for (size_t s = 0; s < f.plan().symbols.size(); ++s) {
    if (f.plan().unused[s]) continue;
    if (known.exact[s]) {
      own.sizes[f.plan().symbol_names[s]] = *known.exact[s];
    } else {
      own.open.push_back(f.plan().symbol_names[s]);
    }
  }
  return own;
}

std::string Indented(const std::string& text, const std::string& by) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    if (!line.empty()) absl::StrAppend(&out, by, line, "\n");
  return out;
}

class Teller {
 public:
  Teller(const StagedState& state, const KnownSizes& known) : state_(state), known_(known) {}

  std::string Text(int number, const std::string& indent) {
    std::string text;
    for (const StagedCode::Step& step : state_.codes()[static_cast<size_t>(number)].steps) {
      absl::StrAppend(&text, indent, step.text, "\n");
      if (step.function >= 0) {
        const FunctionState& f = *state_.functions()[static_cast<size_t>(step.function)];
        const Own own = OwnSizes(f, known_);
        const absl::StatusOr<Explanation> e =
            own.open.empty() ? Explain(f, own.sizes) : absl::FailedPreconditionError(Open(f, own));
        absl::StrAppend(
            &text, Indented(e.ok() ? e->Text() : std::string(e.status().message()), indent + "  "));
      }
      for (int body : step.bodies) {
        if (!told_.insert(body).second) continue;
        absl::StrAppend(&text, indent, "  body ", Name(body), "\n", Text(body, indent + "    "));
      }
    }
    return text;
  }

  OrderedJson Json(int number) {
    OrderedJson stages = OrderedJson::array();
    for (const StagedCode::Step& step : state_.codes()[static_cast<size_t>(number)].steps) {
      OrderedJson& stage = stages.emplace_back(OrderedJson{{"stage", step.text}});
      if (step.function >= 0) {
        const FunctionState& f = *state_.functions()[static_cast<size_t>(step.function)];
        const Own own = OwnSizes(f, known_);
        stage["open"] = own.open;
        const absl::StatusOr<Explanation> e = own.open.empty()
                                                  ? Explain(f, own.sizes)
                                                  : absl::FailedPreconditionError("sizes are open");
        if (e.ok()) stage["graph"] = OrderedJson::parse(e->Json(), nullptr, false);
      }
      for (int body : step.bodies) {
        OrderedJson of = {{"body", Name(body)}};
        if (told_.insert(body).second) of["stages"] = Json(body);
        stage["bodies"].push_back(std::move(of));
      }
    }
    return stages;
  }

 private:
  std::string Name(int code) const {
    return state_.codes()[static_cast<size_t>(code)].program->name;
  }

  static std::string Open(const FunctionState& f, const Own& own) {
    const std::shared_ptr<const VersionTable> table = f.table();
    std::vector<std::string> names;
    if (table != nullptr)
      for (const std::shared_ptr<const Version>& v : table->versions())
        names.push_back(absl::StrCat("\"", v->name, "\""));
    return absl::StrCat("known when it runs: ", absl::StrJoin(own.open, ", "),
                        "\nversions: ", absl::StrJoin(names, ", "));
  }

  const StagedState& state_;
  const KnownSizes& known_;
  std::set<int> told_;  // bodies that several stages share are told once
};

}  // namespace

absl::StatusOr<std::string> ExplainText(const StagedState& state, const Sizes& sizes) {
  LATHE_ASSIGN_OR_RETURN(const KnownSizes known, state.Known(sizes));
  const absl::StatusOr<int64_t> peak = PeakBytes(state, sizes);
  return absl::StrCat(
      "function ", state.program().name, " in stages\n", Teller(state, known).Text(0, "  "),
      "memory: ",
      peak.ok() ? absl::StrCat("at most ", *peak, " bytes") : std::string(peak.status().message()),
      "\n");
}

absl::StatusOr<std::string> ExplainJson(const StagedState& state, const Sizes& sizes) {
  LATHE_ASSIGN_OR_RETURN(const KnownSizes known, state.Known(sizes));
  OrderedJson json = {{"function", state.program().name}, {"sizes", sizes}};
  json["stages"] = Teller(state, known).Json(0);
  const absl::StatusOr<int64_t> peak = PeakBytes(state, sizes);
  json["memory"] = OrderedJson::object();
  if (peak.ok()) json["memory"]["bound"] = *peak;
  if (!peak.ok()) json["memory"]["unbounded"] = std::string(peak.status().message());
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lathe::rt
