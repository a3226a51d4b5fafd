// :help, :cache, :quit.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/op.h"
#include "ir/status_macros.h"
#include "repl/command.h"
#include "repl/session.h"

namespace lathe::repl {
namespace {

std::string CommandText(const Command& c) {
  return absl::StrCat(":", std::string(c.name), c.usage.empty() ? "" : " ", std::string(c.usage));
}

Answer AllHelp() {
  Answer answer;
  answer.text =
      "dim seq in 1..8192         a size and facts about it\n"
      "assume batch*seq <= 65536  more facts\n"
      "x: f32[batch, seq, 768]    an input\n"
      "y = softmax(x, axis=-1)    a value\n"
      "output y                   an output of the program\n\n";
  Json commands = Json::array();
  for (const Command& c : Commands()) {
    absl::StrAppend(&answer.text,
                    absl::StrFormat("%-44s %s\n", CommandText(c), std::string(c.help)));
    commands.push_back(CommandText(c));
  }
  absl::StrAppend(&answer.text, "\nops, with :help OP: ",
                  absl::StrJoin(ir::AllOps(), " ", [](std::string* out, const ir::OpInfo& op) {
                    absl::StrAppend(out, std::string(op.name));
                  }));
  Json ops = Json::array();
  for (const ir::OpInfo& op : ir::AllOps()) ops.push_back(op.name);
  answer.json = {{"help", answer.text}, {"commands", std::move(commands)}, {"ops", std::move(ops)}};
  return answer;
}

Answer OpHelp(const ir::OpInfo& op) {
  Json attributes = Json::array();
  std::string list;
  for (const ir::AttrSpec& attr : op.attrs) {
    attributes.push_back({{"name", attr.name}, {"required", attr.required}});
    absl::StrAppend(&list, list.empty() ? "\n  attributes: " : ", ", std::string(attr.name),
                    attr.required ? "" : " (optional)");
  }
  std::string types;
  for (int t = 0; t < kNumDTypes; ++t) {
    if (ir::Contains(op.dtypes, static_cast<DType>(t))) {
      absl::StrAppend(&types, types.empty() ? "" : " ", Name(static_cast<DType>(t)));
    }
  }
  Answer answer;
  answer.text =
      absl::StrCat(std::string(op.name), ": ", std::string(op.doc), "\n  ", std::string(op.example),
                   list, "\n  types: ", types, "\n  error: ", std::string(op.bound));
  answer.json = {{"help", answer.text},   {"op", op.name},  {"doc", op.doc},
                 {"example", op.example}, {"types", types}, {"attributes", std::move(attributes)},
                 {"bound", op.bound}};
  return answer;
}

}  // namespace

absl::StatusOr<Answer> HelpCommand(Session& session, const CommandLine& line) {
  if (line.rest().empty()) return AllHelp();
  const CommandLine::Word& topic = line.words()[0];
  if (line.words().size() > 1 || topic.value)
    return session.Error(line.at(), "wanted :help matmul");
  std::string_view name = topic.text;
  const bool command_only = name[0] == ':';
  if (command_only) name.remove_prefix(1);
  const absl::StatusOr<ir::Op> op = ir::FindOp(name);
  if (op.ok() && !command_only) return OpHelp(ir::Info(*op));
  if (const Command* c = FindCommand(name)) {
    const std::string text = absl::StrCat(CommandText(*c), "\n  ", std::string(c->help));
    return Answer{text, {{"help", text}, {"command", c->name}, {"usage", c->usage}}};
  }
  return WithPlace(session.file(), topic.at, op.status());
}

absl::StatusOr<Answer> CacheCommand(Session& session, const CommandLine&) {
  Functions& functions = session.functions();
  const EngineCounters c =
      functions.has_engine() ? functions.engine().counters() : EngineCounters();
  Answer answer;
  Json list = Json::array();
  for (const auto& compiled : functions.all()) {
    Json versions = Json::array();
    for (const Function::VersionInfo& v : compiled->function.versions()) {
      absl::StrAppend(&answer.text, compiled->name, ": version \"", v.name, "\", ", v.kernels,
                      " kernels, ", v.calls, " calls, built in ",
                      absl::StrFormat("%.1f ms", v.build_seconds * 1e3), "; ", v.why, "\n");
      versions.push_back({{"name", v.name},
                          {"why", v.why},
                          {"kernels", v.kernels},
                          {"keys", v.kernel_keys},
                          {"calls", v.calls},
                          {"build_seconds", v.build_seconds}});
    }
    list.push_back({{"value", compiled->name}, {"versions", std::move(versions)}});
  }
  const Json counters = {{"compiles", c.compiles},
                         {"compiles_in_calls", c.compiles_in_calls},
                         {"hits", c.cache_hits},
                         {"misses", c.cache_misses},
                         {"evictions", c.cache_evictions},
                         {"code_bytes", c.code_bytes},
                         {"versions_built", c.versions_built},
                         {"versions_swapped", c.versions_swapped},
                         {"arena_growths", c.arena_growths},
                         {"live_bytes", c.live_bytes},
                         {"peak_bytes", c.peak_bytes}};
  for (const auto& [name, value] : counters.items()) {
    absl::StrAppend(&answer.text, name, " = ", value.get<int64_t>(), "\n");
  }
  answer.json = {{"functions", std::move(list)}, {"cache", counters}};
  return answer;
}

absl::StatusOr<Answer> QuitCommand(Session& session, const CommandLine&) {
  session.Quit();
  return Answer{"", {{"quit", true}}};
}

}  // namespace lathe::repl
