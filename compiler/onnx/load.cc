// lathe::load_onnx: reader, importer, and what is told about the model.
#include <set>
#include <utility>

#include "compiler/onnx/importer.h"
#include "compiler/onnx/reader.h"
#include "ir/staged.h"
#include "ir/status_macros.h"
#include "lathe/onnx.h"
#include "runtime/control_word.h"

namespace lathe {

absl::StatusOr<OnnxModel> onnx::ImportModel(const ModelDef& model, const OnnxOptions& options) {
  const rt::ControlWordScope control_word;  // what is constant is computed
  std::set<std::string> fixed;
  size_t most_attempts = model.graph.inputs.size() + 1;
  for (const auto& [name, items] : options.sequence_contents) most_attempts += items.size();
  for (size_t attempt = 0;; ++attempt) {
    Importer importer(model, options);
    const size_t before = fixed.size();
    absl::Status s = importer.Run(&fixed);
    if (absl::IsAborted(s) && fixed.size() > before && attempt < most_attempts) continue;
    LATHE_RETURN_IF_ERROR(std::move(s));
    const bool single = importer.root().is_single_graph();
    OnnxModel result{.program =
                         single ? Program(importer.root().ReleaseGraph())
                                : Program(std::make_unique<ir::Staged>(*importer.root().staged()))};
    result.inputs = importer.input_names();
    result.outputs = importer.output_names();
    result.fixed.assign(fixed.begin(), fixed.end());
    result.dims = importer.dim_names();
    result.producer = model.producer;
    result.ir_version = model.ir_version;
    result.operators = importer.Operators();
    return result;
  }
}

absl::StatusOr<OnnxModel> load_onnx(const std::string& path, const OnnxOptions& options) {
  LATHE_ASSIGN_OR_RETURN(const onnx::ModelDef model, onnx::ReadModel(path, options.limits));
  return onnx::ImportModel(model, options);
}

}  // namespace lathe
