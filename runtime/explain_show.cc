// An explanation as text and as JSON.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/explain.h"

namespace lathe::rt {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string FirstWord(const std::string& text) { return text.substr(0, text.find(' ')); }

}  // namespace

std::string Explanation::Text() const {
  std::string text = absl::StrCat("function ", function);
  if (!described.empty()) absl::StrAppend(&text, " with ", described);
  text += "\n";
  for (const std::string& check : checked) absl::StrAppend(&text, "  holds: ", check, "\n");
  absl::StrAppend(&text, "version \"", version, "\": ", why, "\n");
  if (pinned) text += "  pinned: it wins wherever its guard holds\n";
  for (const std::string& claim : guard) absl::StrAppend(&text, "  guard holds: ", claim, "\n");
  for (const Other& other : others) {
    absl::StrAppend(&text, "not \"", other.version, "\": ", other.why_not, "\n");
  }
  for (const std::string& failure : failed_builds) {
    absl::StrAppend(&text, "not built: ", failure, "\n");
  }
  absl::StrAppend(&text, kernels.size(), kernels.size() == 1 ? " kernel, " : " kernels, ",
                  code_bytes, " bytes of code\n");
  for (const GroupReport& k : kernels) {
    absl::StrAppend(&text, "  ", k.label, " [", k.kind, "] family ", k.family, ", kernel ",
                    FirstWord(k.kernel_key), "\n");
    if (!k.schedule.empty()) absl::StrAppend(&text, "    schedule: ", k.schedule, "\n");
    absl::StrAppend(&text, "    divisions of sizes: ", k.divisions, ", in inner loops ",
                    k.inner_divisions, "\n");
    for (const std::string& answer : k.answers) absl::StrAppend(&text, "    ", answer, "\n");
  }
  absl::StrAppend(&text, "memory: arena ", arena_bytes, " bytes, outputs ", output_bytes,
                  " bytes, peak ", arena_bytes + output_bytes, " bytes\n");
  for (const Value& v : arena) {
    absl::StrAppend(&text, "  ", v.label, ": ", v.bytes, " bytes at ", v.offset, ", steps ",
                    v.first_step, "..", v.last_step, "\n");
  }
  for (const Output& o : outputs) {
    absl::StrAppend(&text, "  output ", o.name, ": ", o.dtype, "[", absl::StrJoin(o.shape, ", "),
                    "]\n");
  }
  return text;
}

std::string Explanation::Json() const {
  OrderedJson json = {{"function", function}, {"sizes", sizes}};
  json["facts"] = OrderedJson::array();
  for (const FunctionState::FactText& f : facts) {
    json["facts"].push_back({{"claim", f.claim}, {"standing", f.standing}, {"source", f.source}});
  }
  json["checked"] = checked;
  json["version"] = {{"name", version}, {"why", why}, {"pinned", pinned}, {"guard", guard}};
  json["others"] = OrderedJson::array();
  for (const Other& o : others) {
    json["others"].push_back({{"name", o.version}, {"why_not", o.why_not}});
  }
  json["not_built"] = failed_builds;
  json["code_bytes"] = code_bytes;
  json["kernels"] = OrderedJson::array();
  for (const GroupReport& k : kernels) {
    json["kernels"].push_back({{"label", k.label},
                               {"kind", k.kind},
                               {"family", k.family},
                               {"key", FirstWord(k.kernel_key)},
                               {"schedule", k.schedule},
                               {"divisions", k.divisions},
                               {"inner_divisions", k.inner_divisions},
                               {"answers", k.answers}});
  }
  json["memory"] = {{"arena", arena_bytes},
                    {"outputs", output_bytes},
                    {"peak", arena_bytes + output_bytes},
                    {"values", OrderedJson::array()}};
  for (const Value& v : arena) {
    json["memory"]["values"].push_back({{"label", v.label},
                                        {"bytes", v.bytes},
                                        {"offset", v.offset},
                                        {"first_step", v.first_step},
                                        {"last_step", v.last_step}});
  }
  json["outputs"] = OrderedJson::array();
  for (const Output& o : outputs) {
    json["outputs"].push_back({{"name", o.name}, {"dtype", o.dtype}, {"shape", o.shape}});
  }
  // Names are the user's: bytes that are no UTF-8 are replaced, never thrown over.
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lathe::rt
