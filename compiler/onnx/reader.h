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

namespace lathe::onnx {

// Passing one is a ResourceExhausted that names it.
struct ReadLimits {
  int64_t file_bytes = int64_t{64} << 30;    // of the model; of each file of external data
  int64_t memory = int64_t{4} << 30;         // bytes made of the file, beside what is mapped
  int64_t nodes = 1'000'000;                 // of all graphs and functions together
  int64_t depth = 32;                        // of sub-graphs; of types within types
  int64_t attributes = 1024;                 // of a node
  int64_t rank = 16;                         // of a tensor, of a declared shape
  int64_t name_bytes = int64_t{64} << 10;    // of a name
  int64_t string_bytes = int64_t{64} << 20;  // of a string that is data
};

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
