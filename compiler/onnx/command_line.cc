#include "compiler/onnx/command_line.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace lathe::onnx {

absl::StatusOr<Sizes> ReadSizes(const std::string& option, const std::string& text) {
  Sizes sizes;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::string name(absl::StripAsciiWhitespace(entry.first));
    int64_t size = 0;
    if (name.empty() || !absl::SimpleAtoi(entry.second, &size) || size < 0)
      return absl::InvalidArgumentError(
          absl::StrCat(option, " has '", part, "', wanted name=size"));
    if (!sizes.emplace(name, size).second)
      return absl::InvalidArgumentError(absl::StrCat(option, " gives ", name, " twice"));
  }
  return sizes;
}

absl::Status ReadOpen(const std::string& text, OnnxOptions* options) {
  const size_t equals = text.rfind('=');
  const size_t colon = text.rfind(':', equals);
  int axis = 0;
  if (equals == std::string::npos || colon == std::string::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1, equals - colon - 1), &axis)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--open is '", text, "', wanted input:axis=name"));
  }
  options->open[{text.substr(0, colon), axis}] = text.substr(equals + 1);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> InputsFrom(const std::string& file, const io::Arrays& arrays,
                                               const OnnxModel& model) {
  std::vector<Tensor> inputs;
  for (const std::string& name : model.inputs) {
    const auto found = arrays.find(name);
    if (found == arrays.end())
      return absl::InvalidArgumentError(
          absl::StrCat(file.empty() ? "--inputs" : file, " has no array '", name,
                       "'; the model's inputs are ", absl::StrJoin(model.inputs, ", ")));
    inputs.push_back(found->second);
  }
  return inputs;
}

}  // namespace lathe::onnx
