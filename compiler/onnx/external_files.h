#pragma once
// The files beside a model that hold its tensors' data. A model may come from anyone, so it reaches
// files below its own folder alone: no absolute path, no `..`, no symbolic link on the way, no file
// that has a second name (a hard link can lead anywhere), nothing but regular files. Each is mapped
// once.
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/io/mapped_file.h"

namespace lathe::onnx {

class ExternalFiles {
 public:
  // An empty `folder` refuses every file.
  ExternalFiles(std::string folder, int64_t most_bytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}
  // `location` as the model has it: names separated by '/'.
  absl::StatusOr<io::MappedFile> Get(const std::string& location);

 private:
  std::string folder_;
  int64_t most_bytes_;
  std::map<std::string, io::MappedFile> files_;  // by location
};

}  // namespace lathe::onnx
