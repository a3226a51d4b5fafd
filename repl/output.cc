#include "repl/output.h"

#include <string_view>

#include "absl/strings/str_cat.h"

namespace lathe::repl {
namespace {

void WriteLine(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  if (text.empty() || text.back() != '\n') std::fputc('\n', file);
  std::fflush(file);
}

Json EditJson(const ir::Edit& edit) {
  Json json = {{"kind", ir::Name(edit.kind)}, {"line", edit.line}, {"column", edit.column}};
  if (edit.kind != ir::Edit::Kind::kAdd) json["old"] = edit.old_text;
  if (edit.kind != ir::Edit::Kind::kDrop) json["new"] = edit.new_text;
  return json;
}

// Bytes of a bad input may come back in an error: what is no UTF-8 is replaced.
std::string Line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void Output::Write(const Answer& answer) {
  if (json_) {
    WriteLine(out_, Line(answer.json));
  } else if (!answer.text.empty()) {
    WriteLine(out_, answer.text);
  }
}

void Output::Write(const Fault& fault) {
  ++faults_;
  const std::string at = absl::StrCat(fault.at.line, ":", fault.at.column);
  if (json_) {
    Json error = {
        {"code", absl::StatusCodeToString(fault.code)}, {"message", fault.message}, {"at", at}};
    if (fault.edit) error["edit"] = EditJson(*fault.edit);
    WriteLine(out_, Line(Json{{"error", std::move(error)}}));
    return;
  }
  std::fflush(out_);
  WriteLine(err_, absl::StrCat(file_, file_.empty() ? "" : ":", at, ": error: ", fault.message));
}

}  // namespace lathe::repl
