#include "repl/arguments.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "repl/memory_size.h"

namespace lathe::repl {
namespace {

constexpr int kMostThreads = 1024;

absl::Status Wrong(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(what, "; see jit-repl --help"));
}

absl::Status ReadOption(const std::string& name, const std::string& value, Arguments* a) {
  if (name == "-e") {
    a->expression = a->expression ? absl::StrCat(*a->expression, "\n", value) : value;
  } else if (name == "--threads") {
    const char* const end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, a->threads);
    if (error != std::errc() || at != end || a->threads < 1 || a->threads > kMostThreads) {
      return Wrong(absl::StrCat("--threads is '", value, "', wanted 1..", kMostThreads));
    }
  } else {
    const std::optional<int64_t> bytes = ReadMemorySize(value);
    if (!bytes || *bytes < 1) {
      return Wrong(absl::StrCat("--memory is '", value, "', wanted an amount such as 8GiB"));
    }
    a->memory_bytes = *bytes;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Arguments> ReadArguments(const std::vector<std::string>& arguments) {
  Arguments a;
  bool only_files = false, has_file = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, word.rfind("--", 0) == 0 ? equals : word.npos);
    if (!only_files && (name == "-e" || name == "--threads" || name == "--memory")) {
      const bool inside = name.size() < word.size();
      if (!inside && i + 1 == arguments.size()) return Wrong(absl::StrCat(name, " needs a value"));
      const std::string value = inside ? word.substr(equals + 1) : arguments[++i];
      if (absl::Status s = ReadOption(name, value, &a); !s.ok()) return s;
    } else if (!only_files && word == "--json") {
      a.json = true;
    } else if (!only_files && (word == "--help" || word == "-h")) {
      a.help = true;
    } else if (!only_files && word == "--version") {
      a.version = true;
    } else if (!only_files && word == "--") {
      only_files = true;
    } else if (!only_files && word.size() > 1 && word[0] == '-') {
      return Wrong(absl::StrCat("unknown option ", word));
    } else if (has_file) {
      return Wrong(absl::StrCat("one script at most: ", a.file, " and ", word));
    } else {
      has_file = true;
      if (word != "-" || only_files) a.file = word;
    }
  }
  if (has_file && a.expression) return Wrong("either a script or -e");
  return a;
}

}  // namespace lathe::repl
