#pragma once
// What the recipes of samples (ir/samples.h) are written with. Each makes a graph of one op; a
// family whose recipes are long has a file of its own. Private to ir/samples*.cc.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/samples.h"

namespace lathe::ir::samples {

// Builds one sample. After an error every further call does nothing, and the sample keeps it.
class Maker {
 public:
  Maker(const SampleOptions& options, std::string label) : options_(options), b_(&sample_.graph) {
    sample_.label = std::move(label);
  }

  // The dim of a slot.
  Dim D(int slot) {
    sample_.used_slots |= 1u << slot;
    const size_t index = static_cast<size_t>(slot);
    if ((options_.symbolic >> slot & 1) == 0)
      return index < options_.extents.size() ? options_.extents[index] : 1;
    const std::string name(1, static_cast<char>('a' + slot));
    const int known = sample_.graph.dims()->num_symbols();
    const Dim symbol = sample_.graph.dims()->Symbol(name);
    if (sample_.graph.dims()->num_symbols() > known) {
      sample_.symbols.push_back(name);
      sample_.slots.push_back(slot);
    }
    return symbol;
  }

  ValueId In(DType dtype, Shape shape) {
    const std::string name(1, static_cast<char>('p' + sample_.graph.inputs.size()));
    return Keep([&] { return b_.Input(name, {dtype, std::move(shape)}); });
  }
  ValueId Make(Op op, std::vector<ValueId> operands, Attrs attrs = {}) {
    return Keep([&] { return b_.Create(op, std::move(operands), std::move(attrs)); });
  }
  ValueId Elementwise(Op op, std::vector<ValueId> operands) {
    return Keep([&] { return b_.Elementwise(op, std::move(operands)); });
  }
  ValueId Keep(const std::function<absl::StatusOr<ValueId>()>& make) {
    if (!sample_.status.ok()) return kNoValue;
    absl::StatusOr<ValueId> v = make();
    if (v.ok()) return *v;
    sample_.status = v.status();
    return kNoValue;
  }
  Builder& builder() { return b_; }

  OpSample Finish(ValueId result) {
    if (sample_.status.ok()) sample_.status = b_.Output("out", result);
    return std::move(sample_);
  }

 private:
  const SampleOptions& options_;
  OpSample sample_;
  Builder b_;
};

// One sample's recipe: makes inputs and the op, returns the result.
struct Recipe {
  std::string label;
  std::function<ValueId(Maker&)> make;
};
using Recipes = std::vector<Recipe>;

Recipes WindowRecipes(DType t);
Recipes SequentialRecipes(Op op, DType t);

}  // namespace lathe::ir::samples
