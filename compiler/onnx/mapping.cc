// The table of operators.
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

using Table = absl::flat_hash_map<std::string, Mapper>;

std::string Key(std::string_view domain, std::string_view op_type) {
  return absl::StrCat(std::string(domain), ":", std::string(op_type));
}

Table MakeTable() {
  Table table;
  for (auto family : {ElementwiseMappings,
                      ShapeMappings,
                      ReduceMappings,
                      ProductMappings,
                      NormMappings,
                      ControlMappings,
                      AttentionMappings,
                      ResizeMappings,
                      WindowMappings,
                      DeformMappings,
                      QuantMappings,
                      QLinearMappings,
                      IndexMappings,
                      RecurrentMappings,
                      LossMappings,
                      SequenceMappings,
                      SignalMappings,
                      RegionMappings,
                      ImageMappings,
                      TreeMappings,
                      MlMappings,
                      RandomMappings,
                      MicrosoftAttentionMappings}) {
    for (Mapping& m : family()) table[Key(m.domain, m.op_type)] = std::move(m.map);
  }
  return table;
}

}  // namespace

const Mapper* FindMapper(std::string_view domain, std::string_view op_type) {
  static const auto* table = new Table(MakeTable());  // never destroyed
  const auto found = table->find(Key(domain, op_type));
  return found == table->end() ? nullptr : &found->second;
}

}  // namespace lathe::onnx
