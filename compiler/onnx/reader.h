#pragma once
// Reads ONNX files: models, single tensors, and the values that conformance data is made of. The
// importer, jit-repl and the tests call it. All IR versions; typed and raw data, packed or not;
// external data, functions, sub-graphs, sparse initialisers.
//
// Files may come from anyone. Everything is bounded before it is allocated, nothing recurses deeper
// than `depth`, nothing throws; an error names the byte and the field it is about:
//   "net.onnx: byte 1234, ModelProto.graph.node[3].attribute[0].ints: is cut short: ..."
// Data that stands in the file as it stands in memory is mapped, never copied, and stays alive as
// long as the TensorData or the Tensor made of it.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/onnx/model.h"
#include "lathe/onnx.h"

namespace lathe::onnx {

using ReadLimits = OnnxLimits;

absl::StatusOr<ModelDef> ReadModel(const std::string& path, const ReadLimits& limits = {});
// The model in `bytes`, which `owner` keeps alive. `folder` holds external data; empty: none
// allowed.
absl::StatusOr<ModelDef> ParseModel(absl::Span<const char> bytes, std::shared_ptr<void> owner,
                                    const std::string& folder, const ReadLimits& limits = {});

// One TensorProto.
absl::StatusOr<TensorData> ParseTensor(absl::Span<const char> bytes, std::shared_ptr<void> owner,
                                       const std::string& folder, const ReadLimits& limits = {});

// A file that holds a value of `type`: a TensorProto, a SequenceProto of tensors, or an
// OptionalProto of either. An optional without a value has no tensors; `present` (may be null)
// tells it from one that holds an empty sequence. Unimplemented for maps, sparse tensors and
// sequences of sequences.
absl::StatusOr<std::vector<TensorData>> ReadValueFile(const std::string& path, const Type& type,
                                                      const ReadLimits& limits = {},
                                                      bool* present = nullptr);
absl::StatusOr<std::vector<TensorData>> ParseValue(absl::Span<const char> bytes,
                                                   std::shared_ptr<void> owner,
                                                   const std::string& folder, const Type& type,
                                                   const ReadLimits& limits = {},
                                                   bool* present = nullptr);

}  // namespace lathe::onnx
